"""Sketch batches of texts on several cores: `SketchWorkers`.

In: batches of texts. Out: their sketches and, on request, the parts in which the texts are stored. This
process and its helpers take batches from one list. Helpers are worker processes, because numpy holds
Python's lock. They start only when much text has come, and this process sketches when it would otherwise wait
for them. So they cost next to nothing where they do not pay. The result must never depend on who has sketched
a batch.
"""

import collections
import concurrent.futures
import contextlib
import logging
import os
import queue
import sys
import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from docindex.recipe import Recipe
from docindex.sketching.worker_process import SketchedBatch, WorkerProcess, sketched
from docindex.worker_command import worker_command

_log = logging.getLogger("docindex")

_ALONE = "no worker processes: %s; the work is done in this process"

MOST_WORKERS = 61
"""More workers cannot be asked for: Windows waits for at most this many processes."""

# Helpers start when this many characters have come: sketching them takes 0.1 s. A worker takes 0.09 s of
# another core to start, and 4 ms of this process.
_WORTHWHILE = 8_000_000

# A batch with this many characters is sketched in this process, because a worker would hold it twice.
_VERY_LONG = 16_000_000

# A worker has at most this many batches: one that it works on, and one that waits. So it never waits for this
# process, whose threads may get Python's lock late.
_AT_A_TIME = 2


# This process waits for this long before it sketches a batch that a helper seems to work on, and longer for
# a long text: four times as long as sketching takes. Without this, a helper that gets no processor would make
# the work slower than no helper does.
_PATIENCE_S, _PATIENCE_S_PER_CHARACTER = 0.1, 5e-8


class SketchJob:
    """One batch of texts to sketch."""

    def __init__(self, owner: "SketchWorkers", texts: Sequence[str], *, keep: bool) -> None:
        self._owner = owner
        self._claimed = threading.Lock()
        self.future: concurrent.futures.Future[SketchedBatch] = concurrent.futures.Future()
        self.texts = texts
        self.characters = sum(map(len, texts))
        self.keep = keep

    def claim(self) -> bool:
        """Whether nobody else sketches the batch. If so, the caller must."""
        return self._claimed.acquire(blocking=False)

    def settle(self, outcome: SketchedBatch | BaseException) -> None:
        """Note the result, unless somebody else was faster."""
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            if isinstance(outcome, BaseException):
                self.future.set_exception(outcome)
            else:
                self.future.set_result(outcome)

    def done(self) -> bool:
        """Whether `result` would return at once."""
        return self.future.done()

    def result(self) -> SketchedBatch:
        """The sketches of the batch. This thread sketches if it would have to wait.

        The parts of the texts are missing if there are no helpers. The caller then compresses each text when
        it writes it, because the text may turn out to be stored already.
        """
        return self._owner.finish(self)


class SketchWorkers:
    """Sketches batches in this process and up to ``workers - 1`` helpers.

    There are no helpers until they pay, and none if they cannot start. The logger ``"docindex"`` then says
    why; with `automatic`, only at the level INFO. A helper that ends too early is a `DocIndexError`.
    """

    def __init__(self, recipe: Recipe, workers: int, *, automatic: bool = False) -> None:
        self._recipe = recipe
        self._most = workers - 1
        # Whoever asks for workers wants to know; automatic ones only save time.
        self._level = logging.INFO if automatic else logging.WARNING
        self._submitted = 0
        """How many characters have come."""
        self._helpers: list[WorkerProcess] = []
        self._threads: list[threading.Thread] = []
        self._unclaimed: collections.deque[SketchJob] = collections.deque()
        # For the helpers, in the same order; None ends one of them.
        self._jobs: queue.SimpleQueue[SketchJob | None] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._unclaimed:  # after an error, batches that nobody has begun are not needed
            self._unclaimed.popleft().claim()
        for helper in self._helpers:
            self._jobs.put(None)
            helper.stop()  # batches that are still being sketched are not needed: see `finish`
        for thread in self._threads:
            thread.join()
        for helper in self._helpers:
            helper.join()
        self._helpers.clear()

    @property
    def alone(self) -> bool:
        """Whether there are no helpers now."""
        return not self._helpers

    def submit(self, texts: Sequence[str], *, keep: bool) -> SketchJob:
        """Begin to sketch one batch, and with `keep` to make the parts of its texts, if there are helpers."""
        job = SketchJob(self, texts, keep=keep)
        self._unclaimed.append(job)
        self._submitted += job.characters if job.characters < _VERY_LONG else 0
        if self._helpers:
            self._offer(job)
        elif self._submitted >= _WORTHWHILE:
            self.start()
        return job

    def _offer(self, job: SketchJob) -> None:
        if job.characters < _VERY_LONG:
            self._jobs.put(job)

    def finish(self, job: SketchJob) -> SketchedBatch:
        """The result of a job. While helpers work on it, this thread sketches others."""
        while not job.done():
            own = self._claimed(job) or self._next()
            if own is None:
                with contextlib.suppress(TimeoutError):
                    job.future.result(_PATIENCE_S + _PATIENCE_S_PER_CHARACTER * job.characters)
                own = job
            if not own.done():
                # With helpers also the parts: this process would make them in the last commit, when no helper
                # works.
                own.settle(sketched(own.texts, self._recipe, keep=own.keep and not self.alone))
        return job.future.result()

    def _claimed(self, job: SketchJob) -> SketchJob | None:
        """The job if nobody else has begun it, or None. The caller must do it."""
        if not job.claim():
            return None
        self._unclaimed.remove(job)  # nobody else would ever free its texts
        return job

    def _next(self) -> SketchJob | None:
        """The oldest job that nobody has begun, or None. The caller must do it."""
        while self._unclaimed:
            job = self._unclaimed.popleft()
            if job.claim():
                return job
        return None

    def start(self) -> None:
        """Start all helpers, without waiting for them. If one cannot start, no helper stays."""
        missing, self._most = self._most, 0
        command = worker_command("docindex.sketching.worker_process:serve")
        if missing and not command.arguments:
            _log.log(self._level, _ALONE, command.reason)
            return
        try:
            for _ in range(missing):
                self._helpers.append(WorkerProcess(self._recipe, command))
        except BaseException as error:
            for helper in self._helpers:
                helper.stop()
                helper.join()
            self._helpers.clear()
            if not isinstance(error, OSError):
                raise
            _log.log(self._level, _ALONE, error)
            return
        for job in self._unclaimed:
            self._offer(job)
        for helper in self._helpers:
            thread = threading.Thread(target=self._feed, args=(helper,), name="docindex", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _feed(self, helper: WorkerProcess) -> None:
        """Pass jobs to a helper as long as there are some; runs in a thread of its own."""
        if not helper.wait_until_ready():
            if not helper.was_stopped:
                _log.log(self._level, _ALONE, f"{sys.executable!r} did not start as one")
            return
        given: collections.deque[SketchJob] = collections.deque()
        is_open = True
        try:
            while is_open or given:
                is_open = is_open and self._give(helper, given)
                if given:
                    batch = helper.receive()
                    given.popleft().settle(batch)
        except BaseException as error:
            for job in given:
                job.settle(error)

    def _give(self, helper: WorkerProcess, given: "collections.deque[SketchJob]") -> bool:
        """Give a helper as many jobs as it should have; waits for one if it has none. False at the end."""
        while len(given) < _AT_A_TIME:
            try:
                job = self._jobs.get(block=not given)
            except queue.Empty:
                return True
            if job is None:
                return False
            if job.claim():
                given.append(job)
                helper.send(job.texts, keep=job.keep)
        return True


def default_workers() -> int:
    """The number of cores that this process may use, but at most four, because only one process writes.

    >>> 1 <= default_workers() <= 4
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 4)
