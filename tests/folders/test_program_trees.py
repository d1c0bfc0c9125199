"""Program folders are recognised by what is in them and left out; depth costs no more than width."""

import os
from pathlib import Path

import pytest

from docindex import folders
from tests.trial_home import made_home

EVERYTHING = folders.WalkOptions(hidden=True, ignore=False, programs=True)


def names_of(walked, root):
    return sorted(str(Path(key).relative_to(root)) for key in walked.programs)


def test_the_program_folders_of_a_home_are_left_out_and_counted(tmp_path):
    truth = made_home(tmp_path / "home")
    found = folders.find_exact([tmp_path / "home"])
    assert names_of(found.walked, tmp_path / "home") == sorted(truth.programs)
    every = folders.find_exact([tmp_path / "home"], options=EVERYTHING)
    assert every.walked.programs == ()
    inside = sum(
        truth.is_in_program(str(path.relative_to(tmp_path / "home")))
        for path in (tmp_path / "home").rglob("*")
        if path.is_file()
    )
    assert found.walked.skipped == {"in program folders": inside, "symlink": 2}
    assert every.walked.files == found.walked.files + inside


@pytest.mark.parametrize(
    "files",
    [
        [".git/HEAD", ".git/objects/x", ".git/refs/x"],
        ["store.git/HEAD", "store.git/objects/x", "store.git/refs/x"],
        ["any/pyvenv.cfg", "any/bin/python"],
        ["node_modules/left-pad/package.json"],
        ["node_modules/@who/left-pad/package.json"],
        ["node_modules/.package-lock.json"],
        ["lib/site-packages/x.dist-info/RECORD"],
        ["__pycache__/x.cpython-311.pyc"],
        ["target/debug/x", "Cargo.toml"],
        ["build/x", "setup.py"],
        ["Some.app/Contents/Info.plist"],
        [".svn/wc.db"],
    ],
)
def test_a_folder_is_a_program_folder_by_what_is_in_it_or_beside_it(files, tmp_path):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (folder,) = folders.find_exact([tmp_path]).walked.programs
    assert str(tmp_path / files[0]).startswith(f"{folder}/")
    ignored = folders.find_exact([tmp_path], options=folders.WalkOptions(hidden=True)).walked.programs
    assert ignored == (folder,)


@pytest.mark.parametrize(
    "files",
    [
        ["build/house.jpg"],
        ["target/goals.txt"],
        ["node_modules/about them.md"],
        ["site-packages/box.txt"],
        ["__pycache__/notes.txt"],
        ["Some.app/letter.txt"],
        ["project/pyvenv.cfg", "project/pyproject.toml"],
        ["cache/CACHEDIR.TAG"],
    ],
)
def test_a_folder_of_a_person_is_none_whatever_its_name_is(files, tmp_path):
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert folders.find_exact([tmp_path]).walked.programs == ()


def test_a_program_folder_that_is_named_itself_is_searched(tmp_path):
    root = tmp_path / "node_modules"
    for name in ("a", "b"):
        (root / name).mkdir(parents=True)
        (root / name / "package.json").write_text("the same")
    assert len(folders.find_exact([root]).copies) == 1


@pytest.mark.skipif(os.open not in os.supports_dir_fd, reason="the system does not open long paths")
def test_a_deep_folder_is_opened_from_the_one_above_it(tmp_path, monkeypatch):
    depth, name, root = 200, b"d" * 20, os.fsencode(tmp_path / "deep")
    os.mkdir(root)
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=descriptor)
        below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open(b"file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)
    opened, original = [], os.open

    def counted(path, *given, **named):
        opened.append(path)
        return original(path, *given, **named)

    monkeypatch.setattr(os, "open", counted)
    monkeypatch.setattr(os, "supports_dir_fd", {counted, os.stat})
    assert folders.find_exact([root]).walked.files == 1
    # Each folder by its own name; only the first one with a long path by that path.
    assert len(opened) < depth + 10
    assert sum(map(len, opened)) < (len(name) + 1) * depth + 2000
