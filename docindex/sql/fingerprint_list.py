"""All fingerprints as a virtual table of apsw: `fingerprint_list` (document, position, hash).

A condition on the document or on the hash is looked up; without either all are gone through.
"""

from collections.abc import Iterator

import apsw

from docindex.sql.scalars import Value, schema_of, whole
from docindex.sql.sources import IndexSource
from docindex.sql.table_functions import Row
from docindex.sql.virtual_tables import EQUAL, Cursor, constraints, declared

_NAMES = ("document", "position", "hash", "schema")
_LOOKED_UP = {"document", "hash"}

# In rows that SQLite reads, 0.2 us each: to look a document or a hash up, and a row of ours.
_LOOK_UP, _A_ROW = 500.0, 3.0


class FingerprintList:
    """The module, and its one table."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source
        # How many documents and fingerprints, until it is used: see `virtual.Module`.
        self._sizes = 10_000, 5_000_000

    def Create(self, db: apsw.Connection, *_arguments: str) -> tuple[str, "FingerprintList"]:
        """Declare the table."""
        db.vtab_config(apsw.SQLITE_VTAB_INNOCUOUS)
        return declared("fingerprint_list", _NAMES[:3], _NAMES[3:]), self

    Connect = Create

    def BestIndexObject(self, info: apsw.IndexInfo) -> bool:
        """Say what an access costs, and which values it takes."""
        taken: list[str] = []
        for which, column, operator, known in constraints(info):
            name = _NAMES[column] if 0 <= column < len(_NAMES) else ""
            if name == "schema" and operator == EQUAL and not known:
                return False
            if operator == EQUAL and known and name not in taken and name in (*_LOOKED_UP, "schema"):
                taken.append(name)
                info.set_aConstraintUsage_argvIndex(which, len(taken))
                # Values are compared with the types they have: SQLite looks at them once more.
                info.set_aConstraintUsage_omit(which, name == "schema")
        documents, fingerprints = self._sizes
        rows = fingerprints if not _LOOKED_UP & set(taken) else max(1, fingerprints // max(1, documents))
        if "hash" in taken:
            rows = min(rows, 4)
        info.idxStr = ",".join(taken)
        info.estimatedRows = rows
        info.estimatedCost = _LOOK_UP + _A_ROW * rows
        return True

    def Open(self) -> Cursor:
        """A cursor."""
        return Cursor(self._rows)

    def Disconnect(self) -> None:
        """Nothing is left behind."""

    Destroy = Disconnect

    def _rows(self, taken: str, values: tuple[Value, ...]) -> Iterator[Row]:
        """The places, with the schema that was asked for."""
        given = dict(zip(taken.split(",") if taken else (), values, strict=True))
        schema = given.pop("schema", None)
        wanted = {name: whole(value) for name, value in given.items()}
        if None in wanted.values():
            return
        reader = self._source.reader(schema_of(schema))
        self._sizes = reader.approximate_counts()
        for place in reader.fingerprint_positions(document=wanted.get("document"), hash_=wanted.get("hash")):
            yield *place, schema
