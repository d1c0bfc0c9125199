"""The same documents give the same answers, whatever the history of the index."""

import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import docindex
from docindex import Recipe
from docindex.reading import slicing
from docindex.storage.postings import segment_writer
from tests.storage.answers import all_hashes, answers
from tests.storage.texts import prose

RECIPE = Recipe(k=6, window=4, shingle=2, slots=16, features=(4, 4, 2), min_s=4, mod_m=3, level=4)
TINY = {"_BLOCK": 16, "_LEAST": 32, "_MERGED_AT_LEAST": 20, "_MERGED_PER_POSTING": 0}

keys = st.sampled_from(["a", "b", "c", "ä", "z", "key with\nlines", "漢"])
# Texts of one letter have one hash, texts of the same seed begin alike, and long texts take several blocks.
texts = st.one_of(
    st.sampled_from(["", "a", "aaaaaaaaaaaaaaaaaaa", "no surrogate \ud83d", "\0", "Größe 漢字 " * 9]),
    st.builds(lambda seed, words: prose(random.Random(seed), words), st.integers(0, 5), st.integers(1, 150)),
)
metas = st.one_of(st.none(), st.integers(), st.lists(st.text(max_size=3), max_size=2))


@pytest.fixture
def tiny_merges(monkeypatch):
    """Make merges begin early and span many commits."""
    for name, value in TINY.items():
        monkeypatch.setattr(segment_writer, name, value)


class Histories(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        # In /dev/shm if there is one, so that thousands of commits do not wait for a disk.
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
        self.model = {}
        self.ids = {}
        self.contents = {}  # the text of each content id, also of removed ones

    @initialize()
    def make(self):
        self.index = docindex.open(self.folder / "index", recipe=RECIPE, durability="normal")

    @rule(key=keys, text=texts, meta=metas)
    def add(self, key, text, meta):
        self.index.add(key, text, meta=meta)
        self.model[key] = text, meta

    @rule(key=keys)
    def add_again(self, key):
        if key in self.model:
            before = self.index[key]
            self.index.add(key, self.model[key][0], meta=self.model[key][1])
            assert self.index[key] == before

    @rule(items=st.lists(st.tuples(keys, texts, metas), max_size=6))
    def add_many(self, items):
        assert self.index.add_many(iter(items), workers=1) == len(items)
        self.model.update({key: (text, meta) for key, text, meta in items})

    @rule(key=keys)
    def remove(self, key):
        if key in self.model:
            self.index.remove(key)
            del self.model[key]
            self.ids.pop(key, None)
        else:
            with pytest.raises(KeyError):
                self.index.remove(key)

    @rule(old=keys, new=keys)
    def rename(self, old, new):
        if new in self.model and old != new:
            with pytest.raises(ValueError, match="already"):
                self.index.rename(old, new)
        elif old not in self.model:
            with pytest.raises(KeyError):
                self.index.rename(old, new)
        else:
            self.index.rename(old, new)
            self.model[new] = self.model.pop(old)
            if old in self.ids:
                self.ids[new] = self.ids.pop(old)

    @rule()
    def optimize(self):
        self.index.optimize()
        stats = self.index.stats()
        assert stats.dead == 0
        assert stats.segments <= 1

    @rule(budget=st.integers(1, 200))
    def merge(self, budget):
        with self.index._store.writing() as db:
            segment_writer.merge_postings(db, budget, everything=True)

    @rule()
    def reopen(self):
        self.index.close()
        self.index = docindex.open(self.folder / "index")
        assert self.index.recipe == RECIPE

    @invariant()
    def the_index_agrees_with_the_model(self):
        assert list(self.index) == sorted(self.model)
        assert len(self.index) == len(self.model)
        for key, (text, meta) in self.model.items():
            document = self.index[key]
            assert (self.index.text(key), document.meta) == (text, meta)
            assert document.characters == len(text)
            assert self.ids.setdefault(key, document.id) == document.id
            assert self.contents.setdefault(document.content, text) == text
        assert len(set(self.ids.values())) == len(self.ids)

    @invariant()
    def the_index_is_healthy(self):
        assert self.index.check() == []

    def teardown(self):
        if hasattr(self, "index"):
            with docindex.open(":memory:", recipe=RECIPE) as fresh:
                fresh.add_many([(key, *rest) for key, rest in self.model.items()], workers=1)
                hashes = all_hashes(fresh)
                assert answers(self.index, hashes) == answers(fresh, hashes)
            self.index.close()
        shutil.rmtree(self.folder)


@pytest.mark.usefixtures("tiny_merges")
class TestHistories(Histories.TestCase):
    settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def documents():
    rng = random.Random(3)
    first = prose(rng, 3000)
    found = [("first", first), ("tail", first[9000:]), ("copy", first), ("empty", ""), ("short", "ab")]
    found += [(f"note {number}", prose(rng, 20 + 7 * number), {"number": number}) for number in range(40)]
    return found


def one_by_one(index):
    for key, text, *meta in documents():
        index.add(key, text, meta=meta[0] if meta else None)


def backwards(index):
    for item in reversed(documents()):
        index.add_many([item], workers=1)


def in_bulk(index):
    index.add_many(iter(documents()))


def with_one_worker(index):
    index.add_many(documents(), workers=1)


def with_two_workers(index):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slicing, "PIECE_CHARACTERS", 30_000)  # several batches
        index.add_many(documents(), workers=2)


def with_removals_and_other_texts_between(index):
    rng = random.Random(4)
    for key, text, *meta in documents():
        index.add(f"{key} for a while", prose(rng, 50))
        index.add(key, text[:100] + prose(rng, 30), meta="another")
        if rng.random() < 0.5:
            index.remove(key)
        index.add(key, text, meta=meta[0] if meta else None)
        index.remove(f"{key} for a while")


def all_removed_and_added_again(index):
    in_bulk(index)
    for key in index:
        index.remove(key)
    assert len(index) == 0
    one_by_one(index)


def under_other_keys_first(index):
    index.add_many([(f"old {key}", *rest) for key, *rest in documents()])
    for key in index:
        index.rename(key, key.removeprefix("old "))


def exported_and_loaded(index):
    with docindex.open(":memory:", recipe=index.recipe) as other:
        one_by_one(other)
        index.load(other.export())


HISTORIES = [
    one_by_one,
    backwards,
    with_one_worker,
    with_two_workers,
    with_removals_and_other_texts_between,
    all_removed_and_added_again,
    under_other_keys_first,
    exported_and_loaded,
]


@pytest.mark.parametrize("merged", ["as the commits merge", "all", "in small steps"])
@pytest.mark.parametrize("fill", HISTORIES)
@pytest.mark.usefixtures("tiny_merges")
def test_the_same_documents_give_the_same_answers_whatever_the_history(fill, merged, tmp_path, monkeypatch):
    recipe = Recipe(min_s=8, mod_m=3, level=8)
    with docindex.open(":memory:", recipe=recipe) as plain:
        in_bulk(plain)
        hashes = all_hashes(plain)
        expected = answers(plain, hashes)
    assert len(expected["found"]) > 2000
    with docindex.open(tmp_path / "index", recipe=recipe, durability="normal") as index:
        if merged == "in small steps":
            monkeypatch.setattr(segment_writer, "_MERGED_AT_LEAST", 1)
        fill(index)
        if merged == "all":
            index.optimize()
        assert answers(index, hashes) == expected
        assert index.check() == []
        if merged == "all":
            assert index.stats().segments == 1


def test_the_rows_of_an_optimized_index_do_not_depend_on_its_history(tmp_path):
    rows = []
    for number, fill in enumerate([with_one_worker, with_two_workers, one_by_one]):
        with docindex.open(tmp_path / str(number), durability="normal") as index:
            fill(index)
            index.optimize()
            with index._store.reading() as db:
                rows.append(
                    (
                        db.execute(
                            "select id & 4294967295, keys from docindex_posting order by 1, 2"
                        ).fetchall(),
                        db.execute("select id, hash, slots, sum from docindex_content order by 1").fetchall(),
                        *(
                            db.execute(f"select * from docindex_{table} order by 1, 2").fetchall()
                            for table in ("fingerprint", "sample", "text")
                        ),
                    )
                )
    assert rows[0] == rows[1] == rows[2]


def test_removed_documents_leave_nothing_behind_after_optimize(tmp_path):
    with docindex.open(tmp_path / "index", durability="normal") as index:
        index.add("kept", prose(random.Random(1), 500))
        before = answers(index)
        index.add_many([(str(seed), prose(random.Random(seed), 2000)) for seed in range(2, 30)], workers=1)
        for seed in range(2, 30):
            index.remove(str(seed))
        index.optimize()
        assert answers(index) == before
        stats = index.stats()
        assert (stats.documents, stats.contents, stats.dead, stats.segments) == (1, 1, 0, 1)
        assert stats.postings == index["kept"].fingerprints
        assert stats.bytes["free"] == 0
        size = Path(index.path).stat().st_size
    with docindex.open(tmp_path / "fresh", durability="normal") as fresh:
        fresh.add("kept", prose(random.Random(1), 500))
    assert size == (tmp_path / "fresh").stat().st_size  # although the first index was still open


def test_optimize_deletes_dead_contents_of_an_index_without_postings():
    with docindex.open(":memory:") as index:
        index.add("a", "")
        index.remove("a")
        index.optimize()
        assert index.stats().dead == 0
        assert index.check() == []


def test_an_index_that_has_shrunk_is_still_merged_in_small_steps():
    """Its segment has more blocks than the segment that it is merged into."""
    rng = random.Random(1)
    with docindex.open(":memory:") as index:
        index.add_many([(str(number), prose(rng, 3000)) for number in range(40)], workers=1)
        for number in range(30):
            index.remove(str(number))
        index.optimize()
        index.remove("30")
        expected = answers(index)
        unfinished = True
        while unfinished:
            with index._store.writing() as db:
                unfinished = segment_writer.merge_postings(db, 1000, everything=True)
            assert answers(index) == expected
        assert index.check() == []
        assert index.stats().segments == 1
