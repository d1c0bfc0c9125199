"""docindex: which documents share text, where exactly, and how much."""

from docindex.errors import DocIndexError, RecipeError
from docindex.recipe import Recipe
from docindex.sketch import Sketch
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
    "DocIndexError",
    "Fingerprints",
    "Recipe",
    "RecipeError",
    "Sketch",
    "__version__",
    "containment",
    "distance",
    "fingerprints",
    "resemblance",
    "simhash",
    "sketch",
]
