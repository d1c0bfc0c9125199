"""The kept file is the one that looks least like a copy, and the reason says why."""

import os

import pytest

from docindex import folders
from docindex.folders.planning.keep_rules import copy_signs, mark_in
from tests.folders.trees import copied


@pytest.mark.parametrize(
    ("name", "mark"),
    [
        ("letter (1).txt", "(1)"),
        ("letter(2).txt", "(2)"),
        ("letter copy.txt", "copy"),
        ("letter copy 2.txt", "copy 2"),
        ("letter - Copy (3).txt", "Copy (3)"),
        ("letter - Kopie.docx", "Kopie"),
        ("letter_copy.txt", "copy"),
        ("Kopie von letter.txt", "Kopie von"),
        ("Copy (2) of letter.txt", "Copy (2) of"),
        ("Copie de lettre.odt", "Copie de"),
        ("letter (copia).txt", "copia"),
        ("letter.tar (1).gz", "(1)"),
        ("archive (1).tar.gz", "(1)"),
        ("letter - 副本.txt", "副本"),
        ("letter.txt~", "~"),
        ("letter.txt.bak", ".bak"),
        ("letter.OLD", ".OLD"),
        ("letter.copy", ""),
        ("letter.副本", "副本"),
        ("letter.sauvegarde", ""),
        ("letter.copy.txt", "copy"),
        ("Photos copy", "copy"),
        ("letter.txt", ""),
        ("report (2019).txt", ""),
        ("copyright.txt", ""),
        ("copy.txt", ""),
        ("photocopy.pdf", ""),
        ("(1).jpg", ""),
        ("Kopien von allem.txt", ""),
    ],
)
def test_marks_of_a_copy_are_recognised(name, mark):
    assert mark_in(name) == mark


@pytest.mark.parametrize(
    ("folder", "place"),
    [
        ("Downloads", "Downloads"),
        ("Téléchargements", "Téléchargements"),
        ("Desktop", "Desktop"),
        ("backup", "backup"),
        ("Backup 2019", "Backup 2019"),
        ("old backups", "old backups"),
        ("Sicherung", "Sicherung"),
        (".Trash-1000", ".Trash-1000"),
        ("Trash", "Trash"),
        ("Documents", None),
        ("backupper", None),
        ("desktops", None),
    ],
)
def test_folders_that_hold_copies_are_recognised(folder, place):
    assert copy_signs(f"/home/ada/{folder}/x").places == (() if place is None else (place,))


def kept_of(root, *names, times=None, **options):
    for number, name in enumerate(names):
        path = os.path.join(root, os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        copied(root, os.fsencode(name))
        os.utime(path, (times[number],) * 2 if times else (1e9, 1e9))
    (group,) = folders.find_exact([root], kinds=["exact"], **options).copies
    (kept,) = group.kept
    return os.path.relpath(kept.key, os.fsdecode(root)), group.reason


@pytest.mark.parametrize(
    ("names", "times", "kept", "reason"),
    [
        (["a/x (1).txt", "b/x.txt"], [1, 2], "b/x.txt", 'no "(1)" in its name'),
        (["Downloads/x", "Papers/x"], [1, 2], "Papers/x", "not in Downloads"),
        (["Desktop/x", "Downloads/x"], [2, 1], "Desktop/x", "not in Downloads"),
        (["backup/x", "Downloads/x"], [1, 2], "Downloads/x", "not in backup"),
        (["tmp/x", "backup/x"], [1, 2], "backup/x", "not in tmp"),
        (["a/x", "b/x"], [10, 20], "a/x", "the oldest"),
        (["a/x", "b/x"], [20, 10], "b/x", "the oldest"),
        (["long folder/x", "b/x"], [10, 11.5], "b/x", "the shortest path"),
        (["a/x", "b/x"], [10, 10], "a/x", "the first path"),
        (["Photos copy/x", "Photos/x"], [1, 2], "Photos/x", 'no "copy" in its name'),
    ],
)
def test_names_then_places_then_age_decide(root, names, times, kept, reason):
    assert kept_of(root, *names, times=times) == (kept, reason)


def test_references_and_preferred_folders_come_before_names(root):
    names = ["a/x.txt", "b/x (1).txt", "c/x copy.txt"]
    below = [os.path.join(root, folder) for folder in (b"a", b"b", b"c")]
    assert kept_of(root, *names, prefer=[below[2], below[1]]) == ("c/x copy.txt", "in a preferred folder")
    assert kept_of(root, *names, prefer=[below[2]], reference=[below[1]]) == (
        "b/x (1).txt",
        "in a reference folder",
    )
    assert kept_of(root, *names, keep="newest", prefer=[below[1]])[0] == "b/x (1).txt"
    assert kept_of(root, *names, keep="newest", times=[1, 3, 2]) == ("b/x (1).txt", "the newest")


def test_a_name_that_a_person_gave_a_root_changes_nothing(tmp_path):
    root = os.fsencode(tmp_path / "backup" / "home")
    assert kept_of(root, "Downloads/x", "Papers/x", times=[1, 2]) == ("Papers/x", "not in Downloads")
