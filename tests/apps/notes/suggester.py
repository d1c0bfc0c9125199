"""Ask for suggestions in a thread of their own. Only the newest text counts."""

import threading

from PySide6.QtCore import QObject, Signal

import docindex


class Suggester(QObject):
    """Answers questions of the window. A new question stops the one that is running."""

    found = Signal(str, list)
    """A text, and the ids of similar notes. Qt delivers it in the thread of the window."""

    failed = Signal(str)

    def __init__(self, notebook):
        super().__init__()
        self._notebook = notebook
        self._changed = threading.Condition()
        self._wanted = None
        self._newer = threading.Event()  # set when a newer question takes the place of the last one
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name="suggestions")
        self._thread.start()

    def ask(self, text, note):
        """Ask about a text, instead of the text before."""
        with self._changed:
            self._newer.set()
            self._newer = threading.Event()
            self._wanted = (text, note, self._newer)
            self._changed.notify()

    def stop(self):
        """Stop the running question, and end the thread."""
        with self._changed:
            self._stopped = True
            self._newer.set()
            self._changed.notify()
        self._thread.join()

    def _work(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._wanted or self._stopped)
                if self._stopped:
                    return
                text, note, newer = self._wanted
                self._wanted = None
            try:
                with docindex.cancelling(newer):
                    found = self._notebook.suggestions(text, note)
                self.found.emit(text, found)
            except docindex.Cancelled:
                continue  # there is a newer text, or the window is closed
            except docindex.DocIndexError as error:
                self.failed.emit(str(error))
