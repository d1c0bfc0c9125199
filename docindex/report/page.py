"""Write a report on an index as one page of HTML, which needs no network and no other file.

Takes the index and the contents of the page, and returns the HTML. Names and texts stay text on the page,
whatever they contain: jinja2 escapes all values, and the script reads JSON without any "<" and sets only
text. Must never include a text that no shown pair needs.
"""

import dataclasses
import json
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jinja2

from docindex.errors import TextNotKept
from docindex.index.writer import Index
from docindex.query.pairs import Pair
from docindex.query.passages import Passage
from docindex.query.resolve import Key
from docindex.report.plots import bars, curve
from docindex.report.shown_names import full_names, names_below
from docindex.storage.key_ranges import counts_under_roots

_BINS = 20
"""Bars of the histogram of resemblances."""

_RANKS = 60
"""Points on the curve of ranks, evenly spaced on its logarithmic axis."""

LONGEST_TEXT_SHOWN = 200_000
"""Characters. The page shows only the beginning of longer texts."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReportFile:
    """A file of a group."""

    key: str
    size: int
    note: str
    """A remark that the page shows after the name of the file. May be empty."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReportGroup:
    """A group of files as the page lists it."""

    kind: str
    files: Sequence[ReportFile]
    bytes: int
    """The size of all its files but the largest."""


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
    """All pairs that the overview counts."""
    limit: int = 200
    """How many of the pairs are shown with their texts."""
    full_paths: bool = False
    """Whether the page shows the paths of scanned folders; by default it shows only what is below them."""
    programs: bool = False
    """Whether the documents are the programs of a class: they have no groups, and their index is not kept."""


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

    The pairs with the highest resemblance come first. Pairs that only repeat another pair, because a document
    is an exact copy, come after all others. Pairs of exact copies come last.

    >>> import docindex
    >>> with docindex.open(":memory:") as index:
    ...     page = html(index, ReportContents("Nothing yet", 0, 0, [], []))
    >>> page.startswith("<!DOCTYPE html>"), "<h1>Nothing yet</h1>" in page
    (True, True)
    """
    stats = index.stats()
    shown, texts = _shown_pairs(index, _repetitions_last(index, report.pairs)[: report.limit])
    shown.sort(key=lambda pair: (pair["rank"], -pair["resemblance"]))
    keys = [file.key for group in report.groups for file in group.files]
    named = full_names if report.full_paths else names_below
    names, note = named([*keys, *(pair[side] for pair in shown for side in "ab")], wording.key)
    kinds = _bytes_by_kind(report.groups)
    return _template(wording).render(
        title=report.title,
        documents=report.documents,
        texts=report.texts,
        whole=report.documents == stats.documents,
        note=note,
        groups=report.groups,
        programs=report.programs,
        names=names,
        pairs=shown,
        found=len(report.pairs),
        longest=LONGEST_TEXT_SHOWN,
        file_bytes=stats.file_bytes,
        resemblances=_histogram([pair.resemblance for pair in report.pairs]),
        kinds=bars(
            list(kinds), list(kinds.values()), list(map(wording.size, kinds.values())), "bytes by kind"
        ),
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
    return environment.get_template("report.html")


def _bytes_by_kind(groups: Sequence[ReportGroup]) -> dict[str, int]:
    """The bytes of each kind of group, without the largest file of each group.

    A file in several groups counts once.
    """
    kinds = dict.fromkeys((group.kind for group in groups), 0)
    counted: set[str] = set()
    for group in groups:
        largest = max(group.files, key=lambda file: file.size)
        again = sum(file.size for file in group.files if file.key in counted and file is not largest)
        kinds[group.kind] += max(0, group.bytes - again)
        counted.update(file.key for file in group.files if file is not largest)
    return kinds


def _repetitions_last(index: Index, pairs: Sequence[Pair]) -> list[tuple[int, Pair]]:
    """The pairs, each with its rank, in the order of their ranks.

    The rank is 0 for the first pair of two texts, 1 for a further pair of the same two texts, and 2 for two
    documents with one text.
    """
    contents: dict[str, int | None] = {}

    def content(key: str) -> int | None:
        if key not in contents:
            try:
                contents[key] = index[key].content
            except KeyError:  # it was removed after the pairs were found
                contents[key] = None
        return contents[key]

    met: set[frozenset[int | None]] = set()
    ranked = []
    for pair in pairs:
        both = frozenset((content(pair.a), content(pair.b)))
        ranked.append((2 if len(both) == 1 else 1 if both in met else 0, pair))
        met.add(both)
    return sorted(ranked, key=operator.itemgetter(0))


def _shown_pairs(index: Index, pairs: list[tuple[int, Pair]]) -> tuple[list[dict[str, Any]], list[str]]:
    """A record of each pair for the page; and the texts of these pairs, each text once."""
    numbers: dict[str, int] = {}
    by_text: dict[str, int] = {}

    def number_of(key: str) -> int | None:
        if key not in numbers:
            text = index.text(key)
            if text is None:
                return None
            # A browser does not show a single carriage return as the end of a line.
            shown = re.sub("\r(?!\n)", "\n", text[:LONGEST_TEXT_SHOWN])
            numbers[key] = by_text.setdefault(shown, len(by_text))
        return numbers[key]

    found = []
    for rank, pair in pairs:
        record: dict[str, Any] = {"rank": rank, **dataclasses.asdict(pair)}
        ranges: list[tuple[int, ...]] = []
        cut = False
        try:
            compared = index.compare(Key(pair.a), Key(pair.b))
            a, b = number_of(pair.a), number_of(pair.b)
        except (KeyError, TextNotKept):
            a = b = None  # a document was removed after the pairs were found, or its text was never kept
        else:
            ranges, cut = _shown_ranges(compared.passages)
        record |= {"cut": cut, "passages": {"a": a, "b": b, "ranges": ranges}}
        found.append(record)
    return found, list(by_text)


def _shown_ranges(passages: Iterable[Passage]) -> tuple[list[tuple[int, ...]], bool]:
    """The start and the end of each passage in both texts as shown; and whether any passage is cut.

    Passages that are boilerplate are not marked.
    """
    ranges: list[tuple[int, ...]] = []
    cut = False
    for passage in passages:
        if passage.boilerplate:
            continue
        cut |= max(passage.query_end, passage.end) > LONGEST_TEXT_SHOWN
        if max(passage.query_start, passage.start) < LONGEST_TEXT_SHOWN:
            query_end, end = (min(end, LONGEST_TEXT_SHOWN) for end in (passage.query_end, passage.end))
            ranges.append((passage.query_start, query_end, passage.start, end))
    return ranges, cut


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
