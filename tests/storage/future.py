"""Make a docindex of the future, with a second schema, from a copy of the present docindex.

The copy gets a column `language` in `content`, whose checksums are computed again, and a recipe field
`dialect`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

SCRIPT = """-- The language of a content.
alter table docindex_content add column language text not null default '';  -- two letters, or empty
"""

# KILL_AFTER is the number of rows after which the process kills itself.
UPGRADE = '''
"""Compute the checksums of contents again, which have a new column."""

import os
import signal

from docindex.storage import tallies
from docindex.storage.statements import row_sum, stream

BEFORE = (
    "id, symbols, shingles, kept, hashes, hash, words_hash, characters, fingerprints, simhash, "
    "slots"
)


def upgrade(db):
    """A row that did not match its checksum keeps it, so that `check` still finds the damage."""
    kill_after = int(os.environ.get("KILL_AFTER", "-1"))
    rows = f"select {BEFORE}, sum from main.docindex_content order by id"
    for done, (*row, stored) in enumerate(stream(db, rows)):
        if done == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if row_sum(*row) == stored:
            new = row_sum(*row, "")
            db.execute("update main.docindex_content set sum = ? where id = ?", (new, row[0]))
            tallies.note(db, "content", added=[new], removed=[stored])
'''

EDITS = {
    "docindex/storage/tables.py": (
        "    slots: bytes\n",
        '    slots: bytes\n    language: str = ""\n',
    ),
    "docindex/storage/rows/batch_rows.py": (
        "range(0, len(slots), size)],\n",
        'range(0, len(slots), size)],\n            [""] * len(sketches),\n',
    ),
    "docindex/recipe.py": (
        '    stemming: Literal["none", "english"] = "none"\n',
        '    stemming: Literal["none", "english"] = "none"\n'
        '    dialect: Literal["none", "british"] = "british"\n',
        "FORMER_DEFAULTS: Mapping[str, Any] = {}\n",
        'FORMER_DEFAULTS: Mapping[str, Any] = {"dialect": "none"}\n',
    ),
}


def make(folder):
    """Write the package and its schemas into a folder."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "docindex", folder / "docindex", ignore=ignored)
    shutil.copytree(ROOT / "schema", folder / "schema", ignore=ignored)
    (folder / "schema" / "0002_language.sql").write_text(SCRIPT, "utf-8")
    (folder / "schema" / "0002_language.py").write_text(UPGRADE, "utf-8")
    for name, edits in EDITS.items():
        path = folder / name
        source = path.read_text("utf-8")
        for before, after in zip(edits[::2], edits[1::2], strict=True):
            assert source.count(before) == 1, before
            source = source.replace(before, after)
        path.write_text(source, "utf-8")


def run(folder, program, *arguments, **environment):
    """Run a program with the docindex of a folder, and return the finished process."""
    searched = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": searched, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
    )
