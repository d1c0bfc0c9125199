"""Open all kinds of files; store documents and read them back; refuse wrong arguments."""

import contextlib
import json
import os
import pathlib
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time

import apsw
import pytest

import docindex
from docindex import Recipe
from docindex.reading import slicing
from docindex.storage.migrations import APPLICATION_ID
from docindex.storage.statements import row_sum
from tests.storage.texts import noise, prose

SMALL = Recipe(k=5, window=4)


@pytest.fixture
def path(tmp_path):
    """A path without a file."""
    return tmp_path / "index"


@pytest.fixture
def made(path):
    """The path of an index with two documents."""
    with docindex.open(path) as index:
        index.add_many([("ada", prose(random.Random(1), 300), {"n": 1}), ("bob", "a few words")], workers=1)
    return path


def change(path, statement, *values):
    """Change a file as damage or another program does."""
    db = apsw.Connection(str(path))
    db.execute(statement, values)
    db.close()


def names_in(folder):
    """The names in a folder."""
    return sorted(entry.name for entry in folder.iterdir())


def run_python(program, *arguments, timeout=30, **how):
    """Run a program in another process; an error if it takes too long."""
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **how,
    )


# --- files that are indexes, or become indexes


def test_a_new_file_is_made_and_opens_again_with_its_recipe(path):
    with docindex.open(path, recipe=SMALL) as index:
        assert (index.recipe, index.path, len(index)) == (SMALL, str(path), 0)
        assert index.check() == []
    for again in (docindex.open(path), docindex.open(str(path), recipe=SMALL, readonly=True)):
        with again as index:
            assert index.recipe == SMALL


def test_the_file_has_our_application_id_and_needs_no_function_of_ours(made):
    db = apsw.Connection(str(made), flags=apsw.SQLITE_OPEN_READONLY)
    assert db.pragma("application_id") == APPLICATION_ID == int.from_bytes(b"doci")
    assert db.execute("select schema from docindex_recipe").fetchall() == [(1,)]
    assert db.pragma("journal_mode") == "wal"
    assert db.pragma("integrity_check") == "ok"
    kinds = {kind for (kind,) in db.execute("select distinct type from sqlite_schema")}
    assert kinds == {"table", "index"}
    loose = db.execute("select name from pragma_table_list where schema = 'main' and not strict").fetchall()
    assert {name for (name,) in loose} <= {"sqlite_schema", "sqlite_sequence"}
    db.close()


def test_a_closed_index_leaves_no_other_file_in_its_folder(made):
    assert names_in(made.parent) == [made.name]


def test_an_empty_file_becomes_an_index(path):
    path.touch()
    with docindex.open(path) as index:
        index.add("a", "text")
    with docindex.open(path) as index:
        assert list(index) == ["a"]


def test_without_a_path_the_users_own_index_is_opened(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with docindex.open() as index:
        index.add("a", "text")
    with docindex.open(tmp_path / "data" / "docindex" / "index.docindex") as index:
        assert list(index) == ["a"]


def test_an_index_in_memory_makes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with docindex.open(":memory:") as index, docindex.open(":memory:") as other:
        index.add("a", "text")
        assert (list(index), list(other)) == (["a"], [])
        assert index.check() == []
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("name", ["100% 漢字.docindex", "a?b#c", "file:x", "with'quote", "-dash"])
def test_an_index_can_have_any_file_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with docindex.open(name) as index:
        index.add("a", "text")
    assert names_in(tmp_path) == [name]
    with docindex.open(name, readonly=True) as index:
        assert index.text("a") == "text"


def test_an_app_may_keep_its_own_tables_in_the_file(made):
    change(made, "create table note (document integer references docindex_document (id), says text)")
    change(made, "insert into note select id, 'mine' from docindex_document")
    with docindex.open(made) as index:
        index.add("more", "text")
        index.optimize()
        assert index.check() == []
    db = apsw.Connection(str(made))
    assert (
        db.execute("select count(*) from note join docindex_document as d on d.id = note.document").get == 2
    )
    db.close()


# --- files that are not indexes


def test_opening_a_missing_file_for_reading_does_not_make_it(path):
    with pytest.raises(FileNotFoundError, match=str(path)):
        docindex.open(path, readonly=True)
    assert not path.exists()


def test_a_missing_folder_is_an_error_that_says_so(tmp_path):
    with pytest.raises(docindex.UnreadableFile, match="folder"):
        docindex.open(tmp_path / "none" / "index")


def test_a_directory_is_not_an_index(tmp_path):
    for readonly in (True, False):
        with pytest.raises(docindex.NotAnIndex, match=str(tmp_path)):
            docindex.open(tmp_path, readonly=readonly)
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("readonly", [True, False])
def test_a_fifo_and_a_device_are_refused_at_once(readonly, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    program = (
        "import docindex, sys\n"
        "try: docindex.open(sys.argv[1], readonly=bool(int(sys.argv[2])))\n"
        "except docindex.NotAnIndex as error: print(error)"
    )
    for name in (fifo, "/dev/null"):
        done = run_python(program, name, int(readonly), timeout=10)
        assert str(name) in done.stdout, done.stderr
        assert done.stderr == ""


@pytest.mark.parametrize("content", [b"no database", b"\0" * 20_000, b"SQLite format 3\0" + b"x" * 5000])
@pytest.mark.parametrize("readonly", [True, False])
def test_a_file_of_another_kind_is_refused_and_left_as_it_was(content, readonly, path):
    path.write_bytes(content)
    with pytest.raises(docindex.NotAnIndex, match=str(path)):
        docindex.open(path, readonly=readonly)
    assert path.read_bytes() == content
    assert names_in(path.parent) == [path.name]


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize(
    "statement",
    [
        "create table theirs (a)",
        "create table docindex_document (id integer primary key, key text)",  # the name of one of our tables
        "pragma application_id = 1234; create table theirs (a)",
        "pragma application_id = 1234",  # theirs, but still empty
    ],
)
@pytest.mark.parametrize("readonly", [True, False])
def test_an_sqlite_file_of_another_application_is_left_as_it_was(statement, mode, readonly, path):
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", mode)
    db.execute(statement).fetchall()
    db.close()
    before = path.read_bytes()
    with pytest.raises(docindex.NotAnIndex, match=str(path)):
        docindex.open(path, readonly=readonly)
    assert path.read_bytes() == before
    # A reader of a file in write-ahead mode leaves SQLite's two helper files, and cannot remove them.
    left = {"index", "index-wal", "index-shm"} if readonly and mode == "wal" else {"index"}
    assert set(names_in(path.parent)) <= left


def test_an_empty_file_is_not_an_index_for_reading(path):
    path.touch()
    with pytest.raises(
        docindex.NotAnIndex, match="is empty, and becomes a docindex index when a document is added"
    ):
        docindex.open(path, readonly=True)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("readonly", [True, False])
def test_a_file_from_the_future_is_refused_with_both_schema_numbers(readonly, made):
    change(made, "update docindex_recipe set schema = 7")
    before = made.read_bytes()
    with pytest.raises(docindex.SchemaTooNew, match=r"schema 7.* knows schema 1"):
        docindex.open(made, readonly=readonly)
    assert made.read_bytes() == before


def test_a_recipe_that_differs_from_the_files_is_refused_with_both_values(made):
    with pytest.raises(docindex.RecipeMismatch, match=f"k={Recipe().k}, not k=9") as caught:
        docindex.open(made, recipe=Recipe(k=9))
    assert (caught.value.stored, caught.value.wanted) == (Recipe(), Recipe(k=9))
    assert "window" not in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("delete from docindex_recipe", docindex.CorruptIndex),
        ("update docindex_recipe set json = replace(json, '\"k\":', '\"k\":1')", docindex.CorruptIndex),
        ("update docindex_recipe set sum = sum + 1", docindex.CorruptIndex),
        ("drop table docindex_recipe", docindex.CorruptIndex),
        ("update docindex_recipe set json = cast(x'ff' as text)", docindex.CorruptIndex),
    ],
)
@pytest.mark.parametrize("readonly", [True, False])
def test_a_damaged_recipe_is_an_error_that_names_the_file(statement, error, readonly, made):
    change(made, statement)
    with pytest.raises(error, match=str(made)):
        docindex.open(made, readonly=readonly)


@pytest.mark.parametrize("readonly", [False, True])
def test_an_impossible_format_in_the_header_is_damage(readonly, made):
    with made.open("r+b") as file:
        file.seek(47)
        file.write(b"\x09")
    with pytest.raises(docindex.CorruptIndex, match="unsupported file format"):
        docindex.open(made, readonly=readonly)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"flavour":"new"}', '{"k":0}', '{"k":"25"}', '{"features":[1]}']
)
def test_an_undamaged_recipe_that_cannot_be_read_is_a_recipe_error(text, made):
    change(made, "update docindex_recipe set json = ?, sum = ?", text, row_sum(1, 1, text))
    with pytest.raises(docindex.RecipeError):
        docindex.open(made)


@pytest.mark.parametrize(("name", "value"), [("durability", "off"), ("timeout_s", -1)])
def test_a_wrong_setting_is_a_value_error_and_makes_no_file(name, value, path):
    with pytest.raises(ValueError, match=name):
        docindex.open(path, **{name: value})
    assert not path.exists()


# --- read-only


def test_an_index_that_is_open_for_reading_only_refuses_every_change(made):
    before = made.read_bytes()
    with docindex.open(made, readonly=True) as index:
        for refused in (
            lambda: index.add("a", "text"),
            lambda: index.remove("ada"),
            lambda: index.rename("ada", "eve"),
            index.optimize,
            lambda: index.add_many([("a", "text")]),
        ):
            with pytest.raises(docindex.ReadOnly, match="readonly"):
                refused()
        assert list(index) == ["ada", "bob"]
        assert index.check() == []
    assert made.read_bytes() == before


def test_an_index_in_a_folder_without_write_permission_can_be_read():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/index"
        with docindex.open(path) as index:
            index.add("a", "text")
        pathlib.Path(path).chmod(0o444)
        pathlib.Path(folder).chmod(0o555)
        me = os.geteuid()
        try:
            if me == 0:
                os.seteuid(65_534)  # root may write everywhere
            with docindex.open(path, readonly=True) as index:
                assert (list(index), index.text("a"), index.check()) == (["a"], "text", [])
                assert index.stats().documents == 1
            assert names_in(pathlib.Path(folder)) == ["index"]
            with pytest.raises(docindex.ReadOnly, match="permissions"):
                docindex.open(path).add("b", "text")
        finally:
            os.seteuid(me)
            pathlib.Path(folder).chmod(0o755)


# --- several processes and threads


_OPENER = """
import docindex, sys
for line in sys.stdin:
    path, name = line.split()
    try:
        with docindex.open(path, recipe=docindex.Recipe(k=11), durability="normal") as index:
            print(index.recipe.k, "opened", flush=True)
            index.add(name, "the text of " + name)
    except Exception as error:
        print(repr(error), flush=True)
"""


def test_eight_processes_can_open_a_new_file_at_the_same_moment(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _OPENER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(8)
    ]
    try:
        said = []
        for turn in range(10):
            for number, process in enumerate(processes):
                process.stdin.write(f"{tmp_path}/{turn} {number}\n")
            for process in processes:
                process.stdin.flush()
            said += [process.stdout.readline().strip() for process in processes]
    finally:
        for process in processes:
            process.stdin.close()
            process.wait(30)
            process.stdout.close()
    assert set(said) == {"11 opened"}
    for turn in range(10):
        with docindex.open(tmp_path / str(turn)) as index:
            assert list(index) == list("01234567")
            assert index.check() == []


def test_opening_a_new_file_works_if_another_makes_it_at_any_moment(tmp_path):
    """Another opens the file before the first statement, before the second, and so on: both get one index."""
    step, steps = 0, 1
    while step < steps:
        step += 1
        path, seen = tmp_path / str(step), []

        def trace(_, sql, __, path=path, seen=seen, step=step):
            seen.append(sql)
            if len(seen) == step:
                # Once we hold the lock, the other cannot make the index.
                with contextlib.suppress(docindex.Busy):
                    docindex.open(path, recipe=SMALL, timeout_s=0).close()
            return True

        def watch(connection, trace=trace, seen=seen):
            if not seen:  # trace our own connection, not the other's
                connection.exec_trace = trace

        apsw.connection_hooks.append(watch)
        try:
            with docindex.open(path, recipe=SMALL, timeout_s=2) as index:
                steps = len(seen)
                apsw.connection_hooks.remove(watch)
                assert index.recipe == SMALL
                assert index.check() == []
        finally:
            if watch in apsw.connection_hooks:
                apsw.connection_hooks.remove(watch)
    assert steps > 10


def test_a_writer_gets_busy_after_the_time_out_with_the_name_of_the_other_writer(made):
    other = apsw.Connection(str(made))
    with docindex.open(made, timeout_s=0.2) as index:
        other.execute("begin immediate")
        began = time.monotonic()
        with pytest.raises(docindex.Busy, match=rf"process {os.getpid()} .*0\.2 s; try again later"):
            index.add("a", "text")
        assert 0.15 < time.monotonic() - began < 3
        assert list(index) == ["ada", "bob"]  # readers never wait
        assert index.check() == []
        other.execute("rollback")
        index.add("a", "text")
    other.close()


# --- a closed index


def test_a_closed_index_says_so(path):
    index = docindex.open(path)
    index.add("a", "text")
    index.close()
    index.close()
    for use in (
        lambda: index["a"],
        lambda: "a" in index,
        lambda: len(index),
        lambda: list(index),
        lambda: index.text("a"),
        lambda: index.meta("a"),
        lambda: index.add("a", "text"),
        lambda: index.remove("a"),
        lambda: index.rename("a", "b"),
        index.check,
        index.optimize,
        index.stats,
        lambda: index.backup(f"{path}2"),
        lambda: list(index.export()),
    ):
        with pytest.raises(ValueError, match=f"{path} is closed"):
            use()
    assert names_in(path.parent) == [path.name]


# --- keys, texts and meta


@pytest.mark.parametrize(
    ("key", "error"),
    [(b"bytes", TypeError), (None, TypeError), (7, TypeError), ("a\0b", ValueError), ("\udcff", ValueError)],
)
def test_a_key_that_is_not_text_or_cannot_be_stored_is_refused(key, error, made):
    with docindex.open(made) as index:
        with pytest.raises(error, match="a key must be"):
            index.add(key, "text")
        with pytest.raises(error, match="a key must be"):
            index.rename("ada", key)
        with pytest.raises(KeyError):
            index[key]
        with pytest.raises(KeyError):
            index.text(key)
        with pytest.raises(KeyError):
            index.remove(key)
        with pytest.raises(KeyError):
            index.rename(key, "new")
        assert key not in index
        assert list(index) == ["ada", "bob"]


@pytest.mark.parametrize(
    "key", ["", " ", "'; drop table docindex_document --", "a\nb", "漢字", "x" * 100_000, "\uffff", "%"]
)
def test_any_other_text_is_a_key(key, path):
    with docindex.open(path) as index:
        index.add_many([(key, "one"), ("another", "two")])
        assert index.text(key) == "one"
        assert index[key].key == key
        assert key in index
        assert list(index) == sorted([key, "another"])
        assert index.check() == []


@pytest.mark.parametrize(
    ("meta", "error"),
    [(float("nan"), ValueError), ({1, 2}, TypeError), (b"", TypeError), ({(1,): 2}, TypeError)],
)
def test_meta_that_json_cannot_express_is_refused_with_the_key(meta, error, made):
    with docindex.open(made) as index:
        with pytest.raises(error, match=r"'eve'.* JSON"):
            index.add("eve", "text", meta=meta)
        assert len(index) == 2


def test_meta_is_read_back_unchanged(path):
    metas = [None, 0, False, "", [], {}, {"ü": [1.5, None, "漢\0"]}, "x" * 100_000, 2**70]
    with docindex.open(path) as index:
        index.add_many([(str(n), "text", meta) for n, meta in enumerate(metas)])
        assert [index.meta(str(n)) for n in range(len(metas))] == metas
        assert [index[str(n)].meta for n in range(len(metas))] == metas
        assert index.check() == []


@pytest.mark.parametrize("text", [b"bytes", None, 5, ["a"]])
def test_a_text_that_is_not_str_is_refused(text, made):
    with docindex.open(made) as index:
        with pytest.raises(TypeError, match=r"the text of 'eve' must be str, not \w+(; decode them first)?$"):
            index.add("eve", text)
        assert len(index) == 2


@pytest.mark.parametrize(
    "text",
    ["", "\0", "\ud800", "a" * 70_000, "\r\n\r\n", "漢字" * 9000, noise(random.Random(1), 5000), "\ufeffx"],
)
def test_a_text_is_read_back_unchanged(text, path):
    with docindex.open(path) as index:
        index.add("a", text)
        assert index.text("a") == text
        assert index["a"].characters == len(text)
        assert index.check() == []


# --- what a change writes, and what stays the same


def test_adding_a_document_again_changes_nothing_in_the_file(made):
    with docindex.open(made) as index:
        watcher = apsw.Connection(str(made))
        before, document = watcher.pragma("data_version"), index["ada"]
        index.add("ada", index.text("ada"), meta={"n": 1})
        index.add_many([(key, index.text(key), index.meta(key)) for key in index], workers=1)
        assert watcher.pragma("data_version") == before
        assert index["ada"] == document
        watcher.close()


def test_a_copy_of_a_stored_text_costs_one_row_and_one_tally(made):
    with docindex.open(made) as index:
        changes = index._store._writer.total_changes
        before, stats = changes(), index.stats()
        index.add("copy", index.text("ada"))
        assert changes() - before == 2
        assert index["copy"].content == index["ada"].content
        after = index.stats()
        assert (after.documents, after.contents, after.segments) == (3, stats.contents, stats.segments)


def test_new_meta_costs_one_row_and_one_tally_and_keeps_the_time(made):
    with docindex.open(made) as index:
        before, document = index._store._writer.total_changes(), index["ada"]
        index.add("ada", index.text("ada"), meta="another")
        assert index._store._writer.total_changes() - before == 2
        assert index["ada"].meta == "another"
        assert index["ada"].added_at == document.added_at


def test_a_documents_id_stays_with_its_key_and_its_content_with_its_text(made):
    with docindex.open(made) as index:
        before = index["ada"]
        index.add("ada", "another text")
        assert index["ada"].id == before.id
        assert index["ada"].content > before.content
        index.rename("ada", "eve")
        assert index["eve"].id == before.id
        index.add("ada", "another text")
        assert index["ada"].id > index["bob"].id
        assert index["ada"].content == index["eve"].content


def test_ids_of_removed_documents_and_contents_are_never_used_again(path):
    seen = set()
    for turn in range(4):
        with docindex.open(path) as index:
            index.add("a", f"text of turn {turn}")
            document = index["a"]
            assert (document.id, document.content) not in seen
            assert all(document.id > number and document.content > content for number, content in seen)
            seen.add((document.id, document.content))
            index.remove("a")
            if turn % 2:
                index.optimize()


def test_a_text_that_is_not_kept_is_none_until_it_is_stored(path):
    with docindex.open(path) as index:
        index.add("a", "text", store_text=False)
        assert index.text("a") is None
        assert index.check() == []
        index.add("b", "text")
        assert (index.text("a"), index.text("b")) == ("text", "text")


def test_if_a_key_is_given_twice_its_last_text_is_stored(path):
    with docindex.open(path) as index:
        assert index.add_many([("a", "one"), ("b", "two"), ("a", "three", 3)]) == 3
        assert (index.text("a"), index.meta("a"), len(index)) == ("three", 3, 2)
        assert index.stats().contents == 2
        assert index.check() == []


def test_keys_are_in_order_and_documents_can_be_removed_during_an_iteration(path):
    keys = [f"{number * 7919 % 2500:x}" for number in range(2500)]
    with docindex.open(path, durability="normal") as index:
        index.add_many([(key, "same text") for key in keys], workers=1)
        assert list(index) == sorted(keys)
        assert len(index) == 2500
        # Changes during an iteration do no harm.
        seen = []
        for key in index:
            seen.append(key)
            index.remove(key)
        assert seen == sorted(keys)
        assert len(index) == 0


def test_an_unknown_key_is_a_key_error(made):
    with docindex.open(made) as index:
        for use in (
            lambda: index.remove("eve"),
            lambda: index.rename("eve", "x"),
            lambda: index["eve"],
            lambda: index.text("eve"),
            lambda: index.meta("eve"),
        ):
            with pytest.raises(KeyError, match="eve"):
                use()
        with pytest.raises(ValueError, match="'bob' exists already"):
            index.rename("ada", "bob")
        index.rename("ada", "ada")
        assert list(index) == ["ada", "bob"]


# --- many documents


def test_progress_is_called_after_each_batch_and_at_last_with_the_totals(path, monkeypatch):
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 1000)
    rng, told = random.Random(1), []
    items = [(str(number), prose(rng, 60)) for number in range(30)]
    with docindex.open(path) as index:
        assert index.add_many(iter(items), progress=lambda *numbers: told.append(numbers)) == 30
    assert len(told) > 5
    assert told == sorted(told)
    assert told[-1] == (30, None)
    with docindex.open(path) as index:
        index.add_many(items, progress=lambda *numbers: told.append(numbers))
    assert told[-1] == (30, 30)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_the_caller_keeps_earlier_commits(workers, path, monkeypatch):
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 1000)
    monkeypatch.setattr("docindex.index.adding._COMMIT", 5000)
    monkeypatch.setattr("docindex.index.adding._AHEAD", 3000)
    rng = random.Random(1)

    def items():
        for number in range(600):
            yield f"{number:03}", prose(rng, 60)
        raise OSError("the disk is gone")

    with docindex.open(path) as index:
        with pytest.raises(OSError, match="the disk is gone"):
            index.add_many(items(), workers=workers)
        kept = list(index)
        assert 100 < len(kept) < 600
        assert kept == [f"{number:03}" for number in range(len(kept))]
        assert index.check() == []
        with pytest.raises(ZeroDivisionError):
            index.add_many([("new", "text")], progress=lambda *_: 1 / 0)
        assert "new" not in index


@pytest.mark.parametrize("workers", [0, -1])
def test_fewer_than_one_worker_is_refused(workers, path):
    with docindex.open(path) as index, pytest.raises(ValueError, match="workers"):
        index.add_many([("a", "text")], workers=workers)


def test_cancel_stops_add_many_with_workers_and_keeps_earlier_commits(path, monkeypatch):
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 1000)
    monkeypatch.setattr("docindex.index.adding._COMMIT", 5000)
    monkeypatch.setattr("docindex.index.adding._AHEAD", 3000)
    rng = random.Random(1)
    with docindex.open(path) as index:

        def items():
            for number in range(100):
                if number == 50:
                    index.cancel()
                yield f"{number:03}", prose(rng, 60)

        with pytest.raises(docindex.Cancelled):
            index.add_many(items())
        assert 30 < len(index) <= 50
        assert index.check() == []
        index.add("after", "text")  # after `Cancelled`, work goes on


# --- the file as a whole


def test_exported_documents_can_be_loaded(made, tmp_path):
    with docindex.open(made) as index, docindex.open(tmp_path / "other") as other:
        index.add("漢\n", "no surrogate \ud800, NUL \0, Größe", meta=[None])
        lines = list(index.export())
        assert all("\n" not in line for line in lines)
        assert [json.loads(line)["key"] for line in lines] == list(index)
        assert other.load(lines) == 3
        assert list(other.export()) == lines
        assert other.check() == []


@pytest.mark.parametrize("line", ["{", "[]", "5", '{"key": "a"}', '{"text": "a"}', '"key"'])
def test_a_line_that_export_did_not_write_is_refused(line, made):
    with docindex.open(made) as index:
        with pytest.raises(ValueError, match="not a line that export wrote"):
            index.load([line])
        assert len(index) == 2


def test_a_text_that_was_not_kept_cannot_be_loaded(path, tmp_path):
    with docindex.open(path) as index, docindex.open(tmp_path / "other") as other:
        index.add("a", "text", store_text=False)
        with pytest.raises(ValueError, match="'a' was not kept"):
            other.load(index.export())


def test_a_backup_during_writes_holds_the_state_of_one_commit(path, tmp_path):
    rng, told, stop = random.Random(1), queue.SimpleQueue(), threading.Event()
    with docindex.open(path, durability="normal") as index:
        index.add_many([(str(n), f"version 0 {prose(rng, 2000)}", 0) for n in range(20)], workers=1)

        def write():
            version = 0
            while not stop.is_set():
                version += 1
                index.add_many(
                    [(str(n), f"version {version} {prose(rng, 50)}", version) for n in range(20)], workers=1
                )
                told.put(version)

        writer = threading.Thread(target=write)
        writer.start()
        for turn in range(5):
            told.get(timeout=10)
            index.backup(tmp_path / f"copy{turn}")
        stop.set()
        writer.join()
    for turn in range(5):
        with docindex.open(tmp_path / f"copy{turn}") as copy:
            assert copy.check() == []
            assert len({copy.meta(key) for key in copy}) == 1
            assert len({copy.text(key).split()[1] for key in copy}) == 1
    assert names_in(tmp_path) == ["copy0", "copy1", "copy2", "copy3", "copy4", "index"]


def test_a_backup_never_overwrites_a_file(made, tmp_path):
    with docindex.open(made) as index:
        (tmp_path / "there").write_text("mine")
        with pytest.raises(FileExistsError, match="there"):
            index.backup(tmp_path / "there")
        assert (tmp_path / "there").read_text() == "mine"
        with pytest.raises(docindex.UnreadableFile, match="folder"):
            index.backup(tmp_path / "none" / "copy")
        (tmp_path / "copy.part").write_text("mine")
        index.backup(tmp_path / "copy")
        assert (tmp_path / "copy.part").read_text() == "mine"


@pytest.mark.parametrize("readonly", [True, False])
def test_a_backup_can_be_made_of_any_index(readonly, made, tmp_path):
    with docindex.open(made, readonly=readonly) as index:
        index.backup(tmp_path / "copy")
    with docindex.open(":memory:") as index:
        index.add("a", "text")
        index.backup(tmp_path / "copy of memory")
    with docindex.open(tmp_path / "copy") as copy, docindex.open(tmp_path / "copy of memory") as other:
        assert (list(copy), list(other)) == (["ada", "bob"], ["a"])
        assert copy.check() == other.check() == []
        copy.add("new", "text")


def test_stats_add_up(made):
    with docindex.open(made) as index:
        index.add("copy", index.text("ada"))
        stats, documents = index.stats(), [index[key] for key in ("ada", "bob")]
        assert (stats.documents, stats.contents, stats.dead) == (3, 2, 0)
        for name in ("characters", "symbols", "fingerprints"):
            assert getattr(stats, name) == sum(getattr(document, name) for document in documents)
        assert 0 < stats.postings <= stats.fingerprints
        assert stats.segments == 1
        places = sum(max(0, document.symbols - index.recipe.k + 1) for document in documents)
        assert stats.density == stats.fingerprints / places
        assert stats.expected_density == pytest.approx(2 / (Recipe().window + 1))
        assert sum(stats.bytes.values()) == stats.file_bytes
        assert stats.bytes["page map"] == 8192
        index.remove("ada")
        index.remove("copy")
        index.add("a third", prose(random.Random(2), 90))
        assert index.stats().dead == 1
    assert pathlib.Path(made).stat().st_size % 8192 == 0


def test_optimize_returns_unused_space_at_once(made):
    with docindex.open(made, durability="normal") as index:
        index.add_many([(f"{n}", prose(random.Random(n), 3000)) for n in range(20)], workers=1)
        for n in range(20):
            index.remove(f"{n}")
        index.optimize()
        assert pathlib.Path(f"{made}-wal").stat().st_size == 0
        assert (
            made.stat().st_size == index.stats().file_bytes < 270_000
        )  # nearly all of it are empty tables and indexes
        assert index.check() == []
