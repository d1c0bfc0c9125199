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


class _Criterion(NamedTuple):
    """A part of a rule: the candidate with the smallest value is kept."""

    value: Callable[[Candidate], Any]
    reason: Callable[[Candidate, Candidate], str]
    """Why the first candidate is kept and not the second."""


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


_SHORTEST = _Criterion(lambda file: len(file.key), _said("the shortest path"))
_RULES: dict[str, tuple[_Criterion, ...]] = {
    "original": (
        _Criterion(lambda file: len(copy_signs(file.key).marks), _because_of_mark),
        _Criterion(lambda file: copy_signs(file.key).weight, _because_of_place),
        _Criterion(lambda file: -file.files, _said("it has more files")),
        _Criterion(lambda file: file.mtime_ns // _SAME_AGE_NS, _said("the oldest")),
        _SHORTEST,
    ),
    "newest": (_Criterion(lambda file: -file.mtime_ns, _said("the newest")),),
    "oldest": (_Criterion(lambda file: file.mtime_ns, _said("the oldest")),),
    "shortest-path": (_SHORTEST,),
    "first": (),
}
_FIRST = _Criterion(lambda file: file.key, _said("the first path"))
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

    def best(self, candidates: Sequence[Candidate]) -> tuple[Candidate, str]:
        """The candidate to keep, and why it is kept and not the next best; "" if there is no other."""
        criteria = self._criteria()
        ordered = sorted([(*[criterion.value(each) for criterion in criteria], each) for each in candidates])
        first = ordered[0][-1]
        if len(ordered) > 1:
            for criterion, own, other in zip(criteria, ordered[0], ordered[1], strict=False):
                if own != other:
                    return first, criterion.reason(first, ordered[1][-1])
        return first, ""

    def order(self, candidate: Candidate) -> tuple[Any, ...]:
        """The values of all criteria. The candidate with the smallest order is kept."""
        return tuple(criterion.value(candidate) for criterion in self._criteria())

    def _criteria(self) -> tuple[_Criterion, ...]:
        preference = (_Criterion(self._preference, _said("in a preferred folder")),) if self.prefer else ()
        return (*preference, *_RULES[self.keep], _FIRST)

    def _preference(self, file: Candidate) -> int:
        places = enumerate(self.prefer)
        return next((number for number, folder in places if is_under(file.key, folder)), len(self.prefer))
