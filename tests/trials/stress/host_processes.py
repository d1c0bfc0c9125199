"""The processes of `lost_writes`: hosts that use one file through both libraries, threads and forks.

Each function is one kind of process. It does some requests, then ends by itself. A request that commits
takes a place in the sequence of its actor, and the actor writes a line once the commit has returned. So each
line is a promise that the commit is in the file. A process uses the file
through one library only; docindex refuses it to the other.
"""

import contextlib
import logging
import os
import random
import sqlite3
import threading

import apsw

import docindex
from tests.storage.texts import prose

COUNTERS = 3
TIMEOUT_S = 60
SCHEMA = """
    create table counter (id integer primary key, n integer not null);
    create table log (
        actor text, number integer, counter integer, n integer,
        put text,  -- the key of a document that the transaction has stored
        removed text,
        primary key (actor, number)
    );
    create table note (id text primary key, body text);
    create trigger note_added after insert on note begin
        select doc_put('note:' || new.id, new.body);
    end;
    create trigger note_changed after update on note begin
        select doc_remove('note:' || old.id) where old.id <> new.id;
        select doc_put('note:' || new.id, new.body);
    end;
    create trigger note_removed after delete on note begin
        select doc_remove('note:' || old.id);
    end;
"""
logging.getLogger("docindex").addHandler(logging.NullHandler())  # the actors tell errors themselves

_ASKED = (
    "select doc_containment('to be or not to be that is', 'to be or not to be')",
    "select doc_search_json('the analytical engine weaves algebraical patterns just as the loom')",
    "select max(doc_containment(text, text)) from (select 'one two three four five six' as text)",
    "select doc_containment('the analytical engine weaves', (select min(id) from docindex_document))",
)


_TORN = "one snapshot has"


def _is_torn(error):
    """Whether an error is about a transaction that saw two states of the file."""
    return any(words in str(error) for words in (_TORN, "malformed", "is damaged", "or was changed"))


def text_of(key):
    return prose(random.Random(key), 30)


class Actor:
    """Does one request after the other, and says which commits have returned."""

    def __init__(self, descriptor, path, name, *, is_forked=False):
        self.is_forked = is_forked
        self.path = path
        self.name = name
        self.rng = random.Random(name)
        self._descriptor = descriptor
        self._number = 0
        self._put: list[str] = []  # keys of documents that transactions of the actor have stored

    def say(self, *words):
        # One call of `write` with less than 4096 bytes is never mixed with the lines of other processes.
        os.write(self._descriptor, (" ".join(map(str, words)).replace("\n", " ")[:4000] + "\n").encode())

    def tell(self, error):
        """Say what an error means. A process that was forked may be refused, with a sentence about that."""
        if isinstance(error, (docindex.Busy, apsw.BusyError)) or "database is locked" in str(error):
            self.say("busy", self.name, repr(error))
        else:
            refused = self.is_forked and "forked" in str(error)
            self.say("refused" if refused else "error", self.name, repr(error))

    @contextlib.contextmanager
    def committing(self, kinds):
        """Give the number of a commit, and say that it has returned."""
        self._number += 1
        try:
            yield self._number
        except Exception as error:
            self.tell(error)
        else:
            self.say("commit", self.name, self._number, kinds)

    @contextlib.contextmanager
    def looking(self):
        try:
            yield
        except Exception as error:
            self.tell(error)

    def ask(self, connection):
        """Ask docindex on a connection of either library."""
        try:
            list(connection.execute(self.rng.choice(_ASKED)))
        except sqlite3.OperationalError as error:
            ((message,),) = connection.execute("select doc_error()")
            raise RuntimeError(message) from error  # sqlite3 only says that a function has raised an error

    def increment(self, connection, *, ask=True, change=0.0):
        """Read a counter and write it back, larger by one, in one transaction that also asks docindex.

        `change` is the share of the transactions that change documents, too.
        """
        counter = self.rng.randrange(COUNTERS)
        with self.committing("log") as number:
            put = removed = None
            with _transaction(connection, "immediate"):
                ((n,),) = connection.execute("select n from counter where id = ?", (counter,))
                if ask:
                    self.ask(connection)
                connection.execute("update counter set n = ? where id = ?", (n + 1, counter))
                if self.rng.random() < change:
                    put, removed = self._change(connection, f"{self.name}:{number}")
                values = (self.name, number, counter, n + 1, put, removed)
                connection.execute("insert into log values (?, ?, ?, ?, ?, ?)", values)
                if ask and self.rng.random() < 0.5:
                    self.ask(connection)
            self._put = [key for key in (*self._put, put) if key not in (None, removed)]

    def _change(self, connection, name):
        """Store a document, remove one, or both. Returns the key that was stored, and the one removed."""
        if self.rng.random() < 0.2:
            _undone(connection, name)
        old = self.rng.choice(self._put) if self._put and self.rng.random() < 0.5 else None
        if old is None:
            key = _stored(connection, name, self.rng)
        else:
            key = _removed(connection, old, name, self.rng)
        if key is not None:
            ((found,),) = connection.execute("select doc_search_json(?)", (text_of(name),))
            assert f'"{key}"' in found, f"{key} is not in {found}"
        return key, old

    def add(self, index):
        with self.committing("document") as number:
            key = f"{self.name}/{number}"
            index.add(key, text_of(key))

    def look(self, connection, *, is_shared=False):
        """See one commit's state in one transaction, whatever other connections of the process do.

        With `is_shared`, both libraries read in the process. Then one ends the locks of the other's readers,
        and a transaction that only reads may see two states, if another process restarts the log.
        """
        with self.looking():
            try:
                self._look(connection)
            except (AssertionError, sqlite3.DatabaseError, RuntimeError) as error:
                if not is_shared or not _is_torn(error):
                    raise
                self.say("torn", self.name, repr(error))

    def _look(self, connection):
        with _transaction(connection, "deferred"):
            ((total,),) = connection.execute("select sum(n) from counter")
            if self.rng.random() < 0.3:
                self.ask(connection)
            ((logged,),) = connection.execute("select count(*) from log")
            assert total == logged, f"{_TORN} {total} increments and {logged} rows in the log"

    def open_and_add(self):
        with docindex.open(self.path, durability="normal", timeout_s=TIMEOUT_S) as index:
            for _ in range(self.rng.randrange(1, 4)):
                self.add(index)

    def open_and_ask(self, *, readonly, is_shared=False):
        """Ask an index of its own. `is_shared` as in `look`: then a question may see two states, too."""
        with self.looking():
            try:
                with docindex.open(self.path, readonly=readonly, timeout_s=TIMEOUT_S) as index:
                    index.search("the analytical engine weaves algebraical patterns")
                    assert len(index) > 0
            except docindex.CorruptIndex as error:
                if not is_shared:
                    raise
                self.say("torn", self.name, repr(error))


def _stored(connection, name, rng):
    """Store a document, by a function, a trigger, or the table that only apsw has. Returns its key."""
    if rng.random() < 0.5:
        connection.execute("insert into note values (?, ?)", (name, text_of(name)))
        return f"note:{name}"
    is_apsw = isinstance(connection, apsw.Connection)
    if is_apsw and rng.random() < 0.5:
        connection.execute("insert into doc_index(key, text) values (?, ?)", (name, text_of(name)))
    else:
        connection.execute("select doc_put(?, ?)", (name, text_of(name))).fetchall()
    return name


def _removed(connection, old, name, rng):
    """Remove a document. Returns the key of another one, if a trigger has stored that in its place."""
    if not old.startswith("note:"):
        ((count,),) = connection.execute("select doc_remove(?)", (old,))
        assert count == 1, f"{old} was not there"
        return None
    note = old.removeprefix("note:")
    if rng.random() < 0.5:
        connection.execute("delete from note where id = ?", (note,))
        return None
    connection.execute("update note set id = ?, body = ? where id = ?", (name, text_of(name), note))
    return f"note:{name}"


def _undone(connection, name):
    """Store documents, and undo that."""
    connection.execute("savepoint soon_undone")
    connection.execute("select doc_put(?, 'soon undone')", (f"undone:{name}",)).fetchall()
    connection.execute("insert into note values (?, 'soon undone')", (f"undone:{name}",))
    connection.execute("rollback to soon_undone")
    connection.execute("release soon_undone")


@contextlib.contextmanager
def _transaction(connection, kind):
    connection.execute(f"begin {kind}")
    try:
        yield
        connection.execute("commit")
    except BaseException:
        if connection.in_transaction:
            connection.execute("rollback")
        raise


def sqlite3_connection(path):
    connection = sqlite3.connect(path, isolation_level=None, timeout=TIMEOUT_S, check_same_thread=False)
    connection.execute("pragma synchronous = normal")
    docindex.register(connection)
    return connection


def apsw_connection(path):
    connection = apsw.Connection(path)
    connection.set_busy_timeout(TIMEOUT_S * 1000)
    connection.execute("pragma synchronous = normal")
    docindex.register(connection)
    return connection


def _in_threads(works):
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _repeated(count, work, *arguments, **options):
    def repeat():
        for _ in range(count):
            work(*arguments, **options)

    return repeat


def sqlite3_host(descriptor, path, name, requests):
    """Threads that write through `sqlite3`, and threads that open the file with docindex to ask."""
    first, second, look, ask, change = (Actor(descriptor, path, f"{name}.{place}") for place in range(5))
    with contextlib.closing(sqlite3_connection(path)) as a, contextlib.closing(sqlite3_connection(path)) as b:

        def look_once():
            with contextlib.closing(sqlite3_connection(path)) as connection:
                look.look(connection, is_shared=True)

        _in_threads(
            [
                _repeated(requests, first.increment, a, change=0.2),
                _repeated(requests, second.increment, b, change=0.05),
                _repeated(requests // 2, look_once),
                _repeated(requests // 2, ask.open_and_ask, readonly=True, is_shared=True),
                _repeated(requests // 2, change.open_and_ask, readonly=False, is_shared=True),
            ]
        )


def docindex_host(descriptor, path, name, requests):
    """Threads that write through docindex and through a registered connection of apsw."""
    add, write, ask, look = (Actor(descriptor, path, f"{name}.{place}") for place in range(4))
    with contextlib.closing(apsw_connection(path)) as connection:

        def look_once():
            with contextlib.closing(apsw_connection(path)) as own:
                look.look(own)

        _in_threads(
            [
                _repeated(requests // 10, add.open_and_add),
                _repeated(requests, write.increment, connection, change=0.1),
                _repeated(requests // 4, ask.open_and_ask, readonly=True),
                _repeated(requests // 2, look_once),
            ]
        )


def sqlite3_alone(descriptor, path, name, requests):
    """One thread, whose connection is closed and opened again now and then. It asks rarely."""
    actor = Actor(descriptor, path, name)
    for _ in range(0, requests, 20):
        with contextlib.closing(sqlite3_connection(path)) as connection:
            for _ in range(20):
                actor.increment(connection, ask=actor.rng.random() < 0.1, change=0.05)


def docindex_alone(descriptor, path, name, requests):
    """One thread that opens the index for each request. Other threads of the host do not use the file."""
    actor = Actor(descriptor, path, name)
    for _ in range(max(1, requests // 10)):
        actor.open_and_add()


def forking_host(descriptor, path, name, requests):
    """A process that holds the index open and forks; children write, or docindex refuses with a sentence."""
    actor = Actor(descriptor, path, name)
    for turn in range(max(1, requests // 20)):
        children = []
        with docindex.open(path, durability="normal", timeout_s=TIMEOUT_S) as index:
            for place in range(4):
                actor.add(index)
                pid = os.fork()
                if not pid:
                    _child(Actor(descriptor, path, f"{name}.{turn}.{place}", is_forked=True), index, place)
                children.append(pid)
            if turn % 2:  # otherwise the parent leaves its index before its children end
                _wait(children)
        _wait(children)


def _wait(children):
    while children:
        os.waitpid(children.pop(), 0)


def _child(actor, index, place):
    try:
        if place == 0:
            actor.add(index)  # the parent's own
        elif place == 1:
            with contextlib.closing(sqlite3_connection(actor.path)) as connection:
                for _ in range(5):
                    actor.increment(connection, change=0.3)
        else:
            with actor.looking():
                actor.open_and_add()
    finally:
        os._exit(0)


KINDS = (sqlite3_host, docindex_host, sqlite3_alone, docindex_alone, forking_host)
