"""Templates in, the hashes that do not count out: the one room that knows the table `boilerplate`.

All k-grams of a template are marked, not only those that winnowing would select: what it selects at
the border of a template depends on what stands around it.
"""

import dataclasses

import apsw
import numpy as np

from docindex.errors import CorruptIndex
from docindex.kernels.arrays import U64
from docindex.kernels.packing import packed, unpacked
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set, text_fingerprints
from docindex.sketching.sketches import HASH_BYTES, HASH_SHIFT
from docindex.storage.contents import as_stored, text_hash
from docindex.storage.rows import row_sum, rows, value

_NOTHING = np.empty(0, np.uint64)


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """A text that everybody has."""

    name: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Ignored:
    """What does not count, as ascending hashes."""

    templates: tuple[tuple[int, bytes], ...] = ()
    """Those it comes from: ids, and hashes of the texts, for another file may have the same ids."""
    hashes: U64 = dataclasses.field(default_factory=_NOTHING.copy)
    """Of fingerprints, as they are stored."""
    shingles: U64 = dataclasses.field(default_factory=_NOTHING.copy)

    def without(self, hashes: U64) -> U64:
        """Those of some fingerprint hashes that count."""
        return hashes[~np.isin(hashes, self.hashes)] if len(self.hashes) else hashes

    def shingles_without(self, shingles: U64) -> U64:
        """Those of some shingles that count."""
        return shingles[~np.isin(shingles, self.shingles)] if len(self.shingles) else shingles


def put(db: apsw.Connection, name: str, text: str, recipe: Recipe) -> None:
    """Mark a text, under a name, instead of what had the name; the same text is marked once."""
    hash_ = text_hash(text)
    db.execute("delete from main.boilerplate where name = ? or hash = ?", (name, hash_))
    # A window of one place selects every k-gram.
    grams, _ = text_fingerprints(text, dataclasses.replace(recipe, window=1))
    stored = packed(as_stored(grams) >> HASH_SHIFT, HASH_BYTES)
    row = (name, hash_, text, stored, shingle_set(text, recipe).astype("<u8").tobytes())
    db.execute(
        "insert into main.boilerplate (name, hash, text, grams, shingles, sum) values (?, ?, ?, ?, ?, ?)",
        (*row, row_sum(*row)),
    )


def remove(db: apsw.Connection, name: str) -> bool:
    """Let a template count again, by its name or its text; False if there is none."""
    return (
        value(
            db,
            "delete from main.boilerplate where name = ? or hash = ? returning id",
            (name, text_hash(name)),
        )
        is not None
    )


def templates(db: apsw.Connection) -> list[Template]:
    """All of them, by name."""
    return [
        Template(name, text)
        for name, text in rows(db, "select name, text from main.boilerplate order by name")
    ]


def ignored(db: apsw.Connection, known: Ignored) -> Ignored:
    """All that does not count; what is known already if it still holds."""
    ids = tuple(rows(db, "select id, hash from main.boilerplate order by id"))
    if ids == known.templates:
        return known
    hashes, shingles = [_NOTHING], [_NOTHING]
    for number, *row, stored in rows(
        db, "select id, name, hash, text, grams, shingles, sum from main.boilerplate order by id"
    ):
        grams, own_shingles = row[3:]
        if row_sum(*row) != stored or len(grams) % HASH_BYTES or len(own_shingles) % 8:
            raise CorruptIndex(
                f"the template {row[0]!r} (number {number}) is damaged; add it again", db.filename
            )
        hashes.append(unpacked(grams, HASH_BYTES) << HASH_SHIFT)
        shingles.append(np.frombuffer(own_shingles, "<u8").astype(np.uint64))
    return Ignored(ids, np.unique(np.concatenate(hashes)), np.unique(np.concatenate(shingles)))
