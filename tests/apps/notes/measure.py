"""Time how long a suggestion takes, from a key press until it is on the screen, during an import."""

import statistics
import time

from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest

from tests.apps.notes.driving import do_until, export, notes, opened, run_app, wait_until

NOTES = 8_000
KEY_MS = 30  # between two key presses: somebody who types 400 words a minute
KEYS = 300


def latencies(folder):
    """The seconds from each key press to its suggestions, and how many notes a second were imported."""
    window, seconds, imported = opened(folder / "notes.db"), [], []
    try:
        window.writer.imported.connect(imported.append)
        window.writer.bring_in(export(folder / "export.jsonl", NOTES))
        wait_until(lambda: imported)
        begin, first = time.perf_counter(), imported[-1]
        window.editor.setPlainText(next(notes(1)))
        window.editor.moveCursor(QTextCursor.MoveOperation.End)
        for key in "and so this note goes on as the one before it did, word by word, " * (KEYS // 60):
            pressed = time.perf_counter()
            assert do_until(lambda key=key: QTest.keyClicks(window.editor, key), window.suggester.found)
            seconds.append(time.perf_counter() - pressed)
            run_app(KEY_MS / 1000)
        assert imported[-1] < NOTES, "the import ended too early; give it more notes"
        return seconds, (imported[-1] - first) / (time.perf_counter() - begin)
    finally:
        window.close()


def main(folder):
    """Print the median and the 90th percentile in milliseconds; the median must be below 30."""
    seconds, rate = latencies(folder)
    median = 1000 * statistics.median(seconds)
    high = 1000 * statistics.quantiles(seconds, n=10)[-1]
    print(f"{len(seconds)} key presses during an import of {rate:.0f} notes a second")
    print(f"from key press to suggestions: median {median:.1f} ms, 90% within {high:.1f} ms")
    return 0 if median < 30 else 1
