"""The review of a plan at a real terminal: keys, what they show, and the plan that is saved."""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pytest

from docindex.cli import main
from docindex.folders import Plan

PROMPTS = ("> ", "): ", "help: ")
"""The ends of all prompts."""


class Terminal:
    """A command whose standard streams are a terminal of a given width."""

    def __init__(self, folder, *arguments, columns=80, **environment):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.before = termios.tcgetattr(theirs)
        self._theirs = theirs  # open, so that the modes can be read after the end
        self.process = subprocess.Popen(
            [sys.executable, "-m", "docindex", *map(str, arguments)],
            **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
            cwd=folder,
            env={**os.environ, "TERM": "xterm-256color", **environment},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.shown = ""
        self._bytes = b""

    def until_prompt(self):
        """What is shown until the command waits for a key, or until its end."""
        begin, deadline = len(self.shown), time.monotonic() + 60
        while not self.shown[begin:].endswith(PROMPTS):
            assert time.monotonic() < deadline, self.shown
            ready, _, _ = select.select([self.ours], [], [], 0.05)
            if ready:
                self._bytes += os.read(self.ours, 1 << 16)
                self.shown = self._bytes.decode("utf-8", "replace").replace("\r\n", "\n")
            elif self.process.poll() is not None:
                break
        return self.shown[begin:]

    def type(self, *keys):
        """Type keys, each at a prompt, and return what is shown."""
        begin = len(self.shown)
        for key in keys:
            os.write(self.ours, key.encode())
            self.until_prompt()
        return self.shown[begin:]

    def end(self, keys=""):
        """Type the last keys; return the exit code and what is shown. The terminal is as it was."""
        shown = self.type(keys)
        assert termios.tcgetattr(self._theirs) == self.before
        return self.process.wait(), shown


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with groups of 3, 2 and 2 copies, and their plan; the largest group is first."""
    home = tmp_path / "home"
    home.mkdir()
    for group, (count, size) in enumerate([(3, 3000), (2, 2000), (2, 1000)]):
        for number in range(count):
            path = home / f"{'abc'[group]}{number}.txt"
            path.write_text(f"{group} " * (size // 2))
            os.utime(path, (1.5e9 + 100 * number,) * 2)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def plan(folder, capsys):
    assert main(["dups", "--kind", "exact", "--json", "home"]) == 0
    (folder / "plan.json").write_text(capsys.readouterr().out)
    return folder / "plan.json"


@pytest.fixture
def terminal(folder):
    with contextlib.ExitStack() as stack:

        def start(*arguments, **settings):
            found = Terminal(folder, "review", *arguments, **settings)
            stack.callback(os.close, found.ours)
            stack.callback(os.close, found._theirs)
            stack.callback(found.process.wait)
            stack.callback(found.process.kill)
            return found

        yield start


def going(path):
    plan = Plan.from_json(path.read_bytes())
    return [file.key.rpartition("/")[2] for group in plan.groups for file in group.others]


def test_keys_choose_the_files_and_act_takes_the_plan_that_was_saved(plan, terminal, capsys):
    review = terminal("plan.json")
    shown = review.until_prompt()
    assert shown.startswith(
        "plan.json: 3 groups. Nothing is removed before docindex act.\n\n"
        "Group 1 of 3\n"
        "exact copies: 3 files of 3.0 kB; removing 2 frees 6.0 kB\n"
        "  1  keep  2017-07-14 "
    )
    assert "  home/a0.txt\n  2        2017-07-14 " in shown
    assert "\n  kept: the oldest\n" in shown
    assert "home/a2.txt stays; 2 files go.\n\nGroup 2 of 3" in review.type("3")
    assert "All stay.\n\nGroup 3 of 3" in review.type("k")
    assert "home/c0.txt stays; 1 file goes.\n\nThat was the last group." in review.type("\r")
    code, shown = review.end("q")
    assert code == 0
    assert shown.endswith(
        "3 groups, 3 reviewed; all decisions are in plan.json\n"
        "3 files go, which frees 7.0 kB; nothing was removed yet\n"
        "next, to see what act would do:\n"
        "  docindex act plan.json --trash\n"
    )
    assert going(plan) == ["a0.txt", "a1.txt", "c1.txt"]
    capsys.readouterr()
    assert main(["act", "plan.json", "--trash"]) == 0
    shown = capsys.readouterr().out
    assert "would go to the trash: home/a0.txt (same as home/a2.txt)\n" in shown
    assert "would be moved to the trash: 3 files, 7.0 kB" in shown


def test_going_back_jumping_listing_and_undoing(plan, terminal):
    review = terminal("plan.json")
    review.until_prompt()
    assert "Group 2 of 3\n" in review.type("n")
    assert "Group 1 of 3\n" in review.type("\x1b[D")
    assert "This is the first group." in review.type("b")
    assert "Group 3 of 3\n" in review.type("g", "3")
    assert review.type("l").count("home/") == 1
    assert "Group 2 of 3\n" in review.type("g", "2")
    assert "home/b1.txt stays" in review.type("2")
    assert going(plan) == ["a1.txt", "a2.txt", "b0.txt", "c1.txt"]
    shown = review.type("u")
    assert "Your last choice is undone.\n\nGroup 2 of 3\n" in shown
    assert "There is no choice in this session to undo." in review.type("u")
    assert "home/a0.txt and home/a1.txt stay; 1 file goes." in review.type("b", "+", "2")
    assert "All files stay in 2 groups that you had not reviewed." in review.type("a")
    assert "\nq          save and quit\n" in review.type("?")
    assert "There is no number 5 here; the numbers are 1 to 2." in review.type("5")
    assert "This key does nothing; ? shows the keys." in review.type("z")
    code, shown = review.end("q")
    assert (code, going(plan)) == (0, ["a2.txt"])
    assert "3 groups, 3 reviewed" in shown


@pytest.mark.parametrize(("keys", "code"), [("\x03", 130), ("\x04", 130), ("q", 0)])
def test_an_interrupted_review_goes_on_where_it_was(plan, terminal, keys, code):
    review = terminal("plan.json")
    review.until_prompt()
    review.type("3")
    found, shown = review.end(keys)
    assert found == code
    assert "2 files of these are in 2 groups that you have not reviewed; to go on:\n" in shown
    assert "\n  docindex review plan.json\n" in shown
    assert ("docindex: interrupted; finished work is kept\n" in shown) == (code == 130)
    assert going(plan)[:2] == ["a0.txt", "a1.txt"]
    again = terminal("plan.json")
    shown = again.until_prompt()
    assert "plan.json: 3 groups, 1 reviewed." in shown
    assert "Group 2 of 3\n" in shown
    again.end("q")


@pytest.mark.usefixtures("plan")
def test_a_review_that_was_stopped_and_continued_reads_keys_as_before(terminal):
    review = terminal("plan.json")
    review.until_prompt()
    termios.tcsetattr(review.ours, termios.TCSANOW, review.before)  # as a shell does
    review.process.send_signal(signal.SIGCONT)
    deadline = time.monotonic() + 60
    while termios.tcgetattr(review.ours) == review.before:
        assert time.monotonic() < deadline
        select.select([], [], [], 0.01)
    assert "Group 2 of 3\n" in review.type("n")
    assert review.end("q")[0] == 0


def test_a_killed_review_loses_no_choice(plan, terminal):
    review = terminal("plan.json")
    review.until_prompt()
    review.type("3")
    review.process.send_signal(signal.SIGKILL)
    review.process.wait()
    assert going(plan)[:2] == ["a0.txt", "a1.txt"]
    assert not list(plan.parent.glob("*.part"))


def test_a_folder_is_searched_first_and_the_new_plan_is_named(folder, terminal):
    (folder / "docindex-plan.json").write_text("mine")
    review = terminal("-q", "home")
    assert review.until_prompt().lstrip().startswith("docindex-plan-2.json: 3 groups.")
    assert review.end("q")[0] == 0
    assert len(Plan.from_json((folder / "docindex-plan-2.json").read_bytes()).groups) == 3
    assert (folder / "docindex-plan.json").read_text() == "mine"
    (folder / "empty").mkdir()
    nothing = terminal("-q", "empty")
    code, shown = nothing.end()
    assert (code, shown.strip()) == (1, "no copies")


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_hostile_names_are_shown_on_one_line_and_do_not_move_the_cursor(folder, terminal, columns):
    names = [
        b"a\x1b[2Jb",
        b"caf\xe9",
        "日本語の名前".encode(),
        b"new\nline",
        "\u202egpj.exe".encode(),
        b"-rf",
    ]
    (folder / "odd").mkdir()
    for name in names:
        (folder / "odd" / os.fsdecode(name)).write_bytes(b"the same")
    review = terminal("-q", "odd", columns=columns)
    shown = review.until_prompt()
    for name in ("-rf", r"a\x1b[2Jb", r"caf\xe9", "日本語の名前", r"new\x0aline", r"\xe2\x80\xaegpj.exe"):
        assert f"  odd/{name}\n" in shown
    assert "\x1b[2J" not in shown
    sentences = [line for line in shown.splitlines() if not line.startswith("  ")]
    assert max(map(len, sentences)) < columns
    assert "odd/日本語の名前 stays; 5 files go." in review.type("6")
    review.end("q")


@pytest.mark.usefixtures("plan")
def test_files_that_are_gone_or_changed_are_said_and_their_difference_is_shown(terminal, folder):
    (folder / "home" / "a0.txt").unlink()
    (folder / "home" / "a1.txt").write_text("a new text\nthe same line\n")
    (folder / "home" / "a2.txt").write_text("an old text\nthe same line\n")
    review = terminal("plan.json")
    shown = review.until_prompt()
    assert "home/a0.txt (gone)\n" in shown
    assert "home/a1.txt (changed since the plan was made)\n" in shown
    assert "The kept files have changed or are gone." in shown
    assert "These files have the same bytes: there is no difference." in review.type("n", "d")
    shown = review.type("b", "d")
    assert "\n  [-a new-]{+an old+} text\n" in shown
    assert "It is gone." in review.type("o", "1")
    review.end("q")


@pytest.mark.usefixtures("plan")
def test_a_file_is_opened_with_the_program_of_the_system_and_its_output_is_hidden(terminal, folder):
    (folder / "bin").mkdir()
    opener = folder / "bin" / "xdg-open"
    opener.write_text(
        f'#!/bin/sh\necho noise; echo noise >&2; cd {folder}\necho "$1" > opened.new; mv opened.new opened\n'
    )
    opener.chmod(0o755)
    review = terminal("plan.json", PATH=f"{folder / 'bin'}:{os.environ['PATH']}")
    review.until_prompt()
    assert "Opened with xdg-open." in review.type("o", "2")
    deadline = time.monotonic() + 60
    while not (folder / "opened").exists():
        assert time.monotonic() < deadline
        select.select([], [], [], 0.01)
    assert (folder / "opened").read_text() == f"{folder}/home/a1.txt\n"
    assert "noise" not in review.end("q")[1]
    missing = terminal("plan.json", PATH=str(folder))
    missing.until_prompt()
    assert "xdg-open is not installed, so docindex cannot open files." in missing.type("o", "1")
    missing.end("q")


@pytest.mark.usefixtures("plan")
def test_without_a_terminal_review_says_so_in_one_sentence(capsys):
    assert main(["review", "plan.json"]) == 2
    assert capsys.readouterr().err == (
        "docindex: review needs a terminal for its keys; docindex dups shows copies without one\n"
    )


def test_copied_folders_are_one_group_each_and_either_can_stay(folder, terminal):
    for number in range(5):
        for place in ("Documents", "backup/Documents"):
            path = folder / "home" / place / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"document {number}" if number else f"in {place}\nthe same line\n")
    review = terminal("-q", "home")
    shown = review.until_prompt()
    for _ in range(20):
        if "home/backup/Documents is a copy of home/Documents: 4 files" in shown:
            break
        shown = review.type("n")
    assert "  1  keep  home/Documents\n  2        home/backup/Documents\n  kept: not in backup\n" in shown
    assert "  other files, which all stay: 1 in both with other contents" in shown
    assert "in both with other contents:\n  0.txt\n" in review.type("f")
    shown = review.type("d")
    assert "\n  in {+backup+} Documents\n" in shown
    assert "home/backup/Documents stays; the copies in home/Documents go." in review.type("2")
    review.end("q")
    record = json.loads((folder / "docindex-plan.json").read_text())["folders"][0]
    assert record["kept"].endswith("home/backup/Documents")
    assert (record["decision"], record["reason"]) == ("chosen", "you chose it")
