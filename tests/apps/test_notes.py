"""The notes app keeps its promises: it is driven as a person does, without a screen."""

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

import docindex
from tests.apps.packing import ROOT, frozen

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
pytest.importorskip("PySide6.QtWidgets", reason="PySide6 is not installed; the extra 'test' has it")

from PySide6.QtTest import QTest

from tests.apps.notes import writer
from tests.apps.notes.driving import do_until, export, notes, opened, titles, wait_until
from tests.apps.notes.notebook import BATCH

OPENING = "it is a truth universally acknowledged that a single man in possession of a good fortune"


@pytest.fixture
def open_app(tmp_path):
    windows = []

    def start():
        windows.append(opened(tmp_path / "notes.db"))
        return windows[-1]

    yield start
    for window in windows:
        window.close()


def stored(folder):
    """The notes and the documents in the file, by the keys of the documents; the file has no damage."""
    db = apsw.Connection(str(folder / "notes.db"))
    found = {f"note/{note}": body for note, body in db.execute("select id, body from note")}
    db.close()
    with docindex.open(folder / "notes.db") as index:
        assert index.check() == []
        assert {key: index.text(key) for key in index} == found
    return found


def type_note(window, text):
    """Write a new note, and wait until it is saved."""
    window.show_note(None)
    QTest.keyClicks(window.editor, text)
    assert do_until(window.save, window.writer.saved)


def test_similar_notes_are_suggested_while_somebody_types_and_an_import_runs(open_app, tmp_path):
    window = open_app()
    type_note(window, OPENING)
    type_note(window, "a note about something else, which nobody wants to see here")
    path = export(tmp_path / "export.jsonl", 20 * BATCH)
    ended, failed = [], []
    window.writer.import_ended.connect(lambda: ended.append(True))
    window.suggester.failed.connect(failed.append)
    assert do_until(lambda: window.writer.bring_in(path), window.writer.imported)
    window.show_note(None)
    QTest.keyClicks(window.editor, "They say: " + OPENING)
    assert wait_until(lambda: titles(window.similar) == [OPENING[:60]])
    assert wait_until(lambda: ended)
    assert failed == []
    window.save()
    window.close()
    assert len(stored(tmp_path)) == 20 * BATCH + 3


def test_a_note_is_not_suggested_to_itself_and_a_removed_note_to_nobody(open_app, tmp_path):
    window = open_app()
    type_note(window, OPENING)
    QTest.keyClicks(window.editor, " and")
    assert do_until(window.save, window.writer.saved)
    type_note(window, "They say: " + OPENING)
    assert wait_until(lambda: titles(window.similar) == [OPENING[:60]])
    window.remove_note()
    type_note(window, OPENING + " again")
    assert wait_until(lambda: titles(window.similar) == [OPENING[:60]])
    assert wait_until(lambda: len(titles(window.notes)) == 2)
    window.close()
    assert sorted(stored(tmp_path).values()) == [OPENING + " again", OPENING + " and"]


def test_a_window_closed_in_the_middle_of_an_import_loses_nothing(open_app, tmp_path):
    window = open_app()
    path = export(tmp_path / "export.jsonl", 40 * BATCH)
    imported = []
    window.writer.imported.connect(imported.append)
    assert do_until(lambda: window.writer.bring_in(path), window.writer.imported)
    QTest.keyClicks(window.editor, OPENING)  # and nobody saves it
    before = threading.active_count()
    window.close()
    assert threading.active_count() == before - 2
    kept = stored(tmp_path)
    assert OPENING in kept.values()
    assert imported[-1] <= len(kept) - 1 < 40 * BATCH
    assert (len(kept) - 1) % BATCH == 0

    window = open_app()
    assert do_until(lambda: window.writer.bring_in(path), window.writer.import_ended)
    window.close()
    assert sorted(stored(tmp_path).values()) == sorted([OPENING, *notes(40 * BATCH)])


def test_a_change_is_undone_by_rollback_and_kept_by_commit(open_app, tmp_path):
    window = open_app()
    for text in (OPENING, OPENING.replace("man", "bee"), "a note about something else"):
        type_note(window, text)
    before = stored(tmp_path)
    for button, after in (
        (window.undo, before),
        (window.keep, {key: body.replace("good fortune", "cat") for key, body in before.items()}),
    ):
        assert do_until(lambda: window.writer.replace("good fortune", "cat"), window.writer.replaced)
        assert window.statusBar().currentMessage() == "Replaced in 2 notes"
        assert stored(tmp_path) == before
        assert do_until(button.click, window.writer.decided)
        assert stored(tmp_path) == after


@pytest.mark.parametrize("closed", [True, False])
def test_a_change_that_nobody_confirms_is_undone(open_app, tmp_path, monkeypatch, closed):
    monkeypatch.setattr(writer, "DECIDE_S", 0.1)
    window = open_app()
    type_note(window, OPENING)
    before = stored(tmp_path)
    assert do_until(lambda: window.writer.replace("good", "bad"), window.writer.replaced)
    if closed:
        window.close()
    else:
        assert wait_until(lambda: window.statusBar().currentMessage() == "The change is undone.")
    assert stored(tmp_path) == before


SECOND = """
import sys
from pathlib import Path
from PySide6.QtTest import QTest
from tests.apps.notes.driving import do_until, opened, titles, wait_until
file, source, text = sys.argv[1:]
window = opened(file)
QTest.keyClicks(window.editor, text)
assert do_until(window.save, window.writer.saved)
print("saved", flush=True)
assert do_until(lambda: window.writer.bring_in(source), window.writer.import_ended)
window.close()
"""


def test_two_copies_of_the_app_use_one_file_at_once(open_app, tmp_path):
    window = open_app()
    first = export(tmp_path / "first.jsonl", 10 * BATCH)
    second = export(tmp_path / "second.jsonl", 10 * BATCH, seed=2)
    failed, ended = [], []
    window.writer.failed.connect(failed.append)
    window.writer.import_ended.connect(lambda: ended.append(True))
    other = subprocess.Popen(
        [sys.executable, "-c", SECOND, tmp_path / "notes.db", second, OPENING],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        text=True,
    )
    with other:
        try:
            assert other.stdout.readline() == "saved\n"
            window.writer.bring_in(first)
            QTest.keyClicks(window.editor, "They say: " + OPENING)
            assert wait_until(lambda: titles(window.similar) == [OPENING[:60]])
            assert wait_until(lambda: ended and other.poll() is not None)
        finally:
            other.kill()  # does nothing after its end
    assert (other.returncode, failed) == (0, [])
    window.close()
    expected = [OPENING, "They say: " + OPENING, *notes(10 * BATCH), *notes(10 * BATCH, seed=2)]
    assert sorted(stored(tmp_path).values()) == sorted(expected)


def test_notes_that_an_older_app_wrote_without_an_index_are_suggested(open_app, tmp_path):
    db = apsw.Connection(str(tmp_path / "notes.db"))
    db.execute("""
        create table note (id integer primary key, body text not null, source text unique);
        pragma user_version = 1;
    """).fetchall()
    db.execute("insert into note (body) values (?)", (OPENING,)).fetchall()
    db.close()
    for _ in range(2):
        window = open_app()
        QTest.keyClicks(window.editor, "They say: " + OPENING)
        assert wait_until(lambda window=window: OPENING[:60] in titles(window.similar))
        window.close()
    assert sorted(stored(tmp_path).values()) == ["They say: " + OPENING] * 2 + [OPENING]


def test_a_note_that_another_copy_removes_while_somebody_edits_it_is_not_lost(open_app, tmp_path):
    window, other = open_app(), open_app()
    type_note(window, OPENING)
    assert wait_until(lambda: titles(other.notes) == [OPENING[:60]])
    other.show_note(window.draft.note)
    other.remove_note()
    assert wait_until(lambda: titles(other.notes) == [])
    QTest.keyClicks(window.editor, " and more")
    assert do_until(window.save, window.writer.saved)
    assert wait_until(lambda: len(titles(other.notes)) == 1)
    window.close()
    other.close()
    assert sorted(stored(tmp_path).values())[0].startswith(OPENING)


@pytest.mark.skipif(sys.platform != "linux", reason="the system lists the open files on Linux only")
def test_closed_windows_leave_no_descriptor_open(tmp_path):
    def open_here():
        links = (file.readlink() for file in Path("/proc/self/fd").iterdir() if file.is_symlink())
        return sum(str(link).startswith(str(tmp_path)) for link in links)

    window = opened(tmp_path / "notes.db")
    type_note(window, OPENING)
    most = []
    for _ in range(3):
        with contextlib.closing(opened(tmp_path / "notes.db")) as other:
            type_note(other, "They say: " + OPENING)
            most.append(open_here())
    assert len(set(most)) == 1
    window.close()
    assert open_here() == 0


def test_the_frozen_app_starts_and_suggests(tmp_path):
    pytest.importorskip("PyInstaller", reason="PyInstaller is not installed; the extra 'test' has it")
    app = frozen(ROOT / "tests" / "apps" / "notes" / "__main__.py", tmp_path / "build")
    done = subprocess.run(
        [app, "--try", tmp_path / "notes.db"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout == "suggested: the first note, which is about bees\n", done.stderr
    assert done.returncode == 0
    assert len(stored(tmp_path)) == 2
