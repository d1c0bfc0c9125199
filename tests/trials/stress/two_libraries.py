"""``python -m tests.trials.stress.two_libraries 100``: open a file that sqlite3 uses in the same process.

A thread of the process opens the index for each question, and is refused. Meanwhile another thread counts in
a table of the same file through Python's own sqlite3, and a second process counts too. Each count is a
transaction that reads the number and writes the next one. If a refused open ever drops a lock, two of them
read the same number, and a commit is lost.
"""

import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import docindex

COMMITS = 400
TEXT = "A text that somebody copies again and again, until everybody knows it."


def count(path, times):
    """Count in the table, each time in one transaction."""
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    for _ in range(times):
        connection.execute("begin immediate")
        ((number,),) = connection.execute("select number from counter")
        connection.execute("update counter set number = ?", (number + 1,))
        connection.execute("commit")
    connection.close()


def run(path, commits=COMMITS):
    """Returns how many commits were lost, and how many questions were refused meanwhile."""
    with docindex.open(path) as index:
        index.add("a", TEXT)
    host = sqlite3.connect(path, isolation_level=None)
    host.execute("create table counter (number)")
    host.execute("insert into counter values (0)")
    done, refused = threading.Event(), []

    def ask():
        while not done.is_set():
            try:
                with docindex.open(path, readonly=True) as index:
                    raise AssertionError(f"{index} was opened")
            except docindex.Busy as error:
                refused.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    command = [sys.executable, "-c", "import sys; from tests.trials.stress import two_libraries as t; "
               "t.count(sys.argv[1], int(sys.argv[2]))", path, str(commits)]  # fmt: skip
    with subprocess.Popen(command, cwd=Path(__file__).parents[3]) as other:
        count(path, commits)
    done.set()
    asking.join()
    assert other.returncode == 0
    assert refused
    ((number,),) = host.execute("select number from counter")
    host.close()
    with docindex.open(path) as index:
        assert index.check() == []
    return 2 * commits - number, len(refused)


def main(times):
    lost = refused = 0
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            counts = run(str(Path(folder) / "index"))
            lost, refused = lost + counts[0], refused + counts[1]
            assert [path.name for path in Path(folder).iterdir()] == ["index"]
    print(f"{lost} of {times * 2 * COMMITS} commits lost, {refused} questions refused")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
