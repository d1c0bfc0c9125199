"""Texts in; out what is stored of them, made by other processes of this machine.

A worker is a plain Python process that reads texts from a pipe and writes arrays back: no fork
(a host may have threads), no import of the host's main module, nothing pickled. Must never
touch a file of an index.
"""

import concurrent.futures
import contextlib
import dataclasses
import itertools
import math
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np

from docindex.errors import DocIndexError
from docindex.recipe import Recipe
from docindex.sketching.sketch import Sketches, sketch_batches
from docindex.sketching.text_parts import Parts, parts_of

Array = np.ndarray[Any, Any]

# The package is found by its folder: a search path might find another one, or modules that hide Python's own.
_COMMAND = """
import sys
from importlib import util
spec = util.spec_from_file_location("docindex", sys.argv[1] + "/__init__.py")
sys.modules["docindex"] = module = util.module_from_spec(spec)
spec.loader.exec_module(module)
from docindex.sketching.workers import serve
serve()
"""
_READY = b"ready\n"
_NO_START = "worker processes cannot be started with {!r} ({}); call add_many with workers=1"

# A worker makes arrays of the same sizes again and again: the C library of Linux shall keep their
# memory, not give it back and ask for it anew (5% of the time).
_KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "268435456", "MALLOC_TRIM_THRESHOLD_": "268435456"}

_PIPE_BYTES = 1 << 20  # half a batch: fewer turns of waiting for each other

# A worker takes a third of a second to start, in which this process sketches 20 MB.
_VERY_LONG = 16_000_000
ENOUGH = 16_000_000
"""Characters of text that make it worth while to start workers."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What has been made of a batch of texts."""

    sketches: Sketches
    parts: list[Parts]
    """The texts as they are stored; empty if that is still to be done."""


class Sketchers:
    """Makes sketches of batches: at once and here, or in worker processes when there are some.

    Workers that are `optional` may fail to start (a host may be no Python that can be run again):
    then the work is done here.
    """

    def __init__(self, recipe: Recipe, workers: int, *, optional: bool = False) -> None:
        self._recipe = recipe
        self._optional = optional
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ready: dict[int, bool] = {}
        if workers > 1 and _can_be_run_again():
            try:
                self._processes += [_start(recipe) for _ in range(workers)]
            except OSError as error:
                if not optional:
                    raise DocIndexError(_NO_START.format(sys.executable, error)) from error
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes]] = queue.SimpleQueue()
        for process in self._processes:
            self._idle.put(process)
        # A thread for each worker, which waits for its answers.
        self._threads = concurrent.futures.ThreadPoolExecutor(max(1, len(self._processes)), "docindex")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            # What is still being sketched is not wanted any more.
            for process in self._processes:
                process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            requests, replies = _pipes(process)
            with contextlib.suppress(BrokenPipeError):
                requests.close()  # which ends a worker
            replies.close()
            process.wait()

    @property
    def alone(self) -> bool:
        """Whether there are no workers: then every batch is made when it is submitted."""
        return not self._processes

    def submit(self, texts: Sequence[str], *, keep: bool) -> "concurrent.futures.Future[Made]":
        """What is stored of one batch, some time later; here and now if there are no workers.

        Also of a very long text: a worker would hold it twice.
        """
        if self._processes and sum(map(len, texts)) < _VERY_LONG:
            return self._threads.submit(self._ask, texts, keep)
        done: concurrent.futures.Future[Made] = concurrent.futures.Future()
        # The texts themselves only when they are written: they may be known, or of no use.
        done.set_result(Made(sketched(texts, self._recipe), []))
        return done

    def _ask(self, texts: Sequence[str], keep: bool) -> "Made":
        process = self._idle.get()
        requests, replies = _pipes(process)
        try:
            if process.pid not in self._ready:
                self._ready[process.pid] = replies.readline() == _READY
            if not self._ready[process.pid]:
                if self._optional:
                    return Made(sketched(texts, self._recipe), [])
                raise ValueError("it never began")
            _send_texts(requests, texts, keep)
            return Made(_receive_sketches(replies, self._recipe), _receive_parts(replies))
        except (OSError, ValueError) as error:
            raise DocIndexError(
                f"a worker process ended with code {process.wait()}; what was committed stays: add the rest "
                f"again, with workers=1 if memory is short or {sys.executable!r} cannot be run as Python"
            ) from error
        finally:
            self._idle.put(process)


def _can_be_run_again() -> bool:
    """Whether there is a Python to run: an application frozen into one executable is none."""
    name = Path(sys.executable or "").name.lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def _start(recipe: Recipe) -> "subprocess.Popen[bytes]":
    """A worker, which finds this very docindex, whatever the working folder holds (-P)."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _COMMAND, str(Path(__file__).parents[1])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        pipesize=_PIPE_BYTES,
        env={**os.environ, **_KEEP_MEMORY},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    requests, _ = _pipes(process)
    with contextlib.suppress(BrokenPipeError):  # it has ended already, which the first question finds out
        requests.write(recipe.to_json().encode() + b"\n")
        requests.flush()
    return process


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def default_workers() -> int:
    """One for each core this process may use, at most four; one process writes for all of them."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 4)


def sketched(texts: Sequence[str], recipe: Recipe) -> Sketches:
    """The sketches of texts that make up one batch."""
    (batch,) = sketch_batches(texts, recipe)
    return batch


def serve() -> None:
    """What a worker process does: sketch every batch that comes in, until none comes any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's to answer
    try:
        _serve()
    except BrokenPipeError:
        os._exit(0)  # the host was done before; nobody waits for what is in the buffers


def _serve() -> None:
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    replies.write(_READY)
    replies.flush()
    recipe = Recipe.from_json(requests.readline().decode())
    while requests.peek(1):  # type: ignore[union-attr] # standard input is buffered: nothing at its end
        keep = bool(_receive(requests)[0])
        texts = _receive_texts(requests)
        _send_sketches(replies, sketched(texts, recipe))
        _send_parts(replies, [list(parts_of(text)) for text in texts] if keep else [])
        replies.flush()


def _send_texts(stream: IO[bytes], texts: Sequence[str], keep: bool) -> None:
    _send(stream, np.array([keep]))
    sources = [text.encode("utf-8", "surrogatepass") for text in texts]
    _send(stream, np.array([len(source) for source in sources], np.int64))
    stream.writelines(sources)
    stream.flush()


def _receive_texts(stream: IO[bytes]) -> list[str]:
    lengths = _receive(stream).tolist()
    return [stream.read(length).decode("utf-8", "surrogatepass") for length in lengths]


def _send_parts(stream: IO[bytes], texts: list[Parts]) -> None:
    _send(stream, np.array([len(parts) for parts in texts], np.int64))
    parts = list(itertools.chain.from_iterable(texts))
    _send(stream, np.array([(codec, len(data)) for codec, data in parts], np.int64).reshape(-1, 2))
    stream.writelines(data for _, data in parts)


def _receive_parts(stream: IO[bytes]) -> list[Parts]:
    counts = _receive(stream).tolist()
    parts = iter([(codec, stream.read(length)) for codec, length in _receive(stream).tolist()])
    return [list(itertools.islice(parts, count)) for count in counts]


def _send_sketches(stream: IO[bytes], batch: Sketches) -> None:
    for array in _arrays(batch):
        _send(stream, array)


def _receive_sketches(stream: IO[bytes], recipe: Recipe) -> Sketches:
    names = [field.name for field in dataclasses.fields(Sketches) if field.name != "recipe"]
    values: dict[str, Any] = {}
    for name in names:
        if name in _PAIRS:
            values[name] = _receive(stream), _receive(stream)
        elif name == "symbols_hashes":
            values[name] = [row.tobytes() for row in _receive(stream)]
        else:
            values[name] = _receive(stream)
    return Sketches(recipe=recipe, **values)


_PAIRS = {"min_s", "mod_m", "level"}


def _arrays(batch: Sketches) -> list[Array]:
    arrays: list[Array] = []
    for field in dataclasses.fields(batch):
        value = getattr(batch, field.name)
        if field.name in _PAIRS:
            arrays.extend(value)
        elif field.name == "symbols_hashes":
            arrays.append(np.frombuffer(b"".join(value), np.uint8).reshape(-1, 16))
        elif field.name != "recipe":
            arrays.append(value)
    return arrays


def _send(stream: IO[bytes], array: Array) -> None:
    """A line with dtype and shape, then the bytes. (numpy's own format wants a file with positions.)"""
    stream.write(f"{array.dtype.str} {' '.join(map(str, array.shape))}\n".encode())
    stream.write(np.ascontiguousarray(array).data)


def _receive(stream: IO[bytes]) -> Array:
    name, *shape = stream.readline().decode().split()
    dtype, sizes = np.dtype(name), tuple(map(int, shape))
    data = stream.read(math.prod(sizes) * dtype.itemsize)
    return np.frombuffer(data, dtype).reshape(sizes)
