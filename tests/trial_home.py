"""A home folder as people have it, with copies whose truth is known.

`made_home` writes copied folders, single copies, program trees and other things into an empty folder, and
returns a `Truth`. The files depend on the seed alone. The small form has some hundred files and is for tests.
The large form has 14,500 files. This command writes it, searches it twice, and prints the figures beside
their targets:

    python -m tests.trial_home /tmp/home
"""

import dataclasses
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from docindex import folders
from docindex.folders.walking.path_keys import path_of

DAY = 86_400
YEAR_2018 = 1_514_764_800
CACHE_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n"


@dataclasses.dataclass(frozen=True)
class Size:
    """How many files of each kind a home has."""

    documents: int = 40
    photos: int = 12
    songs: int = 12
    notes: int = 30
    drafts: int = 3
    singles: int = 20
    packages: int = 6
    modules: int = 6
    objects: int = 10
    sparse_bytes: int = 4_000_000


SMALL = Size()
LARGE = Size(
    documents=1245,
    photos=460,
    songs=900,
    notes=3630,
    drafts=25,
    singles=104,
    packages=480,
    modules=340,
    objects=1700,
    sparse_bytes=300_000_000,
)


@dataclasses.dataclass
class Truth:
    """What is in a home. Paths are relative to the home."""

    kept: dict[frozenset[str], str] = dataclasses.field(default_factory=dict)
    """The paths of each planned group of single copies, and the file that a person would keep."""
    copied_folders: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    """Each copied folder, and the folder that a person would keep."""
    programs: list[str] = dataclasses.field(default_factory=list)
    """The program folders; none lies in another."""
    empty: list[str] = dataclasses.field(default_factory=list)
    """Empty files, and the outermost empty folders."""

    def is_in_program(self, path):
        return any(path == folder or path.startswith(f"{folder}/") for folder in self.programs)


def made_home(folder, size=SMALL, seed=18):
    """Write a home into a folder that does not exist yet, or is empty."""
    home = _Home(Path(folder), size, random.Random(seed))
    home.documents()
    home.media()
    home.singles()
    home.drafts()
    home.projects()
    home.oddities()
    return home.truth


class _Home:
    def __init__(self, folder, size, rng):
        self.folder = folder
        self.size = size
        self.rng = rng
        self.truth = Truth()
        self.words = [self._word() for _ in range(4000)]

    def _word(self):
        return "".join(self.rng.choice(("ba", "ke", "li", "mo", "nu", "ra", "se", "ti")) for _ in range(4))

    def text(self, words=160):
        return " ".join(self.rng.choices(self.words, k=words)).encode()

    def binary(self, least=2_000, most=9_000):
        return b"\0\1" + self.rng.randbytes(self.rng.randint(least, most))

    def write(self, name, data, day=None):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        moment = YEAR_2018 + DAY * (self.rng.randrange(900) if day is None else day)
        os.utime(path, (moment, moment))

    def copy_folder(self, source, target):
        """Copy a folder as `cp -r` does: the copies have a new time."""
        shutil.copytree(self.folder / source, self.folder / target)
        for path in (self.folder / target).rglob("*"):
            os.utime(path, (YEAR_2018 + 1500 * DAY,) * 2)

    def documents(self):
        """Documents, and an older backup of them in which three files differ and two are left."""
        places = ["letters", "taxes/2018", "taxes/2019", "work/offers", "work/minutes", "."]
        for number in range(self.size.documents):
            place = places[number % len(places)]
            if number % 7 == 0:
                self.write(f"Documents/{place}/scan {number}.jpg", self.binary())
            else:
                self.write(f"Documents/{place}/document {number}.txt", self.text())
        self.copy_folder("Documents", "backup/Documents")
        for number in (1, 2, 3):
            found = next((self.folder / "backup/Documents").rglob(f"document {number}.txt"))
            self.write(str(found.relative_to(self.folder)), self.text(), 1501)
        for number in (1, 2):
            self.write(f"backup/Documents/letters/only in the backup {number}.txt", self.text(), 1501)
        self.truth.copied_folders.append(("backup/Documents", "Documents"))

    def media(self):
        for number in range(self.size.photos):
            year = 2018 + number % 3
            self.write(f"Pictures/Holiday {year}/IMG_{number:04}.jpg", self.binary(4_000, 20_000))
        self.copy_folder("Pictures/Holiday 2019", "Desktop/Holiday 2019")
        self.truth.copied_folders.append(("Desktop/Holiday 2019", "Pictures/Holiday 2019"))
        for number in range(self.size.songs):
            self.write(
                f"Music/Album {number // 12}/{number % 12 + 1:02} Song.mp3", self.binary(4_000, 20_000)
            )
        for number in range(self.size.notes):
            self.write(f"Notes/{number // 100}/note {number}.md", self.text(60))

    def singles(self):
        """Copies as people make them, with the file that a person would keep."""
        for number in range(self.size.singles):
            kind, name = number % 13, f"paper {number}"
            binary = number % 2
            data, dot = (self.binary(), ".jpg") if binary else (self.text(), ".txt")
            own = "Pictures/own" if binary else "Documents/own"
            original = f"{own}/{name}{dot}"
            copies = {
                0: [f"Downloads/{name}{dot}"],
                1: [f"{original.removesuffix(dot)} (1){dot}"],
                2: [f"{original.removesuffix(dot)} - Kopie{dot}"],
                3: [f"{original.removesuffix(dot)} copy{dot}"],
                4: [f"{own}/Copy of {name}{dot}"],
                5: [f"{own}/Kopie von {name}{dot}"],
                6: [f"Desktop/{name}{dot}", f"Downloads/{name}(2){dot}"],
                7: [f"backup/old computer {number}/{name}{dot}"],
                8: [f"Trash/{name}{dot}"],
                9: [f"{own}/sent {number}/{name}{dot}"],
                10: [f"Downloads/{name} (1){dot}", f"Downloads/{name} (2){dot}"],
                11: [f"{original.removesuffix(dot)} - Copy (2){dot}", f"Desktop/{name}{dot}"],
                12: [f"Music/{name} kopie{dot}"],
            }[kind]
            if kind == 10:
                original = f"Downloads/{name}{dot}"
            # What was downloaded first is older than the file in its place.
            self.write(original, data, 1000 if kind in (0, 6) else 300)
            for copy in copies:
                self.write(copy, data, 400)
            self.truth.kept[frozenset((original, *copies))] = original
        # A person keeps the file that was put away, although its name has a mark.
        data = self.binary()
        self.write("Documents/own/bill (1).pdf", data, 500)
        self.write("Downloads/bill.pdf", data, 400)
        self.truth.kept[frozenset(("Documents/own/bill (1).pdf", "Downloads/bill.pdf"))] = (
            "Documents/own/bill (1).pdf"
        )

    def drafts(self):
        for number in range(self.size.drafts):
            words = self.text(400).split()
            edited = [word for word in words if self.rng.random() > 0.01]
            self.write(f"Writing/essay {number} draft.txt", b" ".join(words), 100)
            self.write(f"Writing/essay {number}.txt", b" ".join(edited), 200)
            self.write(f"Writing/essay {number} long.txt", b" ".join(words) + b" " + self.text(500), 250)

    def projects(self):
        """Program folders full of copies, beside the sources of a person."""
        licence = self.text(300)
        for project in ("web", "shop"):
            self.write(f"Projects/{project}/package.json", b"{}")
            self.write(f"Projects/{project}/index.js", self.text(80))
            for number in range(self.size.packages):
                at = f"Projects/{project}/node_modules/package{number}"
                self.write(f"{at}/package.json", b'{"name": "package%d"}' % number)
                self.write(f"{at}/LICENSE", licence)
                self.write(f"{at}/index.js", self.text(40) if number % 2 else b"module.exports = 1\n")
            self.truth.programs.append(f"Projects/{project}/node_modules")
        for project, name in (("tool", ".venv"), ("study", "env")):
            self.write(f"Projects/{project}/main.py", self.text(80))
            self.write(f"Projects/{project}/{name}/pyvenv.cfg", b"home = /usr/bin\n")
            for number in range(self.size.modules):
                at = f"Projects/{project}/{name}/lib/python3.11/site-packages/module{number}"
                self.write(f"{at}/__init__.py", b"# module %d\n" % (number // 2))
                self.write(f"{at}-1.0.dist-info/LICENSE", licence)
            self.truth.programs.append(f"Projects/{project}/{name}")
        for number in range(4):
            name = f"lib/site-packages/thing{number}"
            self.write(f"Programs/python/{name}.py", b"thing\n")
            self.write(f"Programs/python/{name}-1.dist-info/METADATA", b"thing\n")
        self.truth.programs.append("Programs/python/lib/site-packages")
        for number in range(self.size.objects):
            data = self.rng.randbytes(60 + number % 40)
            self.write(f"Projects/tool/.git/objects/{number % 256:02x}/{number:038x}", data)
            if number % 3 == 0:
                self.write(f"Projects/study/.git/objects/{number % 256:02x}/{number:038x}", data)
        for project in ("tool", "study"):
            self.write(f"Projects/{project}/.git/HEAD", b"ref: refs/heads/main\n")
            self.write(f"Projects/{project}/.git/refs/heads/main", b"0" * 40)
            self.write(f"Projects/{project}/__pycache__/main.cpython-311.pyc", b"\x6f\x0d\x0d\x0a" * 90)
            self.truth.programs += [f"Projects/{project}/.git", f"Projects/{project}/__pycache__"]
        self.write("Projects/engine/Cargo.toml", b"[package]\n")
        self.write("Projects/engine/src/main.rs", self.text(80))
        for number in range(8):
            self.write(f"Projects/engine/target/debug/deps/part{number}.o", b"object" * 50)
        self.truth.programs.append("Projects/engine/target")
        self.write("Projects/model/cache/CACHEDIR.TAG", CACHE_TAG)
        self.write("Projects/model/cache/a.bin", b"cached" * 50)
        self.write("Projects/model/cache/b.bin", b"cached" * 50)
        self.truth.programs.append("Projects/model/cache")
        for name in ("One", "Two"):
            self.write(f"Applications/{name}.app/Contents/Info.plist", b"<plist/>")
            self.write(f"Applications/{name}.app/Contents/MacOS/run", b"\xcf\xfa\xed\xfe" * 200)
            self.truth.programs.append(f"Applications/{name}.app")
        # These only have the names of program folders.
        self.write("Pictures/build/house.jpg", self.binary())
        self.write("Documents/target/goals.txt", self.text())
        self.write("Notes/node_modules/what they are.md", self.text())

    def oddities(self):
        for name in ("Videos/disk.img", "Videos/disk of the old computer.img"):
            self.write(name, b"boot" * 1000, 100 if name == "Videos/disk.img" else 200)
            os.truncate(self.folder / name, self.size.sparse_bytes)
            os.utime(self.folder / name, (YEAR_2018 + (100 if name == "Videos/disk.img" else 200) * DAY,) * 2)
        self.truth.kept[frozenset(("Videos/disk.img", "Videos/disk of the old computer.img"))] = (
            "Videos/disk.img"
        )
        for name in ("Desktop/new file.txt", "Notes/untitled.md"):
            self.write(name, b"")
        (self.folder / "Documents/new folder/inside").mkdir(parents=True)
        self.truth.empty += ["Desktop/new file.txt", "Notes/untitled.md", "Documents/new folder"]
        (self.folder / "Desktop/link to a disk").symlink_to("/media/no such disk/x")
        (self.folder / "Desktop/link to a song").symlink_to("../Music/Album 0/01 Song.mp3")
        os.link(self.folder / "Music/Album 0/02 Song.mp3", self.folder / "Music/the same song.mp3")


def exact_groups(folder):
    """The groups of exact copies among all files of a home, as sets of paths."""
    options = folders.WalkOptions(hidden=True, ignore=False, programs=True)
    groups = {}
    for group in folders.find_exact([folder], options=options).plan().steps:
        if group.files[0].size:
            groups.setdefault(group.digest, set()).update(path_of(file.key) for file in group.files)
    return {frozenset(members) for members in groups.values()}


def peer_groups(command, folder):
    """The groups of exact copies that jdupes or rdfind finds; hard links count as copies, as they do here."""
    if command == "jdupes":
        shown = subprocess.run(
            ["jdupes", "-r", "-H", "-q", "-0", os.fspath(folder)], capture_output=True, check=False
        ).stdout
        found = [[path for path in group.split(b"\0") if path] for group in shown.split(b"\0\0")]
    else:
        with tempfile.TemporaryDirectory() as scratch:
            results = Path(scratch, "results")
            subprocess.run(
                ["rdfind", "-removeidentinode", "false", "-outputname", results, folder],
                capture_output=True, check=True,
            )  # fmt: skip
            by_id = {}
            for line in results.read_bytes().splitlines():
                if not line.startswith(b"#"):
                    _, number, _, _, _, _, _, path = line.split(b" ", 7)
                    by_id.setdefault(abs(int(number)), []).append(path)
            found = by_id.values()
    real = (frozenset(group) for group in found)
    # Both also list files that are only hard links to each other.
    return {group for group in real if len({Path(os.fsdecode(path)).stat().st_ino for path in group}) > 1}


def judged(folder, truth):
    """The share of the planned groups in which the file is kept that a person would keep, and the others."""
    found = folders.find_exact([folder])
    kept, right = {}, 0
    for group in found.plan().steps:
        paths = frozenset(str(Path(file.key).relative_to(folder)) for file in group.files)
        kept[paths] = [str(Path(file.key).relative_to(folder)) for file in group.kept]
    wrong = []
    for paths, best in truth.kept.items():
        right += kept.get(paths) == [best]
        if kept.get(paths) != [best]:
            wrong.append((best, kept.get(paths)))
    return right / len(truth.kept), wrong


def _command(folder, index):
    """Run `docindex dups` once; return its groups and the seconds of processor time."""
    began = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "docindex", "dups", "-q", "--index", index, "--json", folder],
        capture_output=True, check=True,
    )  # fmt: skip
    ended = os.times()
    seconds = ended.children_user + ended.children_system - began.children_user - began.children_system
    return json.loads(done.stdout), seconds


def main(folder):
    """Write the large home and print each figure beside its target."""
    truth = made_home(folder, LARGE)
    files = sum(path.is_file() and not path.is_symlink() for path in Path(folder).rglob("*"))
    print(f"files                                {files:,}")
    with tempfile.TemporaryDirectory() as scratch:
        index = f"{scratch}/home.docindex"
        _, first = _command(folder, index)
        plan, second = _command(folder, index)
    found = {
        tuple(os.path.relpath(group[name], folder) for name in ("folder", "kept"))
        for group in plan["folders"]
    }
    others = len(plan["groups"]) + len(plan["alike"])
    offered = [
        file["key"]
        for group in [*plan["groups"], *(each for one in plan["folders"] for each in one["copies"])]
        for file in group["files"]
        if truth.is_in_program(os.path.relpath(file["key"], folder))
    ]
    share, wrong = judged(folder, truth)
    print(f"copied folders found                 {len(found & set(truth.copied_folders))} of 2, others: "
          f"{sorted(found - set(truth.copied_folders))}")  # fmt: skip
    print(f"other groups                         {others} (target: fewer than 200)")
    print(f"kept as a person would               {share:.1%} of {len(truth.kept)} (target: 95%)")
    for best, kept in wrong:
        print(f"    {kept} instead of {best}")
    print(f"offered inside program folders       {len(offered)} (target: 0)")
    for command in ("jdupes", "rdfind"):
        if shutil.which(command):
            same = exact_groups(folder) == peer_groups(command, folder)
            print(f"exact groups equal those of {command:8} {same} (target: True)")
    print(f"dups, first time                     {first:.2f} s of processor time")
    print(f"dups, nothing changed                {second:.2f} s of processor time (target: 1.5)")


if __name__ == "__main__":
    main(sys.argv[1])
