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
    UnreadableFile,
)
from docindex.index import Index, open  # noqa: A004 - as in gzip.open: people write docindex.open
from docindex.recipe import Recipe
from docindex.sketch import Sketch
from docindex.storage.contents import Document
from docindex.storage.upkeep import Stats
from docindex.strings import (
    Fingerprints,
    containment,
    distance,
    fingerprints,
    resemblance,
    simhash,
    sketch,
)

__version__ = "0.1.0"

__all__ = [
    "Busy",
    "Cancelled",
    "CorruptIndex",
    "DiskFull",
    "DocIndexError",
    "Document",
    "FileError",
    "Fingerprints",
    "Index",
    "NotAnIndex",
    "ReadOnly",
    "Recipe",
    "RecipeError",
    "RecipeMismatch",
    "Refused",
    "SchemaTooNew",
    "Sketch",
    "Stats",
    "UnreadableFile",
    "__version__",
    "containment",
    "distance",
    "fingerprints",
    "open",
    "resemblance",
    "simhash",
    "sketch",
]
