"""Run as a process that extracts texts from sources, within limits of memory and work: `serve_extraction`.

In: sources on standard input. Out: texts, or reasons why a source has no text, on standard output. A source
may be hostile, so it is read here and not in the process of the host. Must never open a file.
"""

import contextlib
import dataclasses
import os
import signal
import sys
import time

from docindex.frontends.extracted import Extracted, refuse_other_types
from docindex.frontends.failures import NotExtracted, Reason
from docindex.frontends.front_end import FrontEnd
from docindex.frontends.isolated.messages import Source, receive_source, send_extracted
from docindex.frontends.recognition import front_ends, named, recognise

MOST_MEMORY = 2 << 30
"""Bytes of memory that the process may have. Systems without such a limit ignore it."""

UNKNOWN_FORMAT = "no front end reads this format"

_LONGEST_S = 120
"""After this many seconds with one source, this process ends by itself. The host ends it earlier, unless it
was killed."""

_USUAL_START_S = 0.15
"""The processor time that Python and docindex take to start on the machine that budgets were measured on."""


def extracted_from(source: Source) -> Extracted:
    """The text of a source, read in this process; `NotExtracted` if it has no text."""
    front_end = (
        recognise(source.data, source.name, source.media_type, archives=source.options.archives)
        if source.format is None
        else named(source.format)
    )
    if front_end is None:
        raise NotExtracted("unknown format", UNKNOWN_FORMAT)
    try:
        found = front_end.extract_within_limits(source.data, source.options)
        refuse_other_types(found)
        return dataclasses.replace(found, reading=front_end.reading)
    except Exception as error:  # a parser may raise anything for a source that is damaged
        reason, message = _refusal(front_end, error)
        raise NotExtracted(reason, message, front_end.reading) from error


def _refusal(front_end: FrontEnd, error: Exception) -> tuple[Reason, str]:
    """Why a front end failed, and a phrase that says so."""
    if isinstance(error, NotExtracted):
        return error.reason, str(error)
    if isinstance(error, ModuleNotFoundError):
        missing = f"reading it needs the package {front_end.package or error.name}"
        return "not installed", f"{missing}: pip install 'docindex[formats]'"
    if isinstance(error, (MemoryError, RecursionError)):
        return "too large", "it needs too much memory"
    message = " ".join(str(error).split())[:200]
    return "damaged", f"it cannot be read: {message or type(error).__name__}"


def serve_extraction() -> None:
    """Extract the text of every source that arrives on standard input, until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host process handles Ctrl-C
    _limit_memory()
    front_ends()  # loads them before the first source has to pay for it
    slowness = _slowness()
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a parser prints must not get among the answers
    with contextlib.suppress(OSError, EOFError):  # the host has closed the pipes or has ended
        while True:
            source, seconds = receive_source(requests)
            _end_after(_LONGEST_S)
            _limit_work(seconds * slowness)
            try:
                answer: Extracted | NotExtracted = extracted_from(source)
            except NotExtracted as error:
                answer = error
            left = _limit_work(0)
            send_extracted(replies, answer, seconds if left is None else left / slowness)
            _end_after(0)
    os._exit(0)  # Python's own end takes 20 ms


def _slowness() -> float:
    """How many times as long as usual this machine takes, by the start of this process; at least 1."""
    return max(1.0, time.process_time() / _USUAL_START_S)


def _end_after(seconds: int) -> None:
    """End this process in some seconds, whatever it does then; 0 to let it live. Not on Windows."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _limit_work(seconds: float) -> float | None:
    """End this process after some seconds of processor time, also in the middle of a call of a C library.

    0 takes the limit away. Returns what is left of the limit before; None on Windows, which has no timer.
    """
    if not hasattr(signal, "setitimer"):
        return None
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # a host may have ignored it
    return signal.setitimer(signal.ITIMER_PROF, seconds)[0]


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows; or a lower limit is in force
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
