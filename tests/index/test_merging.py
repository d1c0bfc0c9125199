"""Files that were indexed apart become one file without sketching again, or no file is made at all."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

import docindex
from docindex import CorruptIndex, Recipe, RecipeMismatch, merging
from docindex.frontends.extracted import Extracted, Place, Places
from docindex.sketching import sketcher
from docindex.storage.tracked_files import Tracked

TEXTS = {
    "empty": "",
    "short": "The Analytical Engine",
    "scripts": "Die Änderung 文書の索引 עברית हिन्दी 🙂",
    "half": "half of a pair \ud800 of surrogates",
    "long": "It weaves algebraical patterns, number %d. " * 3000,
    "copy": "The Analytical Engine",
    "large": "long words " * 150_000,
    "again": "Die Änderung 文書の索引 עברית हिन्दी 🙂",
}
RECIPES = {
    "default": Recipe(),
    "samples": Recipe(k=5, window=4, shingle=2, min_s=20, mod_m=4, level=16),
    "lines": Recipe(token="line", shingle=1, bag=True),
}
TABLES = ("content", "fingerprint", "text", "sample", "extraction")


def shards_of(folder, texts, count=3, recipe=None, **options):
    """The paths of `count` files, each of which has some consecutive texts."""
    items, paths = list(texts.items()), []
    size = -(-len(items) // count)
    for number in range(count):
        paths.append(folder / f"shard {number}")
        with docindex.open(paths[-1], recipe=recipe) as index:
            some = items[number * size : (number + 1) * size]
            index.add_many([(key, text, {"is": key}) for key, text in some], workers=1, **options)
    return paths


def index_of(texts, recipe=None, **options):
    index = docindex.open(":memory:", recipe=recipe)
    index.add_many([(key, text, {"is": key}) for key, text in texts.items()], workers=1, **options)
    return index


def rows_of(index):
    documents = index.execute("select id, key, content, meta from docindex_document")
    return documents, [index.execute(f"select * from docindex_{table}") for table in TABLES]


def files_in(folder):
    """The names of the files in a folder, without those that SQLite keeps beside a file it has read."""
    names = {path.name for path in folder.iterdir()}
    return {name for name in names if not name.endswith(("-wal", "-shm"))}


@pytest.fixture
def into(tmp_path):
    return tmp_path / "all.docindex"


def test_nothing_is_left_of_a_merge_but_its_result(tmp_path, into):
    paths = shards_of(tmp_path, TEXTS)
    before = {path: path.read_bytes() for path in paths}
    assert docindex.merge(paths, into) == len(TEXTS)
    assert files_in(tmp_path) == {into.name, *(path.name for path in paths)}
    assert {path: path.read_bytes() for path in paths} == before


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
@pytest.mark.parametrize("kept", [True, False], ids=["kept", "not kept"])
def test_the_file_is_that_of_one_index_with_all_documents(tmp_path, into, recipe, kept, monkeypatch):
    def refuse(*_):
        raise AssertionError("a text was sketched")

    paths = shards_of(tmp_path, TEXTS, recipe=recipe, store_text=kept)
    with index_of(TEXTS, recipe, store_text=kept) as index:
        monkeypatch.setattr(sketcher, "_sketch_short", refuse)
        monkeypatch.setattr(sketcher, "_sketch_long", refuse)
        docindex.merge(paths, into)
        with docindex.open(into, readonly=True) as merged:
            assert merged.check() == []
            assert rows_of(merged) == rows_of(index)
            assert merged.stats().segments == 1


def test_the_answers_are_those_of_one_index(tmp_path, into):
    docindex.merge(shards_of(tmp_path, TEXTS), into)
    suspect = TEXTS["long"][500:1500]
    with docindex.open(into) as merged, index_of(TEXTS) as index:
        assert [(m.key, m.score, m.resemblance) for m in merged.search(suspect)] == [
            (m.key, m.score, m.resemblance) for m in index.search(suspect)
        ]
        assert list(merged.pairs()) == list(index.pairs())
        assert merged.near("copy") == index.near("copy")
        assert merged.similar("again") == index.similar("again")
        merged.add("more", suspect)
        merged.remove("long")
        assert merged.check() == []


def test_many_commits_and_segments_make_the_same_file(tmp_path, into, monkeypatch):
    texts = {f"text {number:03}": f"words of number {number // 2} " * 30 for number in range(300)}
    paths = shards_of(tmp_path, texts, 4)
    monkeypatch.setattr(merging, "_DOCUMENTS", 20)
    monkeypatch.setattr(merging, "_POSTINGS", 1000)
    monkeypatch.setattr("docindex.storage.rows.stored_sketches._DOCUMENTS_AT_A_TIME", 7)
    docindex.merge(paths, into)
    with docindex.open(into) as merged, index_of(texts) as index:
        assert merged.check() == []
        assert rows_of(merged) == rows_of(index)
        assert list(merged.pairs()) == list(index.pairs())


def test_times_and_places_and_boilerplate_and_records_of_files_are_copied(tmp_path, into):
    places = Places((0, 20), (Place("page 1"), Place("page 2")))
    paths = [tmp_path / "a", tmp_path / "b"]
    files = [Tracked(f"/home/{n}", n, n, n, n, n, "binary", "", 0, "", None) for n in range(3)]
    for number, path in enumerate(paths):
        with docindex.open(path) as index:
            index.add(f"book {number}", Extracted(TEXTS["long"][:200], places, "A title", reading="docx-1"))
            index.boilerplate.add("All rights reserved", name="rights")
            index.boilerplate.add(f"Licence {number} of these words", name=f"licence {number}")
            index.files.put(files[number : number + 2])
    added = []
    for number, path in enumerate(paths):
        with docindex.open(path, readonly=True) as index:
            added.append(index[f"book {number}"].added_at)
    docindex.merge(paths, into)
    with docindex.open(into) as merged:
        assert merged.check() == []
        assert [merged[key].added_at for key in merged] == added
        assert [template.name for template in merged.boilerplate] == ["licence 0", "licence 1", "rights"]
        assert merged.files.under("/home") == files
        found = [match for match in merged.search(TEXTS["long"][:200]) if match.key == "book 1"]
        assert found[0].passages()[0].place == "page 1 to page 2"
        with docindex.open(paths[0], readonly=True) as first:
            fields = ("grams", "shingles", "text")
            statement = f"select {', '.join(fields)} from docindex_boilerplate where name = 'rights'"
            assert merged.execute(statement) == first.execute(statement)


def test_a_text_that_only_one_file_keeps_is_kept(tmp_path, into):
    paths = [*shards_of(tmp_path, TEXTS, 1, store_text=False), tmp_path / "kept"]
    with docindex.open(paths[-1]) as index:
        index.add("other key", TEXTS["long"])
    docindex.merge(paths, into)
    with docindex.open(into) as merged:
        assert merged.text("long") == TEXTS["long"]
        assert merged.text("large") is None
        assert merged.check() == []


def two(tmp_path, first, second):
    paths = []
    for name, items in (("first", first), ("second", second)):
        paths.append(tmp_path / name)
        with docindex.open(paths[-1]) as index:
            index.add_many(items)
    return paths


CONFLICTS = {
    "text": (("k", "some words"), ("k", "other words")),
    "meta": (("k", "some words", 1), ("k", "some words", 2)),
    "front end": (("k", "some words"), ("k", Extracted("some words", reading="docx-1"))),
}


@pytest.mark.parametrize("differing", CONFLICTS)
def test_a_key_with_two_documents_is_an_error_that_names_it_and_both_files(tmp_path, into, differing):
    first, second = CONFLICTS[differing]
    paths = two(tmp_path, [first, ("a", "alone")], [second])
    with pytest.raises(
        ValueError, match=f"'k' has another {differing} in .*second than in .*first"
    ) as caught:
        docindex.merge(paths, into)
    assert "on_conflict='keep'" in str(caught.value)
    assert files_in(tmp_path) == {"first", "second"}


def test_the_first_or_the_last_document_of_a_key_can_be_kept(tmp_path, into):
    many = [("j", "some words"), ("x", "others")]
    paths = two(tmp_path, [("k", "some words", 1), *many], [("k", "new words", 2), ("new", "some words")])
    docindex.merge(paths, into, on_conflict="keep")
    docindex.merge(paths, tmp_path / "replaced", on_conflict="replace")
    with docindex.open(into) as kept, docindex.open(tmp_path / "replaced") as replaced:
        assert (kept.text("k"), kept.meta("k")) == ("some words", 1)
        assert (replaced.text("k"), replaced.meta("k")) == ("new words", 2)
        assert list(kept) == list(replaced) == ["j", "k", "new", "x"]
        assert kept.check() == replaced.check() == []


def test_a_text_that_was_replaced_everywhere_is_gone_and_can_come_back(tmp_path, into):
    paths = two(tmp_path, [("k", "some words " * 50)], [("k", "new words"), ("j", "more")])
    third = tmp_path / "third"
    with docindex.open(third) as index:
        index.add("back", "some words " * 50)
    docindex.merge([*paths, third], into, on_conflict="replace")
    with docindex.open(into) as merged:
        assert merged.check() == []
        assert [match.key for match in merged.search("some words " * 50)] == ["back"]
        assert merged.stats().contents == 3


def test_the_same_document_in_two_files_is_copied_once(tmp_path, into):
    (path,) = shards_of(tmp_path, TEXTS, 1)
    assert docindex.merge([path, path], into) == len(TEXTS)
    with docindex.open(into) as merged, index_of(TEXTS) as index:
        assert rows_of(merged) == rows_of(index)


@pytest.mark.parametrize("rule", ["keep", "replace"])
def test_templates_and_records_of_files_follow_the_same_rule(tmp_path, into, rule):
    paths = [tmp_path / "first", tmp_path / "second"]
    for number, path in enumerate(paths):
        with docindex.open(path) as index:
            index.boilerplate.add(f"text {number} of a template", name="t")
            index.boilerplate.add("the same text", name=f"name {number}")
            index.files.put([Tracked("/home/x", number, 1, 1, 1, 1, "binary", "", 0, "", None)])
    with pytest.raises(ValueError, match="the template 't' has another text"):
        docindex.merge(paths, into)
    docindex.merge(paths, into, on_conflict=rule)
    number = ["keep", "replace"].index(rule)
    with docindex.open(into) as merged:
        assert [(t.name, t.text) for t in merged.boilerplate] == [
            (f"name {number}", "the same text"),
            ("t", f"text {number} of a template"),
        ]
        assert [file.size for file in merged.files.under("/home")] == [number]
        assert merged.check() == []


def test_another_recipe_is_refused_before_anything_is_copied(tmp_path, into):
    paths = shards_of(tmp_path, TEXTS, 1)
    paths.append(tmp_path / "other")
    docindex.open(paths[-1], recipe=Recipe(k=20)).close()
    told = []
    with pytest.raises(RecipeMismatch, match="other has the recipe") as caught:
        docindex.merge(paths, into, progress=lambda *at: told.append(at))
    assert (caught.value.stored.k, caught.value.wanted.k) == (20, 15)
    assert told == []
    assert not into.exists()


DAMAGE = {
    "a text": "update docindex_text set data = zeroblob(9) where id >> 20 = 3",
    "a missing text": "delete from docindex_text where id >> 20 = 2",
    "a fingerprint": "update docindex_fingerprint set numbers = zeroblob(length(numbers)) where id >> 20 = 1",
    "missing fingerprints": "delete from docindex_fingerprint where id >> 20 = 1",
    "a slot": "update docindex_content set slots = zeroblob(length(slots)) where id = 3",
    "a short slot": "update docindex_content set slots = x'00' where id = 3",
    "a key": "update docindex_document set key = 'forged' where id = 2",
    "meta": "update docindex_document set meta = '7' where id = 2",
    "a missing document": "delete from docindex_document where id = 2",
    "a missing content": "delete from docindex_content where id = 2",
    "a page": None,
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_named_and_nothing_is_made(tmp_path, into, statement):
    good, bad = shards_of(tmp_path, TEXTS, 2)
    if statement is None:
        data = bad.read_bytes()
        bad.write_bytes(data[: len(data) // 2])
    else:
        with closing(sqlite3.connect(bad)) as db:
            db.execute("pragma foreign_keys = off")
            changed = db.execute(statement).rowcount
            db.commit()
            assert changed > 0
    with pytest.raises(CorruptIndex) as caught:
        docindex.merge([good, bad], into)
    assert caught.value.path == str(bad)
    assert not into.exists()
    assert files_in(tmp_path) == {good.name, bad.name}


def test_a_file_that_is_no_index_is_named(tmp_path, into):
    (path,) = shards_of(tmp_path, TEXTS, 1)
    other = tmp_path / "notes.txt"
    other.write_text("no index")
    with pytest.raises(docindex.NotAnIndex, match=r"notes\.txt"):
        docindex.merge([path, other], into)
    with pytest.raises(FileNotFoundError, match="gone"):
        docindex.merge([path, tmp_path / "gone"], into)
    assert not into.exists()


def test_an_existing_file_is_never_touched(tmp_path, into):
    (path,) = shards_of(tmp_path, TEXTS, 1)
    into.write_text("mine")
    with pytest.raises(FileExistsError, match="name a new file"):
        docindex.merge([path], into)
    assert into.read_text() == "mine"


def test_a_file_that_follows_a_table_of_an_app_is_refused(tmp_path, into):
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as app:
        app.execute("create table note (id integer primary key, body text)")
        app.execute("insert into note (body) values ('some words')")
        app.commit()
    with docindex.open(path, create=True) as index:
        index.follow("note", key="id", text="body")
        assert len(index) == 1
    with pytest.raises(ValueError, match=r"app\.db follows the table 'note' of an app"):
        docindex.merge([path], into)


def test_progress_counts_the_documents_of_all_files(tmp_path, into):
    told = []
    docindex.merge(shards_of(tmp_path, TEXTS), into, progress=lambda *at: told.append(at))
    assert told[-1] == (8, 8)
    assert {total for _, total in told} == {8}
    assert sorted(told) == told


def test_it_can_be_cancelled_and_leaves_nothing(tmp_path, into):
    paths = shards_of(tmp_path, TEXTS)
    with pytest.raises(docindex.Cancelled), docindex.cancelling() as token:
        docindex.merge(paths, into, progress=lambda *_: token.cancel())
    assert files_in(tmp_path) == {path.name for path in paths}


@pytest.mark.parametrize("paths", ["shard", b"shard", 7, [7], []])
def test_paths_must_be_a_list_of_paths(paths, into):
    with pytest.raises((TypeError, ValueError), match="path"):
        docindex.merge(paths, into)


def test_an_index_in_memory_is_refused(tmp_path):
    (path,) = shards_of(tmp_path, TEXTS, 1)
    for paths, into in (([path, ":memory:"], tmp_path / "all"), ([path], ":memory:")):
        with pytest.raises(ValueError, match="an index in memory cannot be merged"):
            docindex.merge(paths, into)


PROGRAM = """
import sys, time, docindex
from docindex import merging
from docindex.storage.rows import stored_sketches
merging._DOCUMENTS, stored_sketches._DOCUMENTS_AT_A_TIME = 10, 5
docindex.merge(sys.argv[2:], sys.argv[1], progress=lambda *at: (print(*at, flush=True), time.sleep(0.01)))
"""


@pytest.mark.parametrize("after", [1, 6, 30])
def test_a_merge_that_is_killed_leaves_no_result_and_can_be_repeated(tmp_path, into, after, monkeypatch):
    texts = {f"text {number:03}": f"words of number {number} " * 30 for number in range(200)}
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    paths = shards_of(tmp_path, texts, 4)
    small = PROGRAM.replace(
        "merging._DOC",
        "stored_sketches._DOCUMENTS_AT_A_TIME = 5\nmerging._DOC",
    )
    started = subprocess.Popen([sys.executable, "-c", small, into, *paths], stdout=subprocess.PIPE)
    with started:
        for _ in range(after):
            assert started.stdout.readline()
        started.send_signal(signal.SIGKILL)
    assert started.returncode == -signal.SIGKILL
    assert not into.exists()
    assert any(name.startswith(f".{into.name}.") for name in files_in(tmp_path))
    assert docindex.merge(paths, into) == 200
    with docindex.open(into) as merged, index_of(texts) as index:
        assert merged.check() == []
        assert rows_of(merged) == rows_of(index)


def test_a_shard_that_is_open_for_writing_elsewhere_is_copied_as_it_was(tmp_path, into):
    (path,) = shards_of(tmp_path, TEXTS, 1)
    with docindex.open(path) as writer:

        def add(done, _):
            writer.add(f"late {done}", "these words come too late")

        docindex.merge([path], into, progress=add)
        assert len(writer) > len(TEXTS)
    with docindex.open(into) as merged:
        assert sorted(merged) == sorted(TEXTS)
