"""docindex: which documents share text, where exactly, and how much."""

from docindex.errors import (
    Busy,
    Cancelled,
    CorruptIndex,
    DiskFull,
    DocIndexError,
    FileError,
    NotAnIndex,
    ReadOnly,
    RecipeError,
    RecipeMismatch,
    Refused,
    SchemaTooNew,
    TextNotKept,
    UnreadableFile,
)
from docindex.index.texts import (
    Fingerprints,
    containment,
    distance,
    fingerprints,
    resemblance,
    simhash,
    sketch,
)
from docindex.index.writer import Index
from docindex.opening import open  # noqa: A004 - as in gzip.open: people write docindex.open
from docindex.query.clusters import Cluster, Member
from docindex.query.compare import Comparison
from docindex.query.near import Neighbour
from docindex.query.pairs import Pair, Pairs
from docindex.query.passages import Passage
from docindex.query.resolve import Id, Key, Text
from docindex.query.search import Match
from docindex.recipe import Recipe
from docindex.sketching.sketches import Sketch
from docindex.sql.register import register
from docindex.storage.contents import Document
from docindex.storage.maintenance import Stats
from docindex.storage.templates import Template
from docindex.storage.user_sql import Rows
from docindex.version import __version__

__all__ = [
    "Busy",
    "Cancelled",
    "Cluster",
    "Comparison",
    "CorruptIndex",
    "DiskFull",
    "DocIndexError",
    "Document",
    "FileError",
    "Fingerprints",
    "Id",
    "Index",
    "Key",
    "Match",
    "Member",
    "Neighbour",
    "NotAnIndex",
    "Pair",
    "Pairs",
    "Passage",
    "ReadOnly",
    "Recipe",
    "RecipeError",
    "RecipeMismatch",
    "Refused",
    "Rows",
    "SchemaTooNew",
    "Sketch",
    "Stats",
    "Template",
    "Text",
    "TextNotKept",
    "UnreadableFile",
    "__version__",
    "containment",
    "distance",
    "fingerprints",
    "open",
    "register",
    "resemblance",
    "simhash",
    "sketch",
]
