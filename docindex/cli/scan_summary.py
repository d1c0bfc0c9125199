"""Scan folders with a progress bar, and report the result as text for a person or as a JSON object.

Also says which folders were never scanned.
"""

import collections
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from docindex import folders
from docindex.cli.exit_codes import DONE, exit_code_of
from docindex.cli.output import progress, remark, say
from docindex.errors import UnreadableFile
from docindex.folders.walking.walk import IN_PROGRAMS
from docindex.shown.paths import display_path
from docindex.shown.wording import one_line, several, size

if TYPE_CHECKING:  # a search for exact copies needs no index
    from docindex.index.index import Index

_COUNTS = ("unchanged", "added", "changed", "moved", "removed", "texts", "binaries", "bytes")


def existing_roots(roots: Iterable[bytes]) -> tuple[list[bytes], int]:
    """The roots that exist, and the exit code for the end: not 0 if others do not, which stderr names.

    `UnreadableFile` if no root exists.
    """
    found: list[bytes] = []
    missing: list[str] = []
    for root in roots:
        if os.path.lexists(root):
            found.append(root)
        else:
            missing.append(folders.key_of(root))
    errors = [f"{display_path(key)} cannot be read: No such file or directory" for key in missing]
    if not errors:
        return found, DONE
    if not found:
        raise UnreadableFile("; ".join(errors), missing[0])
    for error in errors:
        say(f"docindex: {error}")
    return found, exit_code_of(UnreadableFile("", ""))


def missing_code(missing: Iterable[folders.FailedFile]) -> int:
    """Name the roots on stderr that could not be read, and return the exit code for the end."""
    code = DONE
    for root in missing:
        say(f"docindex: {display_path(root.key)} cannot be read: {root.reason}")
        code = exit_code_of(UnreadableFile("", ""))
    return code


def scan_with_progress(
    index: "Index",
    roots: Sequence[bytes],
    options: folders.WalkOptions,
    encoding: str | None,
    *,
    verbose: bool,
) -> "folders.Scan":
    """Scan some roots; with `verbose`, guessed and undetected encodings are named on stderr."""
    with progress("scanning") as advance:
        result = folders.scan(index, roots, options=options, encoding=encoding, progress=advance)
    if verbose:
        from docindex.cli.text_input import remark_on_guess, remark_on_undetected

        for key, guessed in result.guessed.items():
            remark_on_guess(display_path(key), guessed)
        for key in result.undetected:
            remark_on_undetected(display_path(key))
    return result


def remark_on_unknown(index: "Index", roots: Iterable[bytes]) -> None:
    """Say on stderr which roots have nothing under them that is in the index."""
    from docindex.storage.rows.key_ranges import (
        counts_under_roots,
    )  # a search without an index runs without json

    for root in map(folders.key_of, roots):
        ((documents, _),) = index.execute(*counts_under_roots([root]))
        if not documents and not index.files.under(root):
            remark(
                f"docindex: nothing under {display_path(root)} is in the index; docindex scan adds its files"
            )


def scan_record(result: "folders.Scan") -> dict[str, Any]:
    """The result of a scan as a JSON object."""
    return {
        **{name: getattr(result, name) for name in _COUNTS},
        "skipped": dict(sorted(result.skipped.items())),
        "undetected": list(result.undetected),
        "unread": [unread._asdict() for unread in result.unread],
        "problems": [{"path": key, "why": why} for key, why in sorted(result.problems.items())],
        "missing": [{"path": root.key, "why": root.reason} for root in result.missing],
        "failed": [{"path": file.key, "why": file.reason} for file in result.failed],
    }


def scan_text(result: "folders.Scan", *, verbose: bool, plain: bool = False, compared: bool = False) -> str:
    """The result of a scan for a person; with `verbose`, every file that could not be read.

    `plain` says that only plain text was read. With `compared`, it says how the files were compared, and what
    such a comparison does not find.
    """
    texts = several(result.texts, "text")
    others = f"{several(result.binaries, 'file')} in other formats"
    found = f": {texts}, {others if plain else several(result.binaries, 'other file')}"
    lines = [
        f"{several(result.files, 'file')}, {size(result.bytes)}{'' if compared else found}",
        f"{result.added:,} new, {result.changed:,} changed, {result.moved:,} moved, "
        f"{result.removed:,} gone, {result.unchanged:,} unchanged",
    ]
    if compared:
        lines.append(f"{texts} compared by content{_as_bytes(result)}")
    lines += _skipped_lines(result.skipped, result.programs)
    if compared:
        lines += _unfound_lines(result.media)
    if result.undetected:
        lines.append(
            f"unknown encoding: {several(len(result.undetected), 'text')}, counted among the other files; "
            f"--encoding reads them{'' if verbose else ', --verbose lists them'}"
        )
    lines += _unread_lines(result, verbose=verbose)
    lines += _failed_lines(result.failed, "the next scan tries the unreadable files again", verbose=verbose)
    return "\n".join(lines)


def _as_bytes(result: "folders.Scan") -> str:
    """The files that are no texts, and the kinds of some of them."""
    if not result.binaries:
        return ""
    kinds = [f"{kind}s" for kind in result.media]
    if sum(result.media.values()) < result.binaries:
        kinds.append("...")
    media = f" ({', '.join(kinds)})" if result.media else ""
    return f"; {several(result.binaries, 'other file')}{media} byte by byte only"


_UNREAD = {
    "encrypted": "encrypted",
    "no text": "no text, perhaps scanned pages",
    "too slow": "takes too long; docindex scan --retry tries again",
    "too much work": "too much work for its size",
    "not installed": "needs: pip install 'docindex[formats]'",
}


def _unread_lines(result: "folders.Scan", *, verbose: bool) -> Iterable[str]:
    """The files in known formats that have no document, counted by format and reason."""
    counts = collections.Counter((unread.format, unread.reason) for unread in result.unread)
    for (format_, reason), count in sorted(counts.items()):
        yield f"not read: {several(count, f'{format_} file'.lstrip())} ({_UNREAD.get(reason, reason)})"
    partly = len(result.problems.keys() - {unread.key for unread in result.unread})
    if partly:
        yield f"read in part: {several(partly, 'file')}"
    if result.problems and not verbose:
        yield "--verbose names these files, with the reasons"
    if verbose:
        yield from (f"  {display_path(key)}: {problem}" for key, problem in sorted(result.problems.items()))


def walked_text(walked: folders.Walked, failed: Sequence[folders.FailedFile], *, verbose: bool) -> str:
    """What a search without an index found in the folders, for a person."""
    lines = [
        f"{several(walked.files, 'file')}, {size(walked.bytes)}",
        *_skipped_lines(walked.skipped, walked.programs),
    ]
    lines += _unfound_lines(walked.media)
    return "\n".join(
        [*lines, *_failed_lines(failed, "files that could not be read may have copies", verbose=verbose)]
    )


def _skipped_lines(skipped: Mapping[str, int], programs: Sequence[str]) -> Iterable[str]:
    """What was not scanned, with the options that include it."""
    asked = {reason: _LEFT_OUT[reason] for reason in skipped if reason in _LEFT_OUT}
    if asked:
        counted = ", ".join(noun(skipped[reason]) for reason, (noun, _) in asked.items())
        options = ", ".join(option for _, option in asked.values())
        include = "include" if len(asked) > 1 else "includes"
        them = "it" if sum(skipped[reason] for reason in asked) == 1 else "them"
        yield f"not scanned: {counted} ({options} {include} {them})"
    if programs:
        names = list(dict.fromkeys(one_line(key.rpartition("/")[2]) for key in programs))
        shown = ", ".join([*names[:_NAMED], *(["..."] if len(names) > _NAMED else [])])
        yield (
            f"not scanned: {several(len(programs), 'program folder')} ({shown}) with "
            f"{several(skipped.get(IN_PROGRAMS, 0), 'file')} (--all includes them)"
        )
    others = sorted(reason for reason in skipped if reason not in (*_LEFT_OUT, IN_PROGRAMS))
    if others:
        parts = (_OTHERS.get(reason, _plain)(skipped[reason], reason) for reason in others)
        yield f"left out: {', '.join(parts)}"


_NAMED = 3
"""The program folders that are named."""

_LEFT_OUT: dict[str, tuple[Callable[[int], str], str]] = {
    "hidden": (
        lambda count: f"{count:,} hidden {'file or folder' if count == 1 else 'files and folders'}",
        "--hidden",
    ),
    "ignored": (lambda count: f"{count:,} named in .gitignore", "--no-ignore"),
}
"""Entries that are left out without an option: how they are counted, and the option that includes them."""


def _plain(count: int, reason: str) -> str:
    return f"{count:,} {reason}"


_OTHERS: dict[str, Callable[[int, str], str]] = {
    "symlink": lambda count, _: several(count, "symbolic link"),
    "seen under another path": lambda count, reason: f"{several(count, 'folder')} {reason}",
    "special": lambda count, _: (
        f"{count:,} {'special file' if count == 1 else 'special files (pipes, devices)'}"
    ),
}


def _unfound_lines(media: Mapping[folders.MediaKind, int]) -> Iterable[str]:
    """What a comparison of texts and bytes cannot find, if there are such files."""
    unfound = [
        f"{_ALIKE[kind].format(several(media[kind], kind))}" for kind in _ALIKE if media.get(kind, 0) > 1
    ]
    if unfound:
        yield f"not compared: {', '.join(unfound)} (a program such as czkawka compares that)"


_ALIKE: dict[folders.MediaKind, str] = {
    "photo": "what {} show",
    "song": "how {} sound",
    "video": "what {} show",
}


def _failed_lines(failed: Sequence[folders.FailedFile], consequence: str, *, verbose: bool) -> Iterable[str]:
    if verbose:
        yield from (f"  {display_path(file.key)}: {file.reason}" for file in failed)
    elif failed:
        yield f"{consequence}; --verbose lists them"
