"""The passages and the reworded regions of two texts: which are shown, and as lines and JSON objects.

Must never call a reworded region a copy.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

from docindex.errors import TextNotKept
from docindex.frontends.extracted import Places
from docindex.query.regions.passages import Passage
from docindex.query.regions.regions import Region
from docindex.query.search.search import Match
from docindex.query.sources import SourceStretch
from docindex.shown.wording import percent, several

_Stretch = TypeVar("_Stretch", Passage, Region)

_EXCERPT = 60
"""Characters of a stretch that are shown in a list."""


def own_passages(passages: Iterable[Passage]) -> list[Passage]:
    """The passages that are not boilerplate."""
    return [passage for passage in passages if not passage.boilerplate]


def reworded(regions: Iterable[Region]) -> list[Region]:
    """The regions that are reworded; passages show the verbatim ones."""
    return [region for region in regions if region.kind == "reworded"]


def stretch_size(each: Passage | Region | SourceStretch) -> str:
    """How long a passage is, or how alike the sentences of a reworded region are."""
    if isinstance(each, Region):
        return f"{each.kind}, score {each.score:.2f}, {several(each.shared_words, 'shared word')}"
    length = several(each.length, "symbol")
    if isinstance(each, Passage) and each.identical < 1:
        return f"{length}, {percent(each.identical)} identical"
    return length


def stretches_of(match: Match, of_query: Places) -> tuple[list[Passage] | None, list[Region] | None]:
    """The passages that are not boilerplate, and the regions; None if the text is not kept."""
    try:
        passages = own_passages(match.passages())
        regions = match.regions()
    except TextNotKept:
        return None, None
    return _in_source(passages, of_query), _in_source(regions, of_query)


def _in_source(found: list[_Stretch], of_query: Places) -> list[_Stretch]:
    """The same, with the places in the source of the query."""
    return [
        dataclasses.replace(each, query_place=of_query.between(each.query_start, each.query_end))
        for each in found
    ]


def stretch_lines(query: str, passages: Iterable[Passage], regions: Iterable[Region]) -> list[str]:
    """A line for each passage and each reworded region: where it lies in both texts, and how it begins."""
    found: list[Passage | Region] = [*passages, *reworded(regions)]
    return [
        f"      {each.query_place or f'line {each.query_line}'} ({each.place or f'line {each.line}'} of the "
        f"document), {stretch_size(each)}: {excerpt(query, each)}"
        for each in found
    ]


def excerpt(query: str, each: Passage | Region | SourceStretch) -> str:
    """How a stretch of the query begins, on one line."""
    words = " ".join(query[each.query_start : each.query_end].split())
    return f"{words[:_EXCERPT]}…" if len(words) > _EXCERPT else words


def stretch_records(found: Iterable[Any]) -> list[dict[str, Any]]:
    """Passages, regions or differences as JSON objects."""
    return [dataclasses.asdict(each) for each in found]
