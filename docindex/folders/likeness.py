"""An index in, groups of text files that are alike without being copies out: for a person to look at.

Must never be acted upon: what is alike is not the same.
"""

import bisect
import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from docindex.folders.path_keys import under
from docindex.index.writer import Index
from docindex.query.pairs import Pair

Kind = Literal["same text", "near", "contained"]
KINDS: tuple[Kind, ...] = ("same text", "near", "contained")


@dataclasses.dataclass(frozen=True, slots=True)
class LikeFile:
    """A file in such a group."""

    key: str
    share: float
    """How much it resembles the one it is like; of a contained one, how much of it is in the first."""
    like: str | None
    """The key of that one; None for the first of the group."""
    size: int


@dataclasses.dataclass(frozen=True, slots=True)
class LikenessGroup:
    """Files that are alike, the first one before those that are like it."""

    kind: Kind
    files: tuple[LikeFile, ...]

    @property
    def reclaimable(self) -> int:
        """How many bytes all but the largest have: what could be given back if one is enough."""
        sizes = [file.size for file in self.files]
        return sum(sizes) - max(sizes)


def likenesses(
    index: Index,
    roots: Sequence[str],
    *,
    min_resemblance: float = 0.8,
    min_containment: float | None = 0.8,
    ignore_above: int | None = None,
    among: AbstractSet[str] | None = None,
) -> list[LikenessGroup]:
    """Groups of texts under some folders: of the same letters and digits, near ones, one inside another.

    Exact copies count once, by the first of their keys; so do, where one is inside another, all of a group;
    and each text is shown inside one only.
    What more than `ignore_above` texts have does not count: where a hundred thousand are alike, because one
    program wrote them, to name each pair would fill any memory.
    """
    files = {file.key: file for root in roots for file in index.files.under(root)}

    def like(key: str, share: float, other: str | None) -> LikeFile:
        return LikeFile(key, share, other, files[key].size if key in files else 0)

    where = under(roots)
    found: list[LikenessGroup] = []
    stood_for: list[str] = []
    for cluster in index.clusters(min_resemblance, where=where, ignore_above=ignore_above):
        there = [member for member in cluster.members if among is None or member.key in among]
        stood_for += [member.key for member in there[1:]]
        members, bytes_of = [], set()
        for member in there:
            # One text may be written in several ways, as UTF-8 and as UTF-16.
            digest = files[member.key].digest if member.key in files else None
            if member.why != "exact copy" or (digest is not None and digest not in bytes_of):
                members.append(member)
            bytes_of.add(digest)
        if len(members) > 1:
            kind: Kind = "near" if any(member.why == "near" for member in members) else "same text"
            found.append(LikenessGroup(kind, tuple(like(m.key, m.resemblance, m.like) for m in members)))
    if min_containment is not None:
        condition, bindings = where
        # The first of each group stands for it: a hundred drafts in a hundred finals are ten thousand pairs.
        firsts = f"({condition}) and key not in (select value from json_each(?))"
        pairs = index.containments(
            min_containment, where=(firsts, [*bindings, json.dumps(stood_for)]), ignore_above=ignore_above
        )
        meant = (pair for pair in pairs if among is None or {pair.a, pair.b} <= among)
        inside: dict[str, list[LikeFile]] = {}
        for pair in _closest(meant, lambda key: like(key, 1.0, None).size):
            inside.setdefault(pair.b, []).append(like(pair.a, pair.containment, pair.b))
        found += [LikenessGroup("contained", (like(key, 1.0, None), *parts)) for key, parts in inside.items()]
    return sorted(found, key=lambda group: (-group.reclaimable, group.files[0].key))


def _closest(pairs: Iterable[Pair], size: Callable[[str], int]) -> list[Pair]:
    """Of each text the pair with the one that has the most of it, of several such the smallest.

    Of two that are inside each other the one that is more so.
    """
    best: dict[str, Pair] = {}
    for pair in pairs:
        other = best.get(pair.a)
        if other is None or (-pair.containment, size(pair.b)) < (-other.containment, size(other.b)):
            best[pair.a] = pair

    def stays(pair: Pair) -> bool:
        back = best.get(pair.b)
        if back is None or back.b != pair.a:
            return True
        return (-pair.containment, pair.a) < (-back.containment, back.a)

    return [pair for pair in best.values() if stays(pair)]


def too_common(index: Index, ignore_above: int) -> int:
    """How many different fingerprints more than so many texts have."""
    if len(index) <= ignore_above:
        return 0
    return bisect.bisect_left(index.document_frequencies(), -ignore_above, key=lambda count: -count)
