"""Store boilerplate and read the hashes to ignore: the only module that knows the table `boilerplate`.

Takes texts and their hashes; returns templates, or the hashes to ignore. All k-grams of a template are
stored, not only those that winnowing selects: near the ends of a template the selection depends on the
surrounding text. Must never compute a sketch.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import numpy as np

from docindex.arguments import shown
from docindex.arrays.joins import found_in
from docindex.arrays.ranges import I64, U64, starts_of
from docindex.arrays.sorted_blocks import packed, unpacked
from docindex.errors import CorruptIndex
from docindex.sketching.sketches import HASH_BYTES, HASH_SHIFT
from docindex.storage import tallies
from docindex.storage.rows.contents import as_stored, text_hash
from docindex.storage.statements import counter, row_sum, rows
from docindex.storage.tables import BOILERPLATE, BoilerplateRow
from docindex.storage.values import can_be_stored

_NOTHING = np.empty(0, np.uint64)

_IDS = "select id, sum from main.docindex_boilerplate order by id"


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """A text that comparisons ignore (boilerplate), and its name."""

    name: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Ignored:
    """The hashes that comparisons ignore, ascending."""

    templates: tuple[tuple[Any, ...], ...] = ()
    """The id and the checksum of each template."""
    hashes: U64 = dataclasses.field(default_factory=_NOTHING.copy)
    """Hashes of fingerprints, as they are stored."""
    shingles: U64 = dataclasses.field(default_factory=_NOTHING.copy)

    def __bool__(self) -> bool:
        return bool(len(self.hashes) or len(self.shingles))

    def without(self, hashes: U64) -> U64:
        """The fingerprint hashes that are not ignored."""
        return hashes[~np.isin(hashes, self.hashes)] if len(self.hashes) else hashes

    def shingles_without(self, shingles: U64) -> U64:
        """The shingles that are not ignored."""
        return shingles[~np.isin(shingles, self.shingles)] if len(self.shingles) else shingles

    def sets_without(self, shingles: U64, starts: I64) -> tuple[U64, I64]:
        """Sets of shingles that lie end to end, without the ignored shingles."""
        if not len(self.shingles):
            return shingles, starts
        kept = ~found_in(self.shingles, shingles)
        return shingles[kept], starts_of(kept.astype(np.int64))[starts]


def put_template(db: apsw.Connection, template: Template, grams: U64, shingles: U64) -> None:
    """Store a template with its k-gram hashes and shingles. Replaces templates with its name or text."""
    hash_ = text_hash(template.text)
    _delete(db, template.name, hash_)
    row = BoilerplateRow(
        id=counter(db, "boilerplate") + 1,
        name=template.name,
        hash=hash_,
        text=template.text,
        grams=packed(as_stored(grams) >> HASH_SHIFT, HASH_BYTES),
        shingles=shingles.astype("<u8").tobytes(),
    )
    db.execute(BOILERPLATE.insert, BOILERPLATE.with_sum(row))
    tallies.note(db, "boilerplate", added=[row_sum(*row)])


def remove_template(db: apsw.Connection, name: str) -> bool:
    """Remove a template by its name or its text. Returns False if there is no such template."""
    return _delete(db, name, text_hash(name)) > 0


def _delete(db: apsw.Connection, name: str, hash_: bytes) -> int:
    """Remove the templates with a name or a text. Returns their number."""
    statement = "delete from main.docindex_boilerplate where name = ? or hash = ? returning sum"
    gone = [sum_ for (sum_,) in rows(db, statement, (name, hash_))]
    tallies.note(db, "boilerplate", removed=gone)
    return len(gone)


def templates(db: apsw.Connection) -> list[Template]:
    """All templates, in the order of their names."""
    found = rows(db, f"{BOILERPLATE.select} order by name")
    return [Template(row.name, row.text) for row in _checked(db, found)]


def with_hashes(db: apsw.Connection) -> Iterator[tuple[Template, U64, U64]]:
    """All templates in the order in which they were added, with their k-gram hashes and their shingles."""
    found = rows(db, f"{BOILERPLATE.select} order by id")
    for row in _checked(db, found):
        yield (
            Template(row.name, row.text),
            unpacked(row.grams, HASH_BYTES) << HASH_SHIFT,
            np.frombuffer(row.shingles, "<u8").astype(np.uint64),
        )


def ignored(db: apsw.Connection, known: Ignored) -> Ignored:
    """All hashes to ignore. Returns `known` if the templates have not changed since."""
    ids = tuple(rows(db, _IDS))
    if ids == known.templates:
        return known
    stored = rows(db, f"{BOILERPLATE.select} order by id")
    return dataclasses.replace(_ignored(db, stored), templates=ids)


def ignored_by(db: apsw.Connection, names: Iterable[str]) -> Ignored:
    """The hashes to ignore because of some templates; `KeyError` for a name that none has."""
    found: list[tuple[Any, ...]] = []
    for name in dict.fromkeys(names):
        own = rows(db, f"{BOILERPLATE.select} where name = ?", (name,)) if can_be_stored(name) else []
        if not own:
            raise KeyError(f"there is no template {shown(name)}; index.boilerplate lists the templates")
        found += own
    return _ignored(db, found)


def _ignored(db: apsw.Connection, stored: list[tuple[Any, ...]]) -> Ignored:
    """The hashes of the templates in some rows."""
    hashes, shingles = [_NOTHING], [_NOTHING]
    for row in _checked(db, stored):
        hashes.append(unpacked(row.grams, HASH_BYTES) << HASH_SHIFT)
        shingles.append(np.frombuffer(row.shingles, "<u8").astype(np.uint64))
    return Ignored((), np.unique(np.concatenate(hashes)), np.unique(np.concatenate(shingles)))


def _checked(db: apsw.Connection, stored: list[tuple[Any, ...]]) -> Iterator[BoilerplateRow]:
    """The templates in some rows, verified."""
    for found in stored:
        row = BOILERPLATE.checked(found)
        if row is None or len(row.grams) % HASH_BYTES or len(row.shingles) % 8:
            raise CorruptIndex(
                f"the template {found[1]!r} (number {found[0]}) is damaged; add it again", db.filename
            )
        yield row
