"""Lend the connections to a file to `with` blocks, and get each one back whatever interrupts the block.

An interrupt (Control-C, or an exception that another thread raises here) may come between any two
instructions, also between those that give a connection back. So a connection comes back without any code:

- A block is *using* a connection as long as a `Lease` exists. Nothing is counted that could be missed.
- Only the stack of the `with` statement holds the lease. Python drops it however the block is left. A local
  variable must never hold a lease: a traceback, which a caller may keep, keeps all local variables alive.

A transaction that an interrupt left open is rolled back when any block borrows next, or at the end. Must
never know the path of a file, or a table.
"""

import contextlib
import functools
import queue
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

import apsw

P = ParamSpec("P")
R = TypeVar("R")

LeaveBlock = Callable[[type[BaseException] | None, BaseException | None, TracebackType | None], None]
"""What a `with` statement calls at the end of its block."""

_KEPT_IDLE = 8  # reading connections that stay open while no thread uses them
# A thread that waits for its turn looks this often whether the thread before it died without a word.
_LOOK_S = 0.05
_INTERRUPT_S = 0.02  # between two attempts to interrupt the statements of other threads


class Lease:
    """Exists as long as a `with` block uses a connection."""

    __slots__ = ("__weakref__",)


class Loan(weakref.ref[Lease]):
    """What everybody but the `with` statement knows of a lease."""

    __slots__ = ("borrower", "connection", "is_nested", "returned")

    borrower: int
    """The thread that borrows."""
    connection: apsw.Connection | None
    """What is lent; None until then."""
    is_nested: bool
    """Whether a block around this one, in the same thread, uses the connection too."""
    returned: bool
    """Whether the block ended as it should, and said so."""

    def is_over(self) -> bool:
        """Whether the block no longer uses the connection."""
        return self.returned or self() is None


class _Leave(functools.partial[None]):
    """The end of a block, and the only object that holds its lease."""

    __slots__ = ("lease",)
    lease: Lease


class LendingBlock:
    """A `with` block that borrows a connection.

    Calls ``enter(loan)``, which returns the connection, and ``leave(loan, kind, error, trace)`` at the end.
    Only a `with` statement can use it: `ExitStack.enter_context` does not ask an object for its `__exit__`.
    """

    __slots__ = ("_enter", "_leave", "_loan")

    def __init__(self, enter: Callable[[Loan], apsw.Connection], leave: Callable[..., None]) -> None:
        self._enter = enter
        self._leave = leave

    @property
    def __exit__(self) -> LeaveBlock:  # noqa: PYI036 - it returns what has those parameters
        # A `with` statement asks for `__exit__` first and keeps the answer on its stack. Then it calls
        # `__enter__`. So the lease exists before anything is lent.
        lease = Lease()
        self._loan = loan = Loan(lease)
        loan.borrower = threading.get_ident()
        loan.connection = None
        loan.returned = loan.is_nested = False
        leave = _Leave(self._leave, loan)
        leave.lease = lease
        return leave

    def __enter__(self) -> apsw.Connection:
        return self._enter(self._loan)


class _Slot:
    """A connection and its loans."""

    __slots__ = ("connection", "loans")

    def __init__(self, connection: apsw.Connection, *loans: Loan) -> None:
        self.connection = connection
        self.loans = loans

    def is_free(self) -> bool:
        """Whether no block uses the connection. Only then may it be asked for anything."""
        return all([loan.is_over() for loan in self.loans])  # noqa: C419 - the list is faster

    def is_used_elsewhere(self) -> bool:
        """Whether a thread uses the connection that could go on: another one, which has not ended."""
        own, running = threading.get_ident(), sys._current_frames()  # noqa: SLF001 - documented for this
        return any(
            not loan.is_over() and loan.borrower != own and loan.borrower in running for loan in self.loans
        )


class Lender:
    """The connections of a store: one that writes, which blocks use in turn, and others that read."""

    def __init__(
        self,
        connect_reader: Callable[[], apsw.Connection],
        connect_writer: Callable[[], apsw.Connection] | None,
        release: Callable[[apsw.Connection, bool], None],
    ) -> None:
        """`release(connection, is_free)` ends a connection. It is free if no block and no cursor uses it.

        Without `connect_writer`, the writing connection is never replaced by another.
        """
        self._connect_reader = connect_reader
        self._connect_writer = connect_writer
        self._release = release
        # Reentrant, because a signal handler may use the index that its thread is just using.
        self._lock = threading.RLock()
        self._readers: list[_Slot] = []
        self._writers: list[_Slot] = []
        self._retired: list[_Slot] = []
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()

    def keep_writer(self, connection: apsw.Connection) -> None:
        """Take the connection that blocks use in turn."""
        self._writers.append(_Slot(connection))

    def connections(self) -> list[apsw.Connection]:
        """All connections, lent or not; the writing one first."""
        return [slot.connection for slot in (*self._writers, *self._readers)]

    def lend(self, loan: Loan) -> apsw.Connection:
        """Lend a connection that nobody else uses. Makes a new one if all are in use."""
        with self._lock:
            self._resting(self._writers)
            for slot in self._resting(self._readers):
                loan.connection = slot.connection
                slot.loans = (loan,)
                return slot.connection
        # Not under the lock: others can borrow during the time that this takes.
        loan.connection = connection = self._connect_reader()
        self._readers.append(_Slot(connection, loan))
        return connection

    def lend_writer(self, loan: Loan, timeout_s: float, refuse: Callable[[], None]) -> apsw.Connection | None:
        """Lend the writing connection when it is this thread's turn; None after `timeout_s` seconds.

        `refuse` is called repeatedly, and may raise an error to end the wait. A block inside another block of
        the same thread does not wait.
        """
        deadline = time.monotonic() + timeout_s
        while (connection := self._take_turn(loan)) is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            # The bell makes the wait short. That it may be lost, or rung too often, does no harm.
            with contextlib.suppress(queue.Empty):
                self._bell.get(timeout=min(left, _LOOK_S))
            refuse()
        return connection

    def _take_turn(self, loan: Loan) -> apsw.Connection | None:
        with self._lock:
            self._resting(self._readers)
            resting = self._resting(self._writers)
            if not self._writers and self._connect_writer is not None:
                self._writers.append(_Slot(self._connect_writer()))
                resting = self._writers
            slot = self._writers[0]
            others = tuple(other for other in slot.loans if not other.is_over())
            if any(other.borrower != loan.borrower for other in others):
                return None
            if not others and slot not in resting and not self._can_be_lent(slot):
                return None  # its block was abandoned just now
            loan.is_nested = bool(others)
            loan.connection = slot.connection
            slot.loans = (*others, loan)
            return slot.connection

    def take_back(self, loan: Loan) -> None:
        """End a loan of a block that ends as it should. Keeps only a few connections open for readers."""
        for slot in self._readers[_KEPT_IDLE:]:
            if slot.connection is loan.connection:
                self._retire(self._readers, slot)
        loan.returned = True
        if self._bell.empty():
            self._bell.put(None)

    def _resting(self, slots: list[_Slot]) -> list[_Slot]:
        """The connections that can be lent. Ends the transactions that interrupted blocks left open on them.

        A block may be abandoned at any moment. So each connection is asked once whether it is free: one that
        was still in use then is not lent, because its transaction may be open.
        """
        resting = []
        for slot in tuple(slots):
            if slot.is_free():
                if self._can_be_lent(slot):
                    resting.append(slot)
                else:
                    self._retire(slots, slot)
        return resting

    def _can_be_lent(self, slot: _Slot) -> bool:
        # Without `connect_writer` there is no other connection.
        return _is_at_rest(slot.connection) or self._connect_writer is None

    def interrupt(self) -> None:
        """Interrupt the statements that run on any connection."""
        for connection in self.connections():
            with contextlib.suppress(apsw.ConnectionClosedError):
                connection.interrupt()

    def wait_until_idle(self, timeout_s: float) -> None:
        """Interrupt the statements of other threads until no other thread uses a connection, or time is up.

        A block of this thread, or of a thread that has ended, cannot go on: it was abandoned.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            used = [slot for slot in (*self._readers, *self._writers) if slot.is_used_elsewhere()]
            if not used:
                return
            for slot in used:
                with contextlib.suppress(apsw.ConnectionClosedError):
                    slot.connection.interrupt()
            time.sleep(_INTERRUPT_S)

    def _retire(self, slots: list[_Slot], slot: _Slot) -> None:
        """Release a connection that is not to be lent again."""
        # An interrupt between two lines leaves it in the second list, and the end of the store releases it.
        self._retired.append(slot)
        _remove(slots, slot)
        self._release(slot.connection, False)
        _remove(self._retired, slot)

    def release_all(self) -> None:
        """Release all connections for ever, except one whose statement is running at this moment.

        The writing connection is the last, because the last connection to a file removes its journal. Can be
        repeated after an interrupt.
        """
        for slots in (self._retired, self._readers, self._writers):
            for slot in tuple(slots):
                with contextlib.suppress(apsw.ThreadingViolationError):
                    self._release(slot.connection, slot.is_free())
                    _remove(slots, slot)

    def release_free(self) -> None:
        """Release the connections that no block uses for ever; the writing one only if it is the last."""
        for slots in (self._retired, self._readers, self._writers):
            for slot in tuple(slots):
                if slot.is_free() and not (slots is self._writers and self._readers):
                    with contextlib.suppress(apsw.ThreadingViolationError):  # another thread releases it now
                        self._release(slot.connection, True)
                        _remove(slots, slot)


def _remove(slots: list[_Slot], slot: _Slot) -> None:
    with contextlib.suppress(ValueError):  # another thread was faster
        slots.remove(slot)


def _is_at_rest(connection: apsw.Connection) -> bool:
    """Roll back the transaction, if there is one, and return whether the connection can be lent again."""
    try:
        if connection.in_transaction:
            connection.execute("rollback")
    except apsw.InterruptError:  # somebody keeps the cursor of another statement that was interrupted
        return False
    # A cursor that somebody keeps, perhaps in a traceback, holds an old state of the file.
    return connection.txn_state() == apsw.SQLITE_TXN_NONE


def weakly(method: Callable[P, R]) -> Callable[P, R]:
    """A method that does not keep its object alive.

    Otherwise a store and its lender would keep each other. A store that is dropped without `close` would then
    wait for Python's garbage collector, with all its descriptors.
    """
    reference = weakref.WeakMethod(method)

    def call(*values: P.args, **options: P.kwargs) -> R:
        bound = reference()
        if bound is None:
            raise ReferenceError("the store is gone")
        return bound(*values, **options)

    return call
