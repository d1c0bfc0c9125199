"""Write a report on an index as one page of HTML, which needs no network and no other file.

Takes the index and the contents of the page, and returns the HTML. Names and texts stay text on the page,
whatever they contain: jinja2 escapes all values, and the script reads JSON without any "<" and sets only
text. Must never include a text that no shown pair needs.
"""

import dataclasses
import itertools
import json
import math
import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, NamedTuple

import jinja2

from docindex.errors import TextNotKept
from docindex.folders.walking.path_keys import key_of, root_of
from docindex.index.index import Index
from docindex.query.pairs.pairs import Pair
from docindex.query.regions.differences import differences
from docindex.query.regions.passages import Passage
from docindex.query.regions.regions import Region
from docindex.query.resolve import Key
from docindex.report.chosen_pairs import ChosenPairs, choose_pairs
from docindex.report.groups import ReportFile, ReportGroup
from docindex.report.space import space_by_age, space_by_folder, space_by_kind
from docindex.shown.matches import measures_line
from docindex.shown.paths import report_name
from docindex.shown.stretches import own_passages, reworded, stretch_size
from docindex.shown.wording import local_time, share_in_percent, size
from docindex.storage.rows.key_ranges import counts_under_roots

# Name documents for a page that is passed on: by their place below a scanned folder, without its path.
#
# Takes keys; returns a name for each, and a sentence that explains the names. A key that is not an absolute
# path is its own name. Must never show a folder that a scanned folder is in: it may have the name of a
# person.

_ABSOLUTE = re.compile("/|[A-Za-z]:/")

# Folders with one folder for each person or disk.
_SHARED = {"/home", "/Users", "/media", "/mnt", "/run/media", "/Volumes"}


class ShownNames(NamedTuple):
    """The names of documents on a page."""

    names: dict[str, str]
    """The name of each key."""
    note: str
    """A sentence about the names; empty if there is nothing to explain."""


def full_names(keys: Iterable[str]) -> ShownNames:
    """The paths of documents, relative to the folder that all of them are in, which the note names.

    >>> full_names(["/home/ada/a.txt", "/home/ada/old/a.txt"])
    ShownNames(names={'/home/ada/a.txt': 'a.txt', '/home/ada/old/a.txt': 'old/a.txt'}, note='All names are \
relative to /home/ada/.')
    """
    names = {key: report_name(key) for key in keys}
    folder = "".join(f"{part}/" for part in _common([name.split("/")[:-1] for name in names.values()]))
    note = f"All names are relative to {folder}." if folder else ""
    return ShownNames({key: name.removeprefix(folder) for key, name in names.items()}, note)


def names_below(keys: Iterable[str]) -> ShownNames:
    """The places of documents below the scanned folders.

    Several folders are numbered in the order of their paths.

    >>> names_below(["/home/ada/a.txt", "/home/ada/old/a.txt"])
    ShownNames(names={'/home/ada/a.txt': 'a.txt', '/home/ada/old/a.txt': 'old/a.txt'}, note='All names are \
relative to the scanned folder.')
    >>> names_below(["/home/ada/a.txt", "/media/disk/a.txt", "b.txt"]).names.values()
    dict_values(['folder 1/a.txt', 'folder 2/a.txt', 'b.txt'])
    """
    keys = list(keys)
    paths = {key: key.split("/") for key in keys if _ABSOLUTE.match(key)}
    roots = sorted(_roots([path[:-1] for path in paths.values()]))
    names = {key: report_name(key) for key in keys}
    for key, path in paths.items():
        # A root may be in another one: the longest counts.
        number, root = max(
            ((number, root) for number, root in enumerate(roots, 1) if path[: len(root)] == root),
            key=lambda numbered: len(numbered[1]),
        )
        place = report_name("/".join(path[len(root) :]))
        names[key] = place if len(roots) == 1 else f"folder {number}/{place}"
    return ShownNames(names, _note(len(roots)))


def _note(roots: int) -> str:
    if roots < 2:
        return "All names are relative to the scanned folder." if roots else ""
    return f"The scanned folders are called folder 1 to folder {roots}; names are relative to them."


def _roots(folders: Sequence[list[str]]) -> list[list[str]]:
    """The folders that the others are in; each may be shown without its path.

    A common folder that is above the home folder, or has a folder for each person or disk, is not one root
    but several.
    """
    if not folders:
        return []
    common = _common(folders)
    if not _is_above(common):
        return [common]
    groups: dict[str | None, list[list[str]]] = {}
    for folder in folders:
        groups.setdefault(folder[len(common)] if len(folder) > len(common) else None, []).append(folder)
    found = [common] if groups.pop(None, None) else []
    for group in groups.values():
        found += _roots(group)
    return found


def _is_above(folder: list[str]) -> bool:
    home = key_of(root_of(os.path.expanduser("~"))).split("/")
    return (len(folder) < len(home) and home[: len(folder)] == folder) or "/".join(folder) in _SHARED


def _common(folders: Sequence[list[str]]) -> list[str]:
    """The longest list of parts that all folders begin with."""
    first, last = min(folders, default=[]), max(folders, default=[])
    pairs = zip(first, last, strict=False)
    return [part for part, _ in itertools.takewhile(lambda both: both[0] == both[1], pairs)]


# Draw bar charts and curves as SVG.
#
# Takes numbers and labels, and returns SVG as text. The SVG has no scripts, and takes its colours from the
# page's style sheet. Must never depend on the meaning of the numbers.

_LETTER_WIDTH = 6.5
"""The width of a letter of a label, in the units of the plot."""

_SHORTEST_LINE = 4
"""The minimum number of letters in a line of a label, even if the bar above it is narrower."""

_MOST_LINES = 2
"""Lines of a label for which there is room."""

_MOST_LABELLED = 8
"""If there are more bars, their values do not fit above them, and an axis shows the range instead."""

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP = 420, 220, 48, 24, 40, 14


def bars(labels: Sequence[str], values: Sequence[float], shown: Sequence[str], title: str) -> str:
    """A bar for each value, with its label below and the value as `shown` writes it above.

    A label that would overlap the label before it is left out; the bar shows it when pointed at.

    >>> bars(["a"], [2.0], ["two"], "one bar").count("<rect")
    1
    """
    most = max(values, default=0) or 1
    step = (_WIDTH - _LEFT) / max(1, len(values))
    parts = [_horizontal_line(_HEIGHT - _BOTTOM)]
    free = 0.0  # labels may begin here
    if len(values) > _MOST_LABELLED:
        parts.append(_horizontal_line(_TOP))
        highest = max(range(len(values)), key=values.__getitem__)
        parts.append(_text(_LEFT - 4, _TOP + 4, shown[highest], "end"))
        parts.append(_text(_LEFT - 4, _HEIGHT - _BOTTOM + 4, "0", "end"))
    for number, (label, value, text) in enumerate(zip(labels, values, shown, strict=True)):
        height = (_HEIGHT - _BOTTOM - _TOP) * value / most
        x, y = _LEFT + number * step, _HEIGHT - _BOTTOM - height
        middle = x + step / 2
        parts.append(
            f'<rect class="bar" x="{x + step * 0.1:.1f}" y="{y:.1f}" width="{step * 0.8:.1f}" '
            f'height="{height:.1f}"><title>{escape(label)}: {escape(text)}</title></rect>'
        )
        lines = _lines(label, int(step / _LETTER_WIDTH))
        half = max(map(len, lines), default=0) * _LETTER_WIDTH / 2
        if middle - half >= free:
            free = middle + half + _LETTER_WIDTH / 2
            parts += [
                _text(middle, _HEIGHT - _BOTTOM + 14 + 11 * row, line) for row, line in enumerate(lines)
            ]
        if text and len(values) <= _MOST_LABELLED:
            parts.append(_text(middle, y - 3, text))
    return _svg(parts, title)


def curve(points: Sequence[tuple[float, float]], title: str, x_name: str, y_name: str) -> str:
    """A line through some points, on two logarithmic axes. All coordinates must be above 0.

    >>> curve([(1, 100), (10, 10), (100, 1)], "down", "rank", "count").count("<polyline")
    1
    """
    logs = [(math.log10(x), math.log10(y)) for x, y in points]
    right = math.ceil(max((x for x, _ in logs), default=0)) or 1
    top = math.ceil(max((y for _, y in logs), default=0)) or 1

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + (_WIDTH - _LEFT - _RIGHT) * x / right,
            _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * y / top,
        )

    parts = []
    for power in range(right + 1):
        x, y = at(power, 0)
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(x, y + 14, f"{10**power:,}", "middle" if power < right else "end"))
    for power in range(top + 1):
        x, y = at(0, power)
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        parts.append(_text(x - 4, y + 4, f"{10**power:,}", "end"))
    line = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in logs)
    parts.append(f'<polyline class="curve" points="{line}"/>')
    parts.append(_text(_WIDTH / 2, _HEIGHT - 4, x_name))
    parts.append(_text(_LEFT + 4, _TOP + 14, y_name, "start"))
    return _svg(parts, title)


def _lines(label: str, letters: int) -> list[str]:
    """A label in at most `_MOST_LINES` lines, which have `letters` letters if that is enough for a word."""
    lines = textwrap.wrap(label, max(_SHORTEST_LINE, letters))
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][: max(_SHORTEST_LINE, letters) - 1]}…"]
    return lines


def _horizontal_line(y: float) -> str:
    return f'<line class="axis" x1="{_LEFT}" y1="{y}" x2="{_WIDTH}" y2="{y}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str], title: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title, quote=True)}">'
        f"{''.join(parts)}</svg>"
    )


_BINS = 20
"""Bars of the histogram of resemblances."""

_RANKS = 60
"""Points on the curve of ranks, evenly spaced on its logarithmic axis."""

LONGEST_TEXT_SHOWN = 200_000
"""Characters. The page shows only the beginning of longer texts."""

_MOST_COMPARED = 10_000_000
"""Characters of the pairs whose differences are shown. To find them takes about a second for each million."""

_MOST_REWORDED = 10_000_000
"""Characters of the pairs in which reworded regions are looked for. Of a long text, all of it counts."""

_SEEN = {code: chr(0x2400 + code) for code in (*range(9), 11, 12, *range(14, 32))}
_SEEN |= dict.fromkeys((*range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
"""For `str.translate`: a visible sign for each control character, and for each that reorders a line."""

_ShownRegion = tuple[int, int, int, int, str]
"""Where a region begins and ends in both texts, and how alike its sentences are."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReportContents:
    """The contents of a page."""

    title: str
    documents: int
    """How many documents the report covers."""
    texts: int
    """How many different texts these documents have."""
    groups: Sequence[ReportGroup]
    pairs: Sequence[Pair]
    """The pairs that the plot counts, and from which the page chooses."""
    limit: int = 200
    """How many pairs are shown with their texts at most."""
    full_paths: bool = False
    """Whether the page shows the paths of scanned folders; by default it shows only what is below them."""
    programs: bool = False
    """Whether the documents are the programs of a class: they have no groups, and their index is not kept."""
    chosen: ChosenPairs | None = None
    """The pairs that are shown with their texts; without them, the page chooses."""
    found: int | None = None
    """How many pairs there are in all; None if these are `pairs`."""


def count_documents(index: Index, roots: Iterable[str]) -> tuple[int, int]:
    """The number of documents under some roots, and the number of their different texts.

    Without roots, all documents count.
    """
    ((documents, texts),) = index.execute(*counts_under_roots(roots))
    return documents, texts


def html(index: Index, report: ReportContents) -> str:
    """The page: an overview, the groups, and pairs of documents with their texts side by side.

    `choose_pairs` says which pairs are shown, and in which order.

    >>> import docindex
    >>> with docindex.open(":memory:") as index:
    ...     page = html(index, ReportContents("Nothing yet", 0, 0, [], []))
    >>> page.startswith("<!DOCTYPE html>"), "<h1>Nothing yet</h1>" in page
    (True, True)
    """
    stats = index.stats()
    chosen = report.chosen
    if chosen is None and report.programs:
        chosen = ChosenPairs(report.pairs[: report.limit], 0, 0)  # in the order in which they were found
    elif chosen is None:
        chosen = choose_pairs(index, report.pairs, report.groups, report.limit)
    shown, texts = _shown_pairs(index, chosen.pairs)
    going = _going(report.groups)
    keys = [file.key for group in report.groups for files in (group.files, *group.contents) for file in files]
    named = full_names if report.full_paths else names_below
    names, note = named([*keys, *(pair[side] for pair in shown for side in "ab")])
    charts = (
        ("By kind of file", space_by_kind(going)),
        ("By folder", space_by_folder(going, names)),
        ("By the time since the last change", space_by_age(going)),
    )
    return _template().render(
        title=report.title,
        documents=report.documents,
        texts=report.texts,
        whole=report.documents == stats.documents,
        note=note,
        groups=report.groups,
        programs=report.programs,
        kinds=_by_kind(report.groups),
        freed=sum(group.bytes for group in report.groups if group.going),
        going=len(going),
        charts=charts if going else (),
        names=names,
        pairs=shown,
        chosen=chosen,
        found=len(report.pairs) if report.found is None else report.found,
        longest=LONGEST_TEXT_SHOWN,
        file_bytes=stats.file_bytes,
        resemblances=_histogram([pair.resemblance for pair in report.pairs]),
        ranks=curve(_ranks(index), "texts by rank of fingerprint", "rank of the fingerprint", "texts"),
        density=bars(
            ["measured", "2 / (window + 1)"],
            [stats.density, stats.expected_density],
            [f"{stats.density:.4f}", f"{stats.expected_density:.4f}"],
            "density of fingerprints",
        ),
        data=_json({"texts": texts, "passages": [pair["passages"] for pair in shown]}),
    )


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("docindex.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["size"] = size
    environment.filters["name"] = report_name
    environment.filters["date"] = lambda mtime_ns: local_time(mtime_ns)[:10]
    return environment.get_template("report.html")


def _by_kind(groups: Sequence[ReportGroup]) -> dict[str, list[ReportGroup]]:
    """The groups of each kind, in the order in which the kinds occur first."""
    kinds: dict[str, list[ReportGroup]] = {}
    for group in groups:
        kinds.setdefault(group.kind, []).append(group)
    return kinds


def _going(groups: Sequence[ReportGroup]) -> list[ReportFile]:
    """The files that could go, each with the bytes that this frees. A file in several groups counts once."""
    found: dict[str, ReportFile] = {}
    for group in groups:
        for file in group.going:
            found.setdefault(file.key, dataclasses.replace(file, size=file.freed))
    return list(found.values())


def _shown_pairs(index: Index, pairs: Iterable[Pair]) -> tuple[list[dict[str, Any]], list[str]]:
    """A record of each pair for the page; and the texts of these pairs, each text once."""
    numbers: dict[str, int] = {}
    lengths: dict[str, int] = {}
    by_text: dict[str, int] = {}
    texts: list[str] = []

    def number_of(key: str) -> int | None:
        if key not in numbers:
            text = index.text(key)
            if text is None:
                return None
            lengths[key] = len(text)
            # A browser does not show a single carriage return as the end of a line.
            shown = re.sub("\r(?!\n)", "\n", text[:LONGEST_TEXT_SHOWN]).translate(_SEEN)
            numbers[key] = by_text.setdefault(shown, len(by_text))
            if len(texts) < len(by_text):
                texts.append(shown)
        return numbers[key]

    found = []
    compared_characters = searched_characters = 0
    for pair in pairs:
        words = measures_line(pair, "the first text", "the second text")
        record: dict[str, Any] = {
            **dataclasses.asdict(pair),
            "measures": words,
            "share": share_in_percent(pair.resemblance, exact=pair.exact),
        }
        ranges: list[tuple[int, ...]] = []
        regions: list[_ShownRegion] = []
        cut, searched = False, True
        try:
            compared = index.compare(Key(pair.a), Key(pair.b))
            a, b = number_of(pair.a), number_of(pair.b)
            searched_characters += lengths.get(pair.a, 0) + lengths.get(pair.b, 0)
            searched = searched_characters <= _MOST_REWORDED
            found_regions = compared.regions if searched else ()
        except (KeyError, TextNotKept):
            a = b = None  # a document was removed after the pairs were found, or its text was never kept
        else:
            ranges, cut = _shown_ranges(compared.passages)
            regions, are_cut = _shown_regions(found_regions)
            cut |= are_cut
        changes: list[tuple[int, int, int, int]] = []
        if a is not None and b is not None:
            first, second = texts[a], texts[b]
            compared_characters += len(first) + len(second)
            if compared_characters <= _MOST_COMPARED:
                changes = [
                    (each.query_start, each.query_end, each.start, each.end)
                    for each in differences(first, second, index.recipe)
                ]
        marks = {"ranges": ranges, "changes": changes, "reworded": regions}
        record |= {"cut": cut, "searched": searched, "passages": {"a": a, "b": b, **marks}}
        found.append(record)
    return found, texts


def _shown_ranges(passages: Iterable[Passage]) -> tuple[list[tuple[int, ...]], bool]:
    """The start and the end of each passage in both texts as shown; and whether any passage is cut.

    Passages that are boilerplate are not marked.
    """
    own = own_passages(passages)
    return [range_ for passage in own for range_ in _as_shown(passage)], any(map(_is_cut, own))


def _shown_regions(regions: Iterable[Region]) -> tuple[list[_ShownRegion], bool]:
    """The start and the end of each reworded region, and how alike its sentences are; and if any is cut."""
    own = reworded(regions)
    shown = [(*range_, stretch_size(each)) for each in own for range_ in _as_shown(each)]
    return shown, any(map(_is_cut, own))


def _as_shown(each: Passage | Region) -> Iterator[tuple[int, int, int, int]]:
    """The range of a passage or region in both texts as shown; nothing if it is not shown."""
    if max(each.query_start, each.start) < LONGEST_TEXT_SHOWN:
        query_end, end = (min(end, LONGEST_TEXT_SHOWN) for end in (each.query_end, each.end))
        yield each.query_start, query_end, each.start, end


def _is_cut(each: Passage | Region) -> bool:
    return max(each.query_end, each.end) > LONGEST_TEXT_SHOWN


def _histogram(shares: list[float]) -> str:
    counts = [0] * _BINS
    for resemblance in shares:
        counts[min(_BINS - 1, int(resemblance * _BINS))] += 1
    labels = [f"{number / _BINS:.1f}" if number % 4 == 0 else "" for number in range(_BINS - 1)] + ["1.0"]
    return bars(labels, counts, [f"{count:,}" for count in counts], "pairs by resemblance")


def _ranks(index: Index) -> list[tuple[float, float]]:
    """The rank of a fingerprint and the number of texts that have it, the most common fingerprint first."""
    counts = index.document_frequencies()
    if not len(counts):
        return [(1.0, 1.0)]
    last = len(counts) - 1
    ranks = sorted({round(last ** (step / (_RANKS - 1))) if last else 0 for step in range(_RANKS)} | {0})
    return [(rank + 1.0, float(counts[rank])) for rank in ranks]


def _json(data: object) -> str:
    """JSON that is safe in a script element: without "<" it cannot end the element."""
    return json.dumps(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
