"""What a block borrows comes back, whatever happens to the block; and `close` ends whatever others do."""

import contextlib
import threading
import time

import apsw
import pytest

import docindex
from docindex.storage.file import connection, connections, lending
from docindex.storage.file.lending import LendingBlock

COUNT = "select count(*) from docindex_document"


@pytest.fixture
def index(tmp_path):
    with docindex.open(tmp_path / "index", timeout_s=0.3) as index:
        index.add("a", "text")
        yield index


def can_be_written(index):
    """Whether another thread, and another connection, can write at once."""
    errors = []

    def write():
        try:
            index.add("b", "another text")
        except docindex.Busy as error:
            errors.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()
    direct = apsw.Connection(index.path)
    direct.execute("begin immediate")
    direct.close()
    return errors == []


class Interrupt(BaseException):
    """As an interrupt that falls just there."""


@pytest.mark.parametrize("kind", ["reading", "writing", "alone"])
@pytest.mark.parametrize("moment", ["the beginning", "the end"])
def test_a_block_that_is_interrupted_when_it_begins_or_ends_gives_back_what_it_borrowed(
    index, kind, moment, monkeypatch
):
    original = LendingBlock.__enter__ if moment == "the beginning" else connection.Store._ending

    def interrupted(*arguments):
        found = original(*arguments)
        if moment == "the beginning":
            raise Interrupt
        return stopped(found)

    @contextlib.contextmanager
    def stopped(_):
        raise Interrupt
        yield

    where = LendingBlock if moment == "the beginning" else connection.Store
    monkeypatch.setattr(where, original.__name__, interrupted)
    kept = []
    for _ in range(20):
        with pytest.raises(Interrupt) as caught, getattr(index._store, kind)() as db:
            db.execute(COUNT).fetchall()
        kept.append(caught)  # and so the tracebacks with all their local variables
    monkeypatch.undo()
    assert len(index._store._lender.connections()) == 2
    index.add("c", "a third text")
    assert can_be_written(index)
    assert set(index) == {"a", "b", "c"}


@pytest.mark.parametrize("kind", ["reading", "writing"])
def test_a_block_that_is_abandoned_while_another_begins_leaves_it_no_transaction(index, kind, monkeypatch):
    """A thread may be interrupted just after another one has looked which connections are free."""
    block = getattr(index._store, kind)()
    leave = [LendingBlock.__exit__.fget(block)]  # as a `with` statement keeps it
    assert block.__enter__().in_transaction
    is_free = lending._Slot.is_free

    def abandoned_after_the_look(slot):
        found = is_free(slot)
        if not found:
            leave.clear()
        return found

    monkeypatch.setattr(lending._Slot, "is_free", abandoned_after_the_look)
    with getattr(index._store, kind)() as db:
        assert db.execute(COUNT).fetchall() == [(1,)]
    assert leave == []
    assert can_be_written(index)


def test_a_cursor_that_somebody_keeps_does_not_show_others_an_old_state(index):
    with index._store.reading() as db:
        kept = db.execute("select key from docindex_document union all select 'more'")
        next(kept)
    index.add("b", "another text")
    assert list(index) == ["a", "b"]


@pytest.mark.parametrize("kind", ["reading", "writing", "alone"])
def test_a_cursor_that_was_cancelled_and_that_somebody_keeps_stops_nobody(index, kind):
    kept = []
    with contextlib.suppress(docindex.Cancelled), getattr(index._store, kind)() as db:
        kept += [db.execute("select key from docindex_document union all select 'more'") for _ in range(2)]
        next(kept[0])
        next(kept[1])
        index.cancel()
    index.add("b", "another text")
    assert list(index) == ["a", "b"]
    assert can_be_written(index)
    index.optimize()
    assert index.check() == []


def test_a_thread_can_write_again_in_the_handler_of_an_error(index):
    class Slip(Exception):
        pass

    try:
        with index._store.writing() as db:
            db.execute("delete from docindex_document")
            raise Slip
    except Slip:
        index.add("b", "another text")
    assert list(index) == ["a", "b"]


def test_transactions_do_not_nest_but_blocks_without_one_do(index):
    with index._store.alone() as outer, index._store.alone() as inner:
        assert outer is inner
    with index._store.writing(), pytest.raises(RuntimeError, match="inside another"):
        index.add("b", "another text")
    index.add("b", "another text")


def test_threads_write_in_turn(index):
    def write(name):
        for number in range(20):
            index.add(f"{name}/{number}", f"text {number}")

    with contextlib.closing(docindex.open(index.path, timeout_s=30)) as patient:
        index = patient
        threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(index) == 61


def test_only_a_few_connections_stay_open_while_nobody_reads(index):
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(read(index))
        assert len(index._store._lender.connections()) == 21
    assert len(index._store._lender.connections()) == 9


@contextlib.contextmanager
def read(index):
    with index._store.reading() as db:
        yield db


# --- close


def closing_takes(index):
    began = time.monotonic()
    index.close()
    index.close()
    with pytest.raises(ValueError, match="is closed"):
        len(index)
    return time.monotonic() - began


def test_close_does_not_wait_for_blocks_that_were_left_suspended(index):
    suspended = [read(index) for _ in range(3)]
    for block in suspended:
        block.__enter__()
    writing = index._store.writing()
    leave = writing.__exit__
    writing.__enter__().execute("delete from docindex_document")
    assert closing_takes(index) < 3
    with docindex.open(index.path) as again:
        assert list(again) == ["a"]
    with pytest.raises(ValueError, match="is closed"):
        leave(None, None, None)
    for block in suspended:
        block.__exit__(None, None, None)


def test_close_does_not_wait_for_a_thread_that_has_ended(index):
    kept = []
    thread = threading.Thread(target=lambda: (kept.append(read(index)), kept[0].__enter__()))
    thread.start()
    thread.join()
    assert closing_takes(index) < 3


@pytest.mark.parametrize("kind", ["reading", "writing"])
def test_close_stops_a_long_statement_of_another_thread(index, kind):
    errors, began = [], threading.Event()

    def run():
        try:
            with getattr(index._store, kind)() as db:
                db.create_scalar_function("begun", lambda: began.set(), 0)
                db.execute(
                    "with recursive n(x) as (select begun() union all select x from n) select count(*) from n"
                ).fetchall()
        except docindex.Cancelled as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    began.wait()
    assert closing_takes(index) < 3
    thread.join()
    assert len(errors) == 1


@pytest.mark.parametrize("inside", [True, False], ids=["in a statement", "between statements"])
@pytest.mark.parametrize("kind", ["reading", "writing"])
def test_close_ends_though_a_thread_goes_on(index, kind, inside, monkeypatch):
    monkeypatch.setattr(connections, "_CLOSE_S", 0.2)
    errors, began, go_on = [], threading.Event(), threading.Event()

    def busy():
        began.set()
        go_on.wait()

    def run():
        try:
            with getattr(index._store, kind)() as db:
                if inside:
                    db.create_scalar_function("busy", busy, 0)
                    db.execute("select busy()").fetchall()
                else:
                    db.execute("create temp table x (y)")
                    busy()
                    db.execute(COUNT)
        except (docindex.Cancelled, ValueError) as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    began.wait()
    assert closing_takes(index) < 3
    go_on.set()
    thread.join()
    assert len(errors) == 1
    assert index._store._lender.connections() == []
    with docindex.open(index.path) as again:
        assert list(again) == ["a"]


def test_a_close_that_is_interrupted_can_be_repeated(index, monkeypatch):
    lender, release = index._store._lender, index._store._release

    def interrupted(db, is_free):
        release(db, is_free)
        raise Interrupt

    monkeypatch.setattr(lender, "_release", interrupted)
    for _ in range(2):
        with pytest.raises(Interrupt):
            index.close()
    monkeypatch.undo()
    assert closing_takes(index) < 3
    assert lender.connections() == []
