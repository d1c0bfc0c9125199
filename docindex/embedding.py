r"""Embed docindex in an application: threads, connections, triggers, processes, freezing. A page of help.

Which connection to use where
=============================
    for                                     use
    questions                               one `Index` for all threads
    documents that only the index holds     the same `Index`: `add`, `add_many`, in a thread for work
    documents that are rows of your tables  `Index.follow`, and one connection of your own for all changes
    SQL of your own that reads              `Index.execute`, or a connection with `docindex.register`

Any number of threads can share an `Index`. A connection of apsw or sqlite3 belongs to one thread at a time.
In one process, use one SQLite library for a file: apsw, or Python's sqlite3, but not both. With apsw, an
`Index` and your own connections can use one file at once. Close the index last: it can then close all files.
With sqlite3, use `docindex.register` and SQL on your connections instead of an `Index`;
``help(docindex.sql)`` has an example.

Your database can hold the index. Its tables begin with ``docindex_``; your tables, `user_version` and
`application_id` stay as they are.

>>> import apsw, docindex, tempfile
>>> folder = tempfile.TemporaryDirectory()
>>> path = f"{folder.name}/notes.db"
>>> app = apsw.Connection(path)
>>> app.execute("create table note (id integer primary key, body text not null)").fetchall()
[]
>>> app.execute("insert into note (body) values ('An older note, from before the index.')").fetchall()
[]
>>> app.close()
>>> index = docindex.open(path, create=True)
>>> def connect():
...     db = apsw.Connection(path)
...     db.set_busy_timeout(10_000)               # milliseconds to wait for another process that writes
...     return db
>>> changes = connect()


Your own tables
===============
The index can follow a table in the same file. Each row is a document, and the index reads the texts in the
table instead of keeping copies of them. Triggers note which rows change, in the same transaction: after a
rollback or a crash, table and index agree. The triggers use no function, so every program can change the
table. The next question or change of the index indexes what they noted.

>>> index.follow("note", key="id", text="body", prefix="note/")
>>> list(index)
['note/1']

The document of a row changes only with the row: `Index.add`, `rename` and the like refuse it. The key of the
document is not the id of the row, so join on the key:

>>> index.execute("select body, doc_index.id from note join doc_index on key = 'note/' || note.id")
[('An older note, from before the index.', 1)]

A new version of an app may make its table anew: create, copy, drop, rename, as SQLite advises. That drops
the triggers with the old table. Follow the table again afterwards, or at each start: this makes lost triggers
again, and indexes what changed. `Index.check` names lost triggers, too. If the table has unique indexes, the
triggers know their columns: unfollow a table before you drop such a column.

After a batch of changes, `Index.flush` indexes them at once. Otherwise the next question does it, and has to
wait for other writers first. An index that is open for reading only cannot do it: `docindex.OutOfDate`. If
your connection has docindex's functions (`docindex.register`), ``select doc_flush()`` as the last statement
of a transaction indexes its changes in that transaction. Then no question ever waits: during an import, the
suggestions of ``tests/apps/notes`` take half as long as with `Index.flush`.

`Index.followed` lists the tables, `Index.unfollow` ends it, and `Index.rebuild` indexes all rows again, which
mends an index whose triggers were dropped for a time. If you rename a table or a column, unfollow it, and
follow the new name. The logger `docindex` says which rows are not indexed, and why.

Triggers of your own can choose what becomes a document: they call `doc_put` and `doc_remove`, which
`docindex.register` adds to a connection. `help(docindex.sql)` has an example.

Begin a transaction that changes something with `begin immediate`. It waits for its turn once, at the start.
A plain `begin` asks for the right to write at the first change. If the transaction has read before that, and
another process has written since, the change fails at once, whatever the timeout. On sqlite3, use
``isolation_level="IMMEDIATE"``. On apsw, do not use ``with connection:`` for changes: while it waits for its
turn, it holds Python's lock, so the thread that has the turn cannot go on.

>>> import contextlib
>>> @contextlib.contextmanager
... def change():
...     changes.execute("begin immediate")
...     try:
...         yield changes
...         changes.execute("commit")
...     finally:
...         if changes.in_transaction:
...             changes.execute("rollback")
>>> with change() as db:
...     notes = ["Remember the bees: the hives must be closed before the first frost of the year.",
...              "The car needs new tyres."]
...     db.executemany("insert into note (body) values (?)", [(note,) for note in notes]).fetchall()
[]
>>> [match.key for match in index.search("he says the hives must be closed before the first frost")]
['note/2']

Undo is a rollback, as long as nobody else must write: other writers wait until the transaction ends. So ask
the person within seconds, or keep the old row to undo the change later.

>>> changes.execute("begin immediate").fetchall()
[]
>>> changes.execute("update note set body = replace(body, 'frost', 'snow')").fetchall()
[]
>>> changes.execute("select count(*) from note where body like '%snow%'").fetchall()    # "Change 1 note?"
[(1,)]
>>> changes.execute("rollback").fetchall()
[]
>>> index.text("note/2") == notes[0]
True

An import commits some hundred rows at a time. So others can write in between, and closing the window waits
for one commit. Give each row a unique name of its source, and use ``insert or ignore``: then a repeated
import continues where the last one ended.


Which documents does a new one resemble?
========================================
Ask before you insert, in the same transaction, on a connection with docindex's functions. `begin immediate`
keeps all other writers out until the commit, also those in other processes. So of two copies that are added
at the same time, the second one finds the first. If the answer should prevent the change, roll back.

>>> docindex.register(changes)
>>> def add_note(body):
...     with change() as db:
...         alike = db.execute("select key from doc_similar(doc_literal(?), 0.5)", (body,)).fetchall()
...         db.execute("insert into note (body) values (?)", (body,)).fetchall()
...     return [key for (key,) in alike]
>>> add_note("The car needs four new tyres before the winter, and a battery that starts it in the cold.")
[]
>>> add_note("The car needs four new tyres before the winter, and a battery that starts it in the frost.")
['note/4']

The same works for documents that only the index holds: ``select doc_put(key, text)`` stores one. To look
at many new documents at once, import them first; then `Index.pairs` with `between` compares the new documents
with the old ones, and not with each other.


A window, and a thread for questions
====================================
A question takes milliseconds, and in a large index more. So a window hands them to
a thread. A key press replaces the question that waits, and cancels the one that runs. So the newest text is
asked at once, and no timer has to wait for a pause. This is the whole of it without a window; `found` hands
the answer to the thread of the window, with a signal of Qt or ``after_idle`` of Tk.

>>> import threading
>>> class Suggester:
...     def __init__(self, index, found):
...         self.index, self.found = index, found
...         self.changed, self.wanted, self.closed = threading.Condition(), None, False
...         self.newer = threading.Event()
...         self.thread = threading.Thread(target=self.work)
...         self.thread.start()
...     def ask(self, text):                      # at each key press
...         with self.changed:
...             self.newer.set()                  # stops the question that runs
...             self.newer = threading.Event()
...             self.wanted = text, self.newer
...             self.changed.notify()
...     def close(self):
...         with self.changed:
...             self.closed = True
...             self.newer.set()
...             self.changed.notify()
...         self.thread.join()
...     def work(self):
...         while True:
...             with self.changed:
...                 self.changed.wait_for(lambda: self.closed or self.wanted is not None)
...                 if self.closed:
...                     return
...                 (text, newer), self.wanted = self.wanted, None
...             try:
...                 with docindex.cancelling(newer):
...                     matches = self.index.search(docindex.Text(text), limit=5)
...                 self.found(text, matches)
...             except docindex.Cancelled:        # there is a newer text
...                 pass
>>> answers, answered = {}, threading.Event()
>>> def found(text, matches):
...     answers[text] = [match.key for match in matches]
...     if text.endswith("frost"):
...         answered.set()
>>> suggester = Suggester(index, found)
>>> for typed in ("the hives must be", "the hives must be closed before the first frost"):
...     suggester.ask(typed)
>>> answered.wait(60)
True
>>> answers["the hives must be closed before the first frost"]
['note/2']
>>> suggester.close()

`docindex.cancelling` stops only the work in its block. `Index.cancel` stops the work of all other threads on
an `Index`, such as an import; that is for the end of a program.

Changes may wait for another process. Hand them to one thread, in the order in which they were made. When the
window is closed, stop the questions, save what was typed, let that thread finish its queue, and close the
connections and the index last.


asyncio
=======
Run questions in threads, with ``asyncio.to_thread``. Cancelling a task does not end its thread, so cancel the
work, too. A block of `docindex.cancelling` holds for the threads that `to_thread` starts in it.

>>> import asyncio
>>> async def search(text):
...     with docindex.cancelling() as token:
...         try:
...             return await asyncio.to_thread(index.search, docindex.Text(text))
...         finally:
...             token.cancel()
>>> [match.key for match in asyncio.run(search("the hives must be closed before the first frost"))]
['note/2']


One process or several
======================
Any number of processes can open one file: two copies of an app, or an app and the command `docindex`. Each
opens it itself. Writers wait for each other: an `Index` waits `timeout_s` seconds, a connection waits for its
own busy timeout. A question waits only if changes of a followed table must be indexed first. ``pragma
data_version`` on a connection of yours gives another number when somebody else has changed the file; ask for
it a few times a second, and show the list again.

Threads are enough for an app: while one thread imports notes, another one answers. Both need Python's lock in
turn; in the notes app of the tests, a question then takes up to twice as long. `add_many` starts
worker processes by itself if there is much text. They read no file, and a program needs no
``if __name__ == "__main__"`` for them.

Start your own processes with the "spawn" method. A forked process cannot use a file that was open at the
fork: `docindex.Forked`. Functions on texts need no file:

>>> import concurrent.futures, multiprocessing
>>> spawn = multiprocessing.get_context("spawn")
>>> with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
...     pool.submit(docindex.resemblance, "to be or not to be", "To be, or not to be!").result()
1.0


Frozen, or in a zip file
========================
PyInstaller collects what docindex needs without any option: the package contains a hook. The hook also makes
the application its own worker process, before its first line runs. Other programs that freeze applications
must copy the data files of the package, above all the folder `schema`; `add_many` then works in one process.

docindex can be imported from a zip file, also with workers. apsw and numpy cannot, because they contain
compiled code.

If no worker can be started, the work is done in the process itself, and the logger ``"docindex"`` says why.
It also warns of questions that keep the write-ahead log from being emptied, so let it write to the log of
your application.


Closing
=======
>>> changes.close()
>>> index.close()
>>> folder.cleanup()

``python -m tests.apps.notes`` in the repository is an app for PySide6 that does all this. While it imports
300 notes a second, its suggestions follow a key press after 10 ms.
"""
