"""``docindex review [PLAN]``: choose which copies to keep, group by group, with single keys."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from docindex import folders
from docindex.cli.exit_codes import DONE, NOTHING_FOUND
from docindex.cli.key_reader import KeyReader
from docindex.cli.options import Command
from docindex.cli.output import emit, fitted, progress
from docindex.cli.review_text import (
    Screen,
    choices,
    decided_line,
    folders_of,
    group_screen,
    key_lines,
    likeness_screen,
    overview_lines,
    summary_text,
)
from docindex.cli.scan_summary import existing_roots
from docindex.cli.settings import read_settings
from docindex.cli.typed_paths import below_current_folder, typed_path
from docindex.cli.wording import one_line, several
from docindex.default_path import default_name
from docindex.errors import UnreadableFile
from docindex.folders.path_keys import path_of


@click.command("review", cls=Command)
@click.argument("paths", metavar="[PLAN | FOLDER...]", nargs=-1, type=click.Path())
def review_command(paths: tuple[str, ...]) -> int:
    """Choose which copies to keep, group by group.

    PLAN is a file that `docindex dups --json` wrote. For a FOLDER, or without an argument for the folders of
    your settings or the current folder, it first finds the copied folders and the exact copies, and saves
    them as a plan in the current folder.

    Each group shows its files with their sizes and dates, which file stays, and why. Single keys choose
    another file, keep all, open a file or show a difference; ? lists the keys. The plan is saved after each
    choice, and the same command goes on where you stopped. No file is removed: `docindex act` does that.

    \b
    Examples:
      docindex review ~/Pictures
      docindex dups --json ~/Documents > plan.json; docindex review plan.json
      docindex act plan.json --trash
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ValueError("review needs a terminal for its keys; docindex dups shows copies without one")
    missing = DONE
    if len(paths) == 1 and not os.path.isdir(typed_path(paths[0])):  # noqa: PTH112
        file = folders.ReviewFile.read(paths[0])
        shown = one_line(paths[0])
    else:
        made, missing = _new_plan(paths)
        if made is None:
            emit("no copies")
            return missing or NOTHING_FOUND
        file = folders.ReviewFile.read(made)
        shown = one_line(made)
    if not len(file.review):
        emit("the plan has no groups")
        return NOTHING_FOUND
    session = _Session(file, shown)
    try:
        with session.keys:
            session.run()
    except (KeyboardInterrupt, EOFError):
        file.save()
        emit(f"\n{_wrapped(summary_text(file.review, shown))}")
        raise click.Abort from None
    file.save()
    emit(f"\n{_wrapped(summary_text(file.review, shown))}")
    return missing


def _wrapped(text: str) -> str:
    return fitted(text, sys.stdout)


def _new_plan(paths: Iterable[str]) -> tuple[str | None, int]:
    """The name of a new plan for what is in some folders now, and the exit code if some do not exist.

    The name is None if there are no copies.
    """
    settings = read_settings()
    typed = [typed_path(path) for path in paths] or [typed_path(path) for path in settings.folders or (".",)]
    roots, missing = existing_roots(typed)
    kept: dict[str, Any] = {"keep": settings.keep or "original"}  # the settings have checked it
    with progress("comparing", of_bytes=True) as advance:
        found = folders.find_exact(
            roots,
            options=folders.WalkOptions(exclude=settings.exclude),
            **kept,
            reference=settings.reference,
            prefer=settings.prefer,
            without=[settings.index_path or default_name()],
            progress=advance,
        )
    if not found.groups:
        return None, missing
    text = found.plan().to_json()
    for number in range(1, 10_000):
        name = f"docindex-plan{'' if number == 1 else f'-{number}'}.json"
        try:
            with open(name, "x", encoding="utf-8") as file:  # noqa: PTH123
                file.write(text)
        except FileExistsError:
            continue
        except OSError as error:
            raise UnreadableFile(f"{name} cannot be written: {error.strerror}", name) from error
        return name, missing
    raise UnreadableFile("there are too many plans in this folder; remove some", ".")


class _Session:
    """One review at the terminal: reads keys, changes the plan and saves it."""

    def __init__(self, file: folders.ReviewFile, shown: str) -> None:
        self.keys = KeyReader()
        self._file = file
        self._review = file.review
        self._shown = shown
        self._below = below_current_folder()
        self._opened: list[subprocess.Popen[bytes]] = []
        self._all_files = False
        self._commands: dict[str, Callable[[], object]] = {
            "enter": self._agree,
            " ": self._agree,
            "k": self._skip,
            "n": self._next,
            "right": self._next,
            "b": self._back,
            "left": self._back,
            "g": self._go,
            "l": self._list,
            "u": self._undo,
            "o": self._open,
            "d": self._difference,
            "f": self._list_files,
            "a": self._skip_open,
            "+": self._keep_more,
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
        self._say(
            f"{self._shown}: {several(len(review), 'group')}{again}. Nothing is removed before docindex act."
        )
        shown = -1
        while review.position < len(review):
            if shown != review.position or self._all_files:
                shown = review.position
                lines = group_screen(review, shown, self._screen(), all_files=self._all_files)
                emit("\n" + "\n".join(map(_wrapped, lines)))
                self._all_files = False
            self._prompt(choices(review.group(shown), self._screen()))
            key = self.keys.key()
            self._prompt("\n")
            if key == "q":
                return
            if key.isdigit():
                self._keep_number(key)
            elif key in self._commands:
                if self._commands[key]() is _SHOW_AGAIN:
                    shown = -1
            else:
                self._say("This key does nothing; ? shows the keys.")
        self._show_alike()

    def _show_alike(self) -> None:
        """Show the similar texts of the plan, if a person wants to see them."""
        alike = self._review.alike
        if not alike:
            return
        self._say(
            f"\nThe plan also has {several(len(alike), 'group')} of similar texts. act removes none of them."
        )
        self._prompt("s: show them  other keys: end > ")
        key = self.keys.key()
        self._prompt("\n")
        for number, group in enumerate(alike if key == "s" else []):
            emit(_wrapped("\n" + "\n".join(likeness_screen(group, number, len(alike), self._screen()))))
            if not self._like_keys(group):
                return

    def _like_keys(self, group: folders.LikenessGroup) -> bool:
        """Obey keys for one group of similar texts; whether the next group is to be shown."""
        while True:
            self._prompt("Enter: next  d: difference  o: open  q: end > ")
            key = self.keys.key()
            self._prompt("\n")
            if key == "o" and (chosen := self._asked("open number", [file.key for file in group.files])):
                self._open_key(chosen)
            elif key == "d" and len(group.files) > 1:
                others = group.files[1:]
                place = 1
                if len(others) > 1:
                    keys = [file.key for file in group.files]
                    chosen = self._asked("difference of which number", keys)
                    place = keys.index(chosen) if chosen else 0
                if place:
                    self._show_changes(group.files[place].like or group.files[0].key, group.files[place].key)
            elif key in ("enter", " ", "n", "right", "q"):
                return key != "q"

    def _screen(self) -> Screen:
        columns, lines = shutil.get_terminal_size()
        return Screen(columns, lines, self._below)

    def _say(self, sentence: str) -> None:
        emit(_wrapped(sentence))

    def _prompt(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def _saved(self) -> None:
        """Say what was decided about this group, go to the next one, and save."""
        self._say(decided_line(self._review.group(self._review.position), self._screen()))
        self._review.position += 1
        self._file.save()

    def _agree(self) -> None:
        self._review.agree(self._review.position)
        self._saved()

    def _skip(self) -> None:
        self._review.skip(self._review.position)
        self._saved()

    def _keep_number(self, digit: str) -> None:
        keys, number = self._keys_here(), int(digit)
        if len(keys) > 9:
            self._prompt("keep only number (and Enter): ")
            number = self.keys.number(digit) or 0
        if (key := self._key_of(number, keys)) is not None:
            self._choose([key])

    def _keep_more(self) -> None:
        group = self._review.group(self._review.position)
        if isinstance(group, folders.FolderGroup):
            self._skip()
            return
        key = self._asked("also keep number", self._keys_here())
        if key is not None:
            self._choose([*(file.key for file in group.kept), key])

    def _choose(self, keep: list[str]) -> None:
        try:
            self._review.choose(self._review.position, keep)
        except ValueError as error:
            self._say(f"{one_line(str(error))}.")
            return
        self._saved()

    def _keys_here(self) -> list[str]:
        """The files, or the two folders, of this group, as they are numbered."""
        group = self._review.group(self._review.position)
        return (
            folders_of(group)
            if isinstance(group, folders.FolderGroup)
            else [file.key for file in group.files]
        )

    def _key_of(self, number: int | None, keys: list[str]) -> str | None:
        if number is not None and 1 <= number <= len(keys):
            return keys[number - 1]
        if number is not None:
            self._say(f"There is no number {number}; the numbers are 1 to {len(keys)}.")
        return None

    def _asked(self, question: str, keys: list[str]) -> str | None:
        """The file that a person names by its number; None if they do not."""
        self._prompt(f"{question} (1-{len(keys)}): ")
        if len(keys) > 9:
            return self._key_of(self.keys.number(), keys)
        key = self.keys.key()
        self._prompt(f"{key if len(key) == 1 else ''}\n")
        return self._key_of(int(key) if key.isdigit() else None, keys)

    def _next(self) -> None:
        self._review.position += 1

    def _back(self) -> None:
        if self._review.position:
            self._review.position -= 1
        else:
            self._say("This is the first group.")

    def _go(self) -> object:
        self._prompt(f"group number (1-{len(self._review)}, and Enter): ")
        number = self.keys.number()
        if number is not None and 1 <= number <= len(self._review):
            self._review.position = number - 1
            return _SHOW_AGAIN
        if number is not None:
            self._say(f"There is no group {number}.")
        return None

    def _list(self) -> object:
        """List the groups, a page at a time, and go to the group that a person names."""
        start = self._review.position
        while True:
            lines = list(overview_lines(self._review, start, self._screen()))
            emit("\n".join(lines))
            start += len(lines)
            more = "Enter: more  " if start < len(self._review) else ""
            self._prompt(f"{more}g: go to a group  other keys: back > ")
            key = self.keys.key()
            self._prompt("\n")
            if key == "enter" and more:
                continue
            return (self._go() if key == "g" else None) or _SHOW_AGAIN

    def _undo(self) -> object:
        number = self._review.undo()
        if number is None:
            self._say("There is no choice to undo in this session.")
            return None
        self._review.position = number
        self._file.save()
        self._say("Your last choice is undone.")
        return _SHOW_AGAIN

    def _skip_open(self) -> object:
        count = self._review.skip_open()
        self._file.save()
        self._say(f"All files stay in {several(count, 'group')} that you had not reviewed.")
        return _SHOW_AGAIN

    def _help(self) -> None:
        emit("\n".join(key_lines(self._screen())))

    def _open(self) -> None:
        if (key := self._asked("open number", self._keys_here())) is not None:
            self._open_key(key)

    def _open_key(self, key: str) -> None:
        path = os.fsdecode(path_of(key))
        if not os.path.lexists(path):
            self._say("It is gone.")
            return
        try:
            self._start(path)
        except OSError as error:
            self._say(f"It cannot be opened: {error.strerror or error}.")

    def _start(self, path: str) -> None:
        """Open a file with its program, without waiting for that."""
        if sys.platform == "win32":
            os.startfile(path)
            return
        command = "open" if sys.platform == "darwin" else "xdg-open"
        if shutil.which(command) is None:
            self._say(f"{command} is not installed, so docindex cannot open files.")
            return
        streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        # A session of its own: Ctrl-C is not meant for it.
        self._opened.append(subprocess.Popen([command, path], start_new_session=True, **streams))
        self._say(f"Opened with {command}.")

    def _list_files(self) -> object:
        group = self._review.group(self._review.position)
        if not isinstance(group, folders.FolderGroup):
            self._all_files = True
            return None
        found, screen = folders.differing_files(group), self._screen()
        emit("copied:")
        for copies in group.copies:
            emit(f"  {screen.path(copies.others[0].key)}")
        for heading, names in (
            ("different in both folders:", found.differing),
            ("only in the folder that goes, where they stay:", found.only_here),
            ("only in the folder that stays:", found.only_in_kept),
        ):
            if names:
                emit(heading)
                emit("\n".join(f"  {one_line(name)}" for name in names))
        return None

    def _difference(self) -> None:
        """Show the difference of two texts: differing files of two folders, or a file that has changed."""
        group = self._review.group(self._review.position)
        if isinstance(group, folders.FolderGroup):
            self._folder_difference(group)
            return
        changed = [
            key for key, how in self._review.changes(self._review.position).items() if how == "changed"
        ]
        if not changed:
            self._say("These files had the same bytes when the plan was made, and none has changed.")
            return
        other = next((file.key for file in group.files if file.key != changed[0]), changed[0])
        self._show_changes(other, changed[0])

    def _folder_difference(self, group: folders.FolderGroup) -> None:
        names = folders.differing_files(group).differing
        if not names:
            self._say("No file is in both folders with different bytes.")
            return
        for number, name in enumerate(names, 1):
            emit(f"  {number}  {one_line(name)}")
        number = 1
        if len(names) > 1:
            self._prompt(f"number (1-{len(names)}, and Enter): ")
            chosen = self.keys.number()
            if chosen is None or not 1 <= chosen <= len(names):
                return
            number = chosen
        self._show_changes(*(f"{folder}/{names[number - 1]}" for folder in (group.kept, group.folder)))

    def _show_changes(self, a: str, b: str) -> None:
        from docindex.cli.text_changes import changed_lines  # loads numpy, which few reviews need

        screen = self._screen()
        emit(_wrapped(f"  -  {screen.path(a)}\n  +  {screen.path(b)}"))
        emit("\n".join(changed_lines(a, b, max(10, screen.lines - 6))))


_SHOW_AGAIN = object()
"""What a key returns if the group is to be shown again."""
