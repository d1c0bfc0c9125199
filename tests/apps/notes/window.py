"""The window of the notes app: the notes, an editor, and similar notes."""

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QInputDialog,
    QListWidget,
    QListWidgetItem,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from tests.apps.notes.notebook import Notebook
from tests.apps.notes.suggester import Suggester
from tests.apps.notes.writer import Draft, Writer

SAVE_MS = 500  # without a key press, then the note is saved
LOOK_MS = 300  # between two looks whether the notes have changed
TITLE = 60  # characters of a note in a list
NOTE = 0x0100  # the role of an item that holds the id of its note: Qt.ItemDataRole.UserRole


class NotesWindow(QMainWindow):
    """Shows the notes of one file. It never waits, except for the last changes when it is closed."""

    def __init__(self, path):
        super().__init__()
        self.notebook = Notebook(path)
        self.writer = Writer(self.notebook)
        self.suggester = Suggester(self.notebook)
        self.draft = Draft()
        self._unsaved = self._is_closed = False
        self._version = None
        self._lay_out()
        self._save_timer = self._timer(SAVE_MS, self.save, single=True)
        self._look_timer = self._timer(LOOK_MS, self.refresh)
        self._look_timer.start()
        self._connect()
        self.refresh()

    def _lay_out(self):
        self.setWindowTitle("Notes")
        self.notes, self.editor, self.similar = QListWidget(), QPlainTextEdit(), QListWidget()
        self.new, self.bring_in, self.remove = (
            QPushButton("New"),
            QPushButton("Import"),
            QPushButton("Remove"),
        )
        self.replace, self.keep, self.undo = QPushButton("Replace"), QPushButton("Keep"), QPushButton("Undo")
        body, buttons = QHBoxLayout(), QHBoxLayout()
        for widget in (self.notes, self.editor, self.similar):
            body.addWidget(widget)
        for button in (self.new, self.bring_in, self.remove, self.replace, self.keep, self.undo):
            buttons.addWidget(button)
        self.keep.hide()
        self.undo.hide()
        whole = QVBoxLayout()
        whole.addLayout(buttons)
        whole.addLayout(body)
        central = QWidget()
        central.setLayout(whole)
        self.setCentralWidget(central)

    def _timer(self, milliseconds, slot, *, single=False):
        timer = QTimer(self, interval=milliseconds, singleShot=single)
        timer.timeout.connect(slot)
        return timer

    def _connect(self):
        self.editor.textChanged.connect(self._typed)
        self.notes.itemClicked.connect(lambda item: self.show_note(item.data(NOTE)))
        self.similar.itemClicked.connect(lambda item: self.show_note(item.data(NOTE)))
        self.new.clicked.connect(lambda: self.show_note(None))
        self.remove.clicked.connect(self.remove_note)
        self.bring_in.clicked.connect(self._choose_export)
        self.replace.clicked.connect(self._choose_texts)
        self.keep.clicked.connect(lambda: self.writer.decide(True))
        self.undo.clicked.connect(lambda: self.writer.decide(False))
        self.suggester.found.connect(self._show_similar)
        self.writer.saved.connect(self.ask)  # now it has an id, by which it can be left out
        self.writer.imported.connect(lambda count: self.statusBar().showMessage(f"{count} notes imported"))
        self.writer.replaced.connect(self._show_replaced)
        self.writer.decided.connect(self._show_decided)
        for part in (self.writer, self.suggester):
            part.failed.connect(lambda message: self.statusBar().showMessage(message))

    def _typed(self):
        self._unsaved = True
        self._save_timer.start()
        self.ask()

    def ask(self):
        """Ask for notes that are similar to the text in the editor."""
        self.suggester.ask(self.editor.toPlainText(), self.draft.note)

    def save(self):
        """Save the note in the editor, if it has changed."""
        if self._unsaved:
            self._unsaved = False
            self.writer.save(self.draft, self.editor.toPlainText())

    def show_note(self, note):
        """Save the note in the editor, and show another one, or a new one."""
        self.save()
        body = "" if note is None else self.notebook.body(note)
        if body is None:
            self.statusBar().showMessage("This note has been removed.")
            return
        self.draft = Draft(note)
        self.editor.setPlainText(body)
        self._unsaved = False  # what changed the editor was no person
        self.editor.setFocus()

    def remove_note(self):
        """Remove the note in the editor."""
        if self.draft.note is not None:
            self.writer.remove(self.draft)
        self._unsaved = False
        self.show_note(None)

    def refresh(self):
        """Show the newest notes, if this copy of the app or another has changed the file."""
        if self._is_closed:  # a signal that was sent before
            return
        version = self.notebook.version()
        if version != self._version:
            self._version = version
            self._fill(self.notes, self.notebook.newest())

    def _show_similar(self, text, notes):
        if (
            text == self.editor.toPlainText() and not self._is_closed
        ):  # else the answer to a newer text is on its way
            bodies = [(note, self.notebook.body(note)) for note in notes]
            self._fill(self.similar, [(note, body) for note, body in bodies if body is not None])

    def _fill(self, shown, notes):
        shown.clear()
        for note, body in notes:
            item = QListWidgetItem(body.partition("\n")[0][:TITLE] or "(empty)")
            item.setData(NOTE, note)
            shown.addItem(item)

    def _show_replaced(self, count):
        self.statusBar().showMessage(f"Replaced in {count} notes")
        self.keep.show()
        self.undo.show()

    def _show_decided(self, kept):
        self.statusBar().showMessage("The change is saved." if kept else "The change is undone.")
        self.keep.hide()
        self.undo.hide()
        self.refresh()

    def _choose_export(self):
        path, _ = QFileDialog.getOpenFileName(self, "Import notes", filter="*.jsonl")
        if path:
            self.writer.bring_in(path)

    def _choose_texts(self):
        old, given = QInputDialog.getText(self, "Replace", "this text in all notes:")
        if given and old:
            new, given = QInputDialog.getText(self, "Replace", f"{old!r} by:")
            if given:
                self.writer.replace(old, new)

    def closeEvent(self, event):  # noqa: N802 - Qt's name
        """Save what was typed, wait for changes that have begun, and close the file."""
        self._look_timer.stop()
        self._save_timer.stop()
        self.save()
        self.suggester.stop()
        self.writer.close()
        self._is_closed = True
        self.notebook.close()
        event.accept()
