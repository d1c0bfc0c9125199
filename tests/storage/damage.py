"""Damage a small index in every way, by bytes of the file and by rows through SQL, and read it.

``python -m tests.storage.damage 2000`` tries 2000 changes, each on a fresh copy, and reports the problems. A
child process with limited memory and time reads the copies, so crashes, hangs and excessive use of memory are
found too.
"""

import collections
import contextlib
import dataclasses
import functools
import itertools
import json
import random
import re
import resource
import selectors
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from unittest import mock

import apsw
import numpy as np

import docindex
from docindex import Recipe
from docindex.frontends import Extracted, Place, Places
from docindex.storage.postings import segment_writer
from docindex.storage.rows import contents
from docindex.storage.tracked_files import Tracked
from tests.storage.answers import looked_up
from tests.storage.texts import noise, prose

RECIPE = Recipe(k=8, window=6, shingle=3, slots=16, features=(4, 4, 2), min_s=8, mod_m=3, level=8)
SEED = 20_261
# Merges begin early, and the last of them is still under way at the end of `build`.
SMALL_MERGES = {"_BLOCK": 32, "_LEAST": 64, "_MERGED_AT_LEAST": 90, "_MERGED_PER_POSTING": 0}
_SECONDS = 10
_MEMORY = 400 << 20


def build(path, words=900):
    """Make an index with every kind of row: replaced and removed documents, segments, a merge under way.

    The largest text has this many words.
    """
    rng = random.Random(SEED)
    with mock.patch.multiple(segment_writer, **SMALL_MERGES), docindex.open(path, recipe=RECIPE) as index:
        first = prose(rng, words)
        index.add_many(
            [
                ("big", first, {"author": "Ada", "pages": [1, 2, None]}),
                ("excerpt", prose(rng, 40) + first[500:1500]),
                ("copy", first),
                ("noise", noise(rng, 300), "raw"),
                ("empty", ""),
                ("gone", prose(rng, 300)),
                ("naïve/漢字\n", "Größe 漢字 \ud800 \0 end", {"ü": 1.5}),
            ],
            workers=1,
        )
        index.add("not kept", prose(rng, 120), store_text=False)
        index.add("changed", prose(rng, 200))
        for number in range(5):
            index.add(f"note {number}", prose(rng, 60 + 10 * number), meta=number)
        index.add("changed", prose(rng, 210), meta=["again"])
        index.remove("gone")
        index.remove("note 1")
        index.add("last", first[100:900])
        index.add("late", prose(rng, 100))
        letter = prose(rng, 80)
        places = Places((0, 100), (Place("page 1"), Place("page 2", (1.0, 2.0, 3.0, 4.5))))
        index.add("letter", Extracted(letter, places, "A letter", reading="docx-1"))
        index.boilerplate.add(prose(rng, 30), name="template")
        index.files.put(
            Tracked(f"/home/{number}", number, 10**18, 10**18, 1 << 63, number, "text", "", 0, "", None)
            for number in range(3)
        )
        stats = index.stats()
        with index._store.reading() as db:
            under_way = db.execute("select count(*) from docindex_segment where moved > 0").get
        assert min(under_way, stats.segments - 3, stats.dead) >= 1, (under_way, stats)
        assert index.check() == []
    assert not Path(f"{path}-wal").exists()


def questions(expected):
    """All questions to ask of an index, by name; `expected` holds the keys and hashes to ask about."""
    asked = {
        "keys": list,
        "len": len,
        "stats": _stats,
        "look_up": functools.partial(_candidates, expected=expected),
        "export": lambda index: list(index.export()),
        "search": lambda index: list(map(_numbers, index.search("excerpt", limit=None))),
        "similar": lambda index: list(map(_numbers, index.similar("changed", 0.05))),
        "near": lambda index: [(found.key, found.distance) for found in index.near("big", 20)],
        "compare": lambda index: [
            str(index.compare(a, b)) for a, b in (("big", "last"), ("big", "not kept"))
        ],
        "passages": lambda index: [
            str(match.passages()) for match in index.search("excerpt") if match.key == "big"
        ],
        "pairs": lambda index: [dataclasses.astuple(pair) for pair in index.pairs(min_containment=0.1)],
        "clusters": lambda index: list(map(repr, index.clusters(0.3))),
        "templates": lambda index: list(map(repr, index.boilerplate)),
        "files": lambda index: list(map(repr, index.files.under("/home"))),
    }
    for key in expected["asked keys"]:
        asked[f"text of {key!r}"] = functools.partial(_text, key=key)
        asked[f"document {key!r}"] = functools.partial(_document, key=key)
        asked[f"{key!r} in"] = functools.partial(_has, key=key)
    return asked


def _numbers(match):
    return (
        match.key,
        match.containment,
        match.reverse_containment,
        match.resemblance,
        match.shared,
        match.score,
    )


def _text(index, key):
    return index.text(key)


def _has(index, key):
    return key in index


def _document(index, key):
    return repr(index[key])


def _stats(index):
    found = index.stats()
    # The number of free pages, the file size and the dead contents may differ without any fault.
    return [
        found.documents,
        found.contents,
        found.characters,
        found.symbols,
        found.fingerprints,
        found.density,
    ]


def _candidates(index, expected):
    with index._store.reading() as db:
        hashes, found = looked_up(db, np.array(expected["hashes"], np.uint64))
    # The callers of `look_up` skip dead contents.
    alive = ~np.isin(found, expected["dead"])
    return sorted(set(zip(hashes[alive].tolist(), found[alive].tolist(), strict=True)))


def expected_of(path):
    """The answers of the undamaged index, with the keys and hashes that they are about."""
    with docindex.open(path, readonly=True) as index:
        with index._store.reading() as db:
            numbers = [row[0] for row in db.execute("select id from docindex_content")]
            hashes = np.unique(
                np.concatenate([contents.fingerprints_of(db, number, RECIPE.window)[0] for number in numbers])
            )
            dead = [row[0] for row in db.execute("select content from docindex_dead")]
        expected = {"asked keys": [*index, "never there"], "hashes": hashes.tolist(), "dead": dead}
        expected["answers"] = {name: _outcome(ask, index) for name, ask in questions(expected).items()}
    return expected


def _outcome(ask, index):
    """An answer as JSON, or the error; "KeyError" for a `KeyError` that means that there is no such key."""
    try:
        return json.dumps(ask(index))
    except docindex.DocIndexError as error:
        return error
    except KeyError as error:
        raised_in = traceback.extract_tb(error.__traceback__)[-1].name
        return "KeyError" if raised_in in {"document_of", "remove", "rename"} else error
    except BaseException as error:
        return error


def byte_changes(count, size, page_size, rng):
    """Yield `count` changes as (name, offset, new bytes). The first changes hit each page once."""
    pages = list(range(size // page_size))
    rng.shuffle(pages)
    for number in range(count):
        page = pages[number] if number < len(pages) else rng.choice(pages)
        offset = page * page_size + (
            rng.randrange(page_size) if page or rng.random() < 0.5 else rng.randrange(100)
        )
        if number % 4 == 3:
            offset -= offset % 64
            yield f"bytes {offset} to {offset + 64} zeroed", offset, bytes(64)
        elif number % 4 == 2:
            length = rng.randrange(2, 40)
            yield f"{length} bytes at {offset} random", offset, rng.randbytes(length)
        else:
            yield f"a byte flipped at {offset}", offset, None


WITHOUT_ROWID = {
    "docindex_file": ["key"],
    "docindex_tally": ["name"],
    "docindex_source": ["name"],
    "docindex_pending": ["key"],
}
"""The tables without a rowid, and the columns of their keys."""


def row_changes(count, rng, path):
    """`count` changes of rows as (name, statement, bindings), for all tables, columns and kinds in turn."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    kinds = collections.defaultdict(list)
    for table, columns in _tables(db).items():
        key = WITHOUT_ROWID.get(table, ["rowid"])
        names = [*(name for name in key if name not in columns), *columns]
        rows = db.execute(f"select {', '.join(names)} from {table}").fetchall()
        for row in rows:
            values = dict(zip(names, row, strict=True))
            where = f"where {' and '.join(f'{name} = ?' for name in key)}"
            which = [values[name] for name in key]
            at = f"{table} {which}"
            kinds[table, "", "deleted"].append((f"{at} deleted", f"delete from {table} {where}", which))
            duplicate = dict(zip(columns, [values[column] for column in columns], strict=True))
            for shift in (1, 7, 1 << 20, 1 << 33):
                again = dict(duplicate)
                pk = columns[0]
                if isinstance(again[pk], int):
                    again[pk] = max(r[names.index(pk)] for r in rows) + shift
                for column in ("hash", "key"):  # otherwise a unique index would refuse the row
                    if column in again:
                        again[column] = (
                            again[column] + again[column][:1] if again[column] else rng.randbytes(3).hex()
                        )
                marks = ", ".join("?" * len(columns))
                kinds[table, "", "duplicated"].append(
                    (
                        f"{at} duplicated, {pk} + {shift}",
                        f"insert into {table} ({', '.join(columns)}) values ({marks})",
                        list(again.values()),
                    )
                )
            for column in columns:
                for kind, value in _other_values(values[column], rng):
                    kinds[table, column, kind].append(
                        (
                            f"{column} of {at}: {kind} ({str(value)[:40]!r})",
                            f"update {table} set {column} = ? {where}",
                            [value, *which],
                        )
                    )
    db.close()
    queues = list(kinds.values())
    for queue in queues:
        rng.shuffle(queue)
    rng.shuffle(queues)
    turns = (change for turn in itertools.zip_longest(*queues) for change in turn if change is not None)
    return itertools.islice(turns, count)


def _tables(db):
    """All tables and their columns."""
    names = [name for (name,) in db.execute("select name from sqlite_schema where type = 'table' order by 1")]
    columns = "select name from pragma_table_info(?) order by cid"
    return {table: [name for (name,) in db.execute(columns, (table,))] for table in names}


def _other_values(value, rng):
    """Yield (kind, value) for other values of a column, also of other types, as a damaged row may have."""
    match value:
        case int():
            yield "plus 1", value + 1 if value < 2**63 - 1 else value - 1
            yield "minus 1", value - 1 if value > -(2**63) else value + 1
            yield "a bit flipped", _signed(value ^ (1 << rng.randrange(64)))
            yield "a low bit flipped", value ^ (1 << rng.randrange(6))
            for other in (0, -1, 33, 2**31, 2**40, 2**63 - 1, -(2**63)):
                if other != value:
                    yield f"now {other}", other
            yield "now text", "x"
            yield "now a blob", b"\1\2\3"
            yield "now null", None
        case str():
            place = rng.randrange(len(value) or 1)
            yield (
                "a character changed",
                value[:place] + chr(ord((value or "a")[place]) ^ 1) + value[place + 1 :],
            )
            yield "shorter", value[:-1] or "?"
            yield "longer", value + "x"
            yield "emptied", "" if value else "?"
            yield "now a blob", value.encode() + b"\xff"
            yield "now a number", 5
            yield "now null", None
        case bytes():
            place = rng.randrange(len(value) or 1)
            if value:
                yield "a byte flipped", _flipped(value, place, rng)
                yield "a byte shorter", value[:-1]
                yield "half as long", value[: len(value) // 2]
                yield "emptied", b""
            yield "a byte longer", value + rng.randbytes(1)
            yield "doubled", value + value or b"?"
            yield "now text", "x" * len(value)
            yield "now a number", 5
            yield "now null", None
        case None:
            yield "now 0", 0
            yield "now 1", 1
            yield "now a large number", 2**40
            yield "now text", '{"a"'


def _flipped(data, place, rng):
    return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]


def _signed(bits):
    bits %= 1 << 64
    return bits - (1 << 64) if bits >> 63 else bits


def change_row(path, statement, values):
    """Run a statement as if tables were not STRICT and had no constraints; False if it is still refused."""
    # A row with a damaged head has other types, and nulls where the schema allows no null.
    db = apsw.Connection(str(path))
    db.pragma("foreign_keys", False)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    db.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
    schema = db.execute(
        "select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%'"
    ).fetchall()
    for name, sql in schema:
        sql = sql.replace(") strict, without rowid", ") without rowid").replace(") strict", ")")
        sql = sql.replace(" not null", "").replace(" check (id = 1)", "")
        db.execute("update sqlite_schema set sql = ? where name = ?", (sql, name))
    db.close()
    db = apsw.Connection(str(path))
    db.pragma("foreign_keys", False)
    try:
        db.execute(statement, values)
    except (apsw.ConstraintError, apsw.MismatchError):
        return False
    finally:
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
        for name, sql in schema:
            db.execute("update sqlite_schema set sql = ? where name = ?", (sql, name))
        db.close()
    return True


def serve(expected_path):
    """Read paths from standard input, a line each; print problems and counts of outcomes as JSON."""
    expected = json.loads(Path(expected_path).read_text())
    with Path("/proc/self/statm").open() as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
    for line in sys.stdin:
        problems, outcomes = [], collections.Counter()
        for readonly in (True, False):
            _try(json.loads(line), readonly, expected, problems, outcomes)
        sys.stdout.write(json.dumps([problems, outcomes]) + "\n")
        sys.stdout.flush()


def _try(path, readonly, expected, problems, outcomes):
    def fault(operation, error):
        frames = [
            frame for frame in traceback.extract_tb(error.__traceback__) if "docindex/" in frame.filename
        ]
        at = f"{Path(frames[-1].filename).name}:{frames[-1].lineno} {frames[-1].name}" if frames else "?"
        problems.append(f"{type(error).__name__} at {at} | {operation}: {str(error)[:120]}")

    index = _outcome(lambda _: _opened.append(docindex.open(path, readonly=readonly, timeout_s=0)), None)
    if isinstance(index, docindex.DocIndexError):
        outcomes[type(index).__name__] += 1
        return
    if isinstance(index, BaseException):
        fault("open", index)
        return
    with _opened.pop() as index:
        findings = _outcome(docindex.Index.check, index)
        if isinstance(findings, BaseException) and not isinstance(findings, docindex.DocIndexError):
            fault("check", findings)
        named = findings != "[]"
        wrong = False
        for name, ask in questions(expected).items():
            answer = _outcome(ask, index)
            if isinstance(answer, docindex.DocIndexError):
                outcomes[type(answer).__name__] += 1
            elif isinstance(answer, BaseException):
                fault(name, answer)
            elif answer != expected["answers"][name]:
                wrong = True
                if not named:
                    problems.append(
                        f"wrong answer, unnamed | {name}: {answer[:80]} not {expected['answers'][name][:80]}"
                    )
            else:
                continue
            if findings == "[]":
                outcomes["error that check does not name"] += not wrong
        outcomes["named, wrong" if named and wrong else "named" if named else "right"] += 1
        if not readonly:
            for name, change in CHANGES.items():
                answer = _outcome(change, index)
                if isinstance(answer, BaseException) and not isinstance(answer, docindex.DocIndexError):
                    fault(name, answer)


_opened = []

# If a template is deleted, or a document whose text another document has, the index is as if the host had
# deleted it. So the changes ask whether the document is there.
HOSTS_OWN_CHANGE = re.compile(r"(document \[\d+\]|boilerplate \[\d+\]|file \[.*\]) deleted")

CHANGES = {
    "add": lambda index: index.add("new", prose(random.Random(1), 300)),
    "add a known text": lambda index: index.add("new too", index.text("big") or ""),
    "replace": lambda index: index.add("excerpt", "another text now"),
    "rename": lambda index: "copy" in index and index.rename("copy", "renamed"),
    "remove": lambda index: "last" in index and index.remove("last"),
    "optimize": lambda index: index.optimize(),
    "check after changes": lambda index: index.check(),
}


class Reader:
    """The child process, which is started again when it dies."""

    def __init__(self, expected_path):
        self._expected_path = expected_path
        self._process = None

    def read(self, path):
        """The problems with one copy, and the counts of its outcomes."""
        if self._process is None:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-c",
                    f"from tests.storage.damage import serve; serve({str(self._expected_path)!r})",
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        self._process.stdin.write(json.dumps(str(path)).encode() + b"\n")
        self._process.stdin.flush()
        # Not `select.select`, which refuses descriptors from 1,024 on.
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            ready = selector.select(_SECONDS)
        line = self._process.stdout.readline() if ready else b""
        if line:
            return json.loads(line)
        code = self._process.poll() if not ready else self._process.wait()
        problem = f"hang: no answer in {_SECONDS} s |" if code is None else f"crash: code {code} |"
        self.close()
        return [problem], {}

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def run(count, folder, seed=SEED):
    """Try `count` changes.

    Returns the problems as (change, problem), the counts of outcomes, and how many changes were tried.
    """
    whole = Path(folder) / "whole"
    build(whole)
    rng = random.Random(seed)
    expected = Path(folder) / "expected"
    expected.write_text(json.dumps(expected_of(whole)))
    source = whole.read_bytes()
    found, outcomes, tried = [], collections.Counter(), 0
    reader = Reader(expected)
    with contextlib.closing(reader):
        problems, counts = reader.read(whole)  # the undamaged index has no problem
        assert (problems, counts) == ([], {"right": 2}), (problems, counts)
        # Opening the file for writing has changed it.
        whole.write_bytes(source)

        def look(name, path):
            problems, counts = reader.read(path)
            if HOSTS_OWN_CHANGE.match(name):
                problems = [problem for problem in problems if not problem.startswith("wrong answer")]
            found.extend((name, problem) for problem in problems)
            outcomes.update(counts)
            for end in ("", "-wal", "-shm", "-journal"):
                Path(f"{path}{end}").unlink(missing_ok=True)

        for name, offset, data in byte_changes(count // 2, len(source), 8192, rng):
            data = data or bytes([source[offset] ^ (1 << rng.randrange(8))])
            if source[offset : offset + len(data)] == data:
                continue
            copy = Path(folder) / f"copy{tried}"
            changed = bytearray(source)
            changed[offset : offset + len(data)] = data
            copy.write_bytes(changed[: len(source)])
            look(name, copy)
            tried += 1
        for name, statement, values in row_changes(2 * count, rng, whole):
            copy = Path(folder) / f"copy{tried}"
            copy.write_bytes(source)
            if not change_row(copy, statement, values):
                continue
            look(name, copy)
            tried += 1
            if tried >= count:
                break
    return found, outcomes, tried


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        found, outcomes, tried = run(count, folder, seed)
    kinds = collections.defaultdict(list)
    for name, problem in found:
        head, _, rest = problem.partition("|")
        kinds[
            head.strip() if not head.startswith("wrong") else f"{head}| {rest.split(':')[0].split(' ')[1]}"
        ].append(f"{name} ->{rest}")
    for kind, cases in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(cases):5} {kind}")
        for case in cases[:: max(1, len(cases) // 4)][:4]:
            print(f"          {case[:230]}")
    print(f"{tried} changes, {time.monotonic() - began:.0f} s, {len(found)} problems; {dict(outcomes)}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
