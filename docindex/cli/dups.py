"""``docindex dups`` finds copies and likenesses; ``docindex act`` removes or links copies, after a plan."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from docindex.cli.frame import NOTHING_FOUND, form_options, index_option, progress, several, show, shown, size
from docindex.cli.scan import options_of, scanned, text_of, walk_options
from docindex.files import journal as journals
from docindex.files.act import HOW, Done
from docindex.files.act import act as act_on
from docindex.files.copies import copies
from docindex.files.likeness import KINDS, Alike, alike
from docindex.files.names import key_of, root_of
from docindex.files.plan import KEEP, Group, from_json, plan, to_json
from docindex.files.undo import undo as undo_steps
from docindex.files.walk import Skipped
from docindex.index import open as open_index

_KINDS = ("exact", *KINDS)


@click.command()
@click.argument("paths", metavar="[PATH]...", nargs=-1)
@click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="show these groups only")
@click.option("--min-resemblance", type=click.FloatRange(0, 1, min_open=True), default=0.8, show_default=True)
@click.option("--min-containment", type=click.FloatRange(0, 1, min_open=True), default=0.8, show_default=True)
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
@click.option("-q", "--quiet", is_flag=True, help="no progress")
def dups(
    paths: tuple[str, ...],
    kinds: tuple[str, ...],
    min_resemblance: float,
    min_containment: float,
    reference: tuple[str, ...],
    keep: Any,
    isolate: bool,
    no_scan: bool,
    index_path: str | None,
    form: str | None,
    quiet: bool,
    **given: Any,
) -> int:
    """Find copies under PATH (or the folder you are in), and texts that are nearly alike.

    Scans first. Groups: exact copies; the same text in another form; near copies; texts contained in others.
    Nothing is changed: to remove copies, save a plan and act on it.

    \b
    Examples:
      docindex dups ~/Documents
      docindex dups --keep newest --reference ~/Archive ~/Archive ~/Desktop
      docindex dups --kind exact --json ~/Pictures > plan.json; docindex act plan.json --trash
    """
    roots = [key_of(root_of(path)) for path in paths or (".",)]
    wanted = set(kinds or _KINDS)
    skipped, among = Skipped(), None
    with open_index(index_path) as index:
        if not no_scan:
            report = scanned(index, paths or (".",), options_of(given), quiet=quiet)
            among = report.seen
            if form is None and not quiet:
                print(text_of(report, verbose=False), file=sys.stderr)
        groups: list[Group] = []
        if "exact" in wanted:
            read = 0
            with progress("comparing bytes", quiet=quiet) as count:

                def more(size: int) -> None:
                    nonlocal read
                    read += size
                    count(read)

                found = copies(index, roots, skipped, more, among=among)
            groups = plan(
                found,
                keep,
                reference=[key_of(root_of(folder)) for folder in reference],
                isolate=roots if isolate else (),
            )
        likenesses: list[Alike] = []
        if wanted - {"exact"}:
            within = min_containment if "contained" in wanted else None
            likenesses = [
                group
                for group in alike(
                    index, roots, min_resemblance=min_resemblance, min_containment=within, among=among
                )
                if group.kind in wanted
            ]
    records = [_exact(group) for group in groups] + [_like(group) for group in likenesses]
    records.sort(key=lambda record: -record["reclaimable"])
    whole = {**json.loads(to_json(groups)), "alike": [_like(group) for group in likenesses]}
    return show(records, form, lambda: _text(records), whole)


@click.command()
@click.argument("plan_path", metavar="PLAN", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--trash", "how", flag_value="trash", help="move copies to the trash")
@click.option("--hardlink", "how", flag_value="hardlink", help="replace them by links to the kept file")
@click.option(
    "--reflink", "how", flag_value="reflink", help="let them share the kept file's room (Btrfs, XFS)"
)
@click.option("--delete", "how", flag_value="delete", help="delete them; this cannot be undone")
@click.option("--dry-run/--no-dry-run", default=True, show_default=True, help="only say what would be done")
@click.option("--journal", type=click.Path(dir_okay=False), help="where to write down what is done")
@form_options
def act(plan_path: str, how: Any, dry_run: bool, journal: str | None, form: str | None) -> int:
    """Remove or link the exact copies of a PLAN that `docindex dups --json` wrote.

    Every file is compared byte by byte with one that is kept, just before; what has changed since is left as
    it is. Without --no-dry-run nothing is done.

    \b
    Examples:
      docindex act plan.json --trash
      docindex act plan.json --trash --no-dry-run
    """
    if how is None:
        raise click.UsageError(f"say what to do: {', '.join(f'--{name}' for name in HOW)}")
    text = sys.stdin.read() if plan_path == "-" else Path(plan_path).read_text("utf-8")
    groups = from_json(text)
    with journals.Journal(None if dry_run else journal or journals.own()) as written:
        done = list(act_on(groups, how, dry_run=dry_run, journal=written))
    records = [
        {"key": one.key, "kept": one.kept, "outcome": one.outcome, "why": one.why, "size": one.size,
         "trashed": one.trashed}
        for one in done
    ]  # fmt: skip
    code = show(records, form, lambda: _acted(done, how, dry_run=dry_run))
    return code if any(one.outcome != "left" for one in done) else NOTHING_FOUND


@click.command()
@click.argument("journal", metavar="[JOURNAL]", type=click.Path(dir_okay=False), required=False)
@click.option("--dry-run/--no-dry-run", default=True, show_default=True, help="only say what would be done")
@form_options
def undo(journal: str | None, dry_run: bool, form: str | None) -> int:
    """Bring back what `docindex act` removed or linked, after its JOURNAL.

    From the trash, or by copying the file that was kept, if it still has the same bytes. A file that has
    come in the place of one since is left as it is.

    \b
    Examples:
      docindex undo
      docindex undo --no-dry-run
    """
    done = list(undo_steps(journal or journals.own(), dry_run=dry_run))
    records = [{"key": one.key, "outcome": one.outcome, "why": one.why} for one in done]
    lines = [f"{one.outcome}: {shown(one.key)}" + (f" ({one.why})" if one.why else "") for one in done]
    if dry_run and done:
        lines.append("nothing was done; say --no-dry-run to do it")
    return show(records, form, lambda: "\n".join(lines) or "nothing to undo")


def _exact(group: Group) -> dict[str, Any]:
    files = [{"key": file.key, "keep": file.keep, "size": file.size} for file in group.files]
    return {"kind": "exact", "reclaimable": group.reclaimable, "files": files}


def _like(group: Alike) -> dict[str, Any]:
    files = [
        {"key": file.key, "share": file.share, "like": file.like, "size": file.size} for file in group.files
    ]
    return {"kind": group.kind, "reclaimable": group.reclaimable, "files": files}


_HEADS = {
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
            lines.append(f"exact copies: {count} of {size(files[0]['size'])}, {room} to give back")
            lines += [f"  {'keep' if file['keep'] else '':4}  {shown(file['key'])}" for file in files]
        else:
            lines.append(f"{_HEADS[record['kind']]}: {count}, {room} in all but the largest")
            shares = [f"{file['share']:.0%}" if file["like"] else "" for file in files]
            paths = [shown(file["key"]) for file in files]
            lines += [f"  {share:>4}  {path}" for share, path in zip(shares, paths, strict=True)]
        lines.append("")
    exact = [record["reclaimable"] for record in records if record["kind"] == "exact"]
    copied, others = (several(count, "group") for count in (len(exact), len(records) - len(exact)))
    lines.append(f"{copied} of exact copies, {size(sum(exact))} to give back; {others} of likenesses")
    return "\n".join(lines)


_WHAT = {
    "trash": "moved to the trash",
    "delete": "deleted",
    "hardlink": "linked",
    "reflink": "made to share room",
}


def _acted(done: list[Done], how: str, *, dry_run: bool) -> str:
    lines = [f"{one.outcome}: {shown(one.key)}" + (f" ({one.why})" if one.why else "") for one in done]
    acted = [one for one in done if one.outcome in ("done", "would be done")]
    left = sum(one.outcome == "left" for one in done)
    lines.append(
        f"{'would be ' if dry_run else ''}{_WHAT[how]}: {several(len(acted), 'file')}, "
        f"{size(sum(one.size for one in acted))}; left as they are: {left:,}"
    )
    if dry_run and acted:
        lines.append("nothing was done; say --no-dry-run to do it")
    return "\n".join(lines)
