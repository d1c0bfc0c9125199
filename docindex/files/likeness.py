"""An index in, groups of text files that are alike without being copies out: for a person to look at.

Must never be acted upon: what is alike is not the same.
"""

import dataclasses
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from docindex.files.names import under
from docindex.index import Index

Kind = Literal["same text", "near", "contained"]
KINDS: tuple[Kind, ...] = ("same text", "near", "contained")


@dataclasses.dataclass(frozen=True, slots=True)
class Like:
    """A file in such a group."""

    key: str
    share: float
    """How much it resembles the one it is like; of a contained one, how much of it is in the first."""
    like: str | None
    """The key of that one; None for the first of the group."""
    size: int


@dataclasses.dataclass(frozen=True, slots=True)
class Alike:
    """Files that are alike, the first one before those that are like it."""

    kind: Kind
    files: tuple[Like, ...]

    @property
    def reclaimable(self) -> int:
        """How many bytes all but the largest have: what could be given back if one is enough."""
        sizes = [file.size for file in self.files]
        return sum(sizes) - max(sizes)


def alike(
    index: Index,
    roots: Sequence[str],
    *,
    min_resemblance: float = 0.8,
    min_containment: float | None = 0.8,
    among: AbstractSet[str] | None = None,
) -> list[Alike]:
    """Groups of texts under some folders: of the same letters and digits, near ones, one inside another.

    Exact copies count once, by the first of their keys; so do, where one is inside another, the same texts.
    """
    files = {file.key: file for root in roots for file in index.files.under(root)}
    sizes = {key: file.size for key, file in files.items()}
    where = under(roots)
    found: list[Alike] = []
    together: dict[str, int] = {}
    copied: set[str] = set()
    for number, cluster in enumerate(index.clusters(min_resemblance, where=where)):
        there = [member for member in cluster.members if among is None or member.key in among]
        together.update(dict.fromkeys((member.key for member in there), number))
        copied.update(m.key for m in there if m.why in ("exact copy", "same text"))
        members, bytes_of = [], set()
        for member in there:
            # One text may be written in several ways, as UTF-8 and as UTF-16.
            digest = files[member.key].digest if member.key in files else None
            if member.why != "exact copy" or (digest is not None and digest not in bytes_of):
                members.append(member)
            bytes_of.add(digest)
        if len(members) > 1:
            kind: Kind = "near" if any(member.why == "near" for member in members) else "same text"
            like = [Like(m.key, m.resemblance, m.like, sizes.get(m.key, 0)) for m in members]
            found.append(Alike(kind, tuple(like)))
    if min_containment is not None:
        inside: dict[str, list[Like]] = {}
        for pair in index.containments(min_containment, where=where):
            apart = together.get(pair.a, pair.a) != together.get(pair.b, pair.b)
            meant = among is None or {pair.a, pair.b} <= among
            if meant and apart and not {pair.a, pair.b} & copied:
                contained = Like(pair.a, pair.containment, pair.b, sizes.get(pair.a, 0))
                inside.setdefault(pair.b, []).append(contained)
        for key, parts in inside.items():
            found.append(Alike("contained", (Like(key, 1.0, None, sizes.get(key, 0)), *parts)))
    return sorted(found, key=lambda group: (-group.reclaimable, group.files[0].key))
