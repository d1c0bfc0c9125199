"""``docindex dups`` finds copies and likenesses; ``docindex act`` removes or links copies, after a plan."""

import json
from typing import Any

import click

from docindex.cli.options import Command, common_option, form_options, index_option, share_option
from docindex.cli.output import existing, progress, remark, remark_on_common, show
from docindex.cli.scan_command import options_of, scanned, text_of, walk_options
from docindex.cli.wording import given, percent, several, shown, size
from docindex.folders.findings import KINDS, find
from docindex.folders.likeness import LikenessGroup
from docindex.folders.path_keys import key_of, path_of
from docindex.folders.plan import KEEP, CopyGroup
from docindex.opening import open as open_index

_KINDS = {kind.replace(" ", "-"): kind for kind in KINDS}


@click.command(cls=Command)
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(list(_KINDS)), help="show these groups only"
)
@share_option("--min-resemblance", 0.8, "how alike near copies are at least")
@share_option("--min-containment", 0.8, "how much of a contained text is at least in the other")
@common_option
@click.option(
    "--reference",
    multiple=True,
    type=click.Path(exists=True),
    metavar="DIR",
    help="what lies there is never offered for removal",
)
@click.option(
    "--keep", type=click.Choice(KEEP), default="shortest-path", show_default=True, help="which copy stays"
)
@click.option("--isolate", is_flag=True, help="files under one PATH are no copies of each other")
@click.option("--no-scan", is_flag=True, help="trust what the last scan saw")
@walk_options
@index_option
@form_options
@click.option("-v", "--verbose", is_flag=True, help="name every file that could not be read")
def dups(
    paths: tuple[str, ...],
    kinds: tuple[str, ...],
    min_resemblance: float,
    min_containment: float,
    ignore_above: int,
    reference: tuple[str, ...],
    keep: Any,
    isolate: bool,
    no_scan: bool,
    index_path: str | None,
    form: str | None,
    verbose: bool,
    **wishes: Any,
) -> int:
    """Find copies and likenesses among files.

    Looks under PATH, or in the folder you are in, and scans first. There are exact copies of any files, and
    of texts the same text in another form, near copies, and texts contained in others. Nothing is changed:
    to remove copies, save a plan and act on it.

    \b
    Examples:
      docindex dups ~/Documents
      docindex dups --keep newest --reference ~/Archive ~/Archive ~/Desktop
      docindex dups --kind exact --json ~/Pictures > plan.json; docindex act plan.json --trash
    """
    isolated = [key_of(given(path)) for path in paths or (".",)]
    references = [key_of(given(folder)) for folder in reference]
    roots = list(dict.fromkeys([*isolated, *references]))
    report = None
    if no_scan:
        existing(index_path).close()  # for its error
    with open_index(index_path) as index:
        if not no_scan:
            report = scanned(index, [path_of(root) for root in roots], options_of(wishes))
        with progress("comparing", of_bytes=True) as advance:
            found = find(
                index,
                map(path_of, isolated),
                kinds=[_KINDS[kind] for kind in kinds or _KINDS],
                keep=keep,
                reference=map(path_of, references),
                isolate=isolate,
                min_resemblance=min_resemblance,
                min_containment=min_containment,
                ignore_above=ignore_above,
                scan=report,
                progress=advance,
            )
        if set(kinds or _KINDS) - {"exact"}:
            remark_on_common(index, ignore_above)
    if report is not None and form is None:
        remark(text_of(report, verbose=verbose))
    elif found.unreadable:
        remark(f"docindex: {several(len(found.unreadable), 'file')} could not be read, and may have copies")
    records = [_exact(group) for group in found.copies] + [_like(group) for group in found.likenesses]
    records.sort(key=lambda record: -record["reclaimable"])
    whole = {**json.loads(found.plan().to_json()), "alike": [_like(group) for group in found.likenesses]}
    return show(records, form, lambda: _text(records), whole)


def _exact(group: CopyGroup) -> dict[str, Any]:
    files = [{"key": file.key, "keep": file.keep, "size": file.size} for file in group.files]
    return {"kind": "exact", "reclaimable": group.reclaimable, "files": files}


def _like(group: LikenessGroup) -> dict[str, Any]:
    files = [
        {"key": file.key, "share": file.share, "like": file.like, "size": file.size} for file in group.files
    ]
    return {"kind": group.kind, "reclaimable": group.reclaimable, "files": files}


HEADS = {
    "same text": "the same text in another form",
    "near": "near copies",
    "contained": "contained in another",
}


def _text(records: list[dict[str, Any]]) -> str:
    if not records:
        return "no copies, and nothing nearly alike"
    lines = []
    for record in records:
        files, room = record["files"], size(record["reclaimable"])
        count = several(len(files), "file")
        if record["kind"] == "exact":
            lines.append(f"exact copies: {count} of {size(files[0]['size'])}, {room} reclaimable")
            lines += [f"  {'keep' if file['keep'] else '':4}  {shown(file['key'])}" for file in files]
        else:
            lines.append(f"{HEADS[record['kind']]}: {count}, {room} beside the largest")
            shares = [percent(file["share"]) if file["like"] else "" for file in files]
            paths = [shown(file["key"]) for file in files]
            lines += [f"  {share:>4}  {path}" for share, path in zip(shares, paths, strict=True)]
        lines.append("")
    exact = [record["reclaimable"] for record in records if record["kind"] == "exact"]
    copied, others = (several(count, "group") for count in (len(exact), len(records) - len(exact)))
    lines.append(f"{copied} of exact copies, {size(sum(exact))} reclaimable; {others} of likenesses")
    return "\n".join(lines)
