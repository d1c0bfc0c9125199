"""Drive the app as a person does, without a screen: wait for it, and press keys."""

import json
import random
import time

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from tests.apps.notes.window import NotesWindow

WORDS = 20_000


def opened(path):
    """The window of the app on a file."""
    if QApplication.instance() is None:
        QApplication(["notes"])
    window = NotesWindow(path)
    window.show()
    return window


def run_app(seconds):
    """Let the app run for a time.

    `QTest.qWait` would keep Python's lock, and so stop the other threads of the app.
    """
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def do_until(act, signal, seconds=60, *, wanted=lambda *_: True):
    """Do something, and let the app run until a wanted signal has come; False if it does not come in time."""
    loop, came = QEventLoop(), []
    QTimer.singleShot(round(1000 * seconds), loop.quit)

    def note(*values):
        if wanted(*values):
            came.append(values)
            loop.quit()

    connection = signal.connect(note)
    act()
    if not came:
        loop.exec()
    signal.disconnect(connection)
    return bool(came)


def wait_until(condition, seconds=60):
    """Let the app run until a condition holds, and return whether it does."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        run_app(0.01)
    return bool(condition())


def titles(shown):
    """The lines of a list."""
    return [shown.item(row).text() for row in range(shown.count())]


def notes(count, seed=1):
    """Notes of 100 to 300 words; each third one copies a sentence from the one before."""
    random.seed(seed)
    words = [
        "".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 9))) for _ in range(WORDS)
    ]
    weights = [1 / rank for rank in range(1, WORDS + 1)]
    before = ""
    for number in range(count):
        text = " ".join(random.choices(words, weights, k=random.randint(100, 300)))
        before = f"Note {number}\n{text} {before[100:300] if number % 3 == 0 else ''}"
        yield before


def export(path, count, seed=1):
    """Write notes as an export of the app."""
    path.write_text("".join(json.dumps(note) + "\n" for note in notes(count, seed)), "utf-8")
    return path
