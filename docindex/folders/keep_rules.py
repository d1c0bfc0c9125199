"""The rules that choose which of several copies is kept, and say why.

Takes candidates, which are files or folders, and returns the best one with a reason such as "not in
Downloads". Must never look at the files themselves.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from docindex.folders.originals import copy_signs
from docindex.folders.path_keys import is_under

KeepRule = Literal["original", "newest", "oldest", "shortest-path", "first"]
"""The rule that chooses the file to keep. Original: the file that looks least like a copy. A mark such as
"(1)", "copy" or "Kopie von" in a name decides first, then a folder such as Downloads, Desktop, a backup or
the trash; then the oldest file is kept, then the one with the shortest path. First: the first path
alphabetically, which also decides ties."""

# File systems on memory cards round times down to even seconds: such a copy is no older than its original.
_SAME_AGE_NS = 2_000_000_000


class Candidate(NamedTuple):
    """A file or a folder that may be kept."""

    key: str
    mtime_ns: int
    files: int = 1
    """The number of files in a folder."""


_Reason = Callable[[Candidate, Candidate], str]
"""Why the first candidate is kept and not the second."""


class _Rule(NamedTuple):
    """A rule: the candidate with the smallest values is kept."""

    values: Callable[[Candidate], tuple[Any, ...]]
    """In one call: it takes half the time of a function for each value."""
    reasons: tuple[_Reason, ...]
    """The reason for each value, if that is the first that differs."""


def _because_of_mark(kept: Candidate, other: Candidate) -> str:
    mark = _more(copy_signs(other.key).marks, copy_signs(kept.key).marks)
    return f'no "{mark}" in its name' if mark else "fewer marks of a copy in its name"


def _because_of_place(kept: Candidate, other: Candidate) -> str:
    place = _more(copy_signs(other.key).places, copy_signs(kept.key).places)
    return f"not in {place}" if place else "in a folder that looks less like a backup"


def _more(signs: Sequence[str], own: Sequence[str]) -> str:
    """The last sign that is there more often than in `own`; empty without such a sign."""
    return next((sign for sign in reversed(signs) if signs.count(sign) > own.count(sign)), "")


def _said(reason: str) -> Callable[[Candidate, Candidate], str]:
    return lambda _kept, _other: reason


def _by_signs(file: Candidate) -> tuple[Any, ...]:
    signs, age = copy_signs(file.key), file.mtime_ns // _SAME_AGE_NS
    return len(signs.marks), signs.weight, -file.files, age, len(file.key), file.key


_SHORTEST, _FIRST = _said("the shortest path"), _said("the first path")
_RULES = {
    "original": _Rule(
        _by_signs,
        (
            _because_of_mark,
            _because_of_place,
            _said("it has more files"),
            _said("the oldest"),
            _SHORTEST,
            _FIRST,
        ),
    ),
    "newest": _Rule(lambda file: (-file.mtime_ns, file.key), (_said("the newest"), _FIRST)),
    "oldest": _Rule(lambda file: (file.mtime_ns, file.key), (_said("the oldest"), _FIRST)),
    "shortest-path": _Rule(lambda file: (len(file.key), file.key), (_SHORTEST, _FIRST)),
    "first": _Rule(lambda file: (file.key,), (_FIRST,)),
}
KEEP = tuple(_RULES)
"""Every value of `KeepRule`."""


def check_keep(keep: str) -> None:
    """`ValueError` unless this is a `KeepRule`."""
    if keep not in _RULES:
        raise ValueError(f"keep must be one of {', '.join(KEEP)}, not {keep!r}")


class KeepPolicy(NamedTuple):
    """How to choose the files to keep."""

    keep: KeepRule = "first"
    reference: Sequence[str] = ()
    """Folders, by their keys, whose files are always kept."""
    isolate: Sequence[str] = ()
    """Folders, by their keys. Files in one of them do not count as copies of each other."""
    prefer: Sequence[str] = ()
    """Folders, by their keys, whose files are kept rather than others; the first folder most."""
    other_disks: bool = False
    """Whether a file may go that is on another disk than the kept file."""

    def best(self, candidates: Sequence[Candidate]) -> tuple[Candidate, str]:
        """The candidate to keep, and why it is kept and not the next best; "" if there is no other."""
        ordered = sorted([(self.order(each), each) for each in candidates])
        own, first = ordered[0]
        if len(ordered) > 1:
            other, second = ordered[1]
            reasons = _RULES[self.keep].reasons
            if self.prefer:
                reasons = (_said("in a preferred folder"), *reasons)
            for reason, value, next_value in zip(reasons, own, other, strict=True):
                if value != next_value:
                    return first, reason(first, second)
        return first, ""

    def order(self, candidate: Candidate) -> tuple[Any, ...]:
        """The values of all criteria. The candidate with the smallest order is kept."""
        values = _RULES[self.keep].values(candidate)
        return (self._preference(candidate), *values) if self.prefer else values

    def _preference(self, file: Candidate) -> int:
        places = enumerate(self.prefer)
        return next((number for number, folder in places if is_under(file.key, folder)), len(self.prefer))
