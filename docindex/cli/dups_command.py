"""``docindex dups [PATH]...``: find exact copies and similar texts among the files of folders."""

from collections.abc import Iterable
from typing import Any

import click

from docindex import folders
from docindex.cli.file_selection import selection_options, walk_options
from docindex.cli.group_records import KIND_HEADINGS, group_record
from docindex.cli.options import (
    Command,
    common_option,
    encoding_option,
    form_options,
    index_option,
    share_option,
    verbose_option,
)
from docindex.cli.output import progress, remark, remark_on_ignored, show
from docindex.cli.scan_summary import (
    existing_roots,
    remark_on_unknown,
    scan_text,
    scan_with_progress,
    walked_text,
)
from docindex.cli.typed_paths import below_current_folder, display_path, typed_path
from docindex.cli.wording import percent, several, size
from docindex.default_path import default_name
from docindex.query.defaults import SAME_WORK

_KINDS = {kind.replace(" ", "-"): kind for kind in folders.KINDS}


@click.command("dups", cls=Command)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(list(_KINDS)),
    help="Show only groups of this kind. May be repeated.",
)
@share_option("--min-resemblance", SAME_WORK, "Minimum resemblance of near copies.")
@share_option(
    "--min-containment", SAME_WORK, "Minimum share of a contained text that the other text contains."
)
@common_option
@click.option(
    "--reference",
    multiple=True,
    type=click.Path(exists=True),
    metavar="DIR",
    help="Compare with the files in this folder, and always keep them. May be repeated.",
)
@click.option(
    "--keep",
    type=click.Choice(folders.KEEP),
    default="shortest-path",
    show_default=True,
    help="The file to keep of each group of exact copies.",
)
@click.option(
    "--isolate", is_flag=True, help="Do not treat files under the same PATH as exact copies of each other."
)
@click.option("--no-scan", is_flag=True, help="Compare the files as the last scan found them.")
@selection_options
@encoding_option
@index_option
@form_options
@verbose_option(
    "List the files that could not be read, and guessed or unknown encodings. Files that have not changed "
    "may be missing from this list."
)
def dups_command(
    paths: tuple[str, ...],
    kinds: tuple[str, ...],
    min_resemblance: float,
    min_containment: float,
    ignore_above: int,
    reference: tuple[str, ...],
    keep: folders.KeepRule,
    isolate: bool,
    no_scan: bool,
    encoding: str | None,
    index_path: str | None,
    form: str | None,
    verbose: bool,
    **selection: Any,
) -> int:
    """Find copies and similar texts among files.

    Scans PATH first, or the current folder if no PATH is given. Finds exact copies of any kind of file. Among
    texts, in all formats that `docindex scan` reads, it also finds the same words (such as another format or
    encoding), near copies, and texts that are contained in others. Resemblance and containment count groups
    of five words (shingles), as in `docindex pairs`, without those found in more than --ignore-common texts.
    Changes no file. To remove exact copies, save a plan with --json and run `docindex act` on it. With --kind
    exact alone and without --no-scan, no index is used, and only files that have the size of another file are
    read.

    \b
    Examples:
      docindex dups ~/Documents
      docindex dups --keep newest --reference ~/Archive ~/Archive ~/Desktop
      docindex dups --kind exact --json ~/Pictures > plan.json; docindex act plan.json --trash
    """
    roots, missing = [typed_path(path) for path in paths or (".",)], 0
    if not no_scan:
        roots, missing = existing_roots(roots)
    references = [typed_path(folder) for folder in reference]
    wanted, options = [_KINDS[kind] for kind in kinds or _KINDS], walk_options(selection)
    scanned = None
    if set(wanted) == {"exact"} and not no_scan:
        with progress("comparing", of_bytes=True) as advance:
            found = folders.find_exact(
                roots,
                options=options,
                keep=keep,
                reference=references,
                isolate=isolate,
                without=[index_path or default_name()],
                progress=advance,
            )
    else:
        # Imported here: to import an index takes longer than to find exact copies without it.
        from docindex.cli.existing_index import open_existing
        from docindex.cli.log_remarks import log_as_remarks
        from docindex.opening import open as open_index

        with (
            log_as_remarks(),
            open_existing(index_path) if no_scan else open_index(index_path) as index,
        ):
            if no_scan:
                remark_on_unknown(index, [*roots, *references])
            else:
                scanned = scan_with_progress(index, [*roots, *references], options, encoding, verbose=verbose)
            with progress("comparing", of_bytes=True) as advance:
                found = folders.find(
                    index,
                    roots,
                    kinds=wanted,
                    keep=keep,
                    reference=references,
                    isolate=isolate,
                    min_resemblance=min_resemblance,
                    min_containment=min_containment,
                    ignore_above=ignore_above,
                    scan=scanned,
                    progress=advance,
                )
        remark_on_ignored(found.ignored, ignore_above)
    _remark_on_files(found, scanned, form, verbose=verbose)
    plan = _plan(found) if form == "json" else None  # it takes as long as all the rest
    code = show([group_record(group) for group in found.groups], form, lambda: _text(found), plan)
    return missing or code


def _remark_on_files(
    found: folders.Findings, scanned: "folders.Scan | None", form: str | None, *, verbose: bool
) -> None:
    """Say which files were seen; to programs, only that some could not be read."""
    if scanned is not None and form is None:
        remark(scan_text(scanned, verbose=verbose))
    elif found.walked is not None and form is None:
        remark(walked_text(found.walked, found.unreadable, verbose=verbose))
    elif found.unreadable:
        count = several(len(found.unreadable), "file")
        remark(f"docindex: {count} could not be read, and may have copies")


def _plan(found: folders.Findings) -> dict[str, Any]:
    """The plan that `docindex act` takes, with the similar texts for a person to look at."""
    import json  # not needed to show the groups to a person

    alike = [group_record(group) for group in found.likenesses]
    return {**json.loads(found.plan().to_json()), "alike": alike}


def _text(found: folders.Findings) -> str:
    """All groups for a person, the largest reclaimable size first."""
    if not found.groups:
        return "no copies and no similar texts"
    lines: list[str] = []
    below = below_current_folder()
    for group in found.groups:
        if isinstance(group, folders.CopyGroup):
            lines += _copy_lines(group, below)
        else:
            lines += _likeness_lines(group, below)
        lines.append("")
    copies, similar = (several(len(groups), "group") for groups in (found.copies, found.likenesses))
    lines.append(
        f"{copies} of exact copies, {size(found.reclaimable)} reclaimable; {similar} of similar texts"
    )
    return "\n".join(lines)


def _copy_lines(group: folders.CopyGroup, below: str) -> Iterable[str]:
    count, each = several(len(group.files), "file"), size(group.files[0].size)
    yield f"{KIND_HEADINGS[group.kind]}: {count} of {each}, {size(group.reclaimable)} reclaimable"
    for file in group.files:
        yield f"  {'keep' if file.keep else '':4}  {display_path(file.key, below)}"


def _likeness_lines(group: folders.LikenessGroup, below: str) -> Iterable[str]:
    count = several(len(group.files), "file")
    # Documents inside a file have no size of their own.
    smaller = f", {size(group.reclaimable)} in the smaller files" if group.reclaimable else ""
    yield f"{KIND_HEADINGS[group.kind]}: {count}{smaller}"
    for file in group.files:
        yield f"  {percent(file.share) if file.like else '':>4}  {display_path(file.key, below)}"
