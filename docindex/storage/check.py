"""Check an index: find everything that is wrong with a file.

Takes a connection; returns findings, a sentence for each. Reads the whole file. Must never write, and must
never stop at the first finding.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import apsw
import numpy as np

from docindex.arrays.ranges import I64, U64, mix
from docindex.errors import CorruptIndex, DocIndexError, OutOfDate, RecipeError
from docindex.minhash.slots import features
from docindex.recipe import Recipe
from docindex.storage import tallies
from docindex.storage.followed import rows as app_rows
from docindex.storage.followed import tables, triggers
from docindex.storage.postings import segments
from docindex.storage.postings.simhash_index import bands_of
from docindex.storage.rows import contents, extractions
from docindex.storage.rows.batch_rows import PART_BITS
from docindex.storage.rows.contents import traits_of
from docindex.storage.rows.slot_bytes import slots_in
from docindex.storage.statements import OUR_TABLES, PREFIX, rows, stream, value
from docindex.storage.tables import BOILERPLATE, CONTENT, DOCUMENT, FILE, FINGERPRINT, RECIPE, SAMPLE

_MOST_FINDINGS = 100
_ROWS_AT_A_TIME = 8192
_LOW_BITS = np.uint64(64 - segments.POSTING_HASH_BITS)  # the bits of a hash that postings leave out


def findings(db: apsw.Connection, recipe: Recipe, check_cancelled: Callable[[], None]) -> list[str]:
    """All findings, a sentence for each. `check_cancelled` runs between steps, and may raise an error."""
    found: list[str] = []
    for label, step in _STEPS:
        check_cancelled()
        try:
            for finding in step(db, recipe):
                found.append(finding)
                if len(found) >= _MOST_FINDINGS:
                    return [
                        *found,
                        f"the check stopped after {_MOST_FINDINGS} findings; there may be more damage",
                    ]
        except apsw.InterruptError:
            raise
        except (apsw.Error, DocIndexError) as error:
            found.append(f"{label} cannot be read: {error}")
    check_cancelled()
    return found


def _structure(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    try:
        found = rows(db, f"pragma main.integrity_check({_MOST_FINDINGS})")
    except apsw.SQLError:  # an index of the app uses a function that only the app has
        found = [
            finding
            for (table,) in rows(db, OUR_TABLES)
            for finding in rows(db, f"pragma main.integrity_check({table})")
        ]
    for (finding,) in found:
        if finding != "ok":
            yield f"SQLite: {' '.join(finding.split())}"


def _references(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    for table, row, parent, _ in stream(db, "pragma main.foreign_key_check"):
        yield f"row {row} of {table} refers to a row of {parent} that is missing"
    for (content,) in stream(
        db, "select content from main.docindex_dead where content in (select id from main.docindex_content)"
    ):
        yield f"content {content} exists, but is also listed as removed"
    counters = dict(rows(db, "select name, seq from main.sqlite_sequence"))
    for table, column, owner in (
        *((table, "id", table) for table in ("content", "document", "boilerplate", "segment")),
        *(("dead", "segment", "segment"), ("dead", "content", "content")),
    ):
        greatest = value(db, f"select max({column}) from main.{PREFIX}{table}")
        counted = counters.get(PREFIX + owner, 0)
        numbers = isinstance(counted, int) and isinstance(greatest, int)
        if greatest is not None and not (numbers and greatest <= counted):
            yield f"the column {column} of {table} exceeds its counter, so an id could be used twice"


def _stored_recipe(db: apsw.Connection, recipe: Recipe) -> Iterator[str]:
    for found in stream(db, RECIPE.select):
        row = RECIPE.checked(found)
        try:
            changed = row is None or Recipe.from_json(row.json) != recipe
        except RecipeError:
            changed = True
        if changed:
            yield "the recipe was changed"


def _documents(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    for found in stream(db, DOCUMENT.select):
        if not DOCUMENT.is_intact(found):
            yield f"document {found[0]} ({found[1]!r}) was changed by a program other than docindex"


def _contents(db: apsw.Connection, recipe: Recipe) -> Iterator[str]:
    for found in stream(db, CONTENT.select):
        row = CONTENT.made(found)
        if not CONTENT.is_intact(found):
            yield f"content {row.id} was changed"
        hashes, positions = contents.fingerprints_of(db, row.id, recipe.window)
        distances = np.diff(positions)
        count = row.fingerprints
        if len(positions) != count or (distances <= 0).any() or (distances > recipe.window).any():
            yield f"the fingerprints of content {row.id} are not at positions that winnowing selects"
        elif (count > 0) != (row.symbols >= recipe.k) or (count and positions[-1] + recipe.k > row.symbols):
            yield f"the fingerprints of content {row.id} do not fit its {row.symbols} symbols"
        elif len(np.unique(hashes)) != row.hashes:
            yield f"content {row.id} does not have {row.hashes} different hashes"


def _owners(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    unused = "select id from main.docindex_content except select content from main.docindex_document"
    for (content,) in stream(db, unused):
        yield f"content {content} belongs to no document"
    for table, having in (("fingerprint", ""), ("text", " where kept")):
        unowned = (
            f"select id >> {PART_BITS} from main.{PREFIX}{table} except "
            f"select id from main.docindex_content{having}"
        )
        for (content,) in stream(db, unowned):
            yield f"a row of {table} belongs to content {content}, which is missing or should have none"


def _fingerprints(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    for found in stream(db, FINGERPRINT.select):
        if not FINGERPRINT.is_intact(found):
            yield f"the fingerprints of content {found[0] >> PART_BITS} were changed"


def _samples(db: apsw.Connection, recipe: Recipe) -> Iterator[str]:
    for found in stream(db, SAMPLE.select):
        if not SAMPLE.is_intact(found):
            yield f"the samples of content {found[0]} were changed"
    if recipe.min_s or recipe.mod_m or recipe.level:
        for (content,) in stream(
            db, "select id from main.docindex_content except select content from main.docindex_sample"
        ):
            yield f"content {content} has no samples"


def _postings(db: apsw.Connection, recipe: Recipe) -> Iterator[str]:
    alive = np.array(
        [content for (content,) in stream(db, "select id from main.docindex_content order by id")], np.int64
    )
    dead = np.array(
        [content for (content,) in stream(db, "select content from main.docindex_dead")], np.int64
    )
    totals = dict.fromkeys(segments.KINDS, 0)
    blocks = 0
    for segment in segments.all_segments(db):
        count = 0
        blocks += len(segment.blocks)
        for keys in segments.all_blocks(db, segment):
            found = segments.postings_in(segment, keys)
            count += len(keys)
            lives = np.isin(found.contents, alive)
            unknown = found.contents[~lives & ~np.isin(found.contents, dead)]
            if len(unknown):
                yield f"segment {segment.id} has postings of content {unknown[0]}, which is missing"
            totals[segment.kind] += _total(found.hashes[lives] >> _LOW_BITS, found.contents[lives])
        if segment.target is None and segment.moved is None and count != segment.postings:
            yield f"segment {segment.id} has {count} postings instead of {segment.postings}"
    if blocks != value(db, "select count(*) from main.docindex_posting"):
        yield "some blocks belong to no segment"
    if (_expected_postings(db, alive, recipe) - totals[segments.FINGERPRINTS]) % 2**64:
        yield "the inverted index does not match the fingerprints of the documents"
    if (_expected_traits(db, recipe) - totals[segments.TRAITS]) % 2**64:
        yield "the inverted index does not match the hashes and slots of the contents"
    if (_expected_bands(db) - totals[segments.BANDS]) % 2**64:
        yield "the inverted index does not match the simhashes of the contents"


def _expected_postings(db: apsw.Connection, alive: I64, recipe: Recipe) -> int:
    """The total of the postings that the forward index implies."""
    expected = 0
    for content in alive.tolist():
        hashes, _ = contents.fingerprints_of(db, content, recipe.window)
        prefixes = np.unique(hashes >> _LOW_BITS)
        expected += _total(prefixes, np.full(len(prefixes), content))
    return expected


def _expected_traits(db: apsw.Connection, recipe: Recipe) -> int:
    """The total of the postings that the rows of the contents imply."""
    k, s, _ = recipe.features
    expected = 0
    for some in _chunks(stream(db, "select id, hash, words_hash, slots from main.docindex_content")):
        ids, hashes, words_hashes, data = zip(*some, strict=True)
        slots = slots_in(data, recipe.slots)
        if slots is None:
            raise CorruptIndex(f"a content does not have {recipe.slots} slots", db.filename)
        if {len(each) for each in (*hashes, *words_hashes)} - {16}:
            raise CorruptIndex("a hash of a content does not have 16 bytes", db.filename)
        # Equal postings of a content are stored once.
        prefixes = np.sort(traits_of(features(slots, k, s), hashes, words_hashes) >> _LOW_BITS, axis=1)
        first = np.ones(prefixes.shape, bool)
        first[:, 1:] = prefixes[:, 1:] != prefixes[:, :-1]
        of = np.repeat(np.array(ids, np.int64), prefixes.shape[1]).reshape(prefixes.shape)
        expected += _total(prefixes[first], of[first])
    return expected


def _expected_bands(db: apsw.Connection) -> int:
    """The total of the postings that the simhashes of the contents imply."""
    expected = 0
    for some in _chunks(stream(db, "select id, simhash from main.docindex_content")):
        ids, simhashes = np.array(some, np.int64).T
        bands = bands_of(simhashes.view(np.uint64)) >> _LOW_BITS
        expected += _total(bands.ravel(), np.repeat(ids, bands.shape[1]))
    return expected


def _tallies(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    for name in tallies.NAMES:
        found = stream(db, f"select sum from main.{PREFIX}{name}")
        if tallies.tally_of(sum_ for (sum_,) in found) != tallies.stored(db, name):
            yield str(tallies.other_rows(db, name))


def _texts(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    for (content,) in stream(db, "select id from main.docindex_content"):
        try:
            contents.text_of(db, content)
        except (CorruptIndex, OutOfDate) as error:
            yield str(error)


def _boilerplate(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    for found in stream(db, BOILERPLATE.select):
        row = BOILERPLATE.checked(found)
        if row is None or contents.text_hash(row.text) != row.hash:
            yield f"the template {found[1]!r} (number {found[0]}) was changed"


def _extractions(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    yield from extractions.damaged_extractions(db)


def _files(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    for found in stream(db, FILE.select):
        if not FILE.is_intact(found):
            yield f"the record of the file {found[0]!r} does not match its checksum; scan again"


def _sources(db: apsw.Connection, _recipe: Recipe) -> Iterator[str]:
    for source in tables.sources(db):
        try:
            missing = app_rows.missing(db, source)
        except apsw.SQLError as error:
            yield str(app_rows.unreadable(db, source, error))
            continue
        if missing:
            yield (
                f"rows of the table {source.name!r} that are not in the index: {missing}; "
                "rebuild its documents"
            )
        if lost := triggers.lost_triggers(db, source):
            yield (
                f"triggers of the table {source.name!r} are missing or changed ({', '.join(lost)}), so the "
                "index may miss changes; rebuild its documents, which makes the triggers again"
            )
    orphans = "select document from main.docindex_sourced except select id from main.docindex_document"
    for (document,) in stream(db, orphans):
        yield f"a row of docindex_sourced belongs to document {document}, which is missing"


_STEPS: tuple[tuple[str, Callable[[apsw.Connection, Recipe], Iterator[str]]], ...] = (
    ("SQLite's structure", _structure),
    ("references between tables", _references),
    ("the recipe", _stored_recipe),
    ("documents", _documents),
    ("contents", _contents),
    ("owners of contents", _owners),
    ("fingerprints", _fingerprints),
    ("samples", _samples),
    ("the inverted index", _postings),
    ("texts", _texts),
    ("tallies of rows", _tallies),
    ("boilerplate", _boilerplate),
    ("extractions", _extractions),
    ("files", _files),
    ("tables of the app", _sources),
)
"""The steps of a check, each with its name for messages."""


def _chunks(found: Iterator[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows in lists of up to `_ROWS_AT_A_TIME`."""
    while some := list(itertools.islice(found, _ROWS_AT_A_TIME)):
        yield some


def _total(values: U64, of_contents: I64) -> int:
    """A checksum of pairs, whatever their order. Different sets hardly ever have the same checksum."""
    return int(mix(values ^ mix(of_contents.astype(np.uint64))).sum(dtype=np.uint64)) if len(values) else 0
