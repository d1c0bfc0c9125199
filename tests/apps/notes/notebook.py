"""The notes in one file, and the index of them in the same file.

All changes go through one connection, which one thread uses: the writer. The index follows the table of
notes, and reads their texts there. Questions go to the index, in another thread.
"""

import contextlib
import itertools
import json
from pathlib import Path

import apsw

import docindex

SCHEMA = 2  # kept in `user_version`. Files of schema 1 have no index
UPGRADE = """
create table if not exists note (id integer primary key, body text not null, source text unique);
pragma user_version = 2;
"""
BUSY_MS = 10_000  # how long a change waits for another copy of the app
BATCH = 50  # notes in one transaction of an import: others can write in between, and closing is quick
SHOWN = 200  # notes in the list


class Notebook:
    """The connection that changes notes, the connection that lists them, and the index that compares them."""

    def __init__(self, path):
        self.path = str(path)
        self.index = docindex.open(path, create=True)
        self._writing = self._connect()
        docindex.register(self._writing)
        self._reading = self._connect()
        with self._change() as db:
            if db.pragma("user_version") < SCHEMA:
                db.execute(UPGRADE).fetchall()
        self.index.follow("note", key="id", text="body", prefix="note/")

    def _connect(self):
        db = apsw.Connection(self.path)
        db.set_busy_timeout(BUSY_MS)
        return db

    @contextlib.contextmanager
    def _change(self):
        """A transaction. It waits for its turn once, and never fails halfway.

        ``with connection:`` of apsw would stop all threads of the app while it waits.
        """
        self._writing.execute("begin immediate")
        try:
            yield self._writing
            # The index changes in the same transaction: no question ever has to do it, or to wait for it.
            self._writing.execute("select doc_flush()").fetchall()
            self._writing.execute("commit")
        finally:
            if self._writing.in_transaction:
                self._writing.execute("rollback")

    def close(self):
        """Close the file. No thread may use the notebook any more."""
        self._writing.close()
        self._reading.close()
        self.index.close()

    # The writer's thread calls these.

    def save(self, note, body):
        """Change a note, or make a new one if `note` is None, and return its id."""
        with self._change() as db:
            if note is None:
                ((note,),) = db.execute("insert into note (body) values (?) returning id", (body,))
            else:
                db.execute("update note set body = ? where id = ?", (body, note))
                if not db.changes():  # another copy of the app has removed it: what was typed is not lost
                    db.execute("insert into note (id, body) values (?, ?)", (note, body))
        return note

    def remove(self, note):
        """Remove a note."""
        with self._change() as db:
            db.execute("delete from note where id = ?", (note,))

    def add_batch(self, notes):
        """Add imported notes as (source, body). Those that are there already stay as they are."""
        with self._change() as db:
            db.executemany("insert or ignore into note (source, body) values (?, ?)", notes)

    def replace(self, old, new, keep):
        """Replace a text in all notes, call ``keep(count)``, and undo all of it unless that returns true.

        Returns whether the change is kept.
        """
        with contextlib.suppress(_Undone), self._change() as db:
            db.execute("update note set body = replace(body, ?, ?) where instr(body, ?)", (old, new, old))
            if not keep(db.changes()):
                raise _Undone
            return True
        return False

    # The thread of the window calls these. They never wait for the writer.

    def newest(self):
        """The newest notes as (id, body), for the list."""
        return self._reading.execute(
            "select id, body from note order by id desc limit ?", (SHOWN,)
        ).fetchall()

    def body(self, note):
        """The text of a note, or None if another copy of the app has removed it."""
        return next(
            (body for (body,) in self._reading.execute("select body from note where id = ?", (note,))), None
        )

    def version(self):
        """A number that changes when another connection, or another copy of the app, changes the file."""
        return self._reading.pragma("data_version")

    # The thread for questions calls this.

    def suggestions(self, text, note):
        """The ids of up to five notes that share text with `text`, without the note itself."""
        found = self.index.search(docindex.Text(text), limit=6)
        ids = [int(match.key.removeprefix("note/")) for match in found]
        return [other for other in ids if other != note][:5]


class _Undone(Exception):
    """The person does not want the change."""


def batches_in(path):
    """The notes of an export, one JSON string a line, in batches of (source, body)."""
    with Path(path).open(encoding="utf-8") as lines:
        notes = ((f"{path}:{number}", json.loads(line)) for number, line in enumerate(lines, 1))
        while batch := list(itertools.islice(notes, BATCH)):
            yield batch
