"""Extract the texts of sources in a process of its own: `Extractor`. It is started again if a source ends it.

In: sources. Out: their texts, or `NotExtracted` with the reason. Bounded in time, memory and work, whatever
the source. Must never let a source end the process of the host.
"""

import contextlib
import math
import os
import signal
import subprocess
import threading
import time
from types import TracebackType
from typing import IO, Self

from docindex.frontends.extracted import Extracted
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import DEFAULT_OPTIONS, ExtractionOptions
from docindex.frontends.isolated.child import UNKNOWN_FORMAT
from docindex.frontends.isolated.messages import Source, receive_extracted, send_source
from docindex.frontends.isolated.work_budget import WorkBudget
from docindex.frontends.recognition import recognise
from docindex.worker_command import worker_command

LIMIT_S = 60.0
"""Seconds that a source may take. A large PDF takes ten."""

_HEAD = 1 << 14
"""Bytes that show whether a source is binary."""

_SERVICE = "docindex.frontends.isolated.child:serve_extraction"


_ENDED = "its reader ended: it needs too much memory, or is damaged"
_KILLED = -9
"""How a process ends that a person or the system has killed."""

_SPENT = -getattr(signal, "SIGPROF", math.inf)
"""How a process ends that has spent the budget of its source. Windows has no such signal."""


class _ProcessKilled(Exception):
    """The process was killed, but not because a source took too long."""


class ClosedExtractor(Exception):
    """An extractor was closed while a thread used it: the text is not needed any more."""


class Extractor:
    """Extracts texts in a child process. One thread at a time may use it; others may call `close`.

    Where no child process can be started, for example in a frozen application without docindex's hook, it
    refuses all sources, because a hostile one could end the host.
    """

    def __init__(self, options: ExtractionOptions = DEFAULT_OPTIONS, limit_s: float = LIMIT_S) -> None:
        self.options = options
        """What callers want to be extracted."""
        self._limit_s = limit_s
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: _Watchdog | None = None
        self._lock = threading.Lock()
        """Held while the process is started or taken away: `close` may come from another thread."""
        self._is_closed = False
        self._owner = os.getpid()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process for good: a thread that waits for a text gets an error, and so do later calls."""
        self._is_closed = True
        self._end()

    def _end(self) -> None:
        """End the process; the next source starts another one."""
        with self._lock:
            process, self._process = self._process, None
        if self._watchdog is not None:
            self._watchdog.stop()
        if process is not None and self._owner == os.getpid():  # a forked child must leave it to its parent
            process.kill()
            for pipe in _pipes(process):
                with contextlib.suppress(OSError):
                    pipe.close()
            process.wait()

    def extract(self, source: Source, budget: WorkBudget | None = None) -> Extracted:
        """The text of a source; `NotExtracted` if it has no text that can be read.

        `budget` is what the source may cost. Its processor time is reduced by what was needed. None is the
        budget of the source's size.
        """
        if _is_unknown_text(source):
            raise NotExtracted("unknown format", UNKNOWN_FORMAT)
        budget = budget or WorkBudget.of_size(len(source.data))
        budget.refuse_if_spent()
        try:
            return self._answer_to(source, budget)
        except _ProcessKilled:  # probably not because of the source
            with contextlib.suppress(_ProcessKilled):
                return self._answer_to(source, budget)
            raise NotExtracted("damaged", _ENDED) from None

    def _answer_to(self, source: Source, budget: WorkBudget) -> Extracted:
        process, watchdog = self._running()
        requests, replies = _pipes(process)
        watchdog.begin(self._limit_s)
        try:
            send_source(requests, source, budget)
            return receive_extracted(replies, budget)
        except NotExtracted:
            raise
        except (OSError, EOFError, ValueError) as error:
            is_late = watchdog.is_late
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1)
            ended = process.returncode
            self._end()
            if self._is_closed:
                raise ClosedExtractor from error
            if is_late:
                raise NotExtracted(
                    "too slow", f"it takes more than {self._limit_s:g} seconds to read"
                ) from error
            if ended == _KILLED:
                raise _ProcessKilled from error
            if ended == _SPENT:
                budget.seconds = 0
                budget.refuse_if_spent()
            raise NotExtracted("damaged", _ENDED) from error
        except BaseException:  # an interrupt: the answer must not be taken for that of the next source
            self._end()
            raise
        finally:
            watchdog.rest()

    def _running(self) -> tuple[subprocess.Popen[bytes], "_Watchdog"]:
        if self._owner != os.getpid():
            self._process, self._owner, self._lock = None, os.getpid(), threading.Lock()
            self._watchdog = None
        if self._process is None or self._watchdog is None or self._process.poll() is not None:
            self._end()
            command = worker_command(_SERVICE)
            if not command.arguments:
                raise NotExtracted("not installed", f"no process can be started to read it: {command.reason}")
            with self._lock:
                if self._is_closed:
                    raise ClosedExtractor
                self._process = _started(command.arguments)
                self._watchdog = _Watchdog(self._process)
        return self._process, self._watchdog


class _Watchdog:
    """Kills a process that takes too long with one source.

    One thread watches all sources of a process. To start a timer for each took half the time of a mailbox.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._deadline = self._wakes_at = math.inf
        self._changed = threading.Event()
        self.is_late = False
        """Whether it has killed the process."""
        threading.Thread(target=self._watch, name="docindex watchdog", daemon=True).start()

    def begin(self, limit_s: float) -> None:
        """A source has this many seconds from now."""
        self._deadline = time.monotonic() + limit_s
        if self._wakes_at > self._deadline:
            self._changed.set()

    def rest(self) -> None:
        """The source is done."""
        self._deadline = math.inf

    def stop(self) -> None:
        """End the thread: the process has ended."""
        self._deadline = -math.inf
        self._changed.set()

    def _watch(self) -> None:
        while True:
            self._changed.clear()
            self._wakes_at = math.inf  # before the deadline is read: `begin` reads and writes them in turn
            self._wakes_at = deadline = self._deadline
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                break
            self._changed.wait(None if deadline == math.inf else wait_s)
        if deadline != -math.inf:
            self.is_late = True
            self._process.kill()


def _started(arguments: list[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except OSError as error:  # too many processes or open files: the next scan tries again
        phrase = f"no process can be started to read it: {error.strerror or error}"
        raise NotExtracted("not installed", phrase) from error


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _is_unknown_text(source: Source) -> bool:
    """Whether a source is text that no front end reads. It need not be sent to another process.

    Many Python programs begin with "from", as mailboxes do. A binary source is recognised in the child only.
    """
    return (
        source.format is None
        and b"\0" not in source.data[:_HEAD]
        and recognise(source.data, source.name, source.media_type, archives=source.options.archives) is None
    )
