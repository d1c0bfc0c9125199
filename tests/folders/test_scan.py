"""A scan indexes every text file, whatever its name and its path, and counts the files that it leaves out."""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import docindex
from docindex.folders import find
from docindex.folders.finding.exact_copies import find_copies, known_files
from docindex.folders.finding.findings import LikenessLimits, find_likenesses
from docindex.folders.scanning import file_readers, root_scan
from docindex.folders.scanning import root_scan as root_changes
from docindex.folders.scanning.root_scan import FilePresence
from docindex.folders.scanning.scanner import scan
from docindex.folders.walking.file_reader import NotReadable
from docindex.folders.walking.path_keys import key_of, path_of, root_of
from docindex.folders.walking.system import LastFolder
from docindex.folders.walking.walk import FailedFile, Skipped, WalkOptions
from docindex.index import adding
from docindex.storage.rows import files as file_rows
from tests.folders import hostile
from tests.storage.texts import prose


@pytest.fixture
def index(tmp_path):
    with docindex.open(tmp_path / "index.docindex", durability="normal") as opened:
        yield opened
        assert opened.check() == []


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def settled(folder):
    """Give all files a time that is old enough for scans to trust it."""
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, ns=(10**18, 10**18))


def known(index, folder):
    return {file.key: file.kind for file in index.files.under(str(folder))}


def test_the_hostile_tree_is_scanned_without_opening_special_files(index, folder):
    wanted, skipped = hostile.make(folder)
    report = scan(index, [root_of(folder)])
    assert known(index, folder) == {key_of(path): kind for path, kind in wanted.items()}
    assert set(index) == {key_of(path) for path, kind in wanted.items() if kind == "text"}
    assert (report.skipped, report.failed) == (skipped, ())
    assert {path_of(key) for key in index} <= set(wanted)
    # A second scan changes nothing.
    again = scan(index, [root_of(folder)])
    assert (again.added, again.removed, again.files) == (0, 0, len(wanted))
    assert index.text(key_of(os.path.join(os.fsencode(folder), b"latin.txt"))) == "Größe" * 9
    assert index.text(str(folder / "wide.txt")) == "Größe"


def test_files_without_permission_are_counted_and_tried_again(tmp_path):
    folder = Path(tempfile.mkdtemp())  # another user cannot enter `tmp_path`
    folder.chmod(0o755)
    wanted, _ = hostile.make(folder)
    locked = hostile.lock(folder)
    program = (
        "import os, sys, docindex; from docindex.folders.scanning.scanner import scan\n"
        "roots = [os.fsencode(sys.argv[1])]\n"
        "with docindex.open(':memory:') as index, docindex.open(':memory:') as warm:\n"
        "    scan(warm, roots)  # loads what another user may not be able to read later\n"
        "    if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "    report = scan(index, roots)\n"
        "    print(len(index), report.files, report.skipped['unreadable'], "
        "sorted((file.key, file.reason) for file in report.failed))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, folder], capture_output=True, text=True, check=False, cwd="/"
    )
    below = [path for path in wanted if path.startswith(tuple(locked))]
    texts = [path for path, kind in wanted.items() if kind == "text" and path not in below]
    failed = sorted((key_of(path), "Permission denied") for path in locked)
    assert done.stdout == f"{len(texts)} {len(wanted) - len(below)} {len(locked)} {failed}\n", done.stderr
    with docindex.open(tmp_path / "index") as index:
        for path in locked:
            os.chmod(path, 0o755)
        scan(index, [root_of(folder)])
        assert known(index, folder) == {key_of(path): kind for path, kind in wanted.items()}
    subprocess.run(["rm", "-rf", folder], check=True)


def test_a_folder_that_cannot_be_read_now_forgets_nothing(index, folder, monkeypatch):
    (folder / "sub").mkdir()
    (folder / "sub" / "a.txt").write_text("some text")
    (folder / "b.txt").write_text("another text")
    scan(index, [root_of(folder)])
    listed = LastFolder.list

    def failing(last, path):
        if path.endswith(b"sub"):
            raise PermissionError(13, "Permission denied")
        return listed(last, path)

    monkeypatch.setattr(LastFolder, "list", failing)
    report = scan(index, [root_of(folder)])
    assert report.removed == 0
    assert set(index) == {str(folder / "sub" / "a.txt"), str(folder / "b.txt")}
    with pytest.raises(docindex.UnreadableFile, match="cannot be read: No such file"):
        scan(index, [root_of(folder / "nothing")])
    assert len(index) == 2


def test_changes_moves_and_removals_are_followed(index, folder):
    rng = random.Random(1)
    for name in "abcdef":
        (folder / f"{name}.txt").write_text(prose(rng, 60))
    (folder / "x.bin").write_bytes(bytes(5000))
    settled(folder)
    first = scan(index, [root_of(folder)])
    assert (first.added, first.texts, first.binaries) == (7, 6, 1)
    numbers = {key: index[key].id for key in index}
    second = scan(index, [root_of(folder)])
    assert (second.unchanged, second.bytes_read) == (7, 0)
    (folder / "a.txt").write_text("changed")
    (folder / "b.txt").unlink()
    (folder / "sub").mkdir()
    (folder / "c.txt").rename(folder / "sub" / "moved.txt")
    (folder / "x.bin").rename(folder / "sub" / "x")
    (folder / "new.txt").write_text("new")
    (folder / "d.txt").unlink()
    (folder / "d.txt").write_bytes(bytes(10))  # now it is a binary file
    third = scan(index, [root_of(folder)])
    assert (third.added, third.changed, third.moved, third.removed, third.unchanged) == (1, 2, 2, 1, 2)
    moved = str(folder / "sub" / "moved.txt")
    assert index[moved].id == numbers[str(folder / "c.txt")]
    assert {Path(key).name for key in index} == {"a.txt", "moved.txt", "e.txt", "f.txt", "new.txt"}
    assert index.text(str(folder / "a.txt")) == "changed"


def test_a_recent_change_that_leaves_size_and_time_is_noticed(index, folder):
    path = folder / "a.txt"
    path.write_text("one")
    scan(index, [root_of(folder)])
    status = path.stat()
    path.write_text("two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    scan(index, [root_of(folder)])
    assert index.text(str(path)) == "two"


def test_options_select_the_files_of_a_scan(index, folder):
    for name in ("a.txt", "b.log", ".hidden", "sub/c.txt", "sub/deep/d.txt", "large.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x" * (5000 if name == "large.txt" else 10))
    (folder / "link").symlink_to(folder / "sub")

    def names(**options):
        report = scan(index, [root_of(folder)], options=WalkOptions(**options))
        return sorted(str(Path(key).relative_to(folder)) for key in report.seen), report.skipped

    everything = ["a.txt", "b.log", "large.txt", "sub/c.txt", "sub/deep/d.txt"]
    assert names() == (everything, {"hidden": 1, "symlink": 1})
    assert names(hidden=True)[0] == [".hidden", *everything]
    found, counts = names(exclude=["*.log", "sub/deep"])
    assert (found, counts["excluded"]) == (["a.txt", "large.txt", "sub/c.txt"], 2)
    assert names(min_size=100) == (["large.txt"], {"hidden": 1, "symlink": 1, "too small": 4})
    assert names(max_size=100)[1]["too large"] == 1
    found, counts = names(follow_symlinks=True)
    assert len(found) == 5  # the link leads to a folder below the root
    assert counts["loop"] == 1
    assert len(index) == 6  # excluded files were not forgotten


def test_a_root_may_be_a_file_and_roots_may_overlap(index, folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "a.txt").write_text("some text")
    (folder / "b.txt").write_text("another")
    assert scan(index, [root_of(folder / "b.txt")]).files == 1
    assert scan(index, [root_of(folder / "sub"), root_of(folder)]).added == 1 + 0
    assert len(index) == 2
    assert scan(index, [root_of(folder / "sub")]).removed == 0
    assert len(index) == 2


def test_a_new_text_and_the_record_of_its_file_are_stored_in_one_transaction(index, folder, monkeypatch):
    monkeypatch.setattr(adding, "_COMMITTED_DOCUMENTS", 10)
    for number in range(30):
        (folder / f"{number:02}.txt").write_text(prose(random.Random(number), 50))
    settled(folder)
    put_files, commits = file_rows.put_files, []

    def stopping(db, files):
        put_files(db, files)
        commits.append(len(files))
        if len(commits) == 3:
            raise OSError("the third transaction is not finished")

    monkeypatch.setattr(file_rows, "put_files", stopping)
    with pytest.raises(OSError, match="third"):
        scan(index, [root_of(folder)], workers=1)
    monkeypatch.undo()
    noted = index.files.under(str(folder))
    assert len(index) == 20
    assert [file.key for file in noted] == list(index)
    assert all(file.inode and file.digest for file in noted)
    assert index.check() == []
    report = scan(index, [root_of(folder)])
    assert (report.unchanged, report.added) == (len(noted), 30 - len(noted))


def test_documents_of_the_host_are_left_alone(index, folder):
    index.add(str(folder / "mine"), "added by somebody else")
    (folder / "a.txt").write_text("some text")
    scan(index, [root_of(folder)])
    assert set(index) == {str(folder / "mine"), str(folder / "a.txt")}


def test_an_interrupted_scan_keeps_its_finished_work(index, folder, monkeypatch):
    for number in range(50):
        (folder / f"{number:02}.txt").write_text(prose(random.Random(number), 50))
    settled(folder)
    monkeypatch.setattr(root_scan, "_COMMIT_AFTER_S", 0)
    read, paths = file_readers.read_file, []

    def stop(path, **options):
        paths.append(path)
        if len(paths) == 30:
            raise KeyboardInterrupt
        return read(path, **options)

    monkeypatch.setattr(file_readers, "read_file", stop)
    with pytest.raises(KeyboardInterrupt):
        scan(index, [root_of(folder)], workers=1)
    kept = len(index)
    assert kept >= 28
    assert len([file for file in index.files.under(str(folder)) if file.inode]) == kept
    after = scan(index, [root_of(folder)])
    assert (after.unchanged, after.added) == (kept, 50 - kept)
    assert len(index) == 50


def test_a_file_that_changes_while_it_is_read_is_tried_again(index, folder, monkeypatch):
    (folder / "a.txt").write_text("some text")
    read, inode = os.fstat, (folder / "a.txt").stat().st_ino
    calls = []

    def changing(descriptor):
        if read(descriptor).st_ino == inode:  # others ask for the status of other files
            calls.append(1)
            if len(calls) == 2:
                (folder / "a.txt").write_text("longer than it was before")
        return read(descriptor)

    monkeypatch.setattr("docindex.folders.walking.file_reader.os.fstat", changing)
    report = scan(index, [root_of(folder)])
    assert (len(index), report.skipped["unreadable"]) == (0, 1)
    assert report.failed == (FailedFile(str(folder / "a.txt"), "it was changed while it was read"),)
    monkeypatch.undo()
    scan(index, [root_of(folder)])
    assert index.text(str(folder / "a.txt")) == "longer than it was before"


def test_a_scan_does_not_wait_for_a_pipe_that_replaces_a_file(index, folder, monkeypatch):
    (folder / "a.txt").write_text("some text")
    read = file_readers.read_file

    def swapped(path, **options):
        os.unlink(path)
        os.mkfifo(path)
        return read(path, **options)

    monkeypatch.setattr(file_readers, "read_file", swapped)
    report = scan(index, [root_of(folder)])  # a scan that waits would never end
    assert (len(index), report.skipped["unreadable"]) == (0, 1)


def test_more_files_in_one_folder_than_a_statement_may_have_bindings(index, folder):
    at, count = os.open(folder, os.O_RDONLY), 33_000
    for number in range(count):
        os.close(os.open(f"{number}", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at))
    os.close(at)
    report = scan(index, [root_of(folder)], options=WalkOptions(min_size=1))
    assert report.skipped == {"too small": count}


def with_its_time_set_back(path, change):
    """Change a file so that only the time of its status tells it, as with ``dd conv=notrunc; touch -d``."""
    before = path.stat()
    change()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    facts = "st_size", "st_mtime_ns", "st_ino"
    assert [getattr(after, fact) for fact in facts] == [getattr(before, fact) for fact in facts]
    assert after.st_ctime_ns != before.st_ctime_ns


def rewritten(path, old, new):
    with path.open("r+b") as file:
        data = file.read()
        assert old in data
        file.seek(0)
        file.write(data.replace(old, new))


def test_a_change_that_keeps_the_size_and_the_time_is_found(index, folder):
    text, binary, copy = folder / "a.txt", folder / "a.bin", folder / "b.bin"
    text.write_text("an old text")
    for path in (binary, copy):
        path.write_bytes(bytes(100))
    settled(folder)
    first = scan(index, [folder])
    assert len(find(index, [folder], scan=first).copies) == 1  # the digests are in the index now
    with_its_time_set_back(text, lambda: rewritten(text, b"old", b"new"))
    with_its_time_set_back(copy, lambda: rewritten(copy, bytes(100), bytes(99) + b"1"))
    again = scan(index, [folder])
    assert (again.changed, again.unchanged) == (2, 1)
    assert index.text(str(text)) == "an new text"
    assert find(index, [folder], scan=again).copies == ()
    assert scan(index, [folder]).unchanged == 3


def test_a_file_whose_status_alone_has_changed_is_not_indexed_again(index, folder, monkeypatch):
    for name in ("a.txt", "b.txt", "c.bin"):
        (folder / name).write_bytes(b"\0" if name == "c.bin" else name.encode() * 9)
    settled(folder)
    scan(index, [folder])
    for number, path in enumerate(folder.iterdir()):
        with_its_time_set_back(path, lambda path=path, number=number: path.chmod(0o600 + number))
    counts = []
    monkeypatch.setattr(root_scan.RootScan, "_documents", lambda *_: counts.append(1) or iter(()))
    assert scan(index, [folder / name for name in ("a.txt", "b.txt")]).unchanged == 2
    assert counts == []
    monkeypatch.undo()
    report = scan(index, [folder])  # only the beginning of a file without a text is read
    assert (report.unchanged, report.changed, report.bytes_read) == (3, 0, 0)
    monkeypatch.setattr(root_changes, "has_same_bytes", lambda *_: counts.append(1))
    assert scan(index, [folder]).unchanged == 3
    assert counts == []  # the times of all files are noted


def test_a_new_file_with_the_inode_and_time_of_a_removed_file_is_read(index, folder):
    (folder / "old.txt").write_text("one text")
    settled(folder)
    scan(index, [root_of(folder)])
    os.rename(folder / "old.txt", folder / "new.txt")
    (folder / "new.txt").write_text("new text")  # the inode and the size stay the same
    settled(folder)
    report = scan(index, [root_of(folder)])
    assert (report.moved, report.added, report.removed) == (0, 1, 1)
    assert index.text(str(folder / "new.txt")) == "new text"


def test_a_scan_completes_a_move_that_was_interrupted(index, folder):
    (folder / "old.txt").write_text("some text")
    settled(folder)
    scan(index, [root_of(folder)])
    os.rename(folder / "old.txt", folder / "new.txt")
    index.rename(str(folder / "old.txt"), str(folder / "new.txt"))  # as if the scan was killed here
    scan(index, [root_of(folder)])
    assert list(index) == [str(folder / "new.txt")]
    os.rename(folder / "new.txt", folder / "newest.txt")
    index.add(str(folder / "newest.txt"), "added by hand")
    scan(index, [root_of(folder)])
    assert (list(index), index.text(str(folder / "newest.txt"))) == (
        [str(folder / "newest.txt")],
        "some text",
    )


def test_a_kill_leaves_no_document_without_a_noted_file(tmp_path, folder):
    for number in range(300):
        (folder / f"{number}.txt").write_text(prose(random.Random(number), 1500))
    settled(folder)
    program = (
        "import docindex, os, sys; from docindex.folders import scan\n"
        "from docindex.folders.scanning import file_readers\n"
        "import docindex.index.adding; docindex.index.adding._COMMIT = 20_000\n"
        "read, paths = file_readers.read_file, []\n"
        "def stop(path, **options):\n"
        "    paths.append(path)\n"
        "    if len(paths) == 250: os.kill(os.getpid(), 9)\n"
        "    return read(path, **options)\n"
        "file_readers.read_file = stop\n"
        "scan(docindex.open(sys.argv[1]), [os.fsencode(sys.argv[2])], workers=1)"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "own", folder], check=False)
    with docindex.open(tmp_path / "own") as index:
        assert 0 < len(index) < 250
        for path in list(folder.iterdir())[::2]:
            path.unlink()
        scan(index, [root_of(folder)])
        assert set(index) == {str(path) for path in folder.iterdir()}
        assert index.check() == []


def test_a_disk_that_is_not_mounted_forgets_nothing(index, folder):
    (folder / "a.txt").write_text("some text")
    scan(index, [root_of(folder)])
    # As if the folder had been a disk that is not mounted now.
    index.files.put(file._replace(device=file.device + 1) for file in index.files.under(str(folder)))
    (folder / "a.txt").unlink()
    with pytest.raises(
        docindex.UnreadableFile, match="on another device than at the last scan; mount its disk"
    ):
        scan(index, [root_of(folder)])
    assert list(index) == [str(folder / "a.txt")]


def test_files_that_were_never_read_are_not_copies(index, folder, monkeypatch):
    for name in "abcd":
        (folder / f"{name}.txt").write_text(f"the text of {name.replace('c', 'a')}")
    read = file_readers.read_file

    def refusing(path, **options):
        if path.endswith((b"c.txt", b"d.txt")):
            raise NotReadable("Permission denied")
        return read(path, **options)

    monkeypatch.setattr(file_readers, "read_file", refusing)
    report = scan(index, [root_of(folder)])
    assert report.skipped["unreadable"] == 2
    assert find_copies(index, known_files(index, [str(folder)]), Skipped()) == []


def test_a_missing_root_does_not_keep_other_roots_from_being_scanned(index, folder):
    (folder / "a.txt").write_text("some text")
    nothing = (str(folder / "nothing"), "No such file or directory")
    assert scan(index, [root_of(folder / "nothing"), root_of(folder)]).missing == (nothing,)
    assert list(index) == [str(folder / "a.txt")]
    with pytest.raises(docindex.UnreadableFile, match="nothing cannot be read"):
        scan(index, [root_of(folder / "nothing")])


@pytest.mark.parametrize(
    ("rules", "taken"),
    [
        ("*\n!*/\n!*.py\n", {"a.py", "src/b.py"}),
        ("*.py\n", {"c.txt", "src/d.txt"}),
        ("/src\n", {"a.py", "c.txt"}),
        ("src/*\n!src/b.py\n", {"a.py", "c.txt", "src/b.py"}),
        ("!\nc.txt\n[b-a]\n", {"a.py", "src/b.py", "src/d.txt"}),
        ("\ufeffc.txt\r\n", {"a.py", "src/b.py", "src/d.txt"}),
        ("# nothing\n\n", {"a.py", "c.txt", "src/b.py", "src/d.txt"}),
    ],
)
def test_the_rules_of_gitignore_are_followed(index, folder, rules, taken):
    (folder / "src").mkdir()
    for name in ("a.py", "c.txt", "src/b.py", "src/d.txt"):
        (folder / name).write_text("x")
    (folder / ".gitignore").write_text(rules)
    report = scan(index, [root_of(folder)])
    assert {str(Path(key).relative_to(folder)) for key in report.seen} == taken


def test_a_gitignore_that_is_not_a_regular_file_has_no_rules(index, folder):
    (folder / "a.txt").write_text("x")
    os.mkfifo(folder / ".gitignore")
    assert scan(index, [root_of(folder)]).files == 1
    (folder / ".gitignore").unlink()
    (folder / ".gitignore").symlink_to("/dev/zero")
    assert scan(index, [root_of(folder)]).files == 1


def test_text_that_too_many_files_share_is_ignored(index, folder):
    """A template that all files share makes no pairs; text that two files share does."""
    template = prose(random.Random(0), 60)
    for number in range(12):
        own = prose(random.Random(100 + number // 2), 10)
        (folder / f"{number}.txt").write_text(f"{template}\n{own} {number}")
    settled(folder)
    scan(index, [root_of(folder)])
    for limit in (None, 12):
        (whole,), ignored = find_likenesses(
            index,
            [str(folder)],
            LikenessLimits(min_resemblance=0.5, min_containment=None, ignore_above=limit),
        )
        assert (len(whole.files), ignored) == (12, 0)
    rest, ignored = find_likenesses(
        index, [str(folder)], LikenessLimits(min_resemblance=0.5, min_containment=None, ignore_above=11)
    )
    assert [len(group.files) for group in rest] == [2] * 6
    assert ignored == 56  # runs of five words among the sixty words of the template


def test_a_text_in_several_others_is_shown_once(index, folder):
    parts = [prose(random.Random(number), 60) for number in range(4)]
    (folder / "draft.txt").write_text(parts[0])
    (folder / "final.txt").write_text("\n".join(parts[:2]))
    (folder / "book.txt").write_text("\n".join(parts))
    # Most of each of these is in the other one, but they are not near copies.
    for name, own in (("one.txt", 4), ("two.txt", 5)):
        (folder / name).write_text(f"{prose(random.Random(9), 100)}\n{prose(random.Random(own), 12)}")
    settled(folder)
    scan(index, [root_of(folder)])
    groups, _ = find_likenesses(index, [str(folder)], LikenessLimits(min_resemblance=0.95))
    shown = [[Path(file.key).stem for file in group.files] for group in groups]
    assert ["book", "final"] in shown
    assert ["final", "draft"] in shown
    assert sorted(map(sorted, shown)) == [["book", "final"], ["draft", "final"], ["one", "two"]]


def test_a_group_is_compared_for_containment_by_its_first_file(index, folder):
    draft, rest = prose(random.Random(1), 60), prose(random.Random(2), 200)
    for number in range(5):
        (folder / f"draft {number}.txt").write_text(f"{draft} end {number}")
        (folder / f"final {number}.txt").write_text(f"{draft}\n{rest} end {number}")
    settled(folder)
    scan(index, [root_of(folder)])
    found, _ = find_likenesses(index, [str(folder)], LikenessLimits(min_containment=0.9))
    groups = {group.kind: group for group in found}
    assert sorted(groups) == ["contained", "near"]
    assert [Path(file.key).name[:5] for file in groups["contained"].files] == ["final", "draft"]


def test_a_text_that_becomes_binary_leaves_the_index_even_after_a_failed_scan(index, folder, monkeypatch):
    (folder / "a.txt").write_text("a secret text that is long enough to be found again by a search for it")
    settled(folder)
    scan(index, [root_of(folder)])
    (folder / "a.txt").write_bytes(bytes(500))
    with monkeypatch.context() as patches:

        def refuse(*_, **__):
            raise NotReadable("Permission denied")

        patches.setattr(file_readers, "read_file", refuse)
        assert scan(index, [root_of(folder)]).skipped["unreadable"] == 1
    scan(index, [root_of(folder)])
    assert len(index) == 0


def test_another_link_to_an_excluded_file_is_not_a_move(index, folder):
    (folder / "a.txt").write_text("some text here to look at")
    settled(folder)
    scan(index, [root_of(folder)])
    os.link(folder / "a.txt", folder / "b.txt")
    report = scan(index, [root_of(folder)], options=WalkOptions(exclude=["a.txt"]))
    assert (report.moved, report.added) == (0, 1)
    assert set(index) == {str(folder / "a.txt"), str(folder / "b.txt")}


def test_files_on_an_unmounted_disk_are_not_forgotten(index, folder):
    for name in ("here.txt", "disk/there.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"the text of {name}")
    settled(folder)
    scan(index, [root_of(folder)])
    files = index.files.under(str(folder))
    index.files.put(file._replace(device=file.device + 1) for file in files if "/disk/" in file.key)
    (folder / "disk" / "there.txt").unlink()
    report = scan(index, [root_of(folder)])
    assert (report.removed, report.skipped) == (0, {"on a disk that is not mounted": 1})
    assert len(index) == 2
    (folder / "here.txt").unlink()
    assert scan(index, [root_of(folder)]).removed == 1
    # If the disk is mounted, its files are really gone.
    index.files.put(file._replace(device=os.stat(folder).st_dev) for file in files if "/disk/" in file.key)
    assert scan(index, [root_of(folder)]).removed == 1


def test_a_file_under_two_roots_is_counted_once(index, folder):
    (folder / "below").mkdir()
    (folder / "below" / "a.txt").write_text("some text")
    settled(folder)
    report = scan(index, [root_of(folder), root_of(folder / "below"), root_of(folder)])
    assert (report.files, report.bytes, report.added, report.unchanged) == (1, 9, 1, 0)


def test_links_out_of_the_root_are_followed_by_every_scan(index, tmp_path, folder):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("a text that lies elsewhere")
    settled(tmp_path / "outside")
    (folder / "link").symlink_to(tmp_path / "outside")
    follow = WalkOptions(follow_symlinks=True)
    assert scan(index, [root_of(folder)], options=follow).added == 1
    assert scan(index, [root_of(folder)], options=follow).unchanged == 1
    assert set(index) == {str(folder / "link" / "a.txt")}
    (tmp_path / "outside" / "a.txt").unlink()
    assert scan(index, [root_of(folder)], options=follow).removed == 1


def test_a_renamed_folder_with_a_link_at_its_old_path_has_moved(index, folder):
    (folder / "old").mkdir()
    (folder / "old" / "a.txt").write_text("the text of a file in a folder")
    (folder / "left out.txt").write_text("which is there all the time")
    settled(folder)
    scan(index, [root_of(folder)])
    (folder / "old").rename(folder / "new")
    (folder / "old").symlink_to("new")
    report = scan(index, [root_of(folder)], options=WalkOptions(exclude=["left*"]))
    assert (report.moved, report.added, report.removed) == (1, 0, 0)
    assert set(index) == {str(folder / "new" / "a.txt"), str(folder / "left out.txt")}


def test_excluded_files_below_a_root_that_is_a_link_are_not_forgotten(index, folder, tmp_path):
    (folder / "a.txt").write_text("some text")
    settled(folder)
    (tmp_path / "link").symlink_to(folder)
    scan(index, [root_of(tmp_path / "link")])
    assert scan(index, [root_of(tmp_path / "link")], options=WalkOptions(exclude=["*"])).removed == 0
    assert set(index) == {str(tmp_path / "link" / "a.txt")}


def test_files_below_failed_paths_are_not_gone(index, folder):
    (folder / "many").mkdir()
    for number in range(3000):
        (folder / "many" / f"{number}.dat").write_bytes(b"\0%d" % number)
    settled(folder)
    scan(index, [root_of(folder)])
    known = {file.key: file for file in index.files.under(str(folder))}
    failed = {path_of(key) for key in known}
    assert FilePresence.without_hidden(known, known, failed) == ({}, 0)
    assert FilePresence.without_hidden(known, known, {root_of(folder / "many")}) == ({}, 0)
    assert FilePresence.without_hidden(known, known, {root_of(folder / "man")}) == (known, 0)
