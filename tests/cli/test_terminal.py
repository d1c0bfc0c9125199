"""Test progress bars and colours: a terminal gets them, a pipe or a file does not."""

import os
import pty
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[1] / "samples"
COMPARE = ["compare", str(SAMPLES / "draft.txt"), str(SAMPLES / "final.txt")]


def at_terminal(*arguments, streams, **environment):
    """Run a command whose stdout, stderr or both are a terminal; return its code and what it wrote there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "docindex", *map(str, arguments)],
        **{name: theirs if name in streams else subprocess.DEVNULL for name in ("stdout", "stderr")},
        stdin=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm-256color", **environment},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            piece = b""
        if not piece:
            break
        shown += piece
    os.close(ours)
    return process.wait(), shown.decode()


def plain(shown):
    """Text without colour codes."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


@pytest.fixture
def texts(tmp_path):
    rng = random.Random(1)
    words = [f"w{rng.randrange(5000)}" for _ in range(100_000)]
    (tmp_path / "texts").mkdir()
    for number in range(200):
        start = rng.randrange(80_000)
        (tmp_path / "texts" / f"{number}.txt").write_text(" ".join(words[start : start + 15_000]))
    return tmp_path / "texts"


def test_a_bar_shows_count_speed_and_remaining_time(texts):
    code, shown = at_terminal("scan", texts, streams=["stderr"])
    assert code == 0
    shown = plain(shown)
    assert "scanning" in shown
    assert re.search(r"\d+/200 ", shown)
    assert re.search(r"\d+/s ", shown)
    assert re.search(r"\d:\d\d:\d\d", shown)


def test_no_bar_with_quiet_or_without_a_terminal(texts):
    code, shown = at_terminal("scan", "--quiet", texts, streams=["stderr"])
    assert (code, shown) == (0, "")
    code, shown = at_terminal("scan", texts, streams=["stdout"])
    assert code == 0
    assert "200 files" in shown
    assert "\x1b" not in shown
    assert at_terminal("dups", "--quiet", "--kind", "exact", texts, streams=["stderr"]) == (1, "")


def test_passages_are_coloured_if_the_terminal_has_colours():
    code, shown = at_terminal(*COMPARE, streams=["stdout"])
    assert code == 0
    assert "\x1b[1;36mThe reading room opens at nine" in shown
    assert "[[" not in shown
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        _, shown = at_terminal(*COMPARE, streams=["stdout"], **environment)
        assert "\x1b" not in shown
        assert "[[The reading room" in shown


def test_a_text_cannot_move_the_cursor(tmp_path):
    text = "An escape \x1b[2J\x1b]0;title\x07 in a text\x9b5m with many words, so many that they are shown.\n"
    for name in ("a", "b"):
        (tmp_path / name).write_text(text)
    # (With a bell, the files count as binary unless the encoding is forced.)
    arguments = ["compare", "--encoding", "utf-8", tmp_path / "a", tmp_path / "b"]
    _, shown = at_terminal(*arguments, streams=["stdout"])
    assert "\x1b[2J" not in shown
    assert "\x1b]" not in shown
    assert "\x9b" not in shown
    assert "in a text" in shown
