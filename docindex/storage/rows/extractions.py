"""Store how the texts of documents were extracted, and where their pieces lie in their sources.

The only module that knows the table `extraction`. A document that was added as a text has no row there. Must
never read a text.
"""

import json
import zlib
from collections.abc import Iterable
from typing import NamedTuple

import apsw
import numpy as np

from docindex.errors import CorruptIndex
from docindex.frontends.extracted import Extracted, Places
from docindex.frontends.packed_places import packed_places, unpacked_places
from docindex.storage import tallies
from docindex.storage.statements import rows, rows_for, stream
from docindex.storage.tables import EXTRACTION, ExtractionRow

_DELETE = (
    "delete from main.docindex_extraction where document in (select value from carray(?) as wanted) "
    "returning sum"
)
_OF_DOCUMENTS = f"{EXTRACTION.select} where document in (select value from carray(?) as wanted)"
_LONGEST, _MOST_COMMAS = 1 << 26, 1 << 23
"""More places are damage: those of a source are up to a million, each with six commas and a short name."""


class Extraction(NamedTuple):
    """How the text of a document was extracted."""

    reading: str
    """The name and version of the front end, such as "docx-1"."""
    title: str | None
    places: Places


def put(db: apsw.Connection, extracted: Iterable[tuple[int, Extracted | Extraction]]) -> None:
    """Store how the texts of some documents, given by id, were extracted. They must have no rows yet."""
    made = [
        EXTRACTION.with_sum(ExtractionRow(number, found.reading, _packed(found)))
        for number, found in extracted
    ]
    db.executemany(EXTRACTION.insert, made)
    tallies.note(db, "extraction", added=[row[-1] for row in made])


def remove(db: apsw.Connection, documents: Iterable[int]) -> None:
    """Forget how the texts of some documents were extracted."""
    wanted = np.sort(np.fromiter(documents, np.int64))
    if len(wanted) and has_any(db):
        tallies.note(db, "extraction", removed=[sum_ for (sum_,) in rows_for(db, _DELETE, wanted)])


def has_any(db: apsw.Connection) -> bool:
    """Whether the text of any document was extracted."""
    return tallies.stored(db, "extraction").rows > 0


def extraction_of(db: apsw.Connection, document: int) -> Extraction | None:
    """How the text of a document was extracted; None if it was added as a text."""
    for found in rows(db, f"{EXTRACTION.select} where document = ?", (document,)):
        row = EXTRACTION.checked(found)
        if row is None:
            raise _damaged(db, document)
        return _unpacked(db, row)
    return None


def extractions_of(db: apsw.Connection, documents: Iterable[int]) -> dict[int, Extraction]:
    """How the texts of some documents were extracted, by the ids of those that were not added as texts."""
    if not has_any(db):
        return {}
    found = {}
    for columns in rows_for(db, _OF_DOCUMENTS, np.sort(np.fromiter(documents, np.int64))):
        row = EXTRACTION.checked(columns)
        if row is None:
            raise _damaged(db, columns[0])
        found[row.document] = _unpacked(db, row)
    return found


def damaged_extractions(db: apsw.Connection) -> Iterable[str]:
    """A sentence for each row that is damaged, or belongs to no document."""
    for found in stream(db, EXTRACTION.select):
        if not EXTRACTION.is_intact(found):
            yield f"the places of document {found[0]} were changed; add it again"
    orphans = "select document from main.docindex_extraction except select id from main.docindex_document"
    for (document,) in stream(db, orphans):
        yield f"a row of docindex_extraction belongs to document {document}, which is missing"


def _packed(extracted: Extracted | Extraction) -> bytes:
    """The title and the places as JSON, deflated."""
    stored = {"title": extracted.title, **packed_places(extracted.places)}
    written = json.dumps(stored, separators=(",", ":"))
    source = written.encode("utf-8", "surrogatepass")
    if _is_too_long(source):
        raise ValueError(
            f"the {len(extracted.places.starts):,} places of a text are more than an index can hold; give "
            "fewer, up to a million with short names"
        )
    return zlib.compress(source)


def _is_too_long(source: bytes) -> bool:
    return len(source) >= _LONGEST or source.count(b",") > _MOST_COMMAS


def _unpacked(db: apsw.Connection, row: ExtractionRow) -> Extraction:
    try:
        inflate = zlib.decompressobj()
        written = inflate.decompress(row.places, _LONGEST)
        if not inflate.eof or _is_too_long(written):
            raise ValueError("there are too many places")
        found = json.loads(written.decode("utf-8", "surrogatepass"))
        return Extraction(row.reading, found["title"], unpacked_places(found))
    except (zlib.error, ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise _damaged(db, row.document) from error


def _damaged(db: apsw.Connection, document: int) -> CorruptIndex:
    return CorruptIndex(
        f"the places of document {document} are damaged; restore a backup, or add it again", db.filename
    )
