"""Craft index files: impossible numbers, with checksums and tallies that fit them. Then ask everything.

``python -m tests.storage.crafted 2000`` tries 2000 changes, first each by itself and then pairs of them, and
prints the problems. A child process with limited memory, time and file size reads the files, trusted and not.
Checksums are no secret, so whoever crafts a file makes them fit: only what the file can hold says that a
number is false.
"""

import contextlib
import faulthandler
import functools
import itertools
import json
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
import zlib
from pathlib import Path

import apsw
import xxhash

import docindex
from docindex import Text
from docindex.storage import tallies
from docindex.storage.rows import contents
from docindex.storage.statements import PREFIX, row_sum
from docindex.storage.tables import SUMMED_TABLES
from docindex.storage.values import signed
from tests.storage.damage import WITHOUT_ROWID, build, questions

NUMBERS = (0, -1, 2**31, 2**32, 2**40, 2**62)
MEMORY = 600 << 20
SECONDS = 20
"""How long the questions to one file may take. They take a second or two."""
LARGEST_FILE = 16 << 20
"""A file that grows to this size, from 200 KB, is written without an end."""

_BLOBS = {
    "numbers": (b"\xff" * 750, b"\xff" * 6, b"", b"\0" * 749),
    "highs": (b"\0" * 94, b"\xff" * 94, b"\0" * 1_000_000 + b"\1", b""),
    "slots": (b"", b"\xff" * 24, bytes(1_000_000)),
    "keys": (b"", b"\xff" * 90, bytes(1_000_000), b"\xff" * 1_000_000),
    "hash": (b"", bytes(15), bytes(1_000_000)),
    "words_hash": (b"", bytes(15), bytes(16)),
    "min_s": (b"\xff" * 8, b"\0" * 7, bytes(8_000_000)),
    "mod_m": (b"\xff" * 8, b"\0" * 7),
    "level": (b"\xff" * 8, b"\0" * 7),
    "data": (zlib.compress(bytes(300_000_000), 9), zlib.compress(bytes(4_000_000)), b"\xff", b""),
    "places": (
        *(
        zlib.compress(json.dumps(found).encode())
        for found in (
            {"title": None, "gaps": [0, 2**62], "places": ["a", "b"]},
            {"title": None, "gaps": [2**80], "places": ["a"]},
            {"title": None, "gaps": [-5, 1], "places": ["a", "b"]},
            {"title": None, "gaps": [0] * 9, "places": ["a"]},
            {"title": 5, "gaps": {}, "places": 7},
            {"title": None, "kind": "line", "steps": [2**62, 2**62], "gaps": [0, 1], "columns": [1, 1],
             "span": 2**62},
            {"title": None, "kind": "line", "steps": [2**80], "gaps": [0], "columns": None, "span": 1},
            [],
        )
    ),
        zlib.compress(bytes(300_000_000), 9),
    ),
    "grams": (b"\xff" * 6, b"\0" * 5),
    "shingles": (b"\xff" * 8, b"\0" * 7),
}  # fmt: skip

_RECIPE = {
    "k": (1, 4096, 0, 2**32), "window": (1, 65_535, 0, 2**32), "shingle": (1, 4096, -1),
    "slots": (4096, 1, 2**32), "min_s": (1 << 20, 0), "mod_m": (1, 1 << 32, 2**62),
    "level": (1 << 18, 1), "features": ([1, 16, 1], [4096, 1, 1], [2**62, 1, 1], [16, 1, 16]),
    "token": ("letter", "line", 7), "bag": (True,), "reading": ("code-raw/1", "code-names/1", "text/9"),
    "selector": ("rightmost",), "stemming": ("english",),
}  # fmt: skip


def changes(path):
    """All changes: (name, statements with bindings). They set each number in each table, and some more."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    names = [
        name
        for (name,) in db.execute("select name from sqlite_schema where type = 'table' order by name")
        if name.startswith(PREFIX) or name == "sqlite_sequence"
    ]
    for table in names:
        columns = db.execute("select name, type from pragma_table_info(?)", (table,)).fetchall()
        (key,) = WITHOUT_ROWID.get(table, ["rowid"])
        rows = [value for (value,) in db.execute(f"select {key} from {table} order by {key}")]
        if table.endswith(("tally", "_sequence")):
            pass  # each of them is about another table
        elif table.endswith("segment"):
            merging = [number for (number,) in db.execute(_MERGING)]
            rows = [*merging, rows[0], rows[-1]]
        else:
            rows = [rows[-1], None] if rows else []
        for column, kind in columns:
            values = NUMBERS if kind in ("INTEGER", "") and column != "name" else _BLOBS.get(column, ())
            if (table.endswith("boilerplate") and column == "hash") or kind == "TEXT" or column == "sum":
                continue
            if column.endswith("_bits"):
                values = (*values, 5, 20, 31, 40, 63)
            for row, value in itertools.product(dict.fromkeys(rows), values):
                if row is None and not isinstance(value, int) and len(value) > 1000:
                    continue  # the file itself would be large
                where, bindings = (f" where {key} = ?", (row,)) if row is not None else ("", ())
                shown = value if isinstance(value, int) else f"{len(value)} bytes {value[:8].hex()}"
                yield (
                    f"{table}.{column} of {'all' if row is None else row} = {shown}",
                    [(f"update {table} set {column} = ?{where}", (value, *bindings))],
                )
    stored = db.execute("select json from docindex_recipe").get
    for name, values in _RECIPE.items():
        for value in values:
            written = json.dumps(json.loads(stored) | {name: value}, sort_keys=True, separators=(",", ":"))
            yield (f"recipe {name} = {value}", [("update docindex_recipe set json = ?", (written,))])
    for table, row in _ROWS.items():
        for values in row:
            marks = ", ".join("?" * len(values))
            yield (
                f"{table} gets {str(values)[:60]}",
                [(f"insert or replace into {PREFIX}{table} values ({marks})", values)],
            )
    db.close()


# A target, and a source of it.
_MERGING = (
    "select min(id) from docindex_segment where moved > 0 union all "
    "select min(id) from docindex_segment where target is not null"
)

# Rows that a small index does not have.
_ROWS = {
    "pending": [("new", number, "a text that waits", None) for number in NUMBERS]
    + [("new", 50, "a text that waits", "{")],
    "changed": [(number, "nothing", 7) for number in NUMBERS],
    "sourced": [(1, "nothing", number) for number in NUMBERS],
    "source": [("nothing", "key", "text", None, "", 0), ("docindex_document", "id", "key", None, "", 0)],
    "text": [(number << 20 & (1 << 63) - 1, 0, b"x") for number in NUMBERS] + [(1 << 20 | 7, 2, b"nothing")],
    "fingerprint": [(1 << 20 | number, b"", b"", 0) for number in (9, (1 << 20) - 1)],
    "posting": [(number << 32 | 7, b"", 0) for number in (1, 5, 2**30)],
    "dead": [(number, other) for number in NUMBERS for other in (1, 2**40)],
}  # fmt: skip


def craft(path, statements):
    """Change rows, then make all checksums and tallies fit; False if the schema refuses the change."""
    db = apsw.Connection(str(path))
    try:
        db.pragma("foreign_keys", False)
        db.execute("begin")
        for statement, bindings in statements:
            db.execute(statement, bindings)
        for table in SUMMED_TABLES:
            (key,) = WITHOUT_ROWID.get(PREFIX + table.name, ["rowid"])
            for number, *found in db.execute(f"select {key}, * from {PREFIX}{table.name}").fetchall():
                sum_ = row_sum(*found[:-1])
                db.execute(f"update {PREFIX}{table.name} set sum = ? where {key} = ?", (sum_, number))
        for number, keys in db.execute("select id, keys from docindex_posting").fetchall():
            if number >= 0:
                sum_ = signed(xxhash.xxh3_64_intdigest(keys, number))
                db.execute("update docindex_posting set sum = ? where id = ?", (sum_, number))
        for *columns, _ in db.execute("select * from docindex_segment").fetchall():
            sum_ = row_sum(*columns)
            db.execute("update docindex_segment set sum = ? where id = ?", (sum_, columns[0]))
        if not any("_tally" in statement for statement, _ in statements):
            for name in tallies.NAMES:
                tally = tallies.tally_of(value for (value,) in db.execute(f"select sum from {PREFIX}{name}"))
                db.execute("update docindex_tally set rows = ?, total = ? where name = ?", (*tally, name))
        db.execute("commit")
    except (apsw.ConstraintError, apsw.MismatchError):
        return False
    finally:
        db.close()
    return True


def serve(expected_path):
    """Read paths from standard input, a line each; print the problems of each as a JSON array."""
    expected = json.loads(Path(expected_path).read_text())
    with Path("/proc/self/statm").open() as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    for line in sys.stdin:
        path = json.loads(line)
        problems = []
        for trusted in (True, False):
            copy = f"{path}-{trusted}"
            shutil.copy(path, copy)
            faulthandler.dump_traceback_later(SECONDS, exit=True)
            _ask_all(copy, expected, problems, trusted=trusted)
            faulthandler.cancel_dump_traceback_later()
            for end in ("", "-wal", "-shm", "-merged", "-backup"):
                Path(copy + end).unlink(missing_ok=True)
        sys.stdout.write(json.dumps(problems) + "\n")
        sys.stdout.flush()


# What may come of a crafted file: an error of docindex that names it, or of SQLite; a document that is gone.
_FINE = (docindex.DocIndexError, KeyError, apsw.Error, sqlite3.Error)


def _ask_all(path, expected, problems, *, trusted):
    def tried(name, ask):
        try:
            return ask()
        except docindex.DiskFull as error:
            problems.append(f"{name} (trusted={trusted}): the file grew; {error}")
        except docindex.FileReplaced:
            raise
        except _FINE as error:
            if isinstance(error, (apsw.NoMemError, apsw.InternalError, apsw.MisuseError, apsw.FullError)):
                problems.append(f"{name} (trusted={trusted}): {_told(error)}")
        except ValueError as error:
            # A conflict of a merge, or in SQL a document that is gone: both are sentences of docindex.
            if not _is_sentence(error):
                problems.append(f"{name} (trusted={trusted}): {_told(error)}")
        except BaseException as error:
            problems.append(f"{name} (trusted={trusted}): {_told(error)}")
        return None

    index = tried("open", lambda: docindex.open(path, trusted=trusted, timeout_s=0))
    if index is not None:
        with index:
            for name, ask in (_ASKED | questions(expected)).items():
                tried(name, functools.partial(ask, index))
    for name, ask in _DOORS.items():
        tried(name, functools.partial(ask, path))


def _is_sentence(error):
    frames = traceback.extract_tb(error.__traceback__)
    return (
        frames[-1].filename.endswith((".py",))
        and "docindex/" in frames[-1].filename
        and ("raise" in (frames[-1].line or ""))
    )


def _told(error):
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/docindex/" in frame.filename]
    at = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[:-4:-1])
    return f"{type(error).__name__} at {at}: {str(error)[:100]}"


_TEXT = "a text of some words that nobody has written before, and that are enough for a few fingerprints"

_ASKED = {
    "check": lambda index: index.check(),
    "search for a text": lambda index: index.search(Text(_TEXT), exact=True),
    "ignore frequent": lambda index: list(index.pairs(min_resemblance=0.2, ignore_above=1)),
    "all pairs by slots": lambda index: list(index.pairs(min_resemblance=0.4, method="sketch")),
    "containments": lambda index: list(index.containments(0.2)),
    "sources": lambda index: index.sources("excerpt"),
    "near many": lambda index: list(index.near_many(["big", "excerpt"], 5)),
    "search many": lambda index: list(index.search_many(["big", "excerpt"])),
    "document_frequencies": lambda index: index.document_frequencies(),
    "word weights": lambda index: index.word_weights(),
    "whole stats": lambda index: index.stats(),
    "place": lambda index: [match.passages() for match in index.search("letter")],
    "sketches": lambda index: list(index.export_sketches()),
    "sql": lambda index: [index.execute(statement) for statement in _STATEMENTS],
    "backup": lambda index: index.backup(f"{index.path}-backup"),
}

_STATEMENTS = (
    "select * from doc_search('some words that nobody has written before')",
    "select * from doc_pairs(0.2)",
    "select * from doc_passages(1, 2)",
    "select * from doc_fingerprints(1)",
    "select doc_resemblance(1, 2), doc_sketch(1), doc_simhash(1)",
    "select doc_text(doc_key('big'))",
    "select count(*) from fingerprint_list",
)


def _apsw_door(path):
    with contextlib.closing(apsw.Connection(path)) as db:
        docindex.register(db)
        for statement in _STATEMENTS:
            with contextlib.suppress(docindex.DocIndexError, apsw.SQLError, KeyError):
                db.execute(statement).fetchall()
        db.execute("select doc_add('from sql', 'a text of one door')").fetchall()
        db.execute("insert into doc_index (key, text) values ('row', 'a text of one more door')")
        db.execute("delete from doc_index where key = 'row'")


def _sqlite3_door(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        docindex.register(db)
        for statement in (
            "select doc_search_json('some words that nobody has written before')",
            "select doc_pairs_json(0.2)",
            "select doc_resemblance(1, 2)",
            "select doc_add('from sqlite3', 'a text of another door')",
        ):
            try:
                db.execute(statement).fetchall()
            except sqlite3.OperationalError as error:
                if "user-defined" not in str(error):
                    raise
        db.commit()


def _change(path, name):
    with docindex.open(path, timeout_s=0) as index:
        _CHANGES[name](index)


_CHANGES = {
    "add": lambda index: index.add("new", _TEXT),
    "add some": lambda index: index.add_many([(f"n{n}", f"{n} {_TEXT}") for n in range(30)], workers=1),
    "rename": lambda index: index.rename("copy", "renamed"),
    "remove": lambda index: index.remove("last"),
    "add boilerplate": lambda index: index.boilerplate.add(_TEXT, name="another"),
    "optimize": lambda index: index.optimize(),
    "check at last": lambda index: index.check(),
}

_DOORS = {
    "merge": lambda path: docindex.merge([path], f"{path}-merged"),
    "apsw": _apsw_door,
    "sqlite3": _sqlite3_door,
    **{name: functools.partial(_change, name=name) for name in _CHANGES},
}


class Reader:
    """The child process, which is started again when it ends."""

    def __init__(self, expected_path):
        self._expected_path = expected_path
        self._errors = Path(f"{expected_path}-errors")
        self._process = None

    def problems_of(self, path):
        """The problems with one file."""
        if self._process is None:
            program = f"from tests.storage.crafted import serve; serve({str(self._expected_path)!r})"
            with self._errors.open("w") as errors:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", program],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                )  # fmt: skip
        self._process.stdin.write(json.dumps(str(path)).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            return json.loads(line)
        self.close()
        errors = self._errors.read_text().splitlines()
        frames = [" ".join(line.split()[1:]).rpartition("/")[2] for line in errors if "/docindex/" in line]
        return [f"the process ended: {errors[:1]} {' < '.join(frames[:4])}"]

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def expected_of(path):
    """The keys and hashes that the questions of `damage` are about."""
    with docindex.open(path, readonly=True) as index, index._store.reading() as db:
        numbers = [row[0] for row in db.execute("select id from docindex_content")]
        hashes = {
            hash_
            for number in numbers
            for hash_ in contents.fingerprints_of(db, number, index.recipe.window)[0].tolist()
        }
        return {"asked keys": ["big", "not kept", "never there"], "hashes": sorted(hashes), "dead": []}


def run(folder, choose):
    """Try the changes that `choose` picks from a list of all; yields the name and the problems of each."""
    whole = Path(folder) / "whole"
    build(whole, 200)
    expected = Path(folder) / "expected"
    expected.write_text(json.dumps(expected_of(whole)))
    with contextlib.closing(Reader(expected)) as reader:
        for number, (name, statements) in enumerate(choose(list(changes(whole)))):
            copy = Path(folder) / f"crafted{number}"
            shutil.copy(whole, copy)
            if not number % 40:
                reader.close()  # so that memory which earlier files have left in pieces does not count
            if craft(copy, statements):
                yield name, reader.problems_of(copy)
            for left in Path(folder).glob(f"{copy.name}*"):
                left.unlink()


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    rng = random.Random(seed)

    def choose(single):
        rng.shuffle(single)
        pairs = ((rng.choice(single), rng.choice(single)) for _ in range(count))
        joined = ((f"{one[0]}; {other[0]}", one[1] + other[1]) for one, other in pairs)
        return itertools.islice(itertools.chain(single, joined), count)

    tried, false = 0, 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for name, problems in run(folder, choose):
            tried += 1
            false += bool(problems)
            for problem in problems:
                print(f"{name} -> {problem}", flush=True)
    print(f"{tried} files, {false} with problems")
    sys.exit(bool(false))


if __name__ == "__main__":
    main()
