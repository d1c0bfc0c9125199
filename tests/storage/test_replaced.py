"""A file that is replaced, moved or removed under an open index: `FileReplaced`, and nothing is destroyed."""

import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import docindex
from docindex.cli import main
from docindex.cli.exit_codes import exit_code_of
from docindex.folders import scan
from docindex.index.adding import Target
from tests.trials.crash.program import text_of


def filled(path, name, count):
    """Make a closed index with so many documents."""
    with docindex.open(path) as index:
        index.add_many((f"{name}{number}", text_of(number + 1000 * len(name))) for number in range(count))
    return path


def holds(path):
    """The keys in a file that must be healthy."""
    with docindex.open(path) as index:
        assert index.check() == []
        return set(index)


@pytest.fixture
def place(tmp_path):
    """A folder with an index, and a backup of another one."""
    folder = tmp_path / "folder"
    folder.mkdir()
    filled(folder / "index", "old", 20)
    filled(tmp_path / "backup", "new", 30)
    return folder / "index"


@contextmanager
def lent(index):
    with index._store.reading() as db:
        yield db


def moved_over(path):
    (path.parent.parent / "backup").rename(path)


def made_anew(path):
    path.unlink()
    shutil.copy(path.parent.parent / "backup", path)


def moved_away(path):
    path.rename(path.parent / "index.old")
    shutil.copy(path.parent.parent / "backup", path)


def removed(path):
    path.unlink()


def folder_renamed(path):
    path.parent.rename(path.parent.parent / "elsewhere")


WAYS = [moved_over, made_anew, moved_away, removed, folder_renamed]
REPLACED = [moved_over, made_anew, moved_away]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "use",
    [
        lambda index: index.add("another", "text"),
        lambda index: index.remove("old1"),
        lambda index: index.search("text"),
        list,
        docindex.Index.check,
        docindex.Index.optimize,
        docindex.Index.stats,
        lambda index: index.backup(Path(index.path).parents[1] / "copy"),
        lambda index: index.execute("select key from docindex_document"),
        lambda index: scan(index, [Path(index.path).parent]),
    ],
)
def test_every_use_of_an_index_whose_file_was_replaced_says_so(place, way, use):
    with docindex.open(place) as index:
        list(index)
        way(place)
        for _ in range(2):
            with pytest.raises(docindex.FileReplaced, match=r"close the index.* open it again") as caught:
                use(index)
            assert caught.value.path == str(place)
            assert ("was replaced by another file" in str(caught.value)) == (way in REPLACED)


@pytest.mark.parametrize("use_it", [True, False], ids=["used", "only closed"])
@pytest.mark.parametrize("readers", [0, 3])
@pytest.mark.parametrize("way", REPLACED)
def test_a_replacement_stays_as_it_is(place, way, readers, use_it):
    with docindex.open(place) as index:
        for number in range(5):  # which are in the log
            index.add(f"fresh{number}", text_of(500 + number))
        with ExitStack() as blocks:
            for _ in range(readers):  # so many connections
                blocks.enter_context(lent(index))
        way(place)
        expected = place.read_bytes()
        if use_it:
            for _ in range(2):
                with suppress(docindex.FileReplaced):
                    index.add("another", text_of(1))
                with suppress(docindex.FileReplaced):
                    list(index)
    assert place.read_bytes() == expected
    assert [path.name for path in place.parent.iterdir() if path.name.startswith("index-")] == []
    assert holds(place) == {f"new{number}" for number in range(30)}


def test_a_file_that_was_moved_away_has_all_that_was_committed(place):
    with docindex.open(place) as index:
        index.add("fresh", text_of(500))
        moved_away(place)
        with pytest.raises(docindex.FileReplaced):
            index.add("another", text_of(1))
    assert holds(place.parent / "index.old") == {"fresh", *(f"old{number}" for number in range(20))}
    assert holds(place) == {f"new{number}" for number in range(30)}


@pytest.mark.parametrize("use_it", [True, False], ids=["used", "only closed"])
def test_a_file_in_a_folder_that_was_renamed_has_all_that_was_committed(place, use_it):
    with docindex.open(place) as index:
        index.add("fresh", text_of(500))
        folder_renamed(place)
        if use_it:
            with pytest.raises(docindex.FileReplaced):
                index.add("another", text_of(1))
    moved = place.parent.parent / "elsewhere" / "index"
    assert holds(moved) == {"fresh", *(f"old{number}" for number in range(20))}


def test_an_index_reads_and_writes_one_file_though_a_link_to_it_changes(place):
    link, backup = place.parent / "link", place.parent.parent / "backup"
    link.symlink_to(place)
    with docindex.open(link) as index:
        index.add("fresh", text_of(500))
        link.unlink()
        link.symlink_to(backup)
        before = backup.read_bytes()
        for use in (lambda: index.add("another", text_of(1)), lambda: list(index)):
            with pytest.raises(docindex.FileReplaced, match="was replaced by another file"):
                use()
    assert backup.read_bytes() == before
    assert holds(place) == {"fresh", *(f"old{number}" for number in range(20))}
    assert holds(backup) == {f"new{number}" for number in range(30)}


def test_a_change_is_not_committed_if_the_file_is_replaced_during_it(place):
    def write(index):
        with index._store.writing() as db:
            db.execute("delete from docindex_document")
            moved_over(place)

    with docindex.open(place) as index:
        with pytest.raises(docindex.FileReplaced):
            write(index)
        expected = place.read_bytes()
    assert place.read_bytes() == expected
    assert holds(place) == {f"new{number}" for number in range(30)}


def test_a_question_under_way_is_answered_from_the_file_that_it_began_with(place):
    with docindex.open(place) as index, index._store.reading() as db:
        moved_over(place)
        assert db.execute("select count(*) from docindex_document").fetchall() == [(20,)]


def test_an_index_that_is_open_for_reading_only_notices_too(place):
    with docindex.open(place, readonly=True) as index:
        assert len(index) == 20
        moved_over(place)
        with pytest.raises(docindex.FileReplaced):
            len(index)
    assert holds(place) == {f"new{number}" for number in range(30)}


@pytest.mark.parametrize("ends", [["-wal"], ["-shm"], ["-wal", "-shm"]])
def test_a_process_whose_log_was_removed_keeps_what_it_commits(place, ends):
    """But another process would not see it: it makes a log of its own."""
    with docindex.open(place) as index:
        index.add("before", text_of(500))
        for end in ends:
            place.with_name(place.name + end).unlink()
        index.add("after", text_of(501))
        assert {"before", "after"} <= set(index)
    assert holds(place) == {"before", "after", *(f"old{number}" for number in range(20))}


def test_a_log_that_another_program_needs_is_not_removed(place):
    """A reader in another process still reads from the log of the file that was moved away."""
    program = (
        "import sys, docindex\n"
        "with docindex.open(sys.argv[1], readonly=True) as index, index._store.reading() as db:\n"
        "    print(len(index), flush=True); sys.stdin.read()\n"
        "    print(db.execute('select count(*) from docindex_document').fetchall()[0][0])\n"
    )
    with docindex.open(place) as index:
        index.add("fresh", text_of(500))
        with subprocess.Popen(
            [sys.executable, "-c", program, str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as reader:
            assert reader.stdout.readline() == "21\n"
            moved_away(place)
            with pytest.raises(docindex.FileReplaced):
                index.add("another", text_of(1))
            assert reader.communicate()[0] == "21\n"
    assert holds(place) == {f"new{number}" for number in range(30)}


@pytest.mark.parametrize("way", [*REPLACED, removed])
def test_a_replacement_can_be_opened_while_the_index_before_it_is_still_open(place, way):
    with docindex.open(place) as before:
        before.add("fresh", text_of(500))
        way(place)
        with docindex.open(place) as index:
            assert index.check() == []
            index.add("in the new file", text_of(1))
            with pytest.raises(docindex.FileReplaced):
                before.add("another", text_of(2))
            before.close()
            index.add("later", text_of(3))
    new = set() if way is removed else {f"new{number}" for number in range(30)}
    assert holds(place) == {"in the new file", "later"} | new


def test_a_replacement_is_not_opened_while_a_question_reads_the_log_of_the_file_before_it(place):
    with docindex.open(place) as before:
        before.add("fresh", text_of(500))
        with before._store.reading() as db:
            db.execute("select count(*) from docindex_document").fetchall()
            moved_over(place)
            with pytest.raises(docindex.FileReplaced, match="close that index"):
                docindex.open(place)
        assert holds(place) == {f"new{number}" for number in range(30)}


def test_the_command_says_that_the_file_was_replaced(place, capsys, monkeypatch, tmp_path):
    (tmp_path / "texts").mkdir()
    for number in range(3):
        (tmp_path / "texts" / f"{number}.txt").write_text(text_of(number))
    commit = Target.commit

    def replace_first(target, group):
        moved_over(place)
        commit(target, group)

    monkeypatch.setattr(Target, "commit", replace_first)
    code = main(["scan", "--index", str(place), str(tmp_path / "texts")])
    assert code == 17
    said = capsys.readouterr().err
    assert "was replaced by another file" in said
    assert "Traceback" not in said


def test_the_error_has_an_exit_code_of_its_own():
    assert exit_code_of(docindex.FileReplaced("it was replaced", "index")) == 17
