"""Time how long suggestions take, from a key press until the window has them, during an import and after."""

import statistics
import time

from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest

from tests.apps.notes.driving import do_until, export, notes, opened, run_app, wait_until

NOTES = 30_000
KEY_S = 0.03  # between an answer and the next key press: few people type as fast
TYPED = "and so this note goes on as the one before it did, word by word, " * 3
MOST_MS = 30


def latencies(window):
    """The seconds from each key press to its suggestions, while somebody continues a long note."""
    window.show_note(None)
    window.editor.setPlainText(next(notes(1)))
    window.editor.moveCursor(QTextCursor.MoveOperation.End)
    seconds = []
    for key in TYPED:
        pressed = time.perf_counter()
        assert do_until(
            lambda key=key: QTest.keyClicks(window.editor, key),
            window.suggester.found,
            wanted=lambda text, _: text == window.editor.toPlainText(),
        )
        seconds.append(time.perf_counter() - pressed)
        run_app(KEY_S)
    return seconds


def median(name, seconds):
    """Print the median and the 90th percentile in milliseconds, and return the median."""
    milliseconds = [1000 * one for one in seconds]
    middle, high = statistics.median(milliseconds), statistics.quantiles(milliseconds, n=10)[-1]
    print(f"{name}: median {middle:.1f} ms from key press to suggestions, 90% within {high:.1f} ms")
    return middle


def main(folder):
    """Measure, and return 0 if the median during the import is below 30 ms."""
    window, imported = opened(folder / "notes.db"), []
    try:
        window.writer.imported.connect(imported.append)
        window.writer.bring_in(export(folder / "export.jsonl", NOTES))
        assert wait_until(lambda: imported)
        begin, first = time.perf_counter(), imported[-1]
        during = latencies(window)
        rate = (imported[-1] - first) / (time.perf_counter() - begin)
        assert imported[-1] < NOTES, "the import ended too early; give it more notes"
        assert wait_until(lambda: imported[-1] == NOTES)
        after = latencies(window)
    finally:
        window.close()
    middle = median(f"while {rate:.0f} notes a second are imported", during)
    median(f"with {NOTES} notes, and no import", after)
    return 0 if middle < MOST_MS else 1
