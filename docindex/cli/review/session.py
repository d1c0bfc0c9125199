"""One review at a terminal: show groups, obey keys, and save the plan after each choice.

Must never remove a file. `docindex.folders` makes the choices; this module asks for them.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from docindex import folders
from docindex.cli.review.terminal import ReviewTerminal
from docindex.cli.review.text import (
    choices,
    decided_line,
    folders_of,
    group_screen,
    key_lines,
    likeness_screen,
    overview_lines,
)
from docindex.errors import UnreadableFile
from docindex.folders.walking.path_keys import path_of
from docindex.shown.groups import FOLDER_DIFFERENCES
from docindex.shown.wording import one_line, several

# What a person looks at in a review: open files, list them, show differences and similar texts.
#
# Takes groups of a plan. Must never change the plan, nor wait for a program that it starts.


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
            **{
                f"{words}:": [*map(one_line, getattr(found, name))]
                for name, words in FOLDER_DIFFERENCES.items()
            },
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


_SHOW_AGAIN = -1


class ReviewSession:
    """The review of one plan file. `shown` is the name of that file for a person."""

    def __init__(self, file: folders.ReviewFile, shown: str) -> None:
        self.terminal = ReviewTerminal()
        self._file = file
        self._review = file.review
        self._name = shown
        self._looks = Looks(self.terminal)
        self._shown = _SHOW_AGAIN
        """The number of the group on the screen."""
        self._commands: dict[str, Callable[[], object]] = {
            "enter": self._agree,
            " ": self._agree,
            "k": self._skip,
            "+": self._keep_more,
            "n": self._next,
            "right": self._next,
            "b": self._back,
            "left": self._back,
            "g": self._go,
            "l": self._list,
            "u": self._undo,
            "o": lambda: self._looks.open_one(keys_in(self._group)),
            "d": self._difference,
            "f": self._list_files,
            "a": self._skip_open,
            "?": self._help,
            "h": self._help,
        }

    def run(self) -> None:
        """Show groups and obey keys until the end of the plan, or until "q"."""
        review = self._review
        if review.position == len(review):
            review.position = review.next_open(0) or 0
        reviewed = len(review) - review.summary.groups.get("open", 0)
        again = f", {reviewed:,} reviewed" if reviewed else ""
        self.terminal.say(
            f"{self._name}: {several(len(review), 'group')}{again}. Nothing is removed before docindex act."
        )
        while self._obey() if review.position < len(review) else self._obey_at_end():
            pass

    def _obey(self) -> bool:
        """Show the group and obey a key; False if the review is to end."""
        self._show_group()
        key = self.terminal.ask(choices(self._group, self.terminal.screen))
        if key.isdigit():
            self._keep_number(key)
        elif key in self._commands:
            self._commands[key]()
        elif key != "q":
            self.terminal.say("This key does nothing; ? shows the keys.")
        return key != "q"

    def _obey_at_end(self) -> bool:
        """Obey a key after the last group: a person may go back. False if the review is to end."""
        alike = self._review.alike
        similar = f"s: show {several(len(alike), 'group')} of similar texts  " if alike else ""
        self.terminal.say("\nThat was the last group.")
        key = self.terminal.ask(f"Enter: finish  b: back  u: undo your last choice  {similar}>")
        if key == "s":
            self._looks.show_alike(alike)
        elif key in ("b", "left", "u", "l", "g"):
            self._commands[key]()
        return key not in ("enter", "q", " ")

    @property
    def _group(self) -> folders.CopyGroup | folders.FolderGroup:
        return self._review.group(self._review.position)

    def _show_group(self) -> None:
        """Show the group, unless it is on the screen."""
        if self._shown != self._review.position:
            self._shown = self._review.position
            lines = group_screen(self._review, self._shown, self.terminal.screen)
            self.terminal.say("\n".join(["", *lines]))

    def _done(self) -> None:
        """Say what was decided about this group, go to the next one, and save."""
        self.terminal.say(decided_line(self._group, self.terminal.screen))
        self._review.position += 1
        self._shown = _SHOW_AGAIN
        self._file.save()

    def _agree(self) -> None:
        self._review.agree(self._review.position)
        self._done()

    def _skip(self) -> None:
        self._review.skip(self._review.position)
        self._done()

    def _keep_number(self, digit: str) -> None:
        keys = keys_in(self._group)
        number = self.terminal.number("keep only number", len(keys), digit)
        if number is not None:
            self._choose([keys[number - 1]])

    def _keep_more(self) -> None:
        group = self._group
        if isinstance(group, folders.FolderGroup):
            self.terminal.say("These are two folders: k keeps both.")
            return
        number = self.terminal.number("also keep number", len(group.files))
        if number is not None:
            self._choose([*(file.key for file in group.kept), group.files[number - 1].key])

    def _choose(self, keep: Iterable[str]) -> None:
        try:
            self._review.choose(self._review.position, keep)
        except ValueError as error:
            self.terminal.say(f"{one_line(str(error))}.")
        else:
            self._done()

    def _next(self) -> None:
        self._review.position += 1

    def _back(self) -> None:
        if self._review.position:
            self._review.position -= 1
        else:
            self.terminal.say("This is the first group.")

    def _go(self) -> None:
        number = self.terminal.number("group number", len(self._review))
        if number is not None:
            self._review.position = number - 1
        self._shown = _SHOW_AGAIN

    def _list(self) -> None:
        """List the groups, a page at a time, and go to the group that a person names."""
        start = min(self._review.position, len(self._review) - 1)
        while True:
            lines = list(overview_lines(self._review, start, self.terminal.screen))
            self.terminal.say("\n".join(lines))
            start += len(lines)
            more = "Enter: more  " if start < len(self._review) else ""
            key = self.terminal.ask(f"{more}g: go to a group  any other key: back >")
            if key == "g":
                self._go()
            if key != "enter" or not more:
                self._shown = _SHOW_AGAIN
                return

    def _undo(self) -> None:
        number = self._review.undo()
        if number is None:
            self.terminal.say("There is no choice in this session to undo.")
            return
        self._review.position = number
        self._shown = _SHOW_AGAIN
        self._file.save()
        self.terminal.say("Your last choice is undone.")

    def _skip_open(self) -> None:
        count = self._review.skip_open()
        self._file.save()
        self._shown = _SHOW_AGAIN
        self.terminal.say(f"All files stay in {several(count, 'group')} that you had not reviewed.")

    def _help(self) -> None:
        self.terminal.say("\n".join(key_lines(self.terminal.screen)))

    def _list_files(self) -> None:
        group = self._group
        if isinstance(group, folders.FolderGroup):
            self._looks.list_folders(group)
        else:
            screen, number = self.terminal.screen, self._review.position
            self.terminal.page(list(group_screen(self._review, number, screen, all_files=True)))

    def _difference(self) -> None:
        self._looks.difference(self._group, self._review.changes(self._review.position))
