"""docindex: which documents share text, where exactly, and how much.

Importing this package is cheap: each public name is imported when it is used for the first time.
"""

import importlib

from docindex.errors import (
    Busy,
    Cancelled,
    CorruptIndex,
    DiskError,
    DiskFull,
    DocIndexError,
    FileError,
    FileReplaced,
    Forked,
    NotAnIndex,
    OutOfDate,
    ReadOnly,
    RecipeError,
    RecipeMismatch,
    Refused,
    SchemaTooNew,
    SchemaTooOld,
    TextNotKept,
    UnknownKey,
    UnreadableFile,
    UnsupportedPlatform,
)
from docindex.version import __version__

TYPE_CHECKING = False  # as in typing, whose import would take longer than the rest of this module
if TYPE_CHECKING:
    from docindex.cancellation import CancelToken, cancelling
    from docindex.frontends.extract import extract
    from docindex.frontends.extracted import Extracted
    from docindex.index.following import Followed
    from docindex.index.index import Index
    from docindex.index.texts import (
        Fingerprints,
        containment,
        distance,
        fingerprints,
        resemblance,
        simhash,
        sketch,
    )
    from docindex.merging import merge
    from docindex.opening import open  # noqa: A004 - as in gzip.open: people write docindex.open
    from docindex.query.clusters import Cluster, Clusters, Member
    from docindex.query.compare import Comparison
    from docindex.query.measures import Measures
    from docindex.query.near import Neighbour
    from docindex.query.pairs.pairs import Pair, Pairs
    from docindex.query.regions.passages import Passage
    from docindex.query.regions.regions import Region
    from docindex.query.resolve import Id, Key, Text
    from docindex.query.search.search import Match
    from docindex.query.sources import Sources, SourceStretch, TextSource
    from docindex.recipe import Recipe
    from docindex.sketching.sketches import Sketch
    from docindex.sketching.weighted_words import WordWeights
    from docindex.sql.register import register
    from docindex.storage.file.user_sql import Rows
    from docindex.storage.maintenance import Stats
    from docindex.storage.rows.document_lookup import Document
    from docindex.storage.rows.templates import Template

# The same modules and names as above, for `__getattr__`. A test compares them.
_HOMES = {
    "docindex.cancellation": ("CancelToken", "cancelling"),
    "docindex.frontends.extract": ("extract",),
    "docindex.frontends.extracted": ("Extracted",),
    "docindex.index.following": ("Followed",),
    "docindex.index.texts": (
        *("Fingerprints", "containment", "distance", "fingerprints", "resemblance", "simhash", "sketch"),
    ),
    "docindex.index.index": ("Index",),
    "docindex.merging": ("merge",),
    "docindex.opening": ("open",),
    "docindex.query.clusters": ("Cluster", "Clusters", "Member"),
    "docindex.query.compare": ("Comparison",),
    "docindex.query.measures": ("Measures",),
    "docindex.query.near": ("Neighbour",),
    "docindex.query.pairs.pairs": ("Pair", "Pairs"),
    "docindex.query.regions.passages": ("Passage",),
    "docindex.query.regions.regions": ("Region",),
    "docindex.query.resolve": ("Id", "Key", "Text"),
    "docindex.query.search.search": ("Match",),
    "docindex.query.sources": ("Sources", "SourceStretch", "TextSource"),
    "docindex.recipe": ("Recipe",),
    "docindex.sketching.sketches": ("Sketch",),
    "docindex.sketching.weighted_words": ("WordWeights",),
    "docindex.sql.register": ("register",),
    "docindex.storage.rows.document_lookup": ("Document",),
    "docindex.storage.maintenance": ("Stats",),
    "docindex.storage.rows.templates": ("Template",),
    "docindex.storage.file.user_sql": ("Rows",),
}

# Packages and modules that the README recommends for `help`, also right after `import docindex`.
_PAGES = ("embedding", "folders", "frontends", "index", "sql")

__all__ = [
    "Busy",
    "CancelToken",
    "Cancelled",
    "Cluster",
    "Clusters",
    "Comparison",
    "CorruptIndex",
    "DiskError",
    "DiskFull",
    "DocIndexError",
    "Document",
    "Extracted",
    "FileError",
    "FileReplaced",
    "Fingerprints",
    "Followed",
    "Forked",
    "Id",
    "Index",
    "Key",
    "Match",
    "Measures",
    "Member",
    "Neighbour",
    "NotAnIndex",
    "OutOfDate",
    "Pair",
    "Pairs",
    "Passage",
    "ReadOnly",
    "Recipe",
    "RecipeError",
    "RecipeMismatch",
    "Refused",
    "Region",
    "Rows",
    "SchemaTooNew",
    "SchemaTooOld",
    "Sketch",
    "SourceStretch",
    "Sources",
    "Stats",
    "Template",
    "Text",
    "TextNotKept",
    "TextSource",
    "UnknownKey",
    "UnreadableFile",
    "UnsupportedPlatform",
    "WordWeights",
    "__version__",
    "cancelling",
    "containment",
    "distance",
    "extract",
    "fingerprints",
    "merge",
    "open",
    "register",
    "resemblance",
    "simhash",
    "sketch",
]


def __getattr__(name: str) -> object:
    """Import a public name from its module, or a page of help, when it is used for the first time."""
    if name in _PAGES:
        return importlib.import_module(f"docindex.{name}")
    for module, names in _HOMES.items():
        if name in names:
            member = getattr(importlib.import_module(module), name)
            globals()[name] = member
            return member
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PAGES})
