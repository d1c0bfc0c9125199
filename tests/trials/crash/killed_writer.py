"""A process that runs `program.main` until it is killed, and what is known of it: `Writer`.

Several of them can use one file. Each has its own documents, so what one of them has left can be compared
while the others go on. Other kinds of fault are not looked for here: see `kill`.
"""

import json
import os
import selectors
from pathlib import Path

from tests import fork_server
from tests.trials.crash import program

HANGS_S = 60
"""A program that says nothing for so long hangs."""


class Writer:
    """A program that changes its own documents of a file, and the lines that it has written."""

    def __init__(self, path, place, state, durability, rng):
        """`state` is what the file holds of this writer's documents, before it begins."""
        self.place = place
        self.own = f"{place} "
        self.backup = Path(f"{path}.{place}.backup")
        self._state = state
        self._lines, self._rest = [], b""
        self._reader, writer = fork_server.pipe()
        arguments = (str(path), durability, rng.randrange(2**32), self.own)
        self._process = fork_server.start(program.main, writer, *arguments)
        writer.close()

    def _is_ready(self, timeout_s):
        # Not `select.select`, which refuses descriptors from 1,024 on.
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            return bool(selector.select(timeout_s))

    def hear(self, timeout_s=0.0):
        """Read the lines that are there; waits for the first of them. Returns False at the end."""
        while self._is_ready(timeout_s):
            timeout_s = 0.0
            received = os.read(self._reader.fileno(), 65_536)
            if not received:
                return False
            *lines, self._rest = (self._rest + received).split(b"\n")
            self._lines += map(json.loads, lines)
        return True

    def wait_for(self, verb, *, anew=True):
        """Wait until a call of this verb begins; "any" is any call of a program that has opened the file.

        Without `anew`, it may have begun before.
        """
        self.hear()
        heard = len(self._lines) if anew else 0
        while not any(_is_begin(line, verb) for line in self._lines[heard:]):
            before = len(self._lines)
            assert self.hear(HANGS_S), f"the program ended by itself after {self._lines[-1:]}"
            assert len(self._lines) > before, f"the program hangs after {self._lines[-1:]}"

    def kill(self):
        self._process.kill()

    def mourn(self):
        """Wait for the end of the killed process, and read its last lines. Mourning twice does no harm."""
        while not self._reader.closed and self.hear(1.0):
            pass
        self._process.join()
        self._reader.close()

    def allowed(self):
        """The states that the file may have: after the last commit that returned, or the one under way."""
        states, returned = program.history(self._state, self._lines)
        return states[returned:]

    def after_last_call(self):
        """The state after the last call that returned, without the commits of the call under way."""
        ends = [place for place, (word, _) in enumerate(self._lines, 1) if word == "end"]
        states, returned = program.history(self._state, self._lines[: max(ends, default=0)])
        return states[returned]

    def returned(self):
        """The calls that have returned."""
        return [call for word, call in self._lines if word == "end"]

    def under_way(self):
        """The verb of the call that has not returned, or "nothing"."""
        words = [line for line in self._lines if line[0] != "commit"]
        return words[-1][1][0] if words and words[-1][0] == "begin" else "nothing"


def _is_begin(line, verb):
    word, call = line
    return word == "begin" and (call[0] == verb or (verb == "any" and call[0] != "open"))
