"""Start a process that sketches batches of texts, and talk to it: `WorkerProcess`; and run as one: `serve`.

In: batches of texts. Out: their sketches and, on request, the parts in which the texts are stored. A worker
is a new Python process that reads texts from a pipe and writes arrays back. It is not forked, because the
host may have threads. It does not import the host's main module, and nothing is pickled. A worker must never
open the file of an index.
"""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from typing import IO

from docindex.errors import DocIndexError
from docindex.recipe import Recipe
from docindex.sketching.sketcher import sketch_batch
from docindex.sketching.text_parts import parts_of
from docindex.sketching.worker_protocol import (
    READY_LINE,
    SketchedBatch,
    TextBatch,
    receive_batch,
    receive_texts,
    send_batch,
    send_texts,
)
from docindex.worker_command import WorkerCommand

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
