"""Turn the conditions of a statement into the thresholds of a question: `resemblance >= 0.3` is one.

SQLite checks every condition on every row as well. So a threshold may let too many rows through, but it must
never leave out a row that meets the conditions. Must never know SQLite or an index.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from docindex.sql.sql_values import Value

ANY_SHARE = 1e-9
"""The threshold that every pair with something in common reaches: no text has a thousand million shingles."""


class Bound(NamedTuple):
    """A result column whose values a parameter limits. A condition on the column can set the parameter."""

    column: str
    parameter: str
    widest: float
    """The value of the parameter that leaves out no row. An int if the parameter is a whole number."""
    narrowest: float = 1.0
    """The opposite extreme. If it is smaller than `widest`, the parameter is an upper limit."""

    @property
    def is_upper(self) -> bool:
        """Whether the parameter is an upper limit, like a distance."""
        return self.narrowest < self.widest

    def narrower(self, values: Iterable[float]) -> float:
        """The value that lets the fewest rows through."""
        return min(values) if self.is_upper else max(values)

    def as_parameter(self, limit: float) -> float:
        """The value of the parameter that lets through every row that meets a condition with this limit."""
        low, high = sorted((self.widest, self.narrowest))
        value = min(max(limit, low), high)
        if isinstance(self.widest, float):
            return float(value)
        return math.floor(value) if self.is_upper else math.ceil(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of a table function, and how conditions set them.

    An argument is the threshold. Without it, the limit in a condition is the threshold. Without a limit, the
    default holds, unless the statement compares one of the `numbers`: then nothing is left out.
    """

    bounds: tuple[Bound, ...] = ()
    numbers: tuple[str, ...] = ()
    """The columns that say how much is shared; any comparison with one of them replaces the default."""
    only_one: bool = False
    """Whether the question accepts only one of the parameters."""
    narrow: bool = True
    """Whether a condition makes an argument narrower; False if that would change the rows themselves."""

    def bound_of(self, column: str, *, is_upper: bool) -> Bound | None:
        """The bound of a column that a condition with an upper or a lower limit sets."""
        for bound in self.bounds:
            if (bound.column, bound.is_upper) == (column, is_upper):
                return bound
        return None

    def set_by(
        self, given: Mapping[str, Value], limits: Mapping[str, list[Value]], *, compared: bool
    ) -> dict[str, Value]:
        """The arguments that conditions set, given the caller's arguments and the limits for each column.

        `compared` says whether the statement compares one of the `numbers`.
        """
        own = [bound.parameter for bound in self.bounds if given.get(bound.parameter) is not None]
        arguments: dict[str, Value] = {}
        for name, value in self._accepted(self._limits(limits), own).items():
            argument = given.get(name)
            if argument is None:
                arguments[name] = value
            elif self.narrow and isinstance(argument, (int, float)):
                arguments[name] = self._bound(name).narrower((argument, value))
        if compared and not own and not arguments:
            arguments[self.bounds[0].parameter] = self.bounds[0].widest
        return arguments

    def _accepted(self, found: dict[str, float], own: list[str]) -> dict[str, float]:
        """The parameters that the question accepts together with the caller's own ones."""
        if not (self.only_one and found):
            return found
        # Resemblance comes first: it lets fewer pairs through than the same share of containment.
        wanted = own[0] if own else min(found, key=lambda name: found[name] == self._bound(name).widest)
        return {name: value for name, value in found.items() if name == wanted}

    def _limits(self, limits: Mapping[str, list[Value]]) -> dict[str, float]:
        """The narrowest value for each parameter that a limit sets. Only numbers are limits."""
        found: dict[str, float] = {}
        for bound in self.bounds:
            for limit in limits.get(bound.column, ()):
                if isinstance(limit, (int, float)):
                    value = bound.as_parameter(limit)
                    found[bound.parameter] = bound.narrower((value, found.get(bound.parameter, value)))
        return found

    def _bound(self, parameter: str) -> Bound:
        return next(bound for bound in self.bounds if bound.parameter == parameter)


NO_THRESHOLDS = Thresholds()
"""The thresholds of a table function without any."""
