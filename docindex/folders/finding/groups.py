"""What a search for copies returns: groups of exact copies, and groups of texts that are alike.

Holds values only. Must never import the index: a search for exact copies needs no index, and importing numpy
takes longer than such a search in a small folder.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from docindex.folders.planning.copy_groups import CopyGroup, FolderGroup
from docindex.folders.walking.file_kinds import MediaKind
from docindex.folders.walking.walk import FailedFile

if TYPE_CHECKING:
    from docindex.folders.planning.plan import Plan

LikenessKind = Literal["same words", "near", "contained"]
"""Same words: the same words in the same order, for example one text in two encodings. Near: a resemblance of
at least `min_resemblance`. Contained: at least `min_containment` of a text is in another text."""

LIKENESS_KINDS: tuple[LikenessKind, ...] = ("same words", "near", "contained")
"""Every value of `LikenessKind`."""

ExactKind = Literal["folder", "exact"]
"""Folder: folders that are exact or near copies of other folders. Exact: other files with the same bytes.
These kinds need no index."""

FindingKind = ExactKind | LikenessKind
"""`ExactKind` and `LikenessKind` explain the kinds."""

EXACT_KINDS: tuple[ExactKind, ...] = ("folder", "exact")
"""Every value of `ExactKind`."""

KINDS: tuple[FindingKind, ...] = (*EXACT_KINDS, *LIKENESS_KINDS)
"""Every value of `FindingKind`."""


class LikeFile(NamedTuple):
    """A file of a `LikenessGroup`."""

    key: str
    share: float
    """Its resemblance to the file that `like` names; for a contained file, its containment in that file."""
    like: str | None
    """The key of another file of the group; None for the first file."""
    size: int


class LikenessGroup(NamedTuple):
    """Text files that are alike. Each file after the first is like an earlier file of the group."""

    kind: LikenessKind
    files: tuple[LikeFile, ...]

    @property
    def reclaimable(self) -> int:
        """The bytes that are freed if only the largest file is kept."""
        sizes = [file.size for file in self.files]
        return sum(sizes) - max(sizes)


class Walked(NamedTuple):
    """The files that were found in folders."""

    files: int
    bytes: int
    """The size of all these files."""
    skipped: Mapping[str, int]
    """How many entries were left out, by reason."""
    programs: tuple[str, ...] = ()
    """The program folders that were left out, by their keys."""
    media: Mapping[MediaKind, int] = {}
    """How many files are photos, songs and videos, by their extensions."""


class Findings(NamedTuple):
    """The result of `find` and `find_exact`."""

    copies: tuple[CopyGroup, ...]
    """Groups of exact copies, with the files to keep; the largest reclaimable size first."""
    likenesses: tuple[LikenessGroup, ...]
    """Groups of text files that are alike; the largest reclaimable size first."""
    unreadable: tuple[FailedFile, ...]
    """Files and folders that could not be read. Their files may have copies that are not listed."""
    ignored: int = 0
    """How many different shingles were ignored because more than `ignore_above` texts share them."""
    walked: Walked | None = None
    """What `find_exact` found in the folders; None after `find`."""
    folders: tuple[FolderGroup, ...] = ()
    """Folders that are copies of other folders; the largest reclaimable size first. `copies` leaves out the
    files that are copied with these folders."""
    missing: tuple[FailedFile, ...] = ()
    """The roots that do not exist or seem unmounted, so that their files are not compared."""

    @property
    def groups(self) -> list[FolderGroup | CopyGroup | LikenessGroup]:
        """All groups: folders first, then the others, the largest reclaimable size first."""
        others: list[CopyGroup | LikenessGroup] = [*self.copies, *self.likenesses]
        return [*self.folders, *sorted(others, key=lambda group: -group.reclaimable)]

    @property
    def reclaimable(self) -> int:
        """The bytes that are freed if the exact copies are removed that need not be kept."""
        of_folders = sum(group.reclaimable for group in self.folders if not group.keep)
        return of_folders + sum(group.reclaimable for group in self.copies)

    def plan(self) -> "Plan":
        """The plan to remove the exact copies. It never includes files that are only alike."""
        from docindex.folders.planning.plan import Plan  # to show groups, no plan is needed

        return Plan(self.copies, self.folders)
