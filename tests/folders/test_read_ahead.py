"""Small files that come from a disk are asked for ahead, and this never changes what is found."""

import errno
import itertools
import os

import pytest

from docindex import folders
from docindex.folders.finding import exact_findings
from docindex.folders.finding import exact_findings as read_ahead
from docindex.folders.finding.exact_findings import AT_A_TIME


@pytest.fixture
def root(tmp_path):
    for number in range(4 * AT_A_TIME):
        (tmp_path / f"{number}").write_bytes(b"%3d" % (number // 2))
    return tmp_path


@pytest.fixture
def asked(monkeypatch):
    """The descriptors that are asked for ahead from now on."""
    asked = []
    monkeypatch.setattr(read_ahead, "ask_ahead", asked.append)
    return asked


def number_open():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="the system lists no descriptors there")
def test_files_are_asked_for_ahead_while_they_come_from_a_disk(root, asked, monkeypatch):
    monkeypatch.setattr(read_ahead, "blocks_read", itertools.count().__next__)
    before = number_open()
    assert len(folders.find_exact([root]).copies) == 2 * AT_A_TIME
    assert len(asked) == 3 * AT_A_TIME  # what was read first showed that the files are not in memory
    assert number_open() == before


def test_files_in_memory_are_not_asked_for(root, asked, monkeypatch):
    monkeypatch.setattr(read_ahead, "blocks_read", lambda: 7)
    assert len(folders.find_exact([root]).copies) == 2 * AT_A_TIME
    assert asked == []


def test_a_process_that_may_open_few_files_finds_all_copies(root, monkeypatch):
    monkeypatch.setattr(read_ahead, "blocks_read", itertools.count().__next__)
    left, original = itertools.cycle(range(6)), read_ahead.opened_descriptor

    def opened(path, flags):
        if next(left) == 5:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return original(path, flags)

    monkeypatch.setattr(read_ahead, "opened_descriptor", opened)
    found = folders.find_exact([root])
    assert (len(found.copies), found.unreadable) == (2 * AT_A_TIME, ())


def test_a_file_that_cannot_be_asked_for_is_named_by_the_search(root, asked, monkeypatch):
    monkeypatch.setattr(read_ahead, "blocks_read", itertools.count().__next__)
    last = sorted(root.iterdir())[-1]
    monkeypatch.setattr(exact_findings, "digest_at_once", _removing(last, exact_findings.digest_at_once))
    found = folders.find_exact([root])
    assert [file.key for file in found.unreadable] == [str(last)]
    assert len(found.copies) == 2 * AT_A_TIME - 1
    assert len(asked) < 3 * AT_A_TIME


def _removing(last, digest_at_once):
    def digest(path, status):
        last.unlink(missing_ok=True)
        return digest_at_once(path, status)

    return digest
