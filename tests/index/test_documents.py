"""Documents are named by key or id, keep their meta, and can be listed and renamed by prefix."""

import itertools
import pickle
import random
import re
import time

import numpy as np
import pytest

import docindex
from docindex.folders import scan
from docindex.index import adding
from docindex.sketching.workers import SketchWorkers
from tests.trials.crash import program


@pytest.fixture(params=["in a file", "in memory"])
def index(request, tmp_path):
    path = ":memory:" if request.param == "in memory" else tmp_path / "index"
    with docindex.open(path) as index:
        for number, key in enumerate(["ada.txt", "bob.txt", "eve.txt"]):
            index.add(key, program.text_of(number), meta={"n": number})
        yield index
        assert index.check() == []


# --- ids


def test_an_id_is_as_good_as_a_key(index):
    number = docindex.Id(index["bob.txt"].id)
    assert number in index
    assert index[number] == index["bob.txt"]
    assert index.text(number) == index.text("bob.txt")
    assert index.meta(number) == {"n": 1}
    index.update(number, meta="new")
    assert index.meta("bob.txt") == "new"
    index.rename(number, "robert.txt")
    assert index[number].key == "robert.txt"
    index.remove(number)
    assert number not in index
    assert list(index) == ["ada.txt", "eve.txt"]


@pytest.mark.parametrize("number", [99, 0, -1, 1 << 62, 1 << 63, -(1 << 63), 1 << 200])
def test_an_unknown_id_is_an_unknown_key(index, number):
    for call in (index.__getitem__, index.text, index.meta, index.remove, index.search):
        with pytest.raises(docindex.UnknownKey, match=rf"^there is no document {re.escape(str(number))}$"):
            call(docindex.Id(number))
    assert docindex.Id(number) not in index


@pytest.mark.parametrize(
    "value", [float("inf"), float("nan"), 1.0, "1", None, True, b"1", [1], np.float64(1)]
)
def test_an_id_is_a_whole_number(value):
    with pytest.raises(TypeError, match=r"^an id must be a whole number, not "):
        docindex.Id(value)


def test_an_id_of_any_kind_of_whole_number_is_the_same():
    made = [docindex.Id(7), docindex.Id(np.int64(7)), docindex.Id(docindex.Id(7))]
    assert {repr(one) for one in made} == {"Id(7)"}
    assert pickle.loads(pickle.dumps(made[0])) == 7
    assert type(pickle.loads(pickle.dumps(made[0]))) is docindex.Id


@pytest.mark.parametrize("value", [7, None, b"ada.txt", 1.5, ("ada.txt",)])
def test_any_other_value_is_no_key(index, value):
    assert value not in index
    with pytest.raises(
        docindex.UnknownKey, match=r"^(a key must be a str or a docindex.Id, not |there is no)"
    ):
        index[value]


# --- unknown keys


@pytest.mark.parametrize(
    "typed", ["adda.txt", "ada.tx", "ad.txt", "Ada.txt", "ADA.TXT", "ada.txt ", "aad.txt", "ada txt"]
)
def test_a_mistyped_key_is_answered_with_the_right_one(index, typed):
    for ask in (index.__getitem__, index.text, index.remove, lambda key: index.search(docindex.Key(key))):
        with pytest.raises(docindex.UnknownKey) as caught:
            ask(typed)
        assert str(caught.value) == f"there is no document {typed!r}. Did you mean 'ada.txt'?"
        assert (caught.value.key, caught.value.similar) == (typed, "ada.txt")
        again = pickle.loads(pickle.dumps(caught.value))
        assert (str(again), again.key, again.similar) == (str(caught.value), typed, "ada.txt")


def test_a_key_that_is_like_no_other_gets_no_suggestion(index):
    for key in ("something else", "", "x", "\0", "\ud800", "n" * 1_000_000):
        with pytest.raises(KeyError) as caught:
            index[key]
        assert "Did you mean" not in str(caught.value)
        assert len(str(caught.value)) < 200


def test_the_suggestion_compares_file_names_and_not_their_common_folder():
    with docindex.open(":memory:") as index:
        folder = "/home/ada/documents/a long folder with a long name/"
        for name in ("minutes.txt", "recipe.txt", "thesis.txt"):
            index.add(folder + name, program.text_of(1))
        for typed, meant in (
            ("thesys.txt", "thesis.txt"),
            ("zebra.jpg", None),
            ("minute.txt", "minutes.txt"),
        ):
            with pytest.raises(docindex.UnknownKey) as caught:
                index[folder + typed]
            assert caught.value.similar == (meant and folder + meant)


def test_no_message_shows_more_than_the_beginning_of_a_long_key(index):
    long = "k" * 100_000
    index.add(long, "text")
    index.add("sketch" + long, "another text", store_text=False)
    failures = [
        lambda: index.rename("ada.txt", long),
        lambda: index.add("new" + long, 7),
        lambda: index.add("new" + long, "text", meta={1, 2}),
        lambda: index.update(long, meta=float("nan")),
        lambda: index.remove("x" + long),
        lambda: index.rename_prefix("ada.txt", long),
        lambda: index.search("sketch" + long)[0].passages(),
        lambda: index.search("x", boilerplate=["x" + long]),
        lambda: index.search("x", where=("no_column = ?", [long])),
    ]
    for fail in failures:
        with pytest.raises((KeyError, ValueError, TypeError, docindex.DocIndexError)) as caught:
            fail()
        assert len(str(caught.value)) < 400


# --- meta


def test_add_keeps_the_meta_unless_it_gives_another(index):
    index.add("ada.txt", "another text")
    assert index.meta("ada.txt") == {"n": 0}
    index.add("ada.txt", "another text", meta=[1])
    assert index.meta("ada.txt") == [1]
    index.add("ada.txt", "a third text", meta=None)
    assert index.meta("ada.txt") is None
    index.add("new", "text")
    assert index.meta("new") is None


def test_add_many_keeps_the_meta_of_items_without_meta(index):
    index.add_many([("ada.txt", "one"), ("bob.txt", "two", None), ("eve.txt", "three", "E")])
    assert [index.meta(key) for key in index] == [{"n": 0}, None, "E"]


def test_the_order_of_equal_keys_decides_their_meta_as_if_they_were_added_one_by_one():
    rng = random.Random(5)
    for _ in range(30):
        items = [
            rng.choice([(key, f"text {n}"), (key, f"text {n}", n), (key, f"text {n}", None)])
            for n, key in enumerate(rng.choices("abc", k=8))
        ]
        with docindex.open(":memory:") as one, docindex.open(":memory:") as many:
            for key, text, *meta in items:
                one.add(key, text, **({"meta": meta[0]} if meta else {}))
            many.add_many(items)
            assert list(one.export()) == list(many.export()), items


def test_update_changes_the_meta_alone(index):
    before = index["bob.txt"]
    index.update("bob.txt", meta={"by": ["Bob"]})
    after = index["bob.txt"]
    assert after.meta == {"by": ["Bob"]}
    assert (after.id, after.content, after.added_at) == (before.id, before.content, before.added_at)
    assert after.text == program.text_of(1)
    index.update("bob.txt", meta=None)
    assert index.meta("bob.txt") is None
    with pytest.raises(docindex.UnknownKey):
        index.update("nobody", meta=1)
    with pytest.raises(TypeError, match=r"^the meta of 'bob.txt' cannot be stored as JSON"):
        index.update("bob.txt", meta={1})


def test_load_restores_what_export_wrote_also_a_missing_meta(index):
    lines = list(index.export())
    index.update("ada.txt", meta="other")
    index.update("bob.txt", meta=None)
    index.load(lines)
    assert list(index.export()) == lines


# --- prefixes


def test_keys_with_a_prefix_are_those_that_begin_with_it(monkeypatch):
    monkeypatch.setattr("docindex.index.keyed._KEYS_AT_A_TIME", 3)
    letters = ["a", "b", "%", "_", "\U0010ffff", "\ud7ff", "\ue000", "A", "/"]
    keys = sorted({"".join(some) for n in range(4) for some in itertools.product(letters[:5], repeat=n)})
    keys = sorted({*keys, *letters, *(a + b for a in letters for b in letters)})
    with docindex.open(":memory:") as index:
        index.add_many((key, "text") for key in keys)
        assert list(index.keys()) == list(index) == keys
        for prefix in [*keys[::7], *letters, "zz", "a" * 9]:
            assert list(index.keys(prefix=prefix)) == [key for key in keys if key.startswith(prefix)], prefix
        with pytest.raises(TypeError):
            list(index.keys(prefix=1))


def test_a_renamed_prefix_changes_the_keys_alone(index, monkeypatch):
    monkeypatch.setattr("docindex.index.keyed._KEYS_AT_A_TIME", 2)
    index.add_many([(f"old/{n}", program.text_of(n), n) for n in range(7)])
    before = {key: index[key] for key in index}
    assert index.rename_prefix("old/", "new/older/") == 7
    for key, document in before.items():
        moved = index[key.replace("old/", "new/older/")]
        assert (moved.id, moved.content, moved.meta, moved.added_at) == (
            *(document.id, document.content, document.meta, document.added_at),
        )
    assert len(index) == len(before)
    assert index.rename_prefix("none/", "any/") == 0
    assert index.rename_prefix("new/", "new/") == 7


@pytest.mark.parametrize(
    ("old", "new"), [("a", "aa"), ("aa", "a"), ("a", ""), ("", "a"), ("ab", "ba"), ("a", "b")]
)
def test_a_renamed_prefix_may_overlap_itself(old, new):
    keys = ["a" * n + end for n in range(1, 6) for end in ("", "x", "b")]
    renamed = [new + key[len(old) :] if key.startswith(old) else key for key in keys]
    with docindex.open(":memory:") as index:
        index.add_many((key, f"the text of {key}") for key in keys)
        if len(set(renamed)) < len(keys):
            with pytest.raises(ValueError, match=r"^a document with the key '.*' exists already"):
                index.rename_prefix(old, new)
            assert sorted(index) == sorted(keys)
        else:
            index.rename_prefix(old, new)
            assert {key: index.text(key) for key in index} == {
                after: f"the text of {before}" for before, after in zip(keys, renamed, strict=True)
            }
        assert index.check() == []


def test_a_prefix_that_would_hide_a_document_is_refused_as_a_whole(index):
    index.add_many([("draft/ada.txt", "one"), ("draft/new.txt", "two")])
    with pytest.raises(ValueError, match=r"^a document with the key 'ada.txt' exists already; remove or"):
        index.rename_prefix("draft/", "")
    assert list(index) == ["ada.txt", "bob.txt", "draft/ada.txt", "draft/new.txt", "eve.txt"]


# --- many documents


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("every", [1, 7, 30, 1000])
def test_commit_every_commits_after_so_many_documents(tmp_path, every, workers, monkeypatch):
    monkeypatch.setattr("docindex.index.adding._AHEAD", 1000)
    sizes = []
    commit = adding.Target.commit
    monkeypatch.setattr(
        adding.Target,
        "commit",
        lambda target, group: (sizes.append(len(group)), commit(target, group))[1],
    )
    with docindex.open(tmp_path / "index") as index:
        items = ((str(n), program.text_of(n)) for n in range(60))
        assert index.add_many(items, workers=workers, commit_every=every) == 60
        assert [size for size in sizes if size] == [every] * (60 // every) + [60 % every] * bool(60 % every)
        assert len(index) == 60


@pytest.mark.parametrize("workers", [1, 2, None])
def test_commit_every_does_not_wait_for_the_next_item(tmp_path, workers):
    with docindex.open(tmp_path / "index") as index, docindex.open(tmp_path / "index") as other:

        def items():
            for number in range(20):
                assert len(other) == number // 5 * 5
                yield str(number), program.text_of(number)

        index.add_many(items(), workers=workers, commit_every=5)
        assert len(other) == 20
        for wrong in (0, -1, 1.5):
            with pytest.raises((ValueError, TypeError), match=r"^commit_every must be a whole number"):
                index.add_many([], commit_every=wrong)


def test_commits_of_many_characters_do_not_make_commit_every_later(tmp_path, monkeypatch):
    monkeypatch.setattr("docindex.index.adding._COMMIT", 4000)
    monkeypatch.setattr("docindex.sketching.sketcher.slicing.PIECE_CHARACTERS", 1500)
    sizes = []
    commit = adding.Target.commit
    monkeypatch.setattr(
        adding.Target,
        "commit",
        lambda target, group: (sizes.append(len(group)), commit(target, group))[1],
    )
    rng = random.Random(1)
    with docindex.open(tmp_path / "index") as index:
        items = [(str(n), program.text_of(n)[: rng.choice([20, 900])]) for n in range(200)]
        assert index.add_many(items, workers=1, commit_every=7) == len(index) == sum(sizes) == 200
    assert 7 in sizes
    assert max(sizes) == 7
    assert len(set(sizes) - {0}) > 1


def test_commit_every_also_commits_early_if_workers_make_the_sketches(tmp_path):
    seen = []
    with docindex.open(tmp_path / "index") as index, docindex.open(tmp_path / "index") as other:

        def items():
            for number in range(300):
                yield str(number), program.text_of(number)
                if number > 100:
                    time.sleep(0.01)
                    seen.append(len(other))

        index.add_many(items(), workers=2, commit_every=5)
    assert seen[-1] > 0


def test_progress_knows_the_total_of_a_list(index):
    told = []
    index.add_many([("a", "one"), ("b", "two")], progress=lambda *numbers: told.append(numbers))
    index.add_many({("c", "three"): 1}, progress=lambda *numbers: told.append(numbers))
    index.add_many(iter([("d", "four")]), progress=lambda *numbers: told.append(numbers))
    index.load(list(index.export()), progress=lambda *numbers: told.append(numbers))
    assert told == [(2, 2), (1, 1), (1, None), (7, None)]


# --- repr


def test_the_repr_of_an_index_names_the_file_and_counts_the_documents(tmp_path):
    with docindex.open(tmp_path / "essays.docindex") as index:
        assert repr(index) == f"<docindex.Index '{tmp_path}/essays.docindex': 0 documents>"
        index.add("a", "text")
        assert repr(index).endswith(": 1 document>")
    assert repr(index).endswith(": closed or busy>")


# --- cancelled scans


def test_a_cancelled_scan_can_be_repeated(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.txt").write_text(program.text_of(number))
    with docindex.open(tmp_path / "index") as index:
        with docindex.cancelling() as token, pytest.raises(docindex.Cancelled):
            scan(index, [folder], progress=lambda done, _: token.cancel() if done > 5 else None)
        scan(index, [folder])
        assert len(index) == 30


def test_texts_that_the_index_has_are_found_after_many_new_ones(tmp_path, monkeypatch):
    monkeypatch.setattr("docindex.reading.slicing.PIECE_CHARACTERS", 2000)
    texts = [program.text_of(number) for number in range(60)]
    with docindex.open(tmp_path / "index") as index:
        index.add_many(((f"old {number}", text) for number, text in enumerate(texts[:20])))
        new = texts[20:] + texts[:20]
        index.add_many(((f"new {number}", text) for number, text in enumerate(new)), workers=1)
        assert [index.text(f"new {number}") for number in range(60)] == new
        assert next(iter(index.execute("select count(*) from docindex_content"))) == (60,)
        assert index.check() == []


def test_known_texts_are_not_sketched_again_after_a_few_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("docindex.reading.slicing.PIECE_CHARACTERS", 2000)
    sketched = []
    submit = SketchWorkers.submit
    monkeypatch.setattr(
        SketchWorkers,
        "submit",
        lambda self, texts, **options: sketched.extend(texts) or submit(self, texts, **options),
    )
    texts = [program.text_of(number) for number in range(150)]
    with docindex.open(tmp_path / "index") as index:
        index.add_many(((f"old {number}", text) for number, text in enumerate(texts[:100])), workers=1)
        sketched.clear()
        new = texts[100:] + texts[:100]
        index.add_many(((f"new {number}", text) for number, text in enumerate(new)), workers=1)
        assert set(texts[100:]) <= set(sketched)
        assert len(sketched) < 80


def test_adding_many_documents_ends_with_few_segments(tmp_path, monkeypatch):
    def sizes():
        return [
            row[0] for row in index.execute("select postings from docindex_segment where kind = 0 order by 1")
        ]

    def texts(first, count):
        return ((str(number), program.text_of(number)) for number in range(first, first + count))

    monkeypatch.setattr("docindex.index.adding._COMMITTED_DOCUMENTS", 10)
    monkeypatch.setattr("docindex.storage.postings.segment_writer._LEAST", 16)
    with docindex.open(tmp_path / "index") as index:
        index.add_many(texts(0, 95))
        (large,) = sizes()
        index.add_many(texts(100, 15))
        small, unchanged = sizes()
        assert (unchanged, small < large / 2) == (large, True)
        index.add_many(texts(200, 150))
        assert len(sizes()) == 1
        assert index.check() == []
