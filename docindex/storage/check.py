"""An index in, everything that is wrong with it out.

Reads all of it. Must never write, nor stop at the first finding.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import numpy as np

from docindex.errors import CorruptIndex, DocIndexError
from docindex.kernels.arrays import I64, U64, mix
from docindex.kernels.feature_hashes import features
from docindex.recipe import Recipe
from docindex.storage import contents, postings
from docindex.storage.batch_rows import PART_BITS
from docindex.storage.rows import row_sum, rows, stream, value

_MOST_FINDINGS = 100
_ROWS_AT_A_TIME = 8192


def findings(db: apsw.Connection, recipe: Recipe, check_cancelled: Callable[[], None]) -> list[str]:
    """All findings, a sentence each; `go_on` is called between steps, and may raise to stop."""
    looks = (
        _structure,
        _references,
        _stored_recipe,
        _documents,
        _contents,
        _samples,
        _features,
        _postings,
        _texts,
        _boilerplate,
        _files,
    )
    found: list[str] = []
    for look in looks:
        check_cancelled()
        try:
            for finding in look(db, recipe):
                found.append(finding)
                if len(found) >= _MOST_FINDINGS:
                    return [*found, "and more: the check stopped here"]
        except apsw.InterruptError:
            raise
        except (apsw.Error, DocIndexError) as error:
            found.append(f"{_name(look)} cannot be read: {error}")
    check_cancelled()
    return found


def _structure(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    """SQLite's own structures."""
    for (finding,) in stream(db, f"pragma integrity_check({_MOST_FINDINGS})"):
        if finding != "ok":
            yield f"SQLite: {' '.join(finding.split())}"


def _references(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    """Rows that point to others."""
    for table, row, parent, _ in stream(db, "pragma foreign_key_check"):
        yield f"row {row} of {table} points to a row of {parent} that is not there"
    for (content,) in stream(
        db, "select content from main.dead where content in (select id from main.content)"
    ):
        yield f"content {content} is both there and dead"
    counters = dict(rows(db, "select name, seq from main.sqlite_sequence"))
    for table, column in (("content", "id"), ("document", "id"), ("segment", "id"), ("dead", "segment")):
        greatest = value(db, f"select max({column}) from main.{table}")
        counted = counters.get("segment" if table == "dead" else table, 0)
        numbers = isinstance(counted, int) and isinstance(greatest, int)
        if greatest is not None and not (numbers and greatest <= counted):
            yield f"a {column} of {table} is beyond the counter: numbers could come back"


def _stored_recipe(db: apsw.Connection, recipe: Recipe) -> Iterator[str]:
    """The recipe."""
    for text, stored in stream(db, "select json, sum from main.recipe"):
        if row_sum(text) != stored or text != recipe.to_json():
            yield "the recipe was changed"


def _documents(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    """The documents."""
    for *row, stored in stream(db, "select id, key, content, meta, added_at, sum from main.document"):
        if row_sum(*row) != stored:
            yield f"document {row[0]} ({row[1]!r}) was changed other than by docindex"


def _contents(db: apsw.Connection, recipe: Recipe) -> Iterator[str]:
    """The contents and their fingerprints."""
    query = (
        "select id, hash, reading, symbols_hash, characters, symbols, shingles, fingerprints, hashes, "
        "simhash, slots, parts, sum, exists (select 1 from main.document as d where d.content = c.id) "
        "from main.content as c"
    )
    for *row, stored, used in stream(db, query):
        content, symbols, count, different = row[0], row[5], row[7], row[8]
        if row_sum(*row) != stored:
            yield f"content {content} was changed"
        if not used:
            yield f"content {content} belongs to no document"
        hashes, positions = contents.fingerprints_of(db, content, recipe.window)
        distances = np.diff(positions)
        if len(positions) != count or (distances <= 0).any() or (distances > recipe.window).any():
            yield f"the fingerprints of content {content} are not where winnowing leaves them"
        elif (count > 0) != (symbols >= recipe.k) or (count and positions[-1] + recipe.k > symbols):
            yield f"the fingerprints of content {content} do not fit its {symbols} symbols"
        elif len(np.unique(hashes)) != different:
            yield f"content {content} has not {different} different hashes"
    for *row, stored in stream(db, "select id, hashes, gaps, sum from main.fingerprint"):
        if row_sum(*row) != stored:
            yield f"the fingerprints of content {row[0] >> PART_BITS} were changed"
    for table in ("fingerprint", "text"):
        unowned = f"select id >> {PART_BITS} from main.{table} except select id from main.content"
        for (content,) in stream(db, unowned):
            yield f"a row of {table} belongs to content {content}, which is not there"


def _samples(db: apsw.Connection, recipe: Recipe) -> Iterator[str]:
    """The samples."""
    for *row, stored in stream(db, "select content, min_s, mod_m, level, sum from main.sample"):
        if row_sum(*row) != stored:
            yield f"the samples of content {row[0]} were changed"
    if recipe.min_s or recipe.mod_m or recipe.level:
        for (content,) in stream(db, "select id from main.content except select content from main.sample"):
            yield f"content {content} has no samples"


def _features(db: apsw.Connection, recipe: Recipe) -> Iterator[str]:
    """The features."""
    k, s, _ = recipe.features
    expected = stored = 0
    for some in _chunks(stream(db, "select id, slots from main.content")):
        whole = [(content, data) for content, data in some if len(data) == 4 * recipe.slots]
        if len(whole) < len(some):
            yield f"{len(some) - len(whole)} contents have not {recipe.slots} slots"
        slots = np.frombuffer(b"".join(data for _, data in whole), "<u4").reshape(-1, recipe.slots)
        # Equal features of one content are one row.
        values = np.sort(features(slots, k, s), axis=1)
        first = np.ones(values.shape, bool)
        first[:, 1:] = values[:, 1:] != values[:, :-1]
        of = np.repeat(np.array([content for content, _ in whole], np.int64), k).reshape(-1, k)
        expected += _total(values[first], of[first])
    for some in _chunks(stream(db, "select value, content from main.feature")):
        table = np.array(some, np.int64)
        stored += _total(table[:, 0].copy().view(np.uint64), table[:, 1])
    if (expected - stored) % 2**64:
        yield "the features are not those of the contents' sketches"


def _postings(db: apsw.Connection, recipe: Recipe) -> Iterator[str]:
    """The inverted index."""
    high_bits = np.uint64(64 - postings.HASH_BITS)
    alive = np.array(
        [content for (content,) in stream(db, "select id from main.content order by id")], np.int64
    )
    dead = np.array([content for (content,) in stream(db, "select content from main.dead")], np.int64)
    stored = in_segments = 0
    for segment in postings.all_segments(db):
        count = 0
        for keys, blocks in postings.all_blocks(db, segment):
            found = postings.postings_in(segment, keys)
            count += len(keys)
            in_segments += blocks
            there = np.isin(found.contents, alive)
            strangers = found.contents[~there & ~np.isin(found.contents, dead)]
            if len(strangers):
                yield f"segment {segment.id} has postings of content {strangers[0]}, which is not there"
            stored += _total(found.hashes[there] >> high_bits, found.contents[there])
        if segment.target is None and segment.moved is None and count != segment.postings:
            yield f"segment {segment.id} has {count} postings, and should have {segment.postings}"
    if in_segments != value(db, "select count(*) from main.posting"):
        yield "there are blocks that belong to no segment"
    expected = 0
    for content in alive.tolist():
        hashes, _ = contents.fingerprints_of(db, content, recipe.window)
        prefixes = np.unique(hashes >> high_bits)
        expected += _total(prefixes, np.full(len(prefixes), content))
    if (expected - stored) % 2**64:
        yield "the inverted index does not say what the documents' fingerprints say"


def _texts(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    """The texts."""
    for (content,) in stream(db, "select id from main.content"):
        try:
            contents.text_of(db, content)
        except CorruptIndex as error:
            yield str(error)


def _boilerplate(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    """The templates."""
    query = "select id, name, hash, text, grams, shingles, sum from main.boilerplate"
    for number, *row, stored in stream(db, query):
        if row_sum(*row) != stored or contents.text_hash(row[2]) != row[1]:
            yield f"the template {row[0]!r} (number {number}) was changed"


def _chunks(found: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows, some thousand at a time."""
    while some := list(itertools.islice(found, _ROWS_AT_A_TIME)):
        yield some


def _total(values: U64, of_contents: I64) -> int:
    """A sum that does not depend on the order, and that hardly two sets of pairs have in common."""
    return int(mix(values ^ mix(of_contents.astype(np.uint64))).sum(dtype=np.uint64)) if len(values) else 0


def _name(look: Callable[[apsw.Connection, Recipe], Iterator[str]]) -> str:
    return (look.__doc__ or "").rstrip(".").lower()


def _files(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    query = "select key, size, mtime_ns, device, inode, kind, digest, sum from main.file"
    for *row, stored in stream(db, query):
        if row_sum(*row) != stored:
            yield f"what is known of the file {row[0]!r} does not match its checksum; scan again"
