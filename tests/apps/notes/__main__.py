"""Start the notes app."""

import os
import sys
import tempfile
from pathlib import Path


def main(arguments):
    """Run the app on a file; try or measure it, which needs no screen."""
    if arguments[:1] in (["--measure"], ["--try"]):
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if arguments[:1] == ["--measure"]:
        from tests.apps.notes import measure

        with tempfile.TemporaryDirectory() as folder:
            return measure.main(Path(folder))
    if arguments[:1] == ["--try"]:
        from tests.apps.notes import trial

        return trial.main(arguments[1])
    from PySide6.QtWidgets import QApplication

    from tests.apps.notes.window import NotesWindow

    app = QApplication(sys.argv)
    window = NotesWindow(arguments[0])
    window.show()
    return app.exec()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
