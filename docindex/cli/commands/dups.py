"""``docindex dups [PATH]...``: find exact copies and similar texts among the files of folders."""

from collections.abc import Iterable, Sequence
from typing import Any

import click

from docindex import folders
from docindex.cli.file_selection import selection_options
from docindex.cli.options import (
    Command,
    as_value,
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
    missing_code,
    remark_on_unknown,
    scan_text,
    scan_with_progress,
    walked_text,
)
from docindex.cli.settings import read_settings
from docindex.cli.typed_paths import typed_path
from docindex.default_path import default_path
from docindex.query.defaults import SAME_WORK
from docindex.shown.groups import group_lines, group_record, group_rows, summary_lines
from docindex.shown.paths import below_current_folder
from docindex.shown.wording import several

_KINDS = {kind.replace(" ", "-"): kind for kind in folders.KINDS}
_ALL = 1 << 62


_limit_options = as_value(
    "limits",
    dict,
    share_option("--min-resemblance", SAME_WORK, "Minimum resemblance of near copies."),
    share_option("--min-containment", SAME_WORK, "Minimum share of a text that another text contains."),
    common_option,
)
_policy_options = as_value(
    "policy",
    lambda **given: read_settings().policy(**given),
    click.option(
        "--reference",
        multiple=True,
        type=click.Path(exists=True),
        metavar="DIR",
        help="Compare with the files in this folder, and always keep them. May be repeated.",
    ),
    click.option(
        "--keep",
        type=click.Choice(folders.KEEP),
        help="The file to keep of each group of exact copies. Default: original, the file that looks least "
        'like a copy by marks such as "(1)" in its name and by folders such as Downloads; then the oldest.',
    ),
    click.option(
        "--prefer",
        multiple=True,
        type=click.Path(),
        metavar="DIR",
        help="Keep exact copies in this folder rather than others. May be repeated: the first counts most.",
    ),
    click.option(
        "--isolate",
        is_flag=True,
        help="Do not treat files under the same PATH as exact copies of each other.",
    ),
    click.option(
        "--other-disks",
        is_flag=True,
        help="Also remove exact copies that are on a different disk from the kept file. By default they "
        "stay, because they may be a backup.",
    ),
)


@click.command("dups", cls=Command)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(list(_KINDS)),
    help="Show only groups of this kind. May be repeated.",
)
@_limit_options
@_policy_options
@click.option(
    "--top",
    type=click.IntRange(1),
    metavar="N",
    help="Show only the first N groups. The plan of --json has all groups.",
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
    limits: dict[str, Any],
    policy: dict[str, Any],
    top: int | None,
    no_scan: bool,
    selection: folders.WalkOptions,
    encoding: str | None,
    index_path: str | None,
    form: str | None,
    verbose: bool,
) -> int:
    """Find copies and similar texts among files.

    Scans PATH first; without a PATH, the folders of your settings (`docindex config`), or the current folder.
    Finds exact copies of any kind of file, and copied folders, in which a few files may differ. Copied
    folders come first, then the groups that free the most. A file in a copied folder is in no other group,
    unless --kind exact is given without --kind folder. Program folders such as node_modules are left out
    without --all.

    Among texts, in all formats that `docindex scan` reads, it also finds the same words (for example in
    another format or encoding), near copies, and texts that are contained in others. The percentage before a
    text is its resemblance to another text of the group, or the share of it that another text contains. These
    measures count runs of five words (shingles), as `docindex pairs` does, and ignore shingles found in more
    than --ignore-common texts.

    Changes no file. To remove exact copies, save a plan with --json, and run `docindex review` and then
    `docindex act` on it. Photos that look alike and songs with other tags are not found.

    If only the kinds exact and folder are asked for, docindex uses no index, and reads only files that have
    the size of another file. (With --no-scan, it uses the index.)

    \b
    Examples:
      docindex dups ~/Documents
      docindex dups --keep newest --reference ~/Archive ~/Archive ~/Desktop
      docindex dups --prefer ~/Documents --top 20 ~
      docindex dups --kind exact --json ~/Pictures > plan.json; docindex act plan.json --trash
      docindex dups --csv ~ > copies.csv
    """
    settings = read_settings()
    roots, missing = [typed_path(path) for path in paths or settings.folders or (".",)], 0
    if not no_scan:
        roots, missing = existing_roots(roots)
    wanted = [kind for name, kind in _KINDS.items() if name in kinds or not kinds]
    scanned = None
    if no_scan or set(wanted) - set(folders.EXACT_KINDS):
        reading = None if no_scan else (selection, encoding)
        found, scanned = _find(index_path, roots, wanted, policy, limits, reading, verbose=verbose)
        remark_on_ignored(found.ignored, limits["ignore_above"])
    else:
        with progress("comparing", of_bytes=True) as advance:
            found = folders.find_exact(
                roots,
                options=selection,
                kinds=[kind for kind in folders.EXACT_KINDS if kind in wanted],
                without=[index_path or str(default_path())],
                progress=advance,
                **policy,
            )
    missing = missing_code(found.missing) or missing
    _remark_on_files(found, scanned, form, verbose=verbose)
    plan = _plan(found) if form == "json" else None  # it takes as long as all the rest
    groups = found.groups[: top or _ALL]
    records: Iterable[Any] = groups  # which `_text` shows
    if form is not None:
        records = group_rows(groups) if form == "csv" else map(group_record, groups)
    keys = [folders.key_of(root) for root in roots]
    code = show(list(records), form, lambda: _text(found, groups, keys), plan)
    return missing or code


def _find(
    index_path: str | None,
    roots: Sequence[bytes],
    kinds: Sequence[folders.FindingKind],
    policy: dict[str, Any],
    limits: dict[str, Any],
    reading: tuple[folders.WalkOptions, str | None] | None,
    *,
    verbose: bool,
) -> "tuple[folders.Findings, folders.Scan | None]":
    """What the index finds after a scan with the options and the encoding in `reading`; None for no scan."""
    # Imported here: to import an index takes longer than to find exact copies without it.
    from docindex.cli.existing_index import open_existing
    from docindex.cli.log_remarks import log_as_remarks
    from docindex.opening import open as open_index

    everywhere, scanned = [*roots, *policy["reference"]], None
    with (
        log_as_remarks(),
        open_existing(index_path) if reading is None else open_index(index_path) as index,
    ):
        if reading is None:
            remark_on_unknown(index, everywhere)
        else:
            options, encoding = reading
            scanned = scan_with_progress(index, everywhere, options, encoding, verbose=verbose)
        with progress("comparing", of_bytes=True) as advance:
            found = folders.find(
                index, roots, kinds=kinds, scan=scanned, progress=advance, **policy, **limits
            )
    return found, scanned


def _remark_on_files(
    found: folders.Findings, scanned: "folders.Scan | None", form: str | None, *, verbose: bool
) -> None:
    """Say which files were seen; to programs, only that some could not be read."""
    if scanned is not None and form is None:
        remark(scan_text(scanned, verbose=verbose, compared=True))
    elif found.walked is not None and form is None:
        remark(walked_text(found.walked, found.unreadable, verbose=verbose))
    elif found.unreadable:
        count = several(len(found.unreadable), "file")
        remark(f"docindex: {count} could not be read, and may have copies")


def _plan(found: folders.Findings) -> dict[str, Any]:
    """The plan that `docindex act` takes, with the similar texts for a person to look at."""
    import json  # not needed to show the groups to a person

    return {**json.loads(found.plan().to_json()), "alike": [*map(group_record, found.likenesses)]}


def _text(
    found: folders.Findings,
    shown: Sequence[folders.FolderGroup | folders.CopyGroup | folders.LikenessGroup],
    roots: Sequence[str],
) -> str:
    """The shown groups for a person, and the sums of all groups."""
    if not shown:
        return "no copies and no similar texts"
    below = below_current_folder()
    lines: list[str] = []
    for group in shown:
        lines += [*group_lines(group, below), ""]
    return "\n".join([*lines, *summary_lines(found, roots, len(shown))])
