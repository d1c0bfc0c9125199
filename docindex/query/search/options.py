"""Hold and check the parameters of a search."""

import dataclasses
from typing import Literal, Self, TypedDict, get_args

from docindex import arguments
from docindex.query.measures import Measures
from docindex.recipe import Recipe

Rank = Literal["likeness", "excerpt"]
"""How matches are ordered; `docindex.query.search.scoring` has the formulas."""

MATCHES = 20
"""The number of answers of a search: as many as a person reads, the best first."""

# The largest value of each option that is a whole number above 0. No recipe can have a larger window.
_COUNTS = {"window": 65_535, "budget": None, "limit": None, "ignore_above": None}


class FingerprintParameters(TypedDict, total=False):
    """The parameters of a `search` by fingerprints; `Index.search` explains them."""

    window: int | None
    budget: int | None
    min_containment: float
    min_reverse_containment: float
    min_resemblance: float
    min_shared: int
    limit: int | None
    rank: Rank
    ignore_above: int | None


class SearchParameters(FingerprintParameters, total=False):
    """The parameters of any `search`."""

    exact: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The parameters of `search`; `Index.search` explains them."""

    window: int | None = None
    budget: int | None = None
    min_containment: float = 0.0
    min_reverse_containment: float = 0.0
    min_resemblance: float = 0.0
    min_shared: int = 0
    limit: int | None = MATCHES
    rank: Rank = "likeness"
    ignore_above: int | None = None
    exact: bool = False

    def checked(self, recipe: Recipe) -> Self:
        """The options as plain numbers.

        `TypeError` or `ValueError` if an option has a wrong type or is out of range.
        """
        if all(getattr(self, name) is default for name, default in _DEFAULTS):
            return self
        numbers = {
            name: arguments.whole_number(name, getattr(self, name), most=most)
            for name, most in _COUNTS.items()
            if getattr(self, name) is not None
        }
        if numbers.get("window", recipe.window) < recipe.window:
            raise ValueError(
                f"window={self.window} is smaller than the window of the index, {recipe.window}; "
                f"search with {recipe.window} or more, or make an index with a smaller window"
            )
        # `dataclasses.replace` would take three times as long.
        return type(self)(
            window=numbers.get("window"),
            budget=numbers.get("budget"),
            limit=numbers.get("limit"),
            ignore_above=numbers.get("ignore_above"),
            min_shared=arguments.whole_number("min_shared", self.min_shared, least=0),
            min_containment=arguments.share("min_containment", self.min_containment),
            min_reverse_containment=arguments.share("min_reverse_containment", self.min_reverse_containment),
            min_resemblance=arguments.share("min_resemblance", self.min_resemblance),
            exact=arguments.switch("exact", self.exact),
            rank=arguments.choice("rank", self.rank, get_args(Rank)),
        )

    @property
    def has_minimums(self) -> bool:
        """Whether a document must reach a minimum."""
        return any(
            (self.min_containment, self.min_reverse_containment, self.min_resemblance, self.min_shared)
        )

    def met_by(self, measures: Measures) -> bool:
        """Whether the numbers of a document reach all minimums."""
        return (
            measures.shared >= self.min_shared
            and measures.containment >= self.min_containment
            and measures.reverse_containment >= self.min_reverse_containment
            and measures.resemblance >= self.min_resemblance
        )


# Identity, not equality: True equals 1, but is no number of answers.
_DEFAULTS = [(field.name, field.default) for field in dataclasses.fields(SearchOptions)]
