"""Change notes in a thread of its own, so that the window never waits for another writer."""

import queue
import threading

from PySide6.QtCore import QObject, Signal

from tests.apps.notes.notebook import batches_in

DECIDE_S = 5.0
"""A change that nobody confirms is undone after this time. Until then, no other copy of the app can write."""


class Draft:
    """A note in the editor. The writer gives it its id when it is saved for the first time."""

    def __init__(self, note=None):
        self.note = note


class Writer(QObject):
    """Makes changes one after the other. Its methods return at once; its signals say what was done."""

    saved = Signal(int)
    """The id of a note."""
    imported = Signal(int)
    """How many notes of an export have been committed."""
    import_ended = Signal()
    replaced = Signal(int)
    """In how many notes a text was replaced; waits for `decide`."""
    decided = Signal(bool)
    failed = Signal(str)

    def __init__(self, notebook):
        super().__init__()
        self._notebook = notebook
        self._tasks = queue.SimpleQueue()
        self._closing = threading.Event()
        self._decisions = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="writer")
        self._thread.start()

    def save(self, draft, body):
        """Save a note."""
        self._tasks.put(lambda: self._save(draft, body))

    def remove(self, draft):
        """Remove a note."""
        self._tasks.put(lambda: self._notebook.remove(draft.note))

    def bring_in(self, path):
        """Import an export. Other changes take turns with its batches. Running it again continues it."""
        batches = batches_in(path)
        self._tasks.put(lambda: self._import_batch(batches, 0))

    def replace(self, old, new):
        """Replace a text in all notes. `replaced` says in how many; then `decide` keeps or undoes it."""
        self._tasks.put(lambda: self.decided.emit(self._notebook.replace(old, new, self._ask)))

    def decide(self, keep):
        """Keep or undo what `replace` has done."""
        self._decisions.put(keep)

    def close(self):
        """Finish the changes that people made. Of an import, finish the batch; of a `replace`, undo it."""
        self._closing.set()
        self._decisions.put(False)
        self._tasks.put(None)
        self._thread.join()

    def _work(self):
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except Exception as error:  # whatever it is, the person must read it, and can go on
                self.failed.emit(str(error))

    def _save(self, draft, body):
        draft.note = self._notebook.save(draft.note, body)
        self.saved.emit(draft.note)

    def _import_batch(self, batches, done):
        batch = next(batches, None)
        if batch is None or self._closing.is_set():
            batches.close()
            self.import_ended.emit()
            return
        self._notebook.add_batch(batch)
        self.imported.emit(done + len(batch))
        self._tasks.put(lambda: self._import_batch(batches, done + len(batch)))

    def _ask(self, count):
        while not self._decisions.empty() and not self._closing.is_set():
            self._decisions.get()  # an answer that came too late for the change before
        self.replaced.emit(count)
        try:
            return self._decisions.get(timeout=DECIDE_S)
        except queue.Empty:
            return False
