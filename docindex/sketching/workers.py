"""Sketch batches of texts in several worker processes: `SketchWorkers`.

In: batches of texts. Out: their sketches and, on request, the parts in which the texts are stored. A worker
is a new Python process that reads texts from a pipe and writes arrays back. It is not forked, because the
host may have threads. It does not import the host's main module, and nothing is pickled. A worker must never
open the file of an index.
"""

import concurrent.futures
import contextlib
import dataclasses
import logging
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Self

from docindex.errors import DocIndexError
from docindex.recipe import Recipe
from docindex.sketching.sketcher import sketch_batch
from docindex.sketching.sketches import Sketches
from docindex.sketching.text_parts import Parts, parts_of
from docindex.sketching.worker_command import WorkerCommand, worker_command
from docindex.sketching.worker_protocol import (
    READY_LINE,
    receive_parts,
    receive_sketches,
    receive_texts,
    send_parts,
    send_sketches,
    send_texts,
)

_log = logging.getLogger("docindex")

_NO_START = "worker processes cannot be started with {!r} ({}); call add_many with workers=1"
_ALONE = "no worker processes: %s; the work is done in this process"

# A worker allocates arrays of the same sizes again and again. These settings make the C library of Linux keep
# their memory instead of returning it to the system, which saves 5% of the time. Other systems ignore them.
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "268435456", "MALLOC_TRIM_THRESHOLD_": "268435456"}

# The size of a pipe: half a batch, so that the two processes wait for each other less often. Only Linux can
# change this size.
_PIPE_BYTES = 1 << 20

# A batch with this many characters is sketched in this process, because a worker would hold it twice.
_VERY_LONG = 16_000_000

# After an error, a worker has this many seconds to end by itself.
_EXIT_S = 5

MOST_WORKERS = 61
"""More workers cannot be asked for: Windows waits for at most so many processes.

The process that writes is busy with four.
"""

ENOUGH_FOR_WORKERS = 16_000_000
"""Workers save time if the texts have more characters than this.

A worker takes a third of a second to start; in that time this process sketches 20 MB.
"""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SketchedBatch:
    """The result of one batch of texts."""

    sketches: Sketches
    parts: list[Parts]
    """The parts of each text; an empty list if the caller must compress the texts itself."""


class SketchWorkers:
    """Sketches batches in worker processes or, if there are no workers, in this process.

    There are no workers if fewer than two are asked for, or if this process has no `worker_command`. If a
    worker does not start, this is a `DocIndexError`. With `optional`, and in a frozen application, this
    process sketches its batches instead. The logger ``"docindex"`` says why.
    """

    def __init__(self, recipe: Recipe, workers: int, *, optional: bool = False) -> None:
        self._recipe = recipe
        self._optional = optional
        # Whoever asks for workers wants to know; automatic ones only save time.
        self._level = logging.INFO if optional else logging.WARNING
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ready: dict[int, bool] = {}
        if workers > 1:
            self._start_all(workers)
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        # One thread for each worker waits for its answers.
        self._threads = concurrent.futures.ThreadPoolExecutor(max(1, len(self._processes)), "docindex")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            # After an error the batches that are still being sketched are not needed.
            self._kill_all()
        self._threads.shutdown(cancel_futures=True)
        self._end_all()

    def _start_all(self, workers: int) -> None:
        """Start all workers, or none."""
        command = worker_command()
        if not command.arguments:
            _log.log(self._level, _ALONE, command.reason)
            return
        self._optional = self._optional or command.frozen
        try:
            for _ in range(workers):
                self._processes.append(_start(self._recipe, command))
        except BaseException as error:
            self._kill_all()
            self._end_all()
            if not isinstance(error, OSError):
                raise
            if not self._optional:
                raise DocIndexError(_NO_START.format(sys.executable, error)) from error
            _log.log(self._level, _ALONE, error)

    def _kill_all(self) -> None:
        for process in self._processes:
            process.kill()

    def _end_all(self) -> None:
        """Wait until all workers have ended."""
        for process in self._processes:
            requests, replies = _pipes(process)
            with contextlib.suppress(OSError):  # a worker that has ended: EPIPE, or EINVAL on Windows
                requests.close()  # the worker ends when its input does
            replies.close()
            process.wait()
        self._processes.clear()

    @property
    def alone(self) -> bool:
        """Whether there are no workers, so that `submit` sketches every batch itself."""
        return not self._processes

    def submit(self, texts: Sequence[str], *, keep: bool) -> "concurrent.futures.Future[SketchedBatch]":
        """A future that returns the sketches of one batch, and the parts of its texts if `keep` is true.

        Without workers, or from 16 million characters, the batch is sketched before this method returns, and
        the result has no parts. The caller then compresses each text when it writes it, because the text may
        turn out to be stored already.
        """
        if self._processes and sum(map(len, texts)) < _VERY_LONG:
            return self._threads.submit(self._ask, texts, keep)
        done: concurrent.futures.Future[SketchedBatch] = concurrent.futures.Future()
        done.set_result(SketchedBatch(sketch_batch(texts, self._recipe), []))
        return done

    def _ask(self, texts: Sequence[str], keep: bool) -> "SketchedBatch":
        process = self._idle.get()
        requests, replies = _pipes(process)
        try:
            if process.pid not in self._ready:
                self._ready[process.pid] = ready = replies.readline() == READY_LINE
                if not ready and self._optional:
                    _log.log(self._level, _ALONE, f"{sys.executable!r} did not start as one")
            if not self._ready[process.pid]:
                if self._optional:
                    return SketchedBatch(sketch_batch(texts, self._recipe), [])
                raise ValueError("the worker did not start")
            send_texts(requests, texts, keep)
            return SketchedBatch(receive_sketches(replies, self._recipe), receive_parts(replies))
        except (OSError, ValueError, EOFError) as error:
            code = _exit_code(process)
            raise DocIndexError(
                f"a worker process ended with code {code}. Committed documents are kept; add the "
                "others again. Use workers=1 if there is too little memory, or if "
                f"{sys.executable!r} does not run Python"
            ) from error
        finally:
            self._idle.put(process)


def _start(recipe: Recipe, command: WorkerCommand) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        command.arguments,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pipesize=_PIPE_BYTES,
        env={**os.environ, **_KEEP_MEMORY},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    requests, _ = _pipes(process)
    with contextlib.suppress(OSError):  # the worker has ended already; the first batch reports that
        requests.write(recipe.to_json().encode() + b"\n")
        requests.flush()
    return process


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _exit_code(process: "subprocess.Popen[bytes]") -> int:
    """The exit code of a worker after an error. If the worker is still running, it is ended."""
    requests, _ = _pipes(process)
    with contextlib.suppress(OSError):
        requests.close()
    try:
        return process.wait(_EXIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def default_workers() -> int:
    """The number of cores that this process may use, but at most four, because only one process writes.

    >>> 1 <= default_workers() <= 4
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 4)


def serve() -> None:
    """Run as a worker process: sketch every batch that arrives on standard input, until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host process handles Ctrl-C
    try:
        _serve()
    except (OSError, EOFError):
        os._exit(0)  # the host has closed the pipes or has ended; do not flush the buffers


def _serve() -> None:
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    replies.write(READY_LINE)
    replies.flush()
    recipe = Recipe.from_json(requests.readline().decode())
    while requests.peek(1):  # type: ignore[union-attr] # standard input is buffered, so peek waits for data
        texts, keep = receive_texts(requests)
        send_sketches(replies, sketch_batch(texts, recipe))
        send_parts(replies, [list(parts_of(text)) for text in texts] if keep else [])
        replies.flush()
