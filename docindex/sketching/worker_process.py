"""Start a process that sketches batches of texts, and talk to it: `WorkerProcess`; and run as one: `serve`.

In: batches of texts. Out: their sketches and, on request, the parts in which the texts are stored. A worker
is a new Python process that reads texts from a pipe and writes arrays back. It is not forked, because the
host may have threads. It does not import the host's main module, and nothing is pickled. A worker must never
open the file of an index.
"""

import contextlib
import dataclasses
import itertools
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from docindex.arrays.ranges import I64, starts_of
from docindex.errors import DocIndexError
from docindex.recipe import Recipe
from docindex.sketching.sketcher import sketch_batch
from docindex.sketching.sketches import Sketches
from docindex.sketching.text_parts import Parts, parts_of
from docindex.worker_command import WorkerCommand

# Send texts to a worker process, and sketches and text parts back, over binary streams.
#
# In and out: a binary stream, and texts, sketches or parts. A message is one line with the dtypes and shapes
# of some arrays, followed by the bytes of the arrays; texts and parts are arrays of bytes. So a message is
# written with one call and read with two: each further one would wait, for up to 5 ms, until no other thread
# needs Python's lock. Every function that reads raises `EOFError` if the stream ends in the middle of a
# message. This module must never pickle anything or start a process.

_Array = np.ndarray[Any, Any]

READY_LINE = b"ready\n"
"""The first line that a worker writes."""

# Fields of `Sketches` that hold two arrays: values and starts.
_PAIRS = {"min_s", "mod_m", "level"}

# Each array of a message begins at a multiple of this many bytes: numpy is slower on others.
_ALIGNED = 8


class TextBatch(NamedTuple):
    """A request to a worker."""

    texts: list[str]
    keep: bool
    """Whether to return also the parts in which the texts are stored."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SketchedBatch:
    """The result of one batch of texts."""

    sketches: Sketches
    parts: list[Parts]
    """The parts of each text; an empty list if whoever stores the texts must make them."""


def send_texts(stream: IO[bytes], texts: Sequence[str], keep: bool) -> None:
    """Write a request to a worker."""
    sources = [text.encode("utf-8", "surrogatepass") for text in texts]
    _send(stream, [np.array([keep]), *_of_blobs(sources)])


def receive_texts(stream: IO[bytes]) -> TextBatch:
    """Read the request that `send_texts` wrote."""
    keep, *sources = _receive(stream)
    return TextBatch([str(data, "utf-8", "surrogatepass") for data in _blobs(*sources)], bool(keep[0]))


def send_batch(stream: IO[bytes], batch: SketchedBatch) -> None:
    """Write the answer to a request."""
    parts = list(itertools.chain.from_iterable(batch.parts))
    _send(
        stream,
        [
            np.array([len(own) for own in batch.parts], np.int64),
            np.array([codec for codec, _ in parts], np.int64),
            *_of_blobs([data for _, data in parts]),
            *_arrays(batch.sketches),
        ],
    )


def receive_batch(stream: IO[bytes], recipe: Recipe) -> SketchedBatch:
    """Read the answer that `send_batch` wrote."""
    counts, codecs, lengths, data, *sketches = _receive(stream)
    parts = zip(codecs.tolist(), map(bytes, _blobs(lengths, data)), strict=True)
    kept = [list(itertools.islice(parts, count)) for count in counts.tolist()]
    return SketchedBatch(_sketches(sketches, recipe), kept)


def _of_blobs(blobs: Sequence[bytes]) -> tuple[I64, _Array]:
    """Some bytes as arrays: the length of each, and all of them end to end."""
    return np.array([len(blob) for blob in blobs], np.int64), np.frombuffer(b"".join(blobs), np.uint8)


def _blobs(lengths: I64, data: _Array) -> Iterator[memoryview]:
    whole = data.data
    return (whole[begin:end] for begin, end in itertools.pairwise(starts_of(lengths).tolist()))


def _sketches(arrays: Iterable[_Array], recipe: Recipe) -> Sketches:
    """The batch of which `_arrays` gave the fields."""
    left = iter(arrays)
    values: list[Any] = []
    for field in dataclasses.fields(Sketches):
        if field.name == "recipe":
            values.append(recipe)
        elif field.name in _PAIRS:
            values.append((next(left), next(left)))
        elif field.name == "words_hashes":
            values.append([row.tobytes() for row in next(left)])
        else:
            values.append(next(left))
    return Sketches(*values)


def _arrays(batch: Sketches) -> list[_Array]:
    """The fields of a batch as arrays, in the order in which `_sketches` reads them."""
    arrays: list[_Array] = []
    for field in dataclasses.fields(batch):
        value = getattr(batch, field.name)
        if field.name in _PAIRS:
            arrays.extend(value)
        elif field.name == "words_hashes":
            arrays.append(np.frombuffer(b"".join(value), np.uint8).reshape(-1, 16))
        elif field.name != "recipe":
            arrays.append(value)
    return arrays


def _send(stream: IO[bytes], arrays: Sequence[_Array]) -> None:
    # numpy's own file format needs a stream that can seek, and a pipe cannot.
    heads = (f"{array.dtype.str}:{','.join(map(str, array.shape))}" for array in arrays)
    pieces = [" ".join(heads).encode() + b"\n"]
    for array in arrays:
        pieces += [np.ascontiguousarray(array).tobytes(), bytes(-array.nbytes % _ALIGNED)]
    stream.write(b"".join(pieces))
    stream.flush()


def _receive(stream: IO[bytes]) -> list[_Array]:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the stream ended before a message")
    heads = [head.split(":") for head in line.decode().split()]
    kinds = [(np.dtype(name), tuple(map(int, shape.split(",")))) for name, shape in heads]
    sizes = [math.prod(shape) * dtype.itemsize for dtype, shape in kinds]
    begins = list(itertools.accumulate((size + -size % _ALIGNED for size in sizes), initial=0))
    data = stream.read(begins[-1])
    if len(data) < begins[-1]:
        raise EOFError(f"the stream ended {begins[-1] - len(data)} bytes too early")
    return [
        np.frombuffer(data, dtype, math.prod(shape), begin).reshape(shape)
        for (dtype, shape), begin in zip(kinds, begins, strict=False)  # the last number is the end
    ]


# Keeps numpy from starting threads for matrices, which a worker never uses: its start takes 0.09 s of a
# processor instead of 0.14 s.
_SETTINGS = {"OPENBLAS_NUM_THREADS": "1"}

# The size of a pipe: that of most answers, so that a worker need not wait until its answer is read. Only
# Linux can change this size.
_PIPE_BYTES = 1 << 20

# After an error, a worker has this many seconds to end by itself.
_EXIT_S = 5


class WorkerProcess:
    """A worker process. One thread at a time may use it; others may call `stop`.

    Answers arrive in the order of the requests. A worker accepts a request while it works on another one, so
    it need not wait for this process, which may be busy.
    """

    def __init__(self, recipe: Recipe, command: WorkerCommand) -> None:
        """Start the process, without waiting for it. `OSError` if the system refuses."""
        self._recipe = recipe
        self._frozen = command.frozen
        self._is_ready = False
        self.was_stopped = False
        """Whether `stop` was called."""
        self._process = subprocess.Popen(
            command.arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pipesize=_PIPE_BYTES,
            env={**os.environ, **_SETTINGS},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        requests, _ = self._pipes
        with contextlib.suppress(OSError):  # the worker has ended already; `wait_until_ready` reports that
            requests.write(recipe.to_json().encode() + b"\n")
            requests.flush()

    @property
    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def wait_until_ready(self) -> bool:
        """Wait until the worker is ready. Returns False if the process is something else, or has ended."""
        _, replies = self._pipes
        self._is_ready = replies.readline() == READY_LINE
        return self._is_ready

    def send(self, texts: Sequence[str], *, keep: bool) -> None:
        """Give the worker a batch of texts."""
        requests, _ = self._pipes
        with self._translated():
            send_texts(requests, texts, keep)

    def receive(self) -> SketchedBatch:
        """Wait for the answer to the oldest request that has none."""
        _, replies = self._pipes
        with self._translated():
            return receive_batch(replies, self._recipe)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, TypeError, EOFError) as error:
            raise DocIndexError(
                f"a worker process ended with code {self._exit_code()}. Committed documents are kept; add "
                "the others again. Use workers=1 if there is too little memory"
            ) from error

    def _exit_code(self) -> int:
        """The exit code of a worker after an error. If the worker is still running, it is ended."""
        requests, _ = self._pipes
        with contextlib.suppress(OSError):
            requests.close()
        try:
            return self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def stop(self) -> None:
        """End the process now, whatever it does.

        A frozen application ends when it has answered all requests. It is not killed, because its first
        process would leave behind a second one, and files.
        """
        self.was_stopped = True
        if self._frozen:
            requests, _ = self._pipes
            with contextlib.suppress(OSError):  # a worker that has ended: EPIPE, or EINVAL on Windows
                requests.close()  # the worker ends when its input does
        else:
            self._process.kill()

    def join(self) -> None:
        """Wait until the process has ended. No thread may use it any longer."""
        requests, replies = self._pipes
        with contextlib.suppress(OSError):
            requests.close()
        replies.close()
        self._process.wait()


def sketched(texts: Sequence[str], recipe: Recipe, *, keep: bool) -> SketchedBatch:
    """The sketches of a batch, and the parts of its texts if they are kept."""
    return SketchedBatch(
        sketch_batch(texts, recipe), [list(parts_of(text)) for text in texts] if keep else []
    )


def serve() -> None:
    """Run as a worker process: sketch every batch that arrives on standard input, until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host process handles Ctrl-C
    code = 0
    try:
        _serve()
    except OSError:  # the host has closed the pipes or has ended
        pass
    except BaseException:
        traceback.print_exc()
        code = 1
    # Python's own end takes 20 ms, for which the host would wait, and fails while a thread reads the input.
    os._exit(code)


def _serve() -> None:
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    replies.write(READY_LINE)
    replies.flush()
    recipe = Recipe.from_json(requests.readline().decode())
    # The next request is read during the work on this one. If it stayed in the pipe, the host would have to
    # wait until there is room for all of it.
    waiting: queue.SimpleQueue[TextBatch | None] = queue.SimpleQueue()
    threading.Thread(target=_receive_all, args=(requests, waiting), daemon=True).start()
    while (batch := waiting.get()) is not None:
        send_batch(replies, sketched(batch.texts, recipe, keep=batch.keep))


def _receive_all(requests: IO[bytes], waiting: "queue.SimpleQueue[TextBatch | None]") -> None:
    """Read requests until the input ends."""
    try:
        while requests.peek(1):  # type: ignore[attr-defined] # standard input is buffered, so peek waits
            waiting.put(receive_texts(requests))
    except (OSError, EOFError):  # the host has ended
        pass
    finally:
        waiting.put(None)
