"""Cancel the work of one block, not that of a whole index: `docindex.cancelling`.

A block belongs to the context that runs it (`contextvars`), so work that ``asyncio.to_thread`` or
``Context.run`` starts inside the block belongs to it too. Nothing is interrupted from outside: SQLite asks
`is_cancelled` every few milliseconds in the thread that runs the statement, and so do the checkpoints between
pieces of other work. So a late `CancelToken.cancel` can never stop the next user of a connection.

The alternative was a parameter ``cancel=`` of every long method. It lost because some long work has no such
call: ``len(index)``, iteration, `Match.passages`, and SQL functions. A `threading.Event` is still welcome:
``with cancelling(event)``.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Protocol

from docindex.errors import CANCELLED, Cancelled


class CancelFlag(Protocol):
    """Tells whether work must stop; a `threading.Event` is one."""

    def is_set(self) -> bool:
        """Whether the work must stop."""


class CancelToken:
    """Cancels what runs in the blocks of `docindex.cancelling` that it belongs to. Threads can share it.

    `docindex.folders.act` and `undo` accept it as their `cancel` flag.
    """

    __slots__ = ("_flag", "_is_cancelled")

    def __init__(self, flag: CancelFlag | None = None) -> None:
        """With a `flag`, such as a `threading.Event`, the work also stops when that is set."""
        if not (flag is None or callable(getattr(flag, "is_set", None))):
            raise TypeError(
                f"cancelling takes a threading.Event, or an object with is_set(), not {type(flag).__name__}"
            )
        self._flag = flag
        self._is_cancelled = False

    def cancel(self) -> None:
        """Stop the work in the block, and refuse all later work there. Any thread may call this."""
        self._is_cancelled = True

    def is_set(self) -> bool:
        """Whether the work is cancelled."""
        return self._is_cancelled or (self._flag is not None and self._flag.is_set())


_tokens: ContextVar[tuple[CancelToken, ...]] = ContextVar("docindex.cancelling", default=())


@contextlib.contextmanager
def cancelling(flag: CancelFlag | None = None) -> Iterator[CancelToken]:
    """A block whose work another thread can stop, without stopping the work of others.

    Gives a `CancelToken`. After `token.cancel()`, or if the `flag` is set, every question and change in the
    block raises `docindex.Cancelled`, on any index. What is committed stays. Blocks can be nested: a token
    stops the blocks inside its own, too.

    The token belongs to this thread, and to the context that `asyncio.to_thread` copies. If another thread
    may cancel before the work begins, make a `threading.Event` first, and begin the work with
    ``with docindex.cancelling(event):``.

    >>> import docindex
    >>> with docindex.open(":memory:") as index, cancelling() as token:
    ...     token.cancel()                             # usually in another thread, when a key is pressed
    ...     index.search("the text that was typed so far")
    Traceback (most recent call last):
    docindex.errors.Cancelled: the work was cancelled; committed work stays
    """
    token = CancelToken(flag)
    before = _tokens.set((*_tokens.get(), token))
    try:
        yield token
    finally:
        _tokens.reset(before)


@contextlib.contextmanager
def not_cancelled() -> Iterator[None]:
    """A block that no token stops, for the last steps of work that was cancelled."""
    before = _tokens.set(())
    try:
        yield
    finally:
        _tokens.reset(before)


def is_cancelled() -> bool:
    """Whether the work of this thread is in a cancelled block. Takes 0.05 us outside of blocks.

    >>> is_cancelled()
    False
    """
    for token in _tokens.get():  # noqa: SIM110 - `any` takes five times as long
        if token.is_set():
            return True
    return False


# Let somebody stop long work: the work calls `checkpoint` between its pieces.
#
# Whoever begins the work says with `stopped_by` what may stop it: a cancelled index, or a time limit. That
# holds for this thread, until the end of the block. The token of `docindex.cancelling` can always stop it. So
# work on a single text, far below any index, need not be handed a function. Between two checkpoints lies a
# piece of work of bounded size, which takes some 50 ms.

Check = Callable[[], None]
"""Raises an exception to stop the work."""


class _Thread(threading.local):
    check: Check | None = None


_thread = _Thread()


def checkpoint() -> None:
    """Raise an exception if the work of this thread must stop. Takes 0.15 us if nothing can stop it.

    `Cancelled` in a cancelled block of `docindex.cancelling`, where no index is known that it could name.

    >>> checkpoint()
    """
    if _thread.check is not None:
        _thread.check()
    if is_cancelled():
        raise Cancelled(CANCELLED, "")


@contextlib.contextmanager
def stopped_by(check: Check) -> Iterator[None]:
    """Let a function stop the work in a block. What could stop the work outside of the block still can.

    >>> def late():
    ...     raise TimeoutError("too late")
    >>> with stopped_by(late):
    ...     checkpoint()
    Traceback (most recent call last):
    TimeoutError: too late
    >>> checkpoint()
    """
    outer = _thread.check

    def both() -> None:
        outer()  # type: ignore[misc] # it is called only if there is an outer check
        check()

    _thread.check = check if outer is None else both
    try:
        yield
    finally:
        _thread.check = outer
