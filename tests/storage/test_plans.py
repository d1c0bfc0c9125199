"""No statement that adds, removes or looks up a document scans a whole table."""

import random
import re

import apsw
import numpy as np
import pytest

import docindex
from docindex import Recipe
from docindex.storage.postings import segment_writer
from docindex.storage.rows import contents
from tests.storage.answers import looked_up
from tests.storage.texts import prose

RECIPE = Recipe(min_s=8, mod_m=3, level=8)

# A statement may scan values that were passed in, small tables, and the index of the keys, which an iteration
# reads in order.
SMALL = [
    r"SCAN wanted VIRTUAL TABLE INDEX \d+:.*",
    r"SCAN (main\.docindex_segment|s)( USING .*)?",
    r"SCAN main\.sqlite_sequence",
    r"SCAN main\.docindex_document USING INDEX sqlite_autoindex_docindex_document_1",
    r"SCAN main\.docindex_document USING INDEX docindex_document_content",  # the first or the last row
    r"SCAN \(subquery-\d\)",  # a row
    r"SCAN (main\.docindex_dead|d LEFT-JOIN)",  # the next merges delete its rows
    r"SCAN b (USING INDEX \w+ )?LEFT-JOIN",  # boilerplate
    r"SCAN main\.docindex_boilerplate( USING .*)?",
    r"SCAN CONSTANT ROW",
    r"SCAN (main\.)?docindex_(pending|changed|source)",  # the first row; a few tables
]
WHOLE = {"similar": ["SCAN main.docindex_content"]}
"""The scans of operations that are documented to read a whole table once."""


def filled(documents):
    """An index in memory: a single connection reads and writes, so a test can trace every statement."""
    index = docindex.open(":memory:", recipe=RECIPE)
    index.add_many(
        [(f"{n:05}", f"number {n} " + prose(random.Random(n), 12)) for n in range(documents)], workers=1
    )
    return index


def operations(index):
    """All operations on single documents, by name."""

    def look_up():
        with index._store.reading() as db:
            number = index["00003"].content
            hashes, _ = contents.fingerprints_of(db, number, RECIPE.window)
            found = looked_up(db, np.unique(hashes))
        assert number in found[1]

    def merge():
        with index._store.writing() as db:
            segment_writer.merge_postings(db, 100, everything=True)

    return {
        "add": lambda: index.add("new", "a new text that nobody has " * 3, meta=1),
        "add again": lambda: index.add("new", "a new text that nobody has " * 3, meta=1),
        "another meta": lambda: index.add("new", "a new text that nobody has " * 3, meta=2),
        "add a copy": lambda: index.add("copy", "a new text that nobody has " * 3),
        "replace": lambda: index.add("00001", "other words than there were before " * 3),
        "add many": lambda: index.add_many(
            [(f"more {n}", f"a text, number {n}") for n in range(10)], workers=1
        ),
        "look up": look_up,
        "merge": merge,
        "get": lambda: index["00002"],
        "in": lambda: "00002" in index,
        "text": lambda: index.text("00002"),
        "first keys": lambda: next(iter(index)),
        "add boilerplate": lambda: index.boilerplate.add("a new text that nobody has"),
        "search": lambda: index.search("00003", where="meta is null", ignore_above=30),
        "search for a text without fingerprints": lambda: index.search("?"),
        "similar": lambda: index.similar("00003", 0.5),
        "compare": lambda: index.compare("00003", "00004"),
        "export sketches": lambda: index.export_sketches().read_next_batch(),
        "load sketches": lambda: index.load_sketches(index.export_sketches().read_next_batch().slice(0, 1)),
        "rename": lambda: index.rename("copy", "other"),
        "remove a copy": lambda: index.remove("other"),
        "remove": lambda: index.remove("00002"),
    }


@pytest.mark.parametrize("name", list(operations(None)))
def test_no_statement_of_an_operation_scans_a_large_table(name):
    with filled(60) as index:
        db = index._store._writer
        statements = {}

        def trace(_, sql, bindings):
            statements.setdefault(sql, bindings)
            return True

        for other, operation in operations(index).items():
            db.exec_trace = trace if other == name else None
            operation()
        db.exec_trace = None
        scans, explained = [], 0
        for sql, bindings in statements.items():
            if sql.split()[0].lower() not in {"select", "insert", "update", "delete"}:
                continue
            explained += 1
            for *_, step in db.execute(f"explain query plan {sql}", bindings):
                if step.startswith("SCAN") and not any(re.fullmatch(small, step) for small in SMALL):
                    scans.append((step, sql))
    assert [step for step, _ in scans] == WHOLE.get(name, []), scans
    assert explained > 0


def steps_of(index):
    """How many steps of SQLite's virtual machine each operation takes, and how many of them scan a table."""
    found = {}
    db = index._store._writer
    for name, operation in operations(index).items():
        events = []
        db.trace_v2(apsw.SQLITE_TRACE_PROFILE, lambda event, events=events: events.append(event))
        operation()
        db.trace_v2(0)
        found[name] = (
            sum(event["stmt_status"]["SQLITE_STMTSTATUS_VM_STEP"] for event in events),
            sum(event["stmt_status"]["SQLITE_STMTSTATUS_FULLSCAN_STEP"] for event in events),
        )
    return found


def test_an_operation_takes_no_more_steps_in_a_larger_index():
    # A plan does not show all costs, for example not that of a foreign key.
    with filled(100) as small, filled(2000) as large:
        in_small, in_large = steps_of(small), steps_of(large)
    grown = {
        name: (in_small[name], steps)
        for name, steps in in_large.items()
        # A merge moves blocks, and the larger index has more of them. An iteration reads 1000 keys. In a
        # larger index, more documents share text with the query. An export reads 4096 documents.
        if name not in {"merge", "first keys", "search", "similar", "export sketches", "load sketches"}
        and (steps[0] > 2 * in_small[name][0] + 200 or steps[1] > in_small[name][1] + 20)
    }
    assert grown == {}
