"""Hold and check the parameters of a search."""

import dataclasses
from typing import Literal

from docindex.query import argument_checks
from docindex.recipe import Recipe

Rank = Literal["rarity", "count", "containment"]

_LARGEST_WINDOW = 65_535  # no recipe can have a larger one


@dataclasses.dataclass(frozen=True, slots=True)
class SearchOptions:
    """The parameters of `search`; `IndexReader.search` explains them."""

    window: int | None = None
    budget: int | None = None
    min_containment: float = 0.0
    min_shared: int = 1
    min_resemblance: float = 0.0
    limit: int | None = 20
    rank: Rank = "rarity"
    ignore_above: int | None = None

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
        argument_checks.share("min_resemblance", self.min_resemblance)
        if self.rank not in ("rarity", "count", "containment"):
            raise ValueError(f'rank must be "rarity", "count" or "containment", not {self.rank!r}')
