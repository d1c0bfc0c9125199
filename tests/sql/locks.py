"""Another process that writes to a file, for tests of locks."""

import contextlib
import subprocess
import sys

_PROGRAM = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
for line in sys.stdin:
    try:
        for statement in line.strip().split(";"):
            if statement.startswith("sleep"):
                time.sleep(float(statement[5:]))
            else:
                db.execute(statement).fetchall()
        print("done", flush=True)
    except sqlite3.OperationalError as error:
        print(error, flush=True)
"""


class OtherProcess:
    """A process with a connection to a file."""

    def __init__(self, process):
        self._process = process

    def run(self, statements, *, wait=True):
        """Run statements, and return "done" or the error."""
        self._process.stdin.write(f"{statements}\n")
        self._process.stdin.flush()
        return self.answer() if wait else None

    def answer(self):
        """The result of statements that were not waited for."""
        return self._process.stdout.readline().strip()


@contextlib.contextmanager
def other_process(path):
    """Start another process."""
    command = [sys.executable, "-c", _PROGRAM, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield OtherProcess(process)
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()
