"""Try the app: write two notes, and print what it suggests for the second."""

from PySide6.QtTest import QTest

from tests.apps.notes.driving import do_until, opened, titles, wait_until


def main(path):
    """Return 0 if the first note was suggested."""
    window = opened(path)
    try:
        QTest.keyClicks(window.editor, "the first note, which is about bees")
        saved = do_until(window.save, window.writer.saved)
        window.show_note(None)
        QTest.keyClicks(window.editor, "a second one: the first note, which is about bees")
        suggested = saved and wait_until(lambda: titles(window.similar))
        print("suggested:", *titles(window.similar), flush=True)
        return 0 if suggested else 1
    finally:
        window.close()
