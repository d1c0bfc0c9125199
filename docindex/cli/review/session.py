"""One review at a terminal: show groups, obey keys, and save the plan after each choice.

Must never remove a file. `docindex.folders` makes the choices; this module asks for them.
"""

from collections.abc import Callable, Iterable

from docindex import folders
from docindex.cli.review.looks import Looks, keys_in
from docindex.cli.review.terminal import ReviewTerminal
from docindex.cli.review.text import choices, decided_line, group_screen, key_lines, overview_lines
from docindex.shown.wording import one_line, several

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
