"""The rules by which deduplication on Spark chooses the document of a cluster that is kept.

In: the name of a rule and the columns of a DataFrame. Out: the order of the documents, the kept one first.
Must never let the order depend on the partition of a row.
"""

import dataclasses
from typing import Self

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex.arguments import shown

KEEP_RULES = ("longest", "shortest", "first")
"""The rules that need no column of the person's own."""
_BY_COLUMN = ("max", "min")
VALUE = "docindex_value"
"""The name of the column by which a rule orders."""


@dataclasses.dataclass(frozen=True, slots=True)
class KeepOrder:
    """An order of documents: by a value, the highest or the lowest first, and then by key."""

    source: str
    """The column that has the value; "" for the number of characters, or for a rule without a value."""
    rule: str

    @classmethod
    def of(cls, keep: str, name: str = "keep") -> Self:
        """The order that a rule means; `ValueError` for another rule, with the name of the option.

        >>> KeepOrder.of("max:score")
        KeepOrder(source='score', rule='max')
        """
        rule, colon, source = keep.partition(":")
        if keep in KEEP_RULES or (rule in _BY_COLUMN and colon and source):
            return cls(source, rule)
        raise ValueError(
            f"{name} must be one of {', '.join(KEEP_RULES)}, max:COLUMN, min:COLUMN, not {shown(keep)}; "
            "COLUMN is the name of a column of yours, such as max:date"
        )

    def values(self, sketches: DataFrame, frame: DataFrame) -> DataFrame:
        """The key of each document, and the value by which it is ordered.

        `frame` has the column that a rule names; `ValueError` if it does not.
        """
        if not self.source:
            value = F.lit(0) if self.rule == "first" else F.col("characters")
            return sketches.select("key", value.alias(VALUE))
        try:
            return frame.select("key", F.col(self.source).alias(VALUE))
        except AnalysisException as error:
            rule, columns = f"{self.rule}:{self.source}", ", ".join(frame.columns)
            raise ValueError(
                f"keep={rule!r}: there is no column {self.source!r}; the DataFrame has {columns}"
            ) from error

    def columns(self) -> list[Column]:
        """The columns to sort by; rows without a value come last."""
        highest = self.rule in ("longest", "max")
        return [F.desc_nulls_last(VALUE) if highest else F.asc_nulls_last(VALUE), F.asc("key")]


def quoted_name(name: str) -> str:
    """The name of a column, which may have dots, as Spark reads it.

    >>> quoted_name("a.b")
    '`a.b`'
    """
    return "`" + name.replace("`", "``") + "`"


def as_column(name: str) -> Column:
    """The column with a name that may have dots."""
    return F.col(quoted_name(name))
