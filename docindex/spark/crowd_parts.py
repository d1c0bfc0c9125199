"""Cut crowds of rows that share a key into parts, so that no task has to work through a whole crowd.

In: a DataFrame and the columns that a crowd shares. Out: the same rows with the number of their part, or all
pairs of members of a crowd. Small crowds, which are nearly all, have one part. Must never collect a crowd on
the driver or in one row.
"""

import dataclasses
from collections.abc import Sequence
from typing import Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

FIRST, SECOND, BOTH = 1, 2, 3
"""In which of two DataFrames a row is: the column `side`."""

_PART = 1000
"""About how many rows a part has. A crowd of a million has a thousand parts, and half a million pairs of
parts, with as many pairs of rows in each."""


@dataclasses.dataclass(frozen=True, slots=True)
class CrowdParts:
    """The large crowds of a DataFrame."""

    shared: tuple[str, ...]
    """The columns that the rows of a crowd share."""
    large: DataFrame
    """These columns, and the number of `parts`, of the crowds with more than one part."""

    @classmethod
    def of(cls, rows: DataFrame, shared: tuple[str, ...]) -> Self:
        """The large crowds of some rows. The rows are counted when the crowds are first used."""
        sizes = rows.groupBy(*shared).agg(F.count("*").alias("size")).where(F.col("size") > _PART)
        return cls(shared, sizes.select(*shared, F.ceil(F.col("size") / _PART).cast("int").alias("parts")))

    def meetings(self, rows: DataFrame, member: str, tasks: int) -> DataFrame:
        """Each member `u` of a crowd that is in the first DataFrame, with each member `v` in the second one.

        `tasks` says into how many tasks the work is cut.
        """
        keys = [*self.shared, "part_u", "part_v"]
        u, v = (
            self._replicated(rows.where(F.col("side").bitwiseAND(F.lit(side)) > 0), member, parts)
            .select(*keys, F.col(member).alias(name))
            .repartition(tasks, *keys)
            for name, side, parts in (("u", FIRST, keys[-2:]), ("v", SECOND, keys[:-3:-1]))
        )
        return u.join(v, keys)

    def parted(self, rows: DataFrame, member: str) -> DataFrame:
        """The rows with a column `part`, from 0; the column `member` differs among the rows of a crowd."""
        # This is not the hash by which Spark partitions, so the rows of a task are of all parts.
        part = F.pmod(F.xxhash64(member), F.col("parts")).cast("int")
        return self._with_parts(rows).withColumn("part", part).drop("parts")

    def all_parts(self, rows: DataFrame, name: str) -> DataFrame:
        """Each row once for each part of its crowd, whose number is in the column `name`."""
        parts = F.sequence(F.lit(0), F.col("parts") - 1)
        return self._with_parts(rows).withColumn(name, F.explode(parts)).drop("parts")

    def _replicated(self, rows: DataFrame, member: str, names: Sequence[str]) -> DataFrame:
        """Each row once for each part that its own part is compared with.

        `names` are those of two new columns: the row's own part, and the other part.
        """
        own, other = names
        return self.all_parts(self.parted(rows, member).withColumnRenamed("part", own), other)

    def _with_parts(self, rows: DataFrame) -> DataFrame:
        """The rows with the number of `parts` of their crowd."""
        found = rows.join(F.broadcast(self.large), list(self.shared), "left")
        return found.withColumn("parts", F.coalesce("parts", F.lit(1)))
