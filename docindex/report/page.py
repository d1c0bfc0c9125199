"""Write a report on an index as one page of HTML, which needs no network and no other file.

Takes the index and the contents of the page, and returns the HTML. Names and texts stay text on the page,
whatever they contain: jinja2 escapes all values, and the script reads JSON without any "<" and sets only
text. Must never include a text that no shown pair needs.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jinja2

from docindex.errors import TextNotKept
from docindex.folders.local_times import local_time
from docindex.index.writer import Index
from docindex.query.differences import differences
from docindex.query.pairs import Pair
from docindex.query.passages import Passage
from docindex.query.regions import Region
from docindex.query.resolve import Key
from docindex.report.chosen_pairs import ChosenPairs, choose_pairs
from docindex.report.plots import bars, curve
from docindex.report.report_groups import ReportFile, ReportGroup
from docindex.report.shown_names import full_names, names_below
from docindex.report.space import space_by_age, space_by_folder, space_by_kind
from docindex.storage.key_ranges import counts_under_roots

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

_ShownRegion = tuple[int, int, int, int, float, int]
"""Where a region begins and ends in both texts, its score, and how many words its stretches share."""


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


@dataclasses.dataclass(frozen=True, slots=True)
class ReportWording:
    """How a page writes values for people."""

    key: Callable[[str], str] = str
    size: Callable[[int], str] = str
    share: Callable[[float], str] = str


_PLAIN = ReportWording()


def count_documents(index: Index, roots: Iterable[str]) -> tuple[int, int]:
    """The number of documents under some roots, and the number of their different texts.

    Without roots, all documents count.
    """
    ((documents, texts),) = index.execute(*counts_under_roots(roots))
    return documents, texts


def html(index: Index, report: ReportContents, wording: ReportWording = _PLAIN) -> str:
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
    names, note = named([*keys, *(pair[side] for pair in shown for side in "ab")], wording.key)
    charts = (
        ("By kind of file", space_by_kind(going)),
        ("By folder", space_by_folder(going, names)),
        ("By the time since the last change", space_by_age(going)),
    )
    return _template(wording).render(
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


def _template(wording: ReportWording) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("docindex.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["percent"] = wording.share
    environment.filters["size"] = wording.size
    environment.filters["name"] = wording.key
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
        total = sum(file.size for file in group.going) or 1
        for file in group.going:
            # The group knows the sum only: hard links and holes free nothing.
            found.setdefault(file.key, dataclasses.replace(file, size=round(group.bytes * file.size / total)))
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
        record: dict[str, Any] = {**dataclasses.asdict(pair)}
        ranges: list[tuple[int, ...]] = []
        reworded: list[_ShownRegion] = []
        cut, searched = False, True
        try:
            compared = index.compare(Key(pair.a), Key(pair.b))
            a, b = number_of(pair.a), number_of(pair.b)
            searched_characters += lengths.get(pair.a, 0) + lengths.get(pair.b, 0)
            searched = searched_characters <= _MOST_REWORDED
            regions = compared.regions if searched else ()
        except (KeyError, TextNotKept):
            a = b = None  # a document was removed after the pairs were found, or its text was never kept
        else:
            ranges, cut = _shown_ranges(compared.passages)
            reworded, are_cut = _shown_regions(regions)
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
        marks = {"ranges": ranges, "changes": changes, "reworded": reworded}
        record |= {"cut": cut, "searched": searched, "passages": {"a": a, "b": b, **marks}}
        found.append(record)
    return found, texts


def _shown_ranges(passages: Iterable[Passage]) -> tuple[list[tuple[int, ...]], bool]:
    """The start and the end of each passage in both texts as shown; and whether any passage is cut.

    Passages that are boilerplate are not marked.
    """
    own = [passage for passage in passages if not passage.boilerplate]
    return [range_ for passage in own for range_ in _as_shown(passage)], any(map(_is_cut, own))


def _shown_regions(regions: Iterable[Region]) -> tuple[list[_ShownRegion], bool]:
    """The start and the end of each reworded region, its score and its shared words; and if any is cut."""
    own = [region for region in regions if region.kind == "reworded"]
    shown = [(*range_, each.score, each.shared_words) for each in own for range_ in _as_shown(each)]
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
    for share in shares:
        counts[min(_BINS - 1, int(share * _BINS))] += 1
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
