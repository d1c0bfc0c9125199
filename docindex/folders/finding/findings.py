"""Find copies among the files of folders: exact copies, the same words, near copies, contained texts.

Takes an index that a scan has brought up to date, and returns the groups. Reads files to compare them, and
stores their digests in the index, so that the next call need not read them again. Must never change a file.
"""

from collections.abc import Iterable

from docindex.arguments import share
from docindex.folders.finding.copied_folders import GroupedCopies, grouped_copies
from docindex.folders.finding.exact_copies import find_copies, known_files
from docindex.folders.finding.groups import EXACT_KINDS, KINDS, FindingKind, Findings, LikenessGroup
from docindex.folders.finding.likeness import LikenessLimits, find_likenesses
from docindex.folders.planning.keep_rules import KeepPolicy, KeepRule, check_keep
from docindex.folders.planning.kept_files import KeepChoice
from docindex.folders.scanning.scanner import Scan, check_index
from docindex.folders.walking.path_keys import Root, key_of, reference_roots, roots_of
from docindex.folders.walking.walk import FolderProgress, Skipped, no_progress
from docindex.index.writer import Index
from docindex.query.defaults import SAME_WORK


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
