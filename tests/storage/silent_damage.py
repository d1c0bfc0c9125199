"""Damage a small index in many ways, ask it a fixed set of questions, and count the wrong answers.

``python -m tests.storage.silent_damage 100000`` makes 100,000 changes, each in a copy of its own: one third
each of bytes of the file, of single values, and of whole rows (deleted, duplicated, swapped). An answer is
right, or a docindex error, or *wrong and silent*. The program prints how many changes were silent by kind and
by table, and whether `check()` names them, and names every crash, hang, excess of memory and stray error.
Child processes with limited memory and time read the copies.
"""

import argparse
import collections
import dataclasses
import functools
import json
import multiprocessing
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

import apsw

import docindex
from docindex import Id, Text
from tests.storage import damage

SECONDS = 20
MEMORY = 200 << 20
PAGE = 8192
WORDS = 250

Question = Callable[[docindex.Index], Any]


class Change(NamedTuple):
    """One way to damage the file."""

    kind: str
    """ "bytes", "value", "row deleted", "row duplicated" or "row swapped"."""
    where: str
    """The table or index, and the column of a value."""
    name: str
    data: bytes
    """The damaged file."""


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The answers of a damaged file."""

    kind: str
    where: str
    name: str
    wrong: tuple[str, ...] = ()
    """The questions whose answers were wrong, without an error."""
    told: bool = False
    """Whether a question raised a docindex error."""
    named: bool | None = None
    """Whether `check()` names the damage; None if it was not asked."""
    fault: str = ""
    """A crash, a hang, an excess of memory, or an error that is not docindex's."""


def questions() -> dict[str, Question]:
    """The fixed questions, by name: in Python and in SQL."""
    excerpt = damage.prose(random.Random(damage.SEED), WORDS)[700:1300]
    sql = functools.partial(_sql, excerpt=excerpt)
    return {
        "keys": list,
        "len": len,
        "stats": damage._stats,
        "search text": lambda index: list(map(damage._numbers, index.search(Text(excerpt), limit=None))),
        "search exact": lambda index: list(
            map(damage._numbers, index.search(Text(excerpt), exact=True, min_containment=0.1))
        ),
        "search without fingerprints": lambda index: [m.key for m in index.search(Text("?"))],
        "similar": lambda index: list(map(damage._numbers, index.similar("big", 0.3))),
        "similar features": lambda index: [m.key for m in index.similar("big", 0.3, method="features")],
        "near": lambda index: [(found.key, found.distance) for found in index.near("big", 20)],
        "compare": lambda index: str(index.compare("big", "last")),
        "compare not kept": lambda index: str(index.compare("big", "not kept")),
        "pairs": lambda index: [dataclasses.astuple(pair) for pair in index.pairs(min_resemblance=0.3)],
        "pairs by fingerprints": lambda index: [
            dataclasses.astuple(pair) for pair in index.pairs(min_containment=0.1, method="fingerprints")
        ],
        "pairs by slots": lambda index: [
            (pair.a, pair.b) for pair in index.pairs(min_resemblance=0.3, method="slots")
        ],
        "document": lambda index: repr(index["changed"]),
        "text": lambda index: index.text("excerpt"),
        "text by id": lambda index: str(index.measures(Id(2), Id(3))),
        "templates": lambda index: list(map(repr, index.boilerplate)),
        "files": lambda index: list(map(repr, index.files.under("/home"))),
        "SQL doc_search": sql("select key, containment from doc_search(?) limit 5"),
        "SQL doc_containment": sql("select doc_containment(?, 2)"),
        "SQL doc_passages": sql("select length from doc_passages(1, 2) where ? <> ''"),
        "SQL fingerprint_list": sql(
            "select position, hash from fingerprint_list where document = 2 and ? > ''"
        ),
    }


def _sql(statement: str, excerpt: str) -> Question:
    return lambda index: index.execute(statement, [excerpt])


def answer(ask: Question, index: docindex.Index) -> str | BaseException:
    """An answer as JSON, or the error."""
    try:
        return json.dumps(ask(index))
    except BaseException as error:
        return error


class Changes:
    """The changes of a file, by their numbers."""

    def __init__(self, source: bytes, path: str, seed: int) -> None:
        self._source = source
        self._seed = seed
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        self._owners = dict(db.execute("select pageno, name from dbstat"))
        self._tables = damage._tables(db)
        self._rows = {table: self._rows_of(db, table) for table in self._tables}
        self._schema = db.execute(
            "select name, sql from sqlite_schema where type = 'table' and name not like 'sqlite_%'"
        ).fetchall()
        db.close()
        self._loose = self._loosened()

    def _rows_of(self, db: apsw.Connection, table: str) -> list[tuple[Any, ...]]:
        return db.execute(f"select {', '.join(self._names(table))} from {table}").fetchall()

    def _names(self, table: str) -> list[str]:
        """The columns of the key that are not among the others, and the columns."""
        key, columns = damage.WITHOUT_ROWID.get(table, ["rowid"]), self._tables[table]
        return [*(name for name in key if name not in columns), *columns]

    def _loosened(self) -> bytes:
        """The file without constraints, for changes that only a damaged page can make."""
        db = self._opened(self._source)
        for name, sql in self._schema:
            sql = sql.replace(") strict, without rowid", ") without rowid").replace(") strict", ")")
            sql = sql.replace(" not null", "").replace(" check (id = 1)", "")
            db.execute("update sqlite_schema set sql = ? where name = ?", (sql, name))
        return db.serialize("main")

    def _opened(self, data: bytes) -> apsw.Connection:
        db = apsw.Connection(":memory:")
        db.deserialize("main", data[:18] + b"\1\1" + data[20:])  # not in write-ahead mode
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
        db.pragma("foreign_keys", False)
        return db

    def change(self, number: int) -> Change | None:
        """The change with a number; None if it changes nothing, or SQLite refuses it."""
        rng = random.Random(f"{self._seed} {number}")
        if number % 3 == 0:
            return self._bytes(rng)
        return self._value(rng) if number % 3 == 1 else self._row(rng)

    def _bytes(self, rng: random.Random) -> Change | None:
        ((name, offset, new),) = damage.byte_changes(1, len(self._source), PAGE, _Quarter(rng))
        new = new or bytes([self._source[offset] ^ (1 << rng.randrange(8))])
        data = (self._source[:offset] + new + self._source[offset + len(new) :])[: len(self._source)]
        where = self._owners.get(offset // PAGE + 1, "free")
        return None if data == self._source else Change("bytes", where, name, data)

    def _value(self, rng: random.Random) -> Change | None:
        table = rng.choice([table for table in self._tables if self._rows[table]])
        row, column = rng.choice(self._rows[table]), rng.choice(self._tables[table])
        old = row[self._names(table).index(column)]
        kind, new = rng.choice([*damage._other_values(old, rng), ("now a float", 0.5), ("now huge", 1e300)])
        statement = f"update {table} set {column} = ?"
        return self._by_sql("value", f"{table}.{column}", kind, [(statement, (new,), table, row)])

    def _row(self, rng: random.Random) -> Change | None:
        table = rng.choice([table for table in self._tables if self._rows[table]])
        rows, columns, names = self._rows[table], self._tables[table], self._names(table)
        row = rng.choice(rows)
        kind = rng.choice(["row deleted", "row duplicated", "row swapped"])
        if kind == "row deleted":
            return self._by_sql(kind, table, str(row)[:60], [(f"delete from {table}", (), table, row)])
        if kind == "row duplicated":
            values = dict(zip(names, row, strict=True))
            again = [values[column] for column in columns]
            if isinstance(again[0], int):
                again[0] += rng.choice([1, 7, 1 << 20, 1 << 33])
            for place, column in enumerate(columns):
                if column in ("hash", "key", "name"):  # else a unique index refuses the row
                    again[place] += again[place][:1]
            marks = ", ".join("?" * len(columns))
            statement = f"insert into {table} ({', '.join(columns)}) values ({marks})"
            return self._by_sql(kind, table, str(row)[:60], [(statement, tuple(again), "", ())])
        other, some = rng.choice(rows), columns[1:] or columns  # exchange all but the first columns
        sets = f"update {table} set {', '.join(f'{name} = ?' for name in some)}"
        own, new = ([of[names.index(name)] for name in some] for of in (row, other))
        free = [f"{value}?" if isinstance(value, str) else value for value in own]
        free = [value + b"?" if isinstance(value, bytes) else value for value in free]
        steps = [(sets, tuple(free), table, row), (sets, tuple(own), table, other)]
        return self._by_sql(kind, table, f"{row} {other}"[:60], [*steps, (sets, tuple(new), table, row)])

    def _by_sql(
        self, kind: str, where: str, name: str, steps: list[tuple[str, tuple[Any, ...], str, tuple[Any, ...]]]
    ) -> Change | None:
        """A change by statements; each ends with the table and the row that it changes."""
        db = self._opened(self._loose)
        try:
            for statement, bindings, table, row in steps:
                if table:
                    key = damage.WITHOUT_ROWID.get(table, ["rowid"])
                    statement += f" where {' and '.join(f'{name} = ?' for name in key)}"
                    bindings += tuple(row[self._names(table).index(name)] for name in key)
                db.execute(statement, bindings)
        except (apsw.ConstraintError, apsw.MismatchError):
            return None
        for table, sql in self._schema:
            db.execute("update sqlite_schema set sql = ? where name = ?", (sql, table))
        made = db.serialize("main")
        data = made[:18] + b"\2\2" + made[20:]

        same = (
            data[:24] + data[28:92] + data[100:]
            == self._source[:24] + self._source[28:92] + self._source[100:]
        )
        return None if same else Change(kind, where, name, data)


class _Quarter:
    """Random numbers for `byte_changes`, which tries its kinds in turn."""

    def __init__(self, rng: random.Random) -> None:
        self.random, self.randrange, self.choice = rng.random, rng.randrange, rng.choice
        self.randbytes, self.shuffle = rng.randbytes, rng.shuffle


def read(change: Change, path: Path, expected: dict[str, str]) -> Outcome:
    """Ask all questions of a damaged file."""
    for end in ("-wal", "-shm", "-journal"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    path.write_bytes(change.data)
    about = change.kind, change.where, change.name
    wrong, told, fault = [], False, ""
    try:
        index = docindex.open(path, readonly=True, timeout_s=0)
    except docindex.DocIndexError:
        # An index that does not open has told it, and cannot be checked.
        return Outcome(*about, told=True, named=True)
    except BaseException as error:
        return Outcome(*about, fault=f"open: {error!r}")
    with index:
        for name, ask in questions().items():
            found = answer(ask, index)
            if isinstance(found, docindex.DocIndexError):
                told = True
            elif isinstance(found, (KeyError, ValueError)):  # as if there were no such document
                wrong.append(name)
            elif isinstance(found, BaseException):
                fault = fault or f"{name}: {found!r}"[:200]
            elif found != expected[name]:
                wrong.append(name)
        named = None
        if wrong or change.kind == "row deleted":
            try:
                named = bool(index.check())
            except docindex.DocIndexError:
                named = True
            except BaseException as error:
                fault = fault or f"check: {error!r}"[:200]
    return Outcome(*about, tuple(wrong), told, named, fault)


def serve(pipe: Connection, folder: str, seed: int) -> None:
    """Read the numbers of changes from a pipe; send the outcome of each, or None if it changes nothing."""
    whole = Path(folder) / "whole"
    changes = Changes(whole.read_bytes(), str(whole), seed)
    expected = json.loads((Path(folder) / "expected").read_text())
    copy = Path(folder) / f"copy-{multiprocessing.current_process().pid}"
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    while (number := pipe.recv()) is not None:
        change = changes.change(number)
        pipe.send(None if change is None else read(change, copy, expected))


class Worker:
    """A child process, which is started again when it dies or hangs."""

    def __init__(self, folder: str, seed: int) -> None:
        self._arguments = folder, seed
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, number: int) -> None:
        """Send the number of a change."""
        self.number, self.since = number, time.monotonic()
        self.pipe.send(number)

    def outcome(self) -> Outcome | None:
        """The outcome of the last change."""
        try:
            found: Outcome | None = self.pipe.recv()
            return found
        except EOFError:
            self._process.join()
            return self._again(f"crash: code {self._process.exitcode}")

    def late(self) -> Outcome | None:
        """The outcome of a change that took too long."""
        return self._again(f"hang: no answer in {SECONDS} s")

    def _again(self, fault: str) -> Outcome:
        self.close()
        self._start()
        return Outcome("?", "?", f"number {self.number}", fault=fault)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def run(numbers: range, seed: int = damage.SEED, workers: int = 1) -> list[Outcome]:
    """The outcomes of the changes with some numbers."""
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        whole = Path(folder) / "whole"
        damage.build(whole, WORDS)
        source = whole.read_bytes()
        with docindex.open(whole, readonly=True) as index:
            expected = {name: answer(ask, index) for name, ask in questions().items()}
        assert all(isinstance(found, str) for found in expected.values()), expected
        whole.write_bytes(source)
        (Path(folder) / "expected").write_text(json.dumps(expected))
        remaining = iter(numbers)
        busy = {}
        for _ in range(workers):
            worker = Worker(folder, seed)
            worker.ask(next(remaining))
            busy[worker.pipe] = worker
        while busy:
            ready = wait(list(busy), timeout=1)
            late = [pipe for pipe, worker in busy.items() if time.monotonic() - worker.since > SECONDS]
            for pipe in {*ready, *late}:
                worker = busy.pop(pipe)
                found = worker.outcome() if pipe in ready else worker.late()
                outcomes += [found] if found is not None else []
                if (number := next(remaining, None)) is None:
                    worker.close()
                else:
                    worker.ask(number)
                    busy[worker.pipe] = worker
    return outcomes


def report(outcomes: list[Outcome]) -> str:
    """The rates by kind and by table, and examples of what went wrong."""
    lines = [f"{'':34}{'changes':>9}{'told':>9}{'silent':>9}{'unnamed':>9}{'faults':>9}"]
    groups: dict[str, list[Outcome]] = collections.defaultdict(list)
    for outcome in outcomes:
        groups["all"].append(outcome)
        groups[outcome.kind].append(outcome)
        groups[f"  {outcome.kind}: {outcome.where.split('.')[0]}"].append(outcome)
        if "." in outcome.where and outcome.wrong:
            groups[f"    column {outcome.where}"].append(outcome)
    for name, some in sorted(groups.items(), key=lambda item: item[0].strip()):
        silent = [outcome for outcome in some if outcome.wrong]
        unnamed = sum(outcome.named is False for outcome in some)
        numbers = len(some), sum(outcome.told for outcome in some), len(silent), unnamed
        lines.append(
            f"{name:34}"
            + "".join(f"{n:9,}" for n in (*numbers, sum(bool(o.fault) for o in some)))
            + f"   {len(silent) / len(some):.3%}"
        )
    asked = collections.Counter(name for outcome in outcomes for name in outcome.wrong)
    lines.append("wrong and silent by question: " + ", ".join(f"{n} {c}" for n, c in asked.most_common()))
    for title, some in (
        ("silent", [outcome for outcome in outcomes if outcome.wrong]),
        ("not named by check()", [outcome for outcome in outcomes if outcome.named is False]),
        ("faults", [outcome for outcome in outcomes if outcome.fault]),
    ):
        lines += [f"{title}: {outcome}"[:400] for outcome in some[:: max(1, len(some) // 12)][:12]]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Count wrong answers of a damaged index.")
    parser.add_argument("count", type=int, nargs="?", default=3000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=damage.SEED)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    began = time.monotonic()
    numbers = range(options.first, options.first + options.count)
    outcomes = run(numbers, options.seed, options.workers)
    print(report(outcomes))
    print(f"{len(outcomes):,} changes in {time.monotonic() - began:.0f} s")
    sys.exit(any(outcome.fault or outcome.named is False for outcome in outcomes))


if __name__ == "__main__":
    main()
