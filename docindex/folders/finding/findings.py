"""Find copies among the files of folders: exact copies, the same words, near copies, contained texts.

Takes an index that a scan has brought up to date, and returns the groups. Reads files to compare them, and
stores their digests in the index, so that the next call need not read them again. Must never change a file.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from docindex.arguments import share
from docindex.folders.finding.copied_folders import GroupedCopies, grouped_copies
from docindex.folders.finding.exact_copies import find_copies, known_files
from docindex.folders.finding.groups import (
    EXACT_KINDS,
    KINDS,
    FindingKind,
    Findings,
    LikeFile,
    LikenessGroup,
    LikenessKind,
)
from docindex.folders.planning.keep_rules import KeepPolicy, KeepRule, check_keep
from docindex.folders.planning.kept_files import KeepChoice
from docindex.folders.scanning.scanner import Scan, check_index
from docindex.folders.walking.path_keys import Root, key_of, reference_roots, roots_of
from docindex.folders.walking.walk import FolderProgress, Skipped, no_progress
from docindex.frontends.extracted import PART_MARK
from docindex.index.index import Index
from docindex.query.clusters import Cluster
from docindex.query.defaults import SAME_WORK
from docindex.query.pairs.pairs import Pair
from docindex.storage.rows.key_ranges import under_roots
from docindex.storage.tracked_files import Tracked

# Find text files that are alike without having the same bytes: the same words, near copies, contained texts.
#
# Takes an index and keys of folders, and returns groups for a person to look at. Must never be used to remove
# files: files that are alike are not the same.

# More texts than any index has.
_NO_LIMIT = 1 << 62


@dataclasses.dataclass(frozen=True, slots=True)
class LikenessLimits:
    """How alike files must be, and which files are compared."""

    min_resemblance: float = SAME_WORK
    min_containment: float | None = SAME_WORK
    """None to find no contained texts."""
    ignore_above: int | None = None
    """Ignore shingles that more than this many texts share; None for no limit. If a program wrote a
    hundred thousand similar files, their pairs would not fit in memory."""
    among: AbstractSet[str] | None = None
    """The keys of the files that are compared; None for all."""


class Likenesses(NamedTuple):
    """The result of `find_likenesses`."""

    groups: list[LikenessGroup]
    """The largest reclaimable size first."""
    ignored: int
    """How many different shingles were ignored because too many texts share them."""


def find_likenesses(index: Index, roots: Sequence[str], limits: LikenessLimits | None = None) -> Likenesses:
    """The groups of text files under some roots that are alike.

    A group shows only the first of several exact copies. Documents inside one file make no group. Texts
    without words make no group either: an archive that cannot be unpacked is no copy of an empty file. Only
    the first file of a group of near copies is compared for containment. A contained text is in one group
    only, with the text that contains most of it.
    """
    limits = limits or LikenessLimits()
    ignore_above = _NO_LIMIT if limits.ignore_above is None else limits.ignore_above
    files = _Files({file.key: file for root in roots for file in index.files.under(root)})
    groups: list[LikenessGroup] = []
    represented: list[str] = []
    clusters = index.clusters(limits.min_resemblance, where=under_roots(roots), ignore_above=ignore_above)
    for cluster in clusters:
        if not _has_words(index, cluster):
            represented += cluster.keys
            continue
        group, others = _near_group(cluster, files, limits.among)
        groups += group
        represented += others
    ignored = clusters.set_aside
    if limits.min_containment is not None:
        # Only the first file of each group: a hundred drafts in a hundred finals are ten thousand pairs.
        pairs = index.containments(
            limits.min_containment,
            where=under_roots(roots, without=represented),
            ignore_above=ignore_above,
        )
        ignored = max(ignored, pairs.set_aside)
        among = limits.among
        groups += _containment_groups(
            (
                pair
                for pair in pairs
                if files.file_of(pair.a) != files.file_of(pair.b)
                and (among is None or {files.file_of(pair.a), files.file_of(pair.b)} <= among)
            ),
            files,
        )
    groups.sort(key=lambda group: (-group.reclaimable, group.files[0].key))
    return Likenesses(groups, ignored)


def _has_words(index: Index, cluster: Cluster) -> bool:
    """Whether the texts of a cluster have words. Texts without words are never near copies of each other."""
    if any(member.why == "near" for member in cluster.members):
        return True
    return index[cluster.keys[0]].symbols > 0


class _Files:
    """The files that scans have noted, by key."""

    def __init__(self, known: dict[str, Tracked]) -> None:
        self._known = known

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def file_of(self, key: str) -> str:
        """The key of the file that a document is, or lies in."""
        place = len(key)
        while place >= 0 and key[:place] not in self._known:
            place = key.rfind(PART_MARK, 0, place)
        return key if place < 0 else key[:place]

    def digest(self, key: str) -> bytes | None:
        """The digest of a file. A document inside a file has none, but its key stands for its bytes."""
        if key in self._known:
            return self._known[key].digest
        return key.encode("utf-8", "surrogatepass") if PART_MARK in key else None

    def size(self, key: str) -> int:
        return self._known[key].size if key in self._known else 0

    def like(self, key: str, share: float, other: str | None) -> LikeFile:
        return LikeFile(key, share, other, self.size(key))


def _near_group(
    cluster: Cluster, files: _Files, among: AbstractSet[str] | None
) -> tuple[list[LikenessGroup], list[str]]:
    """The group of a cluster, if it has several files; and the keys of all members but the first."""
    found = [member for member in cluster.members if among is None or files.file_of(member.key) in among]
    members, digests = [], set()
    for member in found:
        if member.key in files and not files.size(member.key):
            continue  # all empty files have the same words
        # One text may have several forms, for example UTF-8 and UTF-16.
        digest = files.digest(member.key)
        if member.why != "exact copy" or (digest is not None and digest not in digests):
            members.append(member)
        digests.add(digest)
    represented = [member.key for member in found[1:]]
    if len({files.file_of(member.key) for member in members}) < 2:
        return [], represented
    kind: LikenessKind = "near" if any(member.why == "near" for member in members) else "same words"
    group = LikenessGroup(
        kind, tuple(files.like(member.key, member.resemblance, member.like) for member in members)
    )
    return [group], represented


def _containment_groups(pairs: Iterable[Pair], files: _Files) -> list[LikenessGroup]:
    """One group for each text that contains others, followed by the texts that it contains."""
    contained: dict[str, list[LikeFile]] = {}
    for pair in _closest(pairs, files.size):
        contained.setdefault(pair.b, []).append(files.like(pair.a, pair.containment, pair.b))
    return [
        LikenessGroup("contained", (files.like(key, 1.0, None), *parts)) for key, parts in contained.items()
    ]


def _closest(pairs: Iterable[Pair], size: Callable[[str], int]) -> list[Pair]:
    """For each text, the pair with the text that contains most of it.

    If several texts contain equally much, the smallest text is chosen. If two texts contain each other, only
    the pair with the larger containment is returned.
    """
    best: dict[str, Pair] = {}
    for pair in pairs:
        other = best.get(pair.a)
        if other is None or (-pair.containment, size(pair.b)) < (-other.containment, size(other.b)):
            best[pair.a] = pair

    def is_kept(pair: Pair) -> bool:
        back = best.get(pair.b)
        if back is None or back.b != pair.a:
            return True
        return (-pair.containment, pair.a) < (-back.containment, back.a)

    return [pair for pair in best.values() if is_kept(pair)]


def find(
    index: Index,
    roots: Iterable[Root],
    *,
    kinds: Iterable[FindingKind] = KINDS,
    keep: KeepRule = "original",
    reference: Iterable[Root] = (),
    prefer: Iterable[Root] = (),
    isolate: bool = False,
    other_disks: bool = False,
    min_resemblance: float = SAME_WORK,
    min_containment: float = SAME_WORK,
    ignore_above: int | None = 1000,
    scan: Scan | None = None,
    progress: FolderProgress = no_progress,
) -> Findings:
    """Find copies among the files under some roots and reference folders, as the last scans found them.

    `kinds` are the kinds of groups to find. `keep` is the rule that chooses which file of a group of exact
    copies, and which of two copied folders, is kept. Files in `reference` folders are compared with the
    others, and always kept. Files in `prefer` folders are kept rather than others, those in the first folder
    most. With `isolate`, files under one root do not count as exact copies of each other. Copies on another
    disk than the kept file are kept, too, unless `other_disks` is true. Shingles that more than
    `ignore_above` texts share are ignored, unless `ignore_above` is None.

    With `scan`, the result of a scan of the same folders, only files that the scan saw are compared; without
    it, all files that the index knows. `progress` counts the bytes of files that may have exact copies.

    `ValueError` for a parameter out of its range; `UnreadableFile` for a reference folder that does not
    exist; `Cancelled` after `Index.cancel`.

    >>> import docindex, pathlib, tempfile
    >>> from docindex import folders
    >>> with tempfile.TemporaryDirectory() as folder, docindex.open(":memory:") as index:
    ...     for name in ("a.bin", "b.bin"):
    ...         _ = pathlib.Path(folder, name).write_bytes(bytes(100))
    ...     found = folders.find(index, [folder], scan=folders.scan(index, [folder]))
    >>> [(group.kind, len(group.files), group.reclaimable) for group in found.groups]
    [('exact', 2, 100)]
    """
    check_index(index)
    wanted = _checked_kinds(kinds)
    check_keep(keep)
    share("min_resemblance", min_resemblance, above_zero=True)
    share("min_containment", min_containment, above_zero=True)
    own = [key_of(root) for root in roots_of(roots)]
    references = [key_of(root) for root in reference_roots(reference)]
    everywhere = list(dict.fromkeys([*own, *references]))
    among = None if scan is None else scan.seen
    skipped, copies, ignored = Skipped(), GroupedCopies([], []), 0
    likenesses: list[LikenessGroup] = []
    if wanted.intersection(EXACT_KINDS):
        known = known_files(index, everywhere, among)
        preferred = [key_of(root) for root in roots_of(prefer)]
        policy = KeepPolicy(keep, references, own if isolate else (), preferred, other_disks)
        copies = grouped_copies(
            find_copies(index, known, skipped, progress),
            ((file.key, file.size) for file in known),
            everywhere,
            KeepChoice(policy, everywhere),
            None if scan is None else scan.left_out,
            with_folders="folder" in wanted,
        )
    if wanted.difference(EXACT_KINDS):
        limits = LikenessLimits(
            min_resemblance, min_containment if "contained" in wanted else None, ignore_above, among
        )
        alike, ignored = find_likenesses(index, everywhere, limits)
        likenesses = [group for group in alike if group.kind in wanted]
    failed = (*(scan.failed if scan else ()), *skipped.failures())
    return Findings(
        copies=tuple(copies.groups) if "exact" in wanted else (),
        likenesses=tuple(likenesses),
        unreadable=tuple(dict.fromkeys(failed)),
        ignored=ignored,
        folders=tuple(copies.folders),
        missing=scan.missing if scan else (),
    )


def _checked_kinds(kinds: Iterable[str]) -> set[str]:
    wanted = {kinds} if isinstance(kinds, str) else set(kinds)
    if unknown := wanted - set(KINDS):
        raise ValueError(f"kinds must be some of {', '.join(KINDS)}, not {', '.join(sorted(unknown))}")
    if not wanted:
        raise ValueError(f"kinds is empty; give some of {', '.join(KINDS)}")
    return wanted
