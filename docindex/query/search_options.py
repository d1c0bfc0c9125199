"""Hold and check the parameters of a search."""

import dataclasses
from typing import Literal

from docindex.query import argument_checks
from docindex.query.measures import Measures
from docindex.recipe import Recipe

Rank = Literal["likeness", "excerpt"]
"""How matches are ordered; `docindex.query.ranking` has the formulas."""

_LARGEST_WINDOW = 65_535  # no recipe can have a larger one


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The parameters of `search`; `IndexReader.search` explains them."""

    window: int | None = None
    budget: int | None = None
    min_containment: float = 0.0
    min_reverse_containment: float = 0.0
    min_resemblance: float = 0.0
    min_shared: int = 0
    limit: int | None = 20
    rank: Rank = "likeness"
    ignore_above: int | None = None
    exact: bool = False

    def check(self, recipe: Recipe) -> None:
        """Raise `TypeError` or `ValueError` if an option has a wrong type or is out of range."""
        if self.window is not None:
            argument_checks.whole_number("window", self.window, most=_LARGEST_WINDOW)
            if self.window < recipe.window:
                raise ValueError(
                    f"window={self.window} is smaller than the window of the index, {recipe.window}; "
                    f"search with {recipe.window} or more, or make an index with a smaller window"
                )
        for name in ("budget", "limit", "ignore_above"):
            if getattr(self, name) is not None:
                argument_checks.whole_number(name, getattr(self, name))
        argument_checks.whole_number("min_shared", self.min_shared, least=0)
        argument_checks.share("min_containment", self.min_containment)
        argument_checks.share("min_reverse_containment", self.min_reverse_containment)
        argument_checks.share("min_resemblance", self.min_resemblance)
        if self.exact not in (False, True):
            raise TypeError(f"exact must be True or False, not {self.exact!r}")
        if self.rank not in ("likeness", "excerpt"):
            raise ValueError(f'rank must be "likeness" or "excerpt", not {self.rank!r}')

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
