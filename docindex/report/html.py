"""An index in, one page of HTML out that needs nothing else: no network, no other file.

Whatever names and texts hold, it is text there: jinja2 escapes what it writes, what scripts read is JSON
without a single "<", and the scripts set text alone. Must never put in more texts than its pairs need.
"""

import dataclasses
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jinja2

from docindex.errors import TextNotKept
from docindex.index import Index
from docindex.query.asking import Key
from docindex.query.pairs import Pair
from docindex.report.plots import bars, curve

_BINS = 20
_RANKS = 60
"""Points of the curve of ranks, evenly spread on its logarithmic axis."""

LONGEST = 200_000
"""Characters of a text that are shown; longer ones are cut."""


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Files that belong together, as the page lists them."""

    kind: str
    files: Sequence[str]
    bytes: int
    """What all but one of them take."""


def html(
    index: Index,
    pairs: Iterable[Pair],
    groups: Sequence[Group],
    *,
    title: str,
    shown: Callable[[str], str] = str,
    written: Callable[[int], str] = str,
) -> str:
    """The page: an overview, the groups, and pairs with their texts side by side.

    `shown` makes of a key what a person knows it by, `written` of a number of bytes.
    """
    stats = index.stats()
    some, texts = _pairs(index, list(pairs))
    kinds = {kind: sum(group.bytes for group in groups if group.kind == kind) for kind in _kinds(groups)}
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("docindex.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template("report.html").render(
        title=title,
        stats=stats,
        groups=[
            {"kind": group.kind, "files": [shown(key) for key in group.files], "room": written(group.bytes)}
            for group in groups
        ],
        pairs=[{**pair, "a": shown(pair["a"]), "b": shown(pair["b"])} for pair in some],
        room=written(sum(group.bytes for group in groups)),
        size=written(stats.file_bytes),
        resemblances=_histogram([pair["resemblance"] for pair in some]),
        kinds=bars(list(kinds), list(kinds.values()), list(map(written, kinds.values())), "bytes by kind"),
        ranks=curve(_ranks(index), "texts by rank of fingerprint", "rank of the fingerprint", "texts"),
        density=bars(
            ["measured", "2 / (window + 1)"],
            [stats.density, stats.expected_density],
            [f"{stats.density:.4f}", f"{stats.expected_density:.4f}"],
            "density of fingerprints",
        ),
        data=_json({"texts": texts, "passages": [pair["passages"] for pair in some]}),
    )


def _kinds(groups: Sequence[Group]) -> list[str]:
    return list(dict.fromkeys(group.kind for group in groups))


def _pairs(index: Index, pairs: list[Pair]) -> tuple[list[dict[str, Any]], list[str]]:
    """What the page says of each pair, and the texts that they are about, each of them once."""
    numbers: dict[str, int] = {}
    texts: list[str] = []

    def number_of(key: str) -> int | None:
        if key not in numbers:
            text = index.text(key)
            if text is None:
                return None
            numbers[key] = len(texts)
            texts.append(text[:LONGEST])
        return numbers[key]

    found = []
    for pair in pairs:
        record: dict[str, Any] = dataclasses.asdict(pair)
        passages: list[tuple[int, ...]] = []
        try:
            compared = index.compare(Key(pair.a), Key(pair.b))
            passages += [
                (p.query_start, p.query_end, p.start, p.end)
                for p in compared.passages
                if max(p.query_end, p.end) <= LONGEST
            ]
            a, b = number_of(pair.a), number_of(pair.b)
        except (KeyError, TextNotKept):  # it was removed meanwhile, or never there
            a = b = None
        record["passages"] = {"a": a, "b": b, "ranges": passages}
        found.append(record)
    return found, texts


def _histogram(shares: list[float]) -> str:
    counts = [0] * _BINS
    for share in shares:
        counts[min(_BINS - 1, int(share * _BINS))] += 1
    labels = [f"{number / _BINS:.1f}" if number % 4 == 0 else "" for number in range(_BINS)]
    return bars(labels, counts, [f"{count:,}" for count in counts], "pairs by resemblance")


def _ranks(index: Index) -> list[tuple[float, float]]:
    """How many texts have the most common fingerprint, the next one, and so on."""
    counts = index.sharers()
    if not len(counts):
        return [(1.0, 1.0)]
    last = len(counts) - 1
    places = sorted({round(last ** (step / (_RANKS - 1))) if last else 0 for step in range(_RANKS)} | {0})
    return [(place + 1.0, float(counts[place])) for place in places]


def _json(data: object) -> str:
    """JSON for a script element, which nothing in it can end."""
    return json.dumps(data).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
