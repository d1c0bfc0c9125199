"""A process ends as it should while a registered connection is alive."""

import subprocess
import sys

import pytest

import docindex

PROGRAM = """
import sqlite3, sys, threading, apsw, docindex

kind, library, path = sys.argv[1:]
db = apsw.Connection(path) if library == "apsw" else sqlite3.connect(path, check_same_thread=False)
docindex.register(db)
question = "select doc_search_json('some text of many words')"
assert "a" in list(db.execute(question))[0][0]

class App:
    pass

app = App()
if kind == "closure":
    app.on_change = lambda db=db: db
    del db
elif kind == "cycle":
    app.db, app.itself = db, app
    del db, app
elif kind == "module":  # Python frees the module sys last
    if library == "apsw":
        cursor = db.execute("select key from doc_near('some text of many words', 63)")
        next(cursor)

    def hide(db):
        sys.on_change = lambda: db

    hide(globals().pop("db"))
elif kind == "thread":
    asked = threading.Event()

    def ask():
        while True:
            list(db.execute(question))
            asked.set()

    threading.Thread(target=ask, daemon=True).start()
    asked.wait(60)
elif kind == "cursor":
    app.cursor = db.execute("select key, doc_text(id) from docindex_document")
    next(app.cursor)
"""


@pytest.mark.parametrize("library", ["apsw", "sqlite3"])
@pytest.mark.parametrize("kind", ["global", "closure", "cycle", "module", "thread", "cursor"])
def test_a_process_with_a_registered_connection_ends_with_0(tmp_path, kind, library):
    with docindex.open(tmp_path / "index") as index:
        index.add_many([("a", "some text of many words"), ("b", "another text of other words")])
    command = [sys.executable, "-c", PROGRAM, kind, library, str(tmp_path / "index")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
