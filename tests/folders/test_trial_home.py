"""In the small form of the home of `tests.trial_home`, a person is offered few groups, and the right ones."""

import hashlib
import shutil

import pytest

import docindex
from docindex import folders
from docindex.folders.walking.path_keys import path_of
from tests.trial_home import exact_groups, judged, made_home, peer_groups


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trial") / "home"
    return folder, made_home(folder)


def test_copied_folders_are_found_and_nothing_is_offered_inside_program_folders(home):
    folder, truth = home
    with docindex.open(":memory:") as index:
        found = folders.find(index, [folder], scan=folders.scan(index, [folder]))
    relative = [(group.folder, group.kept) for group in found.folders]
    assert sorted(relative) == sorted(
        (f"{folder}/{copy}", f"{folder}/{kept}") for copy, kept in truth.copied_folders
    )
    differing = {
        group.folder.removeprefix(f"{folder}/"): (group.differing, group.only_here) for group in found.folders
    }
    assert differing == {"backup/Documents": (3, 2), "Desktop/Holiday 2019": (0, 0)}
    keys = [file.key for group in found.plan().steps for file in group.files]
    alike = [file.key for group in found.likenesses for file in group.files]
    assert alike
    assert not [key for key in alike if key.removeprefix(f"{folder}/") in truth.empty]
    keys += alike
    assert not [key for key in keys if truth.is_in_program(key.removeprefix(f"{folder}/"))]


def test_the_kept_file_is_nearly_always_the_one_a_person_would_keep(home):
    share, wrong = judged(*home)
    assert share >= 0.95, wrong


def test_the_exact_groups_are_those_of_all_bytes_and_of_other_programs(home):
    folder, _ = home
    by_bytes = {}
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_size:
            digest = hashlib.sha256(path.read_bytes()).digest()
            by_bytes.setdefault(digest, []).append(path)
    expected = {
        frozenset(path_of(str(path)) for path in paths)
        for paths in by_bytes.values()
        if len({path.stat().st_ino for path in paths}) > 1
    }
    assert exact_groups(folder) == expected
    for command in filter(shutil.which, ("jdupes", "rdfind")):
        assert peer_groups(command, folder) == expected


def test_a_sparse_file_frees_only_what_it_takes(home):
    folder, _ = home
    (group,) = folders.find_exact([folder / "Videos"]).copies
    assert group.files[0].size == 4_000_000
    assert group.reclaimable < 100_000
