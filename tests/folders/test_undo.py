"""`undo` brings files back as they were, and replaces nothing."""

import contextlib
import os
import random

import pytest

from docindex.folders.acting import restore
from docindex.folders.acting.journal import Journal
from docindex.folders.acting.removal import remove_copies
from docindex.folders.walking.path_keys import path_of
from tests.folders.trees import contents_of, copied, planned, tree, undo


@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
@pytest.mark.parametrize("seed", range(6))
def test_everything_can_be_undone_while_the_kept_copies_exist(root, tmp_path, how, seed):
    tree(random.Random(seed), root)
    before = contents_of(root)
    facts = {path: (os.stat(path).st_mtime_ns, os.stat(path).st_mode) for path in before}
    with Journal(tmp_path / "journal") as journal:
        done = [
            one
            for one in remove_copies(planned(root), how, dry_run=False, journal=journal)
            if one.outcome == "done"
        ]
    after = contents_of(root)
    assert {one.outcome for one in undo(tmp_path / "journal", dry_run=True)} <= {"would be undone"}
    assert contents_of(root) == after
    assert len([one for one in undo(tmp_path / "journal", dry_run=False) if one.outcome == "undone"]) == len(
        done
    )
    assert contents_of(root) == before
    assert {path: (os.stat(path).st_mtime_ns, os.stat(path).st_mode) for path in before} == facts
    for one in done:
        assert not os.path.samefile(path_of(one.key), path_of(one.kept))
    assert undo(tmp_path / "journal", dry_run=False) == []


def test_links_to_a_file_that_a_later_act_replaced_become_files_of_their_own(root, tmp_path):
    paths = [os.path.join(root, name) for name in (b"a", b"b", b"c", b"d")]
    os.makedirs(root, exist_ok=True)
    for number, path in enumerate(paths):
        with open(path, "wb") as file:
            file.write(b"the same")
        os.utime(path, ns=(10**18, 10**18 + number))
    (group,) = planned(root)
    files = {path: file for file in group.files for path in paths if path_of(file.key) == path}
    a, b, c, d = (files[path] for path in paths)
    keep = [file._replace(keep=True) for file in (c, d)]
    steps = [
        group._replace(files=(keep[0], a._replace(keep=False), b._replace(keep=False))),
        group._replace(files=(keep[1], c._replace(keep=False))),
    ]
    for step in steps:  # in one plan, the second one would not remove what the first one keeps
        with Journal(tmp_path / "journal") as journal:
            done = list(remove_copies([step], "hardlink", dry_run=False, journal=journal))
        assert {one.outcome for one in done} == {"done"}
    assert {one.outcome for one in undo(tmp_path / "journal", dry_run=False)} == {"undone"}
    assert [os.stat(path).st_mtime_ns for path in paths] == [10**18 + number for number in range(4)]
    assert {os.stat(path).st_nlink for path in paths} == {1}
    assert sorted(os.listdir(root)) == [b"a", b"b", b"c", b"d"]


def test_a_file_that_two_acts_in_turn_have_linked_comes_back_with_its_own_time(root, tmp_path):
    copied(root, b"a", b"b", b"c")
    own = os.path.join(root, b"b")
    os.utime(own, ns=(10**18, 10**18 + 5))
    for kept in (b"a", b"c"):
        (group,) = planned(root)
        files = tuple(file._replace(keep=path_of(file.key).endswith(kept)) for file in group.files)
        files = tuple(file for file in files if file.keep or path_of(file.key) == own)
        with Journal(tmp_path / "journal") as journal:
            (one,) = remove_copies([group._replace(files=files)], "hardlink", dry_run=False, journal=journal)
        assert one.outcome == "done"
    assert {one.is_back for one in undo(tmp_path / "journal", dry_run=False)} == {True}
    assert os.stat(own).st_mtime_ns == 10**18 + 5


def test_undo_replaces_nothing_and_gives_a_reason_for_each_file_that_is_left(root, tmp_path):
    for name in (b"a", b"b", b"c"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "delete", dry_run=False, journal=journal))
    (tmp_path / "tree" / "b").write_text("something new")
    (tmp_path / "tree" / "a").write_text("THE SAME")
    found = {
        os.path.basename(one.key): (one.outcome, one.reason)
        for one in undo(tmp_path / "journal", dry_run=False)
    }
    assert found == {
        "b": ("left", "another file is at its path now, and stays"),
        "c": ("left", "the kept file is gone or has changed"),
    }
    assert (tmp_path / "tree" / "b").read_text() == "something new"
    (tmp_path / "tree" / "a").unlink()
    assert {one.reason for one in undo(tmp_path / "journal", dry_run=False)} == {
        "another file is at its path now, and stays",
        "the kept file is gone or has changed",
    }
    (tmp_path / "tree" / "a").write_text("the same")
    (one,) = undo(tmp_path / "journal", dry_run=False)[:1]
    assert (os.path.basename(one.key), one.outcome) == ("c", "undone")


def test_a_truncated_journal_is_followed_to_its_end(root, tmp_path):
    for name in (b"a", b"b", b"c"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "delete", dry_run=False, journal=journal))
    whole = (tmp_path / "journal").read_text()
    (tmp_path / "journal").write_text(whole[:-20])
    assert [one.outcome for one in undo(tmp_path / "journal", dry_run=False)] == ["undone", "undone"]
    assert len(contents_of(root)) == 3
    (tmp_path / "journal").write_text("{}\n" + whole)
    with pytest.raises(ValueError, match=r"/journal is not a journal that act wrote; its line 1 is '\{\}'"):
        undo(tmp_path / "journal", dry_run=True)
    (tmp_path / "journal").write_bytes(b"\x7fELF\xff\n")
    with pytest.raises(ValueError, match="is not a journal that act wrote"):
        undo(tmp_path / "journal", dry_run=True)


def test_a_truncated_line_does_not_damage_the_next_line(root, tmp_path):
    for half in range(2):
        copied(root, b"a%d" % half, b"b%d" % half, content=b"content %d" % half)
        with Journal(tmp_path / "journal") as journal:
            list(remove_copies(planned(root), "delete", dry_run=False, journal=journal))
        if not half:
            whole = (tmp_path / "journal").read_bytes()
            (tmp_path / "journal").write_bytes(whole[:-20])
    assert [one.outcome for one in undo(tmp_path / "journal", dry_run=False)] == ["undone", "undone"]
    assert len(contents_of(root)) == 4
    assert undo(tmp_path / "journal", dry_run=False) == []


def test_undo_does_not_replace_a_file_that_appears_while_it_copies(root, tmp_path, monkeypatch):
    copied(root, b"a", b"b")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "hardlink", dry_run=False, journal=journal))
    copy = restore.write_copy

    def saving(*arguments):
        copy(*arguments)
        with open(os.path.join(root, b"new"), "wb") as file:
            file.write(b"hours of work")
        os.rename(os.path.join(root, b"new"), os.path.join(root, b"b"))

    monkeypatch.setattr(restore, "write_copy", saving)
    (one,) = undo(tmp_path / "journal", dry_run=False)
    assert one.outcome == "left"
    assert contents_of(root) == {
        os.path.join(root, b"a"): b"the same",
        os.path.join(root, b"b"): b"hours of work",
    }


@pytest.mark.parametrize("by", ["act", "undo"])
@pytest.mark.parametrize("how", ["trash", "hardlink", "delete"])
def test_an_interrupted_undo_leaves_nothing_behind(root, tmp_path, how, by, monkeypatch):
    class Stopped(BaseException):
        pass

    copied(root, b"a", b"b")
    both = set(contents_of(root))
    stopped = True
    allowed = 0
    while stopped:
        with Journal(tmp_path / "journal") as journal:
            list(remove_copies(planned(root, keep="first"), how, dry_run=False, journal=journal))
        before, stopped, left = contents_of(root), False, allowed

        def counted(call):
            def called(*arguments, **options):
                nonlocal left, stopped
                left -= 1
                if left < 0:
                    stopped = True
                    raise Stopped
                return call(*arguments, **options)

            return called

        with monkeypatch.context() as patches, contextlib.suppress(Stopped):
            for name in ("rename", "unlink", "open"):
                patches.setattr(os, name, counted(getattr(os, name)))
            patches.setattr(restore, "rename_no_replace", counted(restore.rename_no_replace))
            undo(tmp_path / "journal", dry_run=False)
        assert set(contents_of(root).values()) == {b"the same"}
        if by == "act":
            with Journal(tmp_path / "journal") as journal:
                list(remove_copies([], how, dry_run=False, journal=journal))
            assert set(contents_of(root)) in (both, set(before))
        undo(tmp_path / "journal", dry_run=False)
        assert set(contents_of(root)) == both
        assert len({os.stat(path).st_ino for path in both}) == 2
        allowed += 1
    assert allowed > 2


@pytest.mark.parametrize("same_inode", [True, False])
def test_undo_leaves_another_file_in_the_trash_with_the_same_name(root, tmp_path, trash, same_inode):
    copied(root, b"a", b"b")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "trash", dry_run=False, journal=journal))
    if same_inode:  # file systems use the inodes of removed files again
        (trash / "info" / "b.trashinfo").write_text("[Trash Info]\nPath=/home/letters/b\n")
    else:
        (trash / "files" / "b").rename(tmp_path / "elsewhere")
    (trash / "files" / "b").write_text("a love letter")
    (one,) = undo(tmp_path / "journal", dry_run=False)
    assert (one.outcome, one.reason) == (
        "undone",
        f"as a copy of {root.decode()}/a, because another file has its name in the trash",
    )
    assert contents_of(root)[os.path.join(root, b"b")] == b"the same"
    assert (trash / "files" / "b").read_text() == "a love letter"
    assert (trash / "info" / "b.trashinfo").exists()


def test_undo_restores_what_a_program_wrote_to_a_file_in_the_trash(root, tmp_path):
    copied(root, b"a", b"b")
    with open(os.path.join(root, b"b"), "rb") as reader, Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "trash", dry_run=False, journal=journal))
        with open(f"/proc/self/fd/{reader.fileno()}", "ab") as late:
            late.write(b" and more")
    remark = "with the changes that a program made after it was removed"
    (one,) = undo(tmp_path / "journal", dry_run=True)
    assert (one.outcome, one.reason) == ("would be undone", remark)
    (one,) = undo(tmp_path / "journal", dry_run=False)
    assert (one.outcome, one.reason) == ("undone", remark)
    assert contents_of(root)[os.path.join(root, b"b")] == b"the same and more"


def test_undo_says_that_a_file_is_a_copy_because_the_trash_was_emptied(root, tmp_path, trash):
    copied(root, b"a", b"b")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "trash", dry_run=False, journal=journal))
    (trash / "files" / "b").unlink()
    (one,) = undo(tmp_path / "journal", dry_run=False)
    assert (one.outcome, one.reason) == (
        "undone",
        f"as a copy of {root.decode()}/a, because it is not in the trash any more",
    )


def test_a_file_that_somebody_else_brought_back_counts_as_restored(root, tmp_path, trash):
    copied(root, b"a", b"b")
    with Journal(tmp_path / "journal") as journal:
        list(remove_copies(planned(root), "trash", dry_run=False, journal=journal))
    os.rename(trash / "files" / "b", os.path.join(root, b"b"))
    (one,) = undo(tmp_path / "journal", dry_run=False)
    assert (one.outcome, one.is_back, one.reason) == ("already back", True, None)
    assert undo(tmp_path / "journal", dry_run=False) == []


def test_undo_does_not_restore_a_file_that_was_never_removed(root, tmp_path, monkeypatch):
    copied(root, b"a", b"b")
    with monkeypatch.context() as patches, Journal(tmp_path / "journal") as journal:

        def refuse(*_, **__):
            raise PermissionError(13, "Permission denied")

        patches.setattr(os, "rename", refuse)
        (one,) = remove_copies(planned(root), "delete", dry_run=False, journal=journal)
        assert (one.outcome, one.reason) == ("left", "Permission denied")
    os.unlink(os.path.join(root, b"b"))
    assert undo(tmp_path / "journal", dry_run=False) == []


def test_owner_mode_and_attributes_come_back(root, tmp_path):
    copied(root, b"a", b"b")
    own = os.path.join(root, b"b")
    os.setxattr(own, "user.tag", b"mine")
    os.chmod(own, 0o4710)
    if os.geteuid() == 0:
        os.chown(own, 1234, 1234)
        os.chmod(own, 0o4710)
    before = os.stat(own)
    with Journal(tmp_path / "journal") as journal:
        (one,) = remove_copies(planned(root), "delete", dry_run=False, journal=journal)
    assert one.outcome == "done"
    undo(tmp_path / "journal", dry_run=False)
    after = os.stat(own)
    assert [getattr(after, fact) for fact in ("st_mode", "st_uid", "st_gid", "st_mtime_ns")] == [
        getattr(before, fact) for fact in ("st_mode", "st_uid", "st_gid", "st_mtime_ns")
    ]
    assert os.getxattr(own, "user.tag") == b"mine"
