"""`docindex.cancelling` stops the work of one block, and that of nobody else."""

import asyncio
import contextlib
import contextvars
import threading
import time

import pytest

import docindex
from docindex.cancellation import not_cancelled
from docindex.folders import Plan, act
from tests.trials.crash import program

SLOW = """
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000000)
    select count(*) from n"""


@pytest.fixture(params=["in a file", "in memory"])
def index(request, tmp_path):
    path = ":memory:" if request.param == "in memory" else tmp_path / "index"
    with docindex.open(path) as index:
        index.add_many([(f"{number}", program.text_of(number)) for number in range(20)], workers=1)
        yield index
        assert index.check() == []


def cancelled_soon(work, seconds=0.1):
    """Run work in a block that is cancelled after some time; return how long it then went on."""
    begun, times = threading.Event(), []

    def cancel(token):
        begun.wait()
        time.sleep(seconds)
        times.append(time.monotonic())
        token.cancel()

    with docindex.cancelling() as token:
        thread = threading.Thread(target=cancel, args=(token,))
        thread.start()
        begun.set()
        with pytest.raises(docindex.Cancelled, match=r"^the work was cancelled; committed work stays$"):
            work()
    thread.join()
    return time.monotonic() - times[0]


def test_a_token_stops_a_statement_that_runs(index):
    assert cancelled_soon(lambda: index.execute(SLOW)) < 5


def test_a_token_stops_work_between_statements(index):
    def items():
        for number in range(10**9):
            yield str(number), program.text_of(number)

    assert cancelled_soon(lambda: index.add_many(items(), workers=1)) < 10
    assert len(index) >= 20


def test_a_token_stops_a_long_comparison_of_two_texts_without_an_index():
    text = " ".join(str(number) for number in range(3_000_000))
    with docindex.cancelling() as token:
        token.cancel()
        with pytest.raises(docindex.Cancelled):
            docindex.resemblance(text, text)


@pytest.mark.parametrize(
    "work",
    [
        lambda index: index.search(program.text_of(1)),
        lambda index: index.similar("1"),
        lambda index: index.near("1"),
        lambda index: list(index.pairs(min_resemblance=0.5)),
        lambda index: index.clusters(),
        lambda index: index.compare("1", "2"),
        lambda index: index["1"],
        lambda index: len(index),
        lambda index: list(index),
        lambda index: index.execute("select key from doc_search('a text')"),
        lambda index: index.check(),
        lambda index: index.stats(),
        lambda index: index.add("1", "another text"),
        lambda index: index.remove("1"),
        lambda index: index.rename("1", "one"),
        lambda index: index.optimize(),
        lambda index: index.boilerplate.add("a template"),
    ],
)
def test_a_cancelled_block_refuses_every_call_and_changes_nothing(index, work):
    before = {key: index.text(key) for key in index}
    with docindex.cancelling() as token:
        token.cancel()
        with pytest.raises(docindex.Cancelled):
            work(index)
    assert {key: index.text(key) for key in index} == before
    work(index)  # outside of the block, the same call works


def test_a_token_stops_a_wait_for_another_writer(tmp_path):
    with docindex.open(tmp_path / "index", timeout_s=60) as index, docindex.open(tmp_path / "index") as other:
        with other._store.writing():
            assert cancelled_soon(lambda: index.add("new", "text")) < 5
        with index._store.writing():
            waiting = threading.Thread(target=cancelled_soon, args=(lambda: index.add("new", "text"),))
            waiting.start()
            waiting.join(30)
            assert not waiting.is_alive()


def test_a_token_never_stops_the_work_of_another_thread(index):
    """Some threads are cancelled again and again; the others use the same connections, and never notice."""
    errors, end = [], threading.Event()

    def answer():
        try:
            while not end.is_set():
                assert index.search(program.text_of(3))[0].key == "3"
                index.add("mine", program.text_of(500))
                index.remove("mine")
        except BaseException as error:
            errors.append(error)

    steady = threading.Thread(target=answer)
    steady.start()
    stopped = 0
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        with docindex.cancelling() as token:
            timer = threading.Timer(0.002, token.cancel)
            timer.start()
            try:
                while True:
                    index.search(program.text_of(5))
                    index.execute("select count(*) from doc_index a, doc_index b")
            except docindex.Cancelled:
                stopped += 1
            timer.join()
    end.set()
    steady.join()
    assert errors == []
    assert stopped > 5


def test_an_event_that_is_set_before_the_work_begins_stops_it(index):
    event = threading.Event()
    with docindex.cancelling(event):
        assert index.search(program.text_of(1))
        event.set()
        with pytest.raises(docindex.Cancelled):
            index.search(program.text_of(1))
    assert index.search(program.text_of(1))
    with pytest.raises(TypeError, match=r"^cancelling takes a threading.Event, .* not int$"):
        docindex.CancelToken(7)


def test_the_last_steps_of_cancelled_work_can_be_done(index):
    with docindex.cancelling() as token:
        token.cancel()
        with not_cancelled():
            assert len(index) == 20
        with pytest.raises(docindex.Cancelled):
            len(index)


def test_an_outer_token_stops_inner_blocks_and_an_inner_token_only_its_own(index):
    with docindex.cancelling() as outer:
        with docindex.cancelling() as inner:
            inner.cancel()
            with pytest.raises(docindex.Cancelled):
                len(index)
        assert len(index) == 20
        with docindex.cancelling():
            outer.cancel()
            with pytest.raises(docindex.Cancelled):
                len(index)


def test_a_token_also_stops_work_that_asyncio_moved_to_a_thread(index):
    async def ask():
        with docindex.cancelling() as token:
            question = asyncio.create_task(asyncio.to_thread(index.execute, SLOW))
            await asyncio.sleep(0.05)
            token.cancel()
            with pytest.raises(docindex.Cancelled):
                await question
        return await asyncio.to_thread(len, index)

    assert asyncio.run(ask()) == 20


def test_a_new_thread_is_in_no_block_unless_it_runs_in_a_copy_of_the_context(index):
    answers = []

    def count():
        with contextlib.suppress(docindex.Cancelled):
            answers.append(len(index))

    with docindex.cancelling() as token:
        token.cancel()
        context = contextvars.copy_context()
        for target in (count, lambda: context.run(count)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
    assert answers == [20]


def test_folders_accept_a_token_as_their_flag():
    with docindex.cancelling() as token:
        assert act(Plan(()), "trash", dry_run=True, cancel=token).cancelled is False
