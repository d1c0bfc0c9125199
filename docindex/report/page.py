"""An index in, one page of HTML out that needs nothing else: no network, no other file.

Whatever names and texts hold, it is text there: jinja2 escapes what it writes, what scripts read is JSON
without a single "<", and the scripts set text alone. Must never put in more texts than its pairs need.
"""

import dataclasses
import itertools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import jinja2

from docindex.errors import TextNotKept
from docindex.index.writer import Index
from docindex.query.pairs import Pair
from docindex.query.resolve import Key
from docindex.report.plots import bars, curve

_BINS = 20
_RANKS = 60
"""Points of the curve of ranks, evenly spread on its logarithmic axis."""

LONGEST = 200_000
"""Characters of a text that are shown; longer ones are cut."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReportFile:
    """A file of a group."""

    key: str
    size: int
    note: str
    """What is to be said of it beside its name."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReportGroup:
    """Files that belong together, as the page lists them."""

    kind: str
    files: Sequence[ReportFile]
    bytes: int
    """What they take beside the largest."""


def counted(index: Index, where: tuple[str, list[str]]) -> tuple[int, int]:
    """How many documents fulfil a condition, and how many different texts they are."""
    condition, bindings = where
    ((documents, texts),) = index.execute(
        f"select count(*), count(distinct content) from document where {condition}", bindings
    )
    return documents, texts


def html(
    index: Index,
    pairs: Sequence[Pair],
    groups: Sequence[ReportGroup],
    *,
    documents: int,
    texts: int,
    limit: int,
    title: str,
    shown: Callable[[str], str] = str,
    written: Callable[[int], str] = str,
    percent: Callable[[float], str] = str,
) -> str:
    """The page: an overview, the groups, and so many pairs with their texts side by side.

    Pairs of different texts come before those that say the same of copies, and before the copies. `shown`
    makes of a key what a person knows it by, `written` of a number of bytes, `percent` of a share.
    """
    stats = index.stats()
    some, contents = _pairs(index, _telling_first(index, pairs)[:limit])
    some.sort(key=lambda pair: (pair["rank"], -pair["resemblance"]))
    keys = [file.key for group in groups for file in group.files]
    names = {key: shown(key) for key in [*keys, *(pair[side] for pair in some for side in "ab")]}
    folder = _folder(list(names.values()))
    names = {key: name.removeprefix(folder) for key, name in names.items()}
    kinds = _by_kind(groups)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("docindex.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["percent"] = percent
    environment.filters["size"] = written
    return environment.get_template("report.html").render(
        title=title,
        documents=documents,
        texts=texts,
        whole=documents == stats.documents,
        folder=folder,
        groups=groups,
        names=names,
        pairs=some,
        found=len(pairs),
        longest=LONGEST,
        file_bytes=stats.file_bytes,
        resemblances=_histogram([pair.resemblance for pair in pairs]),
        kinds=bars(list(kinds), list(kinds.values()), list(map(written, kinds.values())), "bytes by kind"),
        ranks=curve(_ranks(index), "texts by rank of fingerprint", "rank of the fingerprint", "texts"),
        density=bars(
            ["measured", "2 / (window + 1)"],
            [stats.density, stats.expected_density],
            [f"{stats.density:.4f}", f"{stats.expected_density:.4f}"],
            "density of fingerprints",
        ),
        data=_json({"texts": contents, "passages": [pair["passages"] for pair in some]}),
    )


def _by_kind(groups: Sequence[ReportGroup]) -> dict[str, int]:
    """What the groups of each kind take beside their largest files; a file in several groups counts once."""
    kinds = dict.fromkeys((group.kind for group in groups), 0)
    counted: set[str] = set()
    for group in groups:
        largest = max(group.files, key=lambda file: file.size)
        again = sum(file.size for file in group.files if file.key in counted and file is not largest)
        kinds[group.kind] += max(0, group.bytes - again)
        counted.update(file.key for file in group.files if file is not largest)
    return kinds


def _folder(names: Sequence[str]) -> str:
    """The folder that all names begin with, with a slash at its end; or nothing.

    >>> _folder(["/home/ada/a.txt", "/home/ada/old/a.txt"]), _folder(["a.txt", "/b.txt"])
    ('/home/ada/', '')
    """
    first, last = (name.split("/")[:-1] for name in (min(names, default=""), max(names, default="")))
    pairs = zip(first, last, strict=False)
    return "".join(f"{part}/" for part, _ in itertools.takewhile(lambda both: both[0] == both[1], pairs))


def _telling_first(index: Index, pairs: Sequence[Pair]) -> list[tuple[int, Pair]]:
    """Pairs in their order, but those at the end that say of two texts what another one has said.

    Each with its rank: 0 for what is said first, 1 for what is said again, 2 for what is said of one text.
    """
    contents: dict[str, int | None] = {}

    def content(key: str) -> int | None:
        if key not in contents:
            try:
                contents[key] = index[key].content
            except KeyError:  # it was removed meanwhile
                contents[key] = None
        return contents[key]

    told: set[frozenset[int | None]] = set()
    ranked = []
    for pair in pairs:
        both = frozenset((content(pair.a), content(pair.b)))
        ranked.append((2 if len(both) == 1 else 1 if both in told else 0, pair))
        told.add(both)
    return sorted(ranked, key=lambda one: one[0])


def _pairs(index: Index, pairs: list[tuple[int, Pair]]) -> tuple[list[dict[str, Any]], list[str]]:
    """What the page says of each pair, and the texts that they are about, each of them once."""
    numbers: dict[str, int] = {}
    texts: list[str] = []

    def number_of(key: str) -> int | None:
        if key not in numbers:
            text = index.text(key)
            if text is None:
                return None
            numbers[key] = len(texts)
            # A line end of old is not one for browsers.
            texts.append(re.sub("\r(?!\n)", "\n", text[:LONGEST]))
        return numbers[key]

    found = []
    for rank, pair in pairs:
        record: dict[str, Any] = {"rank": rank, **dataclasses.asdict(pair)}
        passages: list[tuple[int, ...]] = []
        cut = False
        try:
            compared = index.compare(Key(pair.a), Key(pair.b))
            a, b = number_of(pair.a), number_of(pair.b)
        except (KeyError, TextNotKept):  # it was removed meanwhile, or never there
            a = b = None
        else:
            for measure in ("resemblance", "containment", "reverse_containment"):
                record[measure] = getattr(compared, measure)
            for p in compared.passages:
                cut |= max(p.query_end, p.end) > LONGEST
                if max(p.query_start, p.start) < LONGEST:
                    passages.append((p.query_start, min(p.query_end, LONGEST), p.start, min(p.end, LONGEST)))
        record |= {"cut": cut, "passages": {"a": a, "b": b, "ranges": passages}}
        found.append(record)
    return found, texts


def _histogram(shares: list[float]) -> str:
    counts = [0] * _BINS
    for share in shares:
        counts[min(_BINS - 1, int(share * _BINS))] += 1
    labels = [f"{number / _BINS:.1f}" if number % 4 == 0 else "" for number in range(_BINS - 1)] + ["1.0"]
    return bars(labels, counts, [f"{count:,}" for count in counts], "pairs by resemblance")


def _ranks(index: Index) -> list[tuple[float, float]]:
    """How many texts have the most common fingerprint, the next one, and so on."""
    counts = index.document_frequencies()
    if not len(counts):
        return [(1.0, 1.0)]
    last = len(counts) - 1
    places = sorted({round(last ** (step / (_RANKS - 1))) if last else 0 for step in range(_RANKS)} | {0})
    return [(place + 1.0, float(counts[place])) for place in places]


def _json(data: object) -> str:
    """JSON for a script element, which nothing in it can end."""
    return json.dumps(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
