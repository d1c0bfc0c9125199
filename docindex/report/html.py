"""An index in, one page of HTML out that needs nothing else: no network, no other file.

Whatever names and texts hold, it is text there: jinja2 escapes what it writes, what scripts read is JSON
without a single "<", and the scripts set text alone. Must never put in more texts than its pairs need.
"""

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
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
    pairs: Sequence[Pair],
    groups: Sequence[Group],
    *,
    limit: int,
    title: str,
    shown: Callable[[str], str] = str,
    written: Callable[[int], str] = str,
) -> str:
    """The page: an overview, the groups, and so many pairs with their texts side by side.

    Pairs of different texts come before those that say the same of copies, and before the copies. `shown`
    makes of a key what a person knows it by, `written` of a number of bytes.
    """
    stats = index.stats()
    some, texts = _pairs(index, _telling_first(index, pairs)[:limit])
    names = {key: shown(key) for key in [*_files(groups), *(pair[side] for pair in some for side in "ab")]}
    folder = _folder(list(names.values()))
    names = {key: name.removeprefix(folder) for key, name in names.items()}
    kinds = {kind: sum(group.bytes for group in groups if group.kind == kind) for kind in _kinds(groups)}
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("docindex.report"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template("report.html").render(
        title=title,
        stats=stats,
        folder=folder,
        groups=[
            {"kind": group.kind, "files": [names[key] for key in group.files], "room": written(group.bytes)}
            for group in groups
        ],
        pairs=[{**pair, "a": names[pair["a"]], "b": names[pair["b"]]} for pair in some],
        found=len(pairs),
        room=written(sum(group.bytes for group in groups)),
        size=written(stats.file_bytes),
        resemblances=_histogram([pair.resemblance for pair in pairs]),
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


def _files(groups: Sequence[Group]) -> Iterator[str]:
    for group in groups:
        yield from group.files


def _folder(names: Sequence[str]) -> str:
    """The folder that all names begin with, with a slash at its end; or nothing.

    >>> _folder(["/home/ada/a.txt", "/home/ada/old/a.txt"]), _folder(["a.txt", "/b.txt"])
    ('/home/ada/', '')
    """
    first, last = (name.split("/")[:-1] for name in (min(names, default=""), max(names, default="")))
    pairs = zip(first, last, strict=False)
    return "".join(f"{part}/" for part, _ in itertools.takewhile(lambda both: both[0] == both[1], pairs))


def _telling_first(index: Index, pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs in their order, but those at the end that say of two texts what another one has said."""
    contents: dict[str, int | None] = {}

    def content(key: str) -> int | None:
        if key not in contents:
            try:
                contents[key] = index[key].content
            except KeyError:  # it was removed meanwhile
                contents[key] = None
        return contents[key]

    told: set[frozenset[int | None]] = set()
    ranks = []
    for pair in pairs:
        both = frozenset((content(pair.a), content(pair.b)))
        ranks.append(2 if len(both) == 1 else 1 if both in told else 0)
        told.add(both)
    return [pair for wanted in range(3) for pair, rank in zip(pairs, ranks, strict=True) if rank == wanted]


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
