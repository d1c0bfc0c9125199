"""An operation that is stopped at any step is done completely or not at all, and can be repeated.

SQLite's progress handler counts the steps; an operation has a few thousand. Here it is stopped at about 25
evenly spread steps. To stop it at every step, which takes half an hour, run
``DOCINDEX_STEPS=1000000 python -m pytest tests/trials/crash/test_interrupt.py``.
"""

import contextlib
import os
import shutil
import threading

import apsw
import pytest

import docindex
from docindex.index.adding import Target
from docindex.storage import check, maintenance
from docindex.storage.postings import segment_writer
from docindex.storage.postings.segments import all_segments
from tests.trials.crash import program

STEPS = int(os.environ.get("DOCINDEX_STEPS", "25"))

MANY = [(f"many/{number}", program.text_of(100 + number)) for number in range(8)]


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    program.shrink(monkeypatch.setattr)


def build(path):
    """Make an index of a dozen documents with copies, removed ones, many segments, and a merge under way."""
    with docindex.open(path) as index:
        for number in range(12):
            index.add(f"{number}", program.text_of(number), meta={"n": number})
        index.add("copy of 3", program.text_of(3))
        index.remove("5")
        index.add("6", program.text_of(60))
        with index._store.writing() as db:
            assert len(all_segments(db)) > 3
            while not any(segment.moved is not None for segment in all_segments(db)):
                assert segment_writer.merge_postings(db, 1, everything=True)
        assert index.stats().dead == 2


@contextlib.contextmanager
def fresh(base, place, how):
    """A copy of the index that `build` made, in a file or in memory."""
    if how == "in memory":
        with docindex.open(":memory:") as index:
            source = apsw.Connection(str(base), flags=apsw.SQLITE_OPEN_READONLY)
            with index._store._writer.backup("main", source, "main") as work:
                work.step()
            source.close()
            yield index
    else:
        shutil.copy(base, place)
        with docindex.open(place) as index:
            yield index


def everything(index):
    return {key: (index.text(key), index[key].id, index.meta(key)) for key in index}


def merge(index):
    with index._store.writing() as db:
        segment_writer.merge_postings(db, 300, everything=True)


def remove(index):
    if "7" in index:  # so that it can be repeated
        index.remove("7")


def rename(index):
    if "7" in index:
        index.rename("7", "seven")


OPERATIONS = {
    "add new": lambda index: index.add("new", program.text_of(99), meta=[1]),
    "add instead": lambda index: index.add("7", program.text_of(98), meta=[1]),
    "add a known text": lambda index: index.add("new", program.text_of(4)),
    "add the same with other meta": lambda index: index.add("7", program.text_of(7), meta="other"),
    "add many in several commits": lambda index: index.add_many(MANY, workers=1),
    "remove": remove,
    "remove one of two copies": lambda index: "3" in index and index.remove("3"),
    "rename": rename,
    "mark as boilerplate": lambda index: index.boilerplate.add(program.text_of(5), name="template"),
    "merge": merge,
    "optimize": docindex.Index.optimize,
}


class StopAt:
    """A progress handler that counts steps, and stops the statement at one of them, once."""

    def __init__(self, step=None):
        self.step = step
        self.steps = 0

    def __call__(self):
        self.steps += 1
        return self.steps == self.step


def stopped(index, operation, step):
    """Whether the operation was stopped at that step."""
    writer = index._store._writer
    writer.set_progress_handler(StopAt(step), 1)
    try:
        operation(index)
    except docindex.Cancelled:
        return True
    finally:
        writer.set_progress_handler(None)
        assert not writer.in_transaction
    return False


def states(index, operation):
    """The contents of the index before an operation and after each commit of it; and its number of steps."""
    writer, count = index._store._writer, StopAt()
    found = [everything(index)]
    commit = Target.commit

    def commit_and_look(target, group):
        commit(target, group)
        writer.set_progress_handler(None)  # in memory, one connection reads and writes
        found.append(everything(index))
        writer.set_progress_handler(count, 1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Target, "commit", commit_and_look)
        writer.set_progress_handler(count, 1)
        operation(index)
        writer.set_progress_handler(None)
    return [*found, everything(index)], count.steps


@pytest.mark.parametrize("how", ["in a file", "in memory"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_stopped_at_any_step_is_done_or_undone_and_can_be_repeated(tmp_path, name, how):
    operation, base, place = OPERATIONS[name], tmp_path / "base", tmp_path / "index"
    build(base)
    with fresh(base, place, how) as index:
        allowed, steps = states(index, operation)
    interrupted = 0
    for step in range(1, steps + 1, max(1, steps // STEPS)):
        with fresh(base, place, how) as index:
            interrupted += stopped(index, operation, step)
            assert everything(index) in allowed, (
                f"stopped at step {step}, it is neither before nor after a commit"
            )
            assert index.check() == [], f"stopped at step {step}"
            operation(index)
            assert everything(index) == allowed[-1], f"repeated after a stop at step {step}"
            assert index.check() == [], f"repeated after a stop at step {step}"
            if operation is docindex.Index.optimize:
                assert (index.stats().segments, index.stats().dead) == (1, 0)
    assert interrupted > min(STEPS, steps) / 2


def test_a_check_stopped_at_any_step_raises_cancelled_and_reports_no_damage(tmp_path):
    build(tmp_path / "index")
    with docindex.open(tmp_path / "index") as index:
        assert index.check() == []
        (reader,) = index._store._lender.connections()[1:]
        reader.set_progress_handler(count := StopAt(), 1)
        index.check()
        for step in range(1, count.steps + 1, max(1, count.steps // STEPS)):
            reader.set_progress_handler(StopAt(step), 1)
            with pytest.raises(docindex.Cancelled):
                index.check()
            reader.set_progress_handler(None)
            assert index.check() == []


def cancelled_from_another_thread(index):
    """Cancel an index as a host does, from another thread, and wait for the call to return."""
    thread = threading.Thread(target=index.cancel)
    thread.start()
    thread.join()


def test_cancel_stops_add_many_and_keeps_what_was_committed(tmp_path):
    with docindex.open(tmp_path / "index") as index:

        def documents():
            for number in range(10_000):
                if number == 50:
                    cancelled_from_another_thread(index)
                yield f"{number:05}", program.text_of(number)

        with pytest.raises(docindex.Cancelled):
            index.add_many(documents(), workers=1)
        kept = len(index)
        assert 0 < kept <= 50
        assert list(index) == [f"{number:05}" for number in range(kept)]
        assert all(index.text(key) == program.text_of(int(key)) for key in index)
        assert index.check() == []
        assert index.add_many((str(number), program.text_of(number)) for number in range(60)) == 60
        assert len(index) == kept + 60
        assert index.check() == []


def test_cancel_stops_add_during_a_statement(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add_many(MANY, workers=1)
        before = everything(index)
        index._store._writer.set_progress_handler(lambda: bool(cancelled_from_another_thread(index)), 5)
        with pytest.raises(docindex.Cancelled):
            index.add("new", program.text_of(1))
        index._store._writer.set_progress_handler(None)
        assert everything(index) == before
        index.add("new", program.text_of(1))
        assert index.check() == []


@pytest.mark.parametrize("moment", ["postings_in", "all_blocks"])
def test_cancel_also_stops_a_check_between_two_statements(tmp_path, monkeypatch, moment):
    build(tmp_path / "index")
    with docindex.open(tmp_path / "index") as index:
        original = getattr(check.segments, moment)

        def cancel_first(*arguments):
            cancelled_from_another_thread(index)
            return original(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(check.segments, moment, cancel_first)
            with pytest.raises(docindex.Cancelled):
                index.check()
        assert index.check() == []


def test_cancel_stops_optimize_and_the_next_call_continues(tmp_path, monkeypatch):
    build(tmp_path / "index")
    with docindex.open(tmp_path / "index") as index:
        before = everything(index)
        merge_some, calls = maintenance.merge_some, []

        def cancel_first(db):
            calls.append(cancelled_from_another_thread(index))
            return merge_some(db)

        monkeypatch.setattr(maintenance, "merge_some", cancel_first)
        with pytest.raises(docindex.Cancelled):
            index.optimize()
        assert len(calls) == 1
        monkeypatch.setattr(maintenance, "merge_some", merge_some)
        assert everything(index) == before
        index.optimize()
        assert everything(index) == before
        assert (index.stats().segments, index.stats().dead) == (1, 0)
        assert index.check() == []


def test_a_cancel_before_an_operation_does_not_stop_it(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.cancel()
        index.add("a", program.text_of(1))
        index.cancel()
        assert index.check() == []
        index.cancel()
        index.optimize()
        assert len(index) == 1


@pytest.mark.parametrize("where", ["items", "progress", "a key", "a text", "meta"])
def test_an_error_of_the_caller_keeps_the_commits_before_it_and_nothing_else(tmp_path, where):
    class Slip(Exception):
        pass

    def documents():
        for number in range(100):
            key, text, meta = f"{number:03}", program.text_of(number), None
            if number == 50 and where == "items":
                raise Slip
            if number == 50 and where == "a key":
                key = "\0"
            if number == 50 and where == "a text":
                text = text.encode()
            if number == 50 and where == "meta":
                meta = Slip()
            yield key, text, meta

    def progress(taken, _):
        if taken > 50 and where == "progress":
            raise Slip

    with docindex.open(tmp_path / "index") as index:
        ends = {0}
        commit = Target.commit
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Target, "commit", lambda *group: (commit(*group), ends.add(len(index))))
            with pytest.raises((Slip, ValueError, TypeError)):
                index.add_many(documents(), workers=1, progress=progress)
        kept = max(ends)
        assert 20 < kept <= 51
        assert list(index) == [f"{number:03}" for number in range(kept)]
        assert all(index.text(key) == program.text_of(int(key)) for key in index)
        assert index.check() == []
        index.add("afterwards", "one more")
        assert index.check() == []


def test_a_segment_that_lost_most_of_its_postings_is_merged_in_several_commits(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add_many(((f"{n:03}", program.text_of(n)) for n in range(1, 120)), workers=1)
        index.optimize()
        for number in range(1, 100):
            index.remove(f"{number:03}")
        index.optimize()  # leaves one segment, with as many blocks as it needed before
        index.remove("119")
        index.optimize()
        assert index.check() == []
        assert (index.stats().segments, index.stats().dead) == (1, 0)
