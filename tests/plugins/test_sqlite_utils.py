"""sqlite-utils finds the plugin by itself, in Python and on its command line."""

import json
import shutil
import subprocess
import sys

import docindex


def test_every_connection_has_the_functions(tmp_path):
    with docindex.open(tmp_path / "index.docindex") as index:
        index.add("a", "to be or not to be")
    program = (
        "import sqlite_utils, sys; db = sqlite_utils.Database(sys.argv[1]); "
        "print(db.execute('select doc_canonical(id), doc_resemblance(id, ?) from docindex_document', "
        "['To be, or not to be!']).fetchall())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "index.docindex")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[('to be or not to be', 1.0)]\n"


def test_the_command_line_has_the_functions():
    command = shutil.which("sqlite-utils", path=f"{sys.prefix}/bin")
    done = subprocess.run(
        [command, "memory", "select doc_distance(doc_simhash('one two'), doc_simhash('One, two')) as d"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == [{"d": 0}]
