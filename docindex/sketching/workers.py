"""Sketch batches of texts on several cores: `SketchWorkers`.

In: batches of texts. Out: their sketches and, on request, the parts in which the texts are stored. This
process and its helpers take batches from one list. Helpers are worker processes, because numpy holds Python's
lock; on a Python without that lock they are threads. They start only when this process has sketched for a
while, and this process sketches when it would otherwise wait for them. So they cost next to nothing where
they do not pay. The result must never depend on who has sketched a batch.
"""

import collections
import concurrent.futures
import contextlib
import contextvars
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from docindex.checkpoints import stopped_by
from docindex.errors import CANCELLED, Cancelled
from docindex.recipe import Recipe
from docindex.sketching.worker_process import WorkerProcess, sketched
from docindex.sketching.worker_protocol import SketchedBatch
from docindex.worker_command import worker_command

_log = logging.getLogger("docindex")

_ALONE = "no worker processes: %s; the work is done in this process"

MOST_WORKERS = 61
"""More workers cannot be asked for: Windows waits for at most this many processes."""

# Helpers start when the batches that wait would keep this process busy for this long: 13 MB of files, or 6 MB
# of notes. A worker takes 0.09 s of another core to start, and its first batch 0.02 s more than later ones.
# This process spends 1 ms on its start and 3 ms on its end: 2% of the smallest build that has a worker.
_WORTHWHILE_S = 0.15

# Helpers start at once if this many characters are foreseen: half more than the files above. A scan, whose
# texts come slowly, would otherwise have read and sketched for 0.1 s before it starts them.
_SURELY_WORTHWHILE = 20_000_000

# If texts come too slowly to wait, helpers start when this process has sketched for this long.
_LONG_S = 0.2

# This process first accepts batches for this long before it sketches one. So it learns how much text is
# coming, and the helpers start 0.03 s earlier than if it sketched a batch first: 1% of a build of 80 MB.
_FORESIGHT_S = 0.05

# How long sketching takes, as long as this process has not measured it: files of 12 KB on a fast processor.
_FIRST_GUESS = 0.011, 1_000_000

# A batch with this many characters is sketched in this process, because a worker would hold it twice.
_VERY_LONG = 16_000_000

# A worker has at most this many batches: one that it works on, and one that waits. So it never waits for this
# process, whose threads may get Python's lock late.
_AT_A_TIME = 2


# This process waits for this long before it sketches a batch that a helper seems to work on, and for a long
# text twice as long as sketching it takes here. Without this, a helper that gets no processor would make the
# work slower than no helper does.
_PATIENCE_S = 0.1

# How many of the newest jobs of helpers this process remembers: it does some of them itself at the end.
_NOTICED = 16


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

    def __init__(self, recipe: Recipe, workers: int, *, automatic: bool = False, foreseen: int = 0) -> None:
        """`foreseen` is the number of characters that are coming, if somebody knows it."""
        self._recipe = recipe
        self._foreseen = foreseen
        self._most = workers - 1
        # Whoever asks for workers wants to know; automatic ones only save time.
        self._level = logging.INFO if automatic else logging.WARNING
        # What this process has sketched, and until when it only accepts batches.
        self._sketched_s, self._sketched_characters = 0.0, 0
        self._accepts_until = time.monotonic() + _FORESIGHT_S
        self._helpers: list[_Helper] = []
        self._threads: list[threading.Thread] = []
        self._unclaimed: collections.deque[SketchJob] = collections.deque()
        # Jobs that helpers have claimed, as far as this thread has noticed.
        self._given: collections.deque[SketchJob] = collections.deque(maxlen=_NOTICED)
        # For the helpers, in the same order; None ends one of them.
        self._jobs: queue.SimpleQueue[SketchJob | None] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        if self._foreseen >= _SURELY_WORTHWHILE:
            self.start()
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

    @property
    def wants_more(self) -> bool:
        """Whether to submit further batches before the result of one is needed."""
        return not self.alone or (self._most > 0 and time.monotonic() < self._accepts_until)

    def submit(self, texts: Sequence[str], *, keep: bool) -> SketchJob:
        """Begin to sketch one batch, and with `keep` to make the parts of its texts, if there are helpers."""
        job = SketchJob(self, texts, keep=keep)
        self._unclaimed.append(job)
        if self._helpers:
            self._offer(job)
        else:
            self._start_if_worthwhile()
        return job

    def _offer(self, job: SketchJob) -> None:
        if job.characters < _VERY_LONG:
            self._jobs.put(job)

    def finish(self, job: SketchJob) -> SketchedBatch:
        """The result of a job. While helpers work on it, this thread sketches others.

        At the end these are batches that a helper has, and perhaps has not begun.
        """
        while not job.done():
            own = self._claimed(job) or self._next() or self._last_given(job)
            if own is None:
                with contextlib.suppress(TimeoutError):
                    job.future.result(timeout=max(_PATIENCE_S, 2 * self._seconds_for(job.characters)))
                own = job
            if not own.done():
                self._sketch(own)
        return job.future.result()

    def _claimed(self, job: SketchJob) -> SketchJob | None:
        """The job if nobody else has begun it, or None. The caller must do it."""
        if not job.claim():
            return None
        self._unclaimed.remove(job)  # nobody else would ever free its texts
        return job

    def _last_given(self, job: SketchJob) -> SketchJob | None:
        """The newest job that a helper has, or None if that is `job`."""
        while self._given and self._given[-1].done():
            self._given.pop()
        return self._given[-1] if self._given and self._given[-1] is not job else None

    def _next(self) -> SketchJob | None:
        """The oldest job that nobody has begun, or None. The caller must do it."""
        while self._unclaimed:
            job = self._unclaimed.popleft()
            if job.claim():
                return job
            self._given.append(job)
        return None

    def _sketch(self, job: SketchJob) -> None:
        begin = time.thread_time()
        # With helpers also the parts: this process would make them in the last commit, when no helper works.
        job.settle(sketched(job.texts, self._recipe, keep=job.keep and not self.alone))
        self._sketched_s += time.thread_time() - begin
        self._sketched_characters += job.characters
        self._start_if_worthwhile()

    def _start_if_worthwhile(self) -> None:
        """Start the helpers if there is enough work for them."""
        if self._most > 0:
            waiting = sum(job.characters for job in self._unclaimed if job.characters < _VERY_LONG)
            if self._seconds_for(waiting) >= _WORTHWHILE_S or self._sketched_s >= _LONG_S:
                self.start()

    def _seconds_for(self, characters: int) -> float:
        """How long this process takes to sketch this many characters, judged by what it has sketched."""
        seconds, of = self._sketched_s, self._sketched_characters
        if not of:
            seconds, of = _FIRST_GUESS
        return characters * seconds / of

    def start(self) -> None:
        """Start all helpers, without waiting for them. If one cannot start, no helper stays."""
        missing, self._most = self._most, 0
        try:
            for _ in range(missing):
                self._helpers.append(self._started())
        except BaseException as error:
            for helper in self._helpers:
                helper.stop()
                helper.join()
            self._helpers.clear()
            if not isinstance(error, (OSError, _NoCommandError)):
                raise
            _log.log(self._level, _ALONE, error)
            return
        for job in self._unclaimed:
            self._offer(job)
        for helper in self._helpers:
            thread = threading.Thread(target=self._feed, args=(helper,), name="docindex", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _started(self) -> "_Helper":
        if not has_lock():
            return _HelperThread(self._recipe)
        command = worker_command("docindex.sketching.worker_process:serve")
        if not command.arguments:
            raise _NoCommandError(command.reason)
        return WorkerProcess(self._recipe, command)

    def _feed(self, helper: "_Helper") -> None:
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

    def _give(self, helper: "_Helper", given: "collections.deque[SketchJob]") -> bool:
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


class _Helper(Protocol):
    """Somebody who sketches for this process. One thread at a time may use it, except `stop`."""

    @property
    def was_stopped(self) -> bool: ...
    def wait_until_ready(self) -> bool: ...
    def send(self, texts: Sequence[str], *, keep: bool) -> None: ...
    def receive(self) -> SketchedBatch: ...
    def stop(self) -> None: ...
    def join(self) -> None: ...


class _HelperThread:
    """Sketches in the thread that asks it: a helper for a Python without a global lock."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._requests: collections.deque[tuple[Sequence[str], bool]] = collections.deque()
        self._context = contextvars.copy_context()  # with the tokens that cancel the work
        self.was_stopped = False

    def wait_until_ready(self) -> bool:
        return True

    def send(self, texts: Sequence[str], *, keep: bool) -> None:
        self._requests.append((texts, keep))

    def receive(self) -> SketchedBatch:
        texts, keep = self._requests.popleft()
        with stopped_by(self._refuse_stopped):
            return self._context.run(sketched, texts, self._recipe, keep=keep)

    def _refuse_stopped(self) -> None:
        if self.was_stopped:
            raise Cancelled(CANCELLED, "")

    def stop(self) -> None:
        self.was_stopped = True

    def join(self) -> None:
        pass


class _NoCommandError(Exception):
    """Workers cannot be started from this process."""


def has_lock() -> bool:
    """Whether only one thread of this Python runs at a time."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def default_workers() -> int:
    """The number of cores that this process may use, but at most four, because only one process writes.

    >>> 1 <= default_workers() <= 4
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 4)
