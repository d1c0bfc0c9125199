"""`act` leaves a file that another program is writing, and a copy whose kept file one is writing."""

import contextlib
import ctypes
import fcntl
import mmap
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from docindex import folders
from docindex.folders.acting import removal, write_guard
from docindex.folders.acting.journal import Journal
from docindex.folders.acting.removal import remove_copies
from docindex.folders.acting.write_guard import open_writers
from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.path_keys import key_of
from docindex.folders.walking.system import end_lease, lease_holds, take_lease
from tests.folders.trees import contents_of, copied, planned, undo

OWN, KEPT = "in use by another program", "the kept file is in use by another program"


@pytest.fixture(params=["lease", "processes"])
def protection(request, monkeypatch):
    """Where the kernel grants leases, and where it does not."""
    if request.param == "processes":
        without_leases(monkeypatch)
    return request.param


def without_leases(monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(write_guard, "take_lease", refuse)


_OPENING = {"appending": "4>>", "writing": "4<>", "reading": "4<"}


@contextlib.contextmanager
def held_by_another(path, use):
    """Another process has the file open, and writes to it at the end."""
    program = f'exec {_OPENING[use]}"$0"; echo ready; read _; {"" if use == "reading" else "printf LATE >&4"}'
    holder = subprocess.Popen(["sh", "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with holder:
        holder.stdout.readline()
        yield
        holder.stdin.close()


@pytest.mark.usefixtures("protection")
@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
@pytest.mark.parametrize("use", ["appending", "writing"])
@pytest.mark.parametrize(("name", "reason"), [(b"b", OWN), (b"a", KEPT)])
def test_a_file_that_another_program_has_open_for_writing_is_left(root, how, use, name, reason):
    copied(root, b"a", b"b")
    groups = planned(root, keep="first")
    with held_by_another(os.path.join(root, name), use):
        for dry_run in (True, False):
            (one,) = remove_copies(groups, how, dry_run=dry_run, journal=Journal(None))
            assert (one.outcome, one.reason) == ("left", reason)
    found = contents_of(root)
    assert len(found) == 2
    assert b"LATE" in found[os.path.join(root, name)]


def test_a_file_that_another_program_only_reads_is_removed(root, protection):
    copied(root, b"a", b"b")
    with held_by_another(os.path.join(root, b"b"), "reading"):
        (one,) = remove_copies(planned(root, keep="first"), "delete", dry_run=False, journal=Journal(None))
    assert one.outcome == "done"
    assert one.guard in (("lease",) if protection == "lease" else ("processes", "own processes"))


def test_another_kept_file_is_used_if_the_first_one_is_being_written(root):
    copied(root, b"a", b"b", b"c")
    (group,) = planned(root, keep="first")
    group = group._replace(files=tuple(file._replace(keep=file.key[-1] != "c") for file in group.files))
    with held_by_another(os.path.join(root, b"a"), "appending"):
        (one,) = remove_copies([group], "delete", dry_run=False, journal=Journal(None))
    assert (one.outcome, one.kept[-1]) == ("done", "b")


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_a_program_that_opens_the_file_during_the_comparison_gets_it_back(root, how, monkeypatch):
    """The writer waits until the act has let go of the file, and then writes to it in its place."""
    copied(root, b"a", b"b")
    groups, own = planned(root, keep="first"), os.path.join(root, b"b")
    compare, threads = removal.same_bytes, []

    def opening(file, kept, guards):
        same = compare(file, kept, guards)
        threads.append(threading.Thread(target=append, args=(own,)))
        threads[0].start()
        wait_until(lambda: not lease_holds(file.file.fileno()))
        return same

    monkeypatch.setattr(removal, "same_bytes", opening)
    (one,) = remove_copies(groups, how, dry_run=False, journal=Journal(None))
    threads[0].join()
    assert (one.outcome, one.reason) == ("left", OWN)
    assert contents_of(root)[own] == b"the same LATE"


@pytest.mark.parametrize("how", ["hardlink", "delete"])
def test_a_program_that_opens_the_file_in_the_moment_of_its_removal_loses_nothing(root, how, monkeypatch):
    copied(root, b"a", b"b")
    groups, own = planned(root, keep="first"), os.path.join(root, b"b")
    unlink, threads = os.unlink, []

    def opening(path, **options):
        unlink(path, **options)
        if re.search(rb"\.docindex-[0-9a-f]{16}$", path):
            monkeypatch.setattr(os, "unlink", unlink)
            descriptor = next(int(name) for name in os.listdir("/proc/self/fd") if is_deleted(name))
            threads.append(threading.Thread(target=append, args=(f"/proc/self/fd/{descriptor}",)))
            threads[0].start()
            wait_until(lambda: not lease_holds(descriptor))

    monkeypatch.setattr(os, "unlink", opening)
    (one,) = remove_copies(groups, how, dry_run=False, journal=Journal(None))
    threads[0].join()
    assert one.outcome == "left"
    assert contents_of(root)[own] == b"the same LATE"


@pytest.mark.parametrize("how", ["hardlink", "delete"])
def test_a_program_that_opens_the_file_a_moment_after_its_removal_loses_nothing(root, how, tmp_path):
    """It had looked up the name before, and the system let it wait."""
    copied(root, b"a", b"b", b"c")
    own, other = (os.path.join(root, name) for name in (b"b", b"c"))
    plan, threads = folders.Plan(tuple(planned(root, keep="first"))), []

    def opening(file):
        if file.key == key_of(own):
            descriptor = next(int(name) for name in os.listdir("/proc/self/fd") if is_deleted(name))
            threads.append(threading.Thread(target=append, args=(f"/proc/self/fd/{descriptor}",)))
            threads[0].start()
            wait_until(lambda: not lease_holds(descriptor))

    outcome = folders.act(plan, how, journal=tmp_path / "journal", on_file=opening)
    threads[0].join()
    assert [(file.key, file.outcome, file.reason) for file in outcome.files] == [
        (key_of(own), "left", OWN),
        (key_of(other), "done", None),
    ]
    assert contents_of(root)[own] == b"the same LATE"
    assert [file.key for file in folders.undo("all", journal=tmp_path / "journal").files] == [key_of(other)]


def is_deleted(name):
    try:
        return ".docindex-" in os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        return False


def append(path):
    with open(path, "ab") as file:
        file.write(b" LATE")


def wait_until(condition):
    deadline = time.monotonic() + 300  # the machine may be busy
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_the_end_of_a_lease_does_not_end_this_process(tmp_path):
    """By default the kernel sends a signal that does."""
    path = tmp_path / "file"
    path.write_bytes(b"the same")
    received = []
    before = signal.signal(signal.SIGIO, lambda *_: received.append(1))
    try:
        descriptor = os.open(path, os.O_RDONLY)
        take_lease(descriptor)
        thread = threading.Thread(target=append, args=(path,))
        thread.start()
        wait_until(lambda: not lease_holds(descriptor))
        assert path.read_bytes() == b"the same"
        end_lease(descriptor)
        thread.join()
        os.close(descriptor)
    finally:
        signal.signal(signal.SIGIO, before)
    assert received == []
    assert path.read_bytes() == b"the same LATE"


def test_open_writers_names_the_processes_that_can_write(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"the same")
    name, status = os.fsencode(path), path.stat()
    assert open_writers(status, name).processes == ()
    with path.open("rb"):
        assert open_writers(status, name).processes == ()
    with path.open("r+b") as file:
        assert open_writers(status, name).processes == (os.getpid(),)
        memory = mapped(file.fileno())
    assert open_writers(status, name).processes == (os.getpid(),)  # only the mapping is left
    unmap(memory)
    assert open_writers(status, name).processes == ()


_C = ctypes.CDLL(None, use_errno=True)
_C.mmap.restype = ctypes.c_void_p
_C.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_C.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def mapped(descriptor):
    """Map a file without a descriptor: Python's own mmap keeps one."""
    memory = _C.mmap(None, 8, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, descriptor, 0)
    assert memory != ctypes.c_void_p(-1).value
    return memory


def unmap(memory):
    _C.munmap(memory, 8)


@pytest.mark.usefixtures("protection")
def test_a_mapping_without_a_descriptor_is_a_writer_too(root):
    copied(root, b"a", b"b")
    descriptor = os.open(os.path.join(root, b"b"), os.O_RDWR)
    memory = mapped(descriptor)
    os.close(descriptor)
    (one,) = remove_copies(planned(root, keep="first"), "delete", dry_run=False, journal=Journal(None))
    unmap(memory)
    assert (one.outcome, one.reason) == ("left", OWN)


def test_the_guard_says_that_other_users_cannot_be_seen(root, tmp_path, monkeypatch):
    without_leases(monkeypatch)
    looked_at = write_guard.open_writers

    def some(*arguments):
        return looked_at(*arguments)._replace(is_complete=False)

    monkeypatch.setattr(write_guard, "open_writers", some)
    copied(root, b"a", b"b")
    with Journal(tmp_path / "journal") as journal:
        (one,) = remove_copies(planned(root), "delete", dry_run=False, journal=journal)
    assert (one.outcome, one.guard) == ("done", "own processes")
    assert [one.outcome for one in undo(tmp_path / "journal", dry_run=False)] == ["undone"]


def test_a_guard_of_a_file_that_is_being_written_refuses(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"the same")
    with path.open("ab"), path.open("rb") as reader, pytest.raises(NotReadable, match="why"):
        write_guard.WriteGuard(reader.fileno(), os.fsencode(path), "why").__enter__()
    with path.open("rb") as reader, write_guard.WriteGuard(reader.fileno(), os.fsencode(path)) as guard:
        assert guard.guard == "lease"
        assert fcntl.fcntl(reader.fileno(), fcntl.F_GETLEASE) == fcntl.F_RDLCK
        guard.check()
