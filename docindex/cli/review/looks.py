"""What a person looks at in a review: open files, list them, show differences and similar texts.

Takes groups of a plan. Must never change the plan, nor wait for a program that it starts.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from docindex import folders
from docindex.cli.review.terminal import ReviewTerminal
from docindex.cli.review.text import folders_of, likeness_screen
from docindex.errors import UnreadableFile
from docindex.folders.walking.path_keys import path_of
from docindex.shown.wording import one_line


def keys_in(group: folders.CopyGroup | folders.FolderGroup) -> list[str]:
    """The files, or the two folders, of a group in the order in which they are numbered."""
    if isinstance(group, folders.FolderGroup):
        return folders_of(group)
    return [file.key for file in group.files]


class Looks:
    """Shows more about a group than its lines."""

    def __init__(self, terminal: ReviewTerminal) -> None:
        self._terminal = terminal
        self._opened: list[subprocess.Popen[bytes]] = []

    def open_one(self, keys: list[str]) -> None:
        """Open a file or a folder that a person names by its number, with the program of the system."""
        number = self._terminal.number("open number", len(keys))
        if number is None:
            return
        path = os.fsdecode(path_of(keys[number - 1]))
        if not os.path.lexists(path):
            self._terminal.say("It is gone.")
            return
        try:
            self._start(path)
        except OSError as error:
            self._terminal.say(f"It cannot be opened: {error.strerror or error}.")

    def _start(self, path: str) -> None:
        if sys.platform == "win32":
            os.startfile(path)
            return
        command = "open" if sys.platform == "darwin" else "xdg-open"
        if shutil.which(command) is None:
            self._terminal.say(f"{command} is not installed, so docindex cannot open files.")
            return
        streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        # It has a session of its own: Ctrl-C is not meant for it.
        self._opened.append(subprocess.Popen([command, path], start_new_session=True, **streams))
        self._terminal.say(f"Opened with {command}.")

    def list_folders(self, group: folders.FolderGroup) -> None:
        """List the files of two copied folders: those that are copied, and those that differ."""
        found, screen = folders.differing_files(group), self._terminal.screen
        lists = {
            "copied:": [screen.path(file.key) for copies in group.copies for file in copies.others],
            "different in the two folders:": list(map(one_line, found.differing)),
            f"only in {screen.path(group.folder)}:": list(map(one_line, found.only_here)),
            f"only in {screen.path(group.kept)}:": list(map(one_line, found.only_in_kept)),
        }
        self._terminal.page(
            [line for heading, names in lists.items() if names for line in (heading, *_indented(names))]
        )

    def difference(self, group: folders.CopyGroup | folders.FolderGroup, changes: Mapping[str, str]) -> None:
        """Show the difference between two texts of a group. `changes` say what has happened to its files."""
        if isinstance(group, folders.FolderGroup):
            self._folder_difference(group)
            return
        there = [file.key for file in group.files if changes.get(file.key) != "gone"]
        there.sort(key=lambda key: key in changes)  # the unchanged files first
        if len(there) > 1 and there[-1] in changes:
            self._show_changes(there[0], there[-1])
        else:
            self._terminal.say("These files have the same bytes: there is no difference.")

    def _folder_difference(self, group: folders.FolderGroup) -> None:
        names = folders.differing_files(group).differing
        if not names:
            self._terminal.say("No file is in both folders with different bytes.")
            return
        number: int | None = 1
        if len(names) > 1:
            self._terminal.page([f"  {place}  {one_line(name)}" for place, name in enumerate(names, 1)])
            number = self._terminal.number("difference of number", len(names))
        if number is not None:
            name = names[number - 1]
            self._show_changes(f"{group.kept}/{name}", f"{group.folder}/{name}")

    def _show_changes(self, a: str, b: str) -> None:
        # These load the index and all formats, which few reviews need.
        from docindex.cli.text_input import read_text
        from docindex.query.regions.differences import differences
        from docindex.recipe import Recipe
        from docindex.shown.differences import difference_text

        screen = self._terminal.screen
        try:
            first, second = (read_text(name, None, verbose=False) for name in (a, b))
        except UnreadableFile as error:
            lines = [one_line(str(error))]
        else:
            found = differences(first, second, Recipe())
            shown = difference_text(first, second, found, None, screen.columns - 5)
            lines = shown.split("\n") if shown else ["The texts have the same words."]
        self._terminal.page([f"  A  {screen.path(a)}", f"  B  {screen.path(b)}", *_indented(lines)])

    def show_alike(self, alike: list[folders.LikenessGroup]) -> None:
        """Show groups of similar texts one by one."""
        for number, group in enumerate(alike):
            lines = likeness_screen(group, number, len(alike), self._terminal.screen)
            self._terminal.say("\n" + "\n".join(lines))
            if not self._obey(group):
                return

    def _obey(self, group: folders.LikenessGroup) -> bool:
        """Obey keys for one group of similar texts; whether the next group is to be shown."""
        keys = [file.key for file in group.files]
        while (key := self._terminal.ask("Enter: next  d: difference  o: open  q: end >")) != "q":
            if key == "o":
                self.open_one(keys)
            elif key == "d" and len(keys) > 1:
                number = 2 if len(keys) == 2 else self._terminal.number("difference of number", len(keys))
                if number is not None:
                    file = group.files[number - 1]
                    self._show_changes(file.like or keys[1 if number == 1 else 0], file.key)
            elif key in ("enter", " ", "n", "right"):
                return True
        return False


def _indented(names: Iterable[str]) -> Iterable[str]:
    return (f"  {name}" for name in names)
