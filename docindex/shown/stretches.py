"""List the passages and the reworded regions that a search found in a document, a line for each.

Takes a match and the text that was searched for; returns stretches, or lines with where each lies in both
texts and how it begins. Must never call a reworded region a copy.
"""

import dataclasses
from typing import TypeVar

from docindex.errors import TextNotKept
from docindex.frontends.extracted import Places
from docindex.query.regions.passages import Passage
from docindex.query.regions.regions import Region
from docindex.query.search.search import Match
from docindex.shown.wording import several

_Stretch = TypeVar("_Stretch", Passage, Region)

_EXCERPT = 60
"""Characters of a stretch that are shown in a list."""


def stretches_of(match: Match, of_query: Places) -> tuple[list[Passage] | None, list[Region] | None]:
    """The passages that are not boilerplate, and the regions; None if the text is not kept."""
    try:
        passages = [passage for passage in match.passages() if not passage.boilerplate]
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


def stretch_lines(query: str, passages: list[Passage], regions: list[Region]) -> list[str]:
    """A line for each passage, and for each reworded region; passages show the verbatim ones."""
    return [
        *(f"{_where(each)}, {each.length} symbols: {_excerpt(query, each)}" for each in passages),
        *(
            f"{_where(each)}, reworded, score {each.score:.2f}, {several(each.shared_words, 'shared word')}: "
            f"{_excerpt(query, each)}"
            for each in regions
            if each.kind == "reworded"
        ),
    ]


def _where(each: Passage | Region) -> str:
    of_query = each.query_place or f"line {each.query_line}"
    return f"      {of_query} ({each.place or f'line {each.line}'} of the document)"


def _excerpt(query: str, each: Passage | Region) -> str:
    excerpt = " ".join(query[each.query_start : each.query_end].split())
    return f"{excerpt[:_EXCERPT]}…" if len(excerpt) > _EXCERPT else excerpt
