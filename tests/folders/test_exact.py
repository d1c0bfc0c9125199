"""`find_exact` finds the copies that `scan` and `find` find, without an index, and reads less."""

import errno
import os
import random
import threading
from pathlib import Path

import pytest

import docindex
from docindex import folders
from docindex.folders.finding import exact_findings
from docindex.folders.walking import file_reader, system
from docindex.folders.walking.file_reader import AT_ONCE
from tests.folders.trees import copied, tree

EVERYTHING = folders.WalkOptions(hidden=True, ignore=False)


def read_paths(monkeypatch):
    """The paths of the files that are opened from now on."""
    opened, original = [], file_reader.opened_descriptor

    def noted(path, flags):
        opened.append(path)
        return original(path, flags)

    for module in (file_reader, system):
        monkeypatch.setattr(module, "opened_descriptor", noted)
    return opened


@pytest.mark.parametrize("seed", range(40))
def test_the_copies_are_those_of_a_scan(seed, tmp_path, monkeypatch):
    if seed % 2:  # the long way for small files, too
        monkeypatch.setattr(exact_findings, "AT_ONCE", 100)
    rng = random.Random(seed)
    root = os.fsencode(tmp_path / "tree")
    os.mkdir(root)
    tree(rng, root)
    roots = [root, os.path.join(root, b"one")] if os.path.exists(os.path.join(root, b"one")) else [root]
    chosen = {"keep": rng.choice(folders.KEEP), "isolate": rng.random() < 0.2, "reference": roots[1:]}
    found = folders.find_exact(roots, options=EVERYTHING, **chosen)
    with docindex.open(":memory:") as index:
        seen = folders.scan(index, roots, options=EVERYTHING)
        expected = folders.find(index, roots, kinds=["folder", "exact"], scan=seen, **chosen)
    assert found.groups == expected.groups
    assert (found.walked.files, found.walked.bytes) == (seen.files, seen.bytes)
    assert found.walked.skipped == seen.skipped
    assert (found.unreadable, found.likenesses, found.ignored) == ((), (), 0)


def test_only_files_that_share_their_size_are_read(tmp_path, monkeypatch):
    copied(os.fsencode(tmp_path), b"a", b"b")
    copied(os.fsencode(tmp_path), b"alone", content=b"another size")
    copied(os.fsencode(tmp_path), b"empty", b"empty too", content=b"")
    large = random.Random(1).randbytes(AT_ONCE + 10)
    copied(os.fsencode(tmp_path), b"c", b"d", content=large)
    copied(os.fsencode(tmp_path), b"e", content=large[:-1] + b"x")  # another end: it is not read to its end
    read = read_paths(monkeypatch)
    digested, digest_of = [], file_reader.digest_of
    monkeypatch.setattr(
        "docindex.folders.finding.exact_copies.digest_of",
        lambda *given: digested.append(given[0]) or digest_of(*given),
    )
    groups = folders.find_exact([tmp_path]).copies
    assert [sorted(Path(file.key).name for file in group.files) for group in groups] == [
        ["c", "d"],
        ["a", "b"],
    ]
    assert {os.path.basename(path) for path in read} <= {b"a", b"b", b"c", b"d", b"e"}
    assert read.count(os.fsencode(tmp_path / "a")) == 1
    assert [os.path.basename(path) for path in digested] == [b"c", b"d"]


@pytest.mark.parametrize("size", [10, AT_ONCE + 10])
def test_a_file_that_changes_during_the_search_is_named_and_no_copy(size, tmp_path, monkeypatch):
    copied(os.fsencode(tmp_path), b"a", b"b", b"c", content=bytes(size))
    original = file_reader.opened_descriptor

    def changed(path, flags):
        if path.endswith(b"/a"):
            Path(os.fsdecode(path)).write_bytes(bytes(size))  # the same bytes at another time
        return original(path, flags)

    for module in (file_reader, system):
        monkeypatch.setattr(module, "opened_descriptor", changed)
    found = folders.find_exact([tmp_path])
    assert [file.key for file in found.unreadable] == [str(tmp_path / "a")]
    assert "changed" in found.unreadable[0].reason
    (group,) = found.copies
    assert sorted(Path(file.key).name for file in group.files) == ["b", "c"]


@pytest.mark.parametrize("size", [10, AT_ONCE + 10])
def test_a_file_that_becomes_a_pipe_during_the_search_is_named(size, tmp_path, monkeypatch):
    copied(os.fsencode(tmp_path), b"a", b"b", content=bytes(size))
    original = file_reader.opened_descriptor

    def changed(path, flags):
        if path.endswith(b"/a"):
            os.unlink(path)
            os.mkfifo(path)
        return original(path, flags)

    for module in (file_reader, system):
        monkeypatch.setattr(module, "opened_descriptor", changed)
    found = folders.find_exact([tmp_path])
    assert [(file.key, file.reason) for file in found.unreadable] == [
        (str(tmp_path / "a"), "it is not a regular file any more")
    ]
    assert found.copies == ()


def test_an_entry_that_vanishes_or_cannot_be_asked_does_not_end_a_walk(tmp_path, monkeypatch):
    copied(os.fsencode(tmp_path), b"a", b"b", b"closed", b"gone", b".hidden")
    original = os.stat

    def asked(path, **how):
        if path in (b"gone", b".hidden"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        if path == b"closed":
            raise PermissionError(errno.EACCES, "Permission denied")
        return original(path, **how)

    monkeypatch.setattr(os, "stat", asked)
    monkeypatch.setattr(os, "supports_dir_fd", {asked, os.open})
    found = folders.find_exact([tmp_path])
    assert [len(group.files) for group in found.copies] == [2]
    assert found.walked.skipped == {"vanished": 1, "unreadable": 1, "hidden": 1}
    assert found.unreadable == ((str(tmp_path / "closed"), "Permission denied"),)


def test_an_index_in_use_is_no_copy(tmp_path):
    with docindex.open(tmp_path / "own.docindex") as index:
        index.add("a", "some text")
    for name in ("one", "two"):
        (tmp_path / name).write_bytes((tmp_path / "own.docindex").read_bytes())
    found = folders.find_exact([tmp_path], without=[tmp_path / "own.docindex"])
    assert [sorted(Path(file.key).name for file in group.files) for group in found.copies] == [["one", "two"]]
    assert found.walked.skipped == {"of docindex's own files": 1}


def test_a_file_that_was_just_changed_has_no_time_in_the_plan(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"new")
    (group,) = folders.find_exact([tmp_path]).plan().groups
    assert {file.mtime_ns for file in group.files} == {-1}


def test_the_search_is_cancelled(tmp_path):
    for number in range(200):
        (tmp_path / f"{number}").write_bytes(bytes(number // 2 + 1))
    with docindex.cancelling() as token, pytest.raises(docindex.Cancelled):
        folders.find_exact([tmp_path], progress=lambda *_: token.cancel())
    event = threading.Event()
    with docindex.cancelling(event):
        assert len(folders.find_exact([tmp_path]).copies) == 100


def test_a_missing_folder_does_not_stop_the_others(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"the same")
    found = folders.find_exact([tmp_path / "nothing", tmp_path])
    assert found.missing == ((str(tmp_path / "nothing"), "No such file or directory"),)
    assert len(found.copies) == 1
    with docindex.open(":memory:") as index:
        seen = folders.scan(index, [tmp_path / "nothing", tmp_path])
        assert folders.find(index, [tmp_path], scan=seen).missing == found.missing == seen.missing


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(docindex.UnreadableFile, match="nothing cannot be read: No such file") as caught:
        folders.find_exact([tmp_path / "nothing"])
    assert caught.value.path == str(tmp_path / "nothing")
    with pytest.raises(docindex.UnreadableFile, match="the reference folder"):
        folders.find_exact([tmp_path], reference=[tmp_path / "nothing"])
    with pytest.raises(ValueError, match="keep must be one of"):
        folders.find_exact([tmp_path], keep="best")
