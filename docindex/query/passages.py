"""Find the passages that two texts have in common, as half-open ranges of both original texts.

Some characters, such as ideographs and the ligature "ﬁ", become several symbols. So a common run of symbols
may begin or end inside a character. Such a run is shortened until it has whole characters in both texts, so
that both ranges, read alone, have the same symbols. Must never separate an accent from its letter.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from docindex.checkpoints import checkpoint
from docindex.frontends.extracted import Places
from docindex.kernels.alignment import maximal_runs, merged_ranges
from docindex.kernels.arrays import I64, U8, U64, Bool
from docindex.query.template_runs import TemplateRuns, template_runs
from docindex.reading.protocol import SymbolReader
from docindex.reading.registry import symbol_reader
from docindex.reading.slicing import lines_and_columns
from docindex.recipe import Recipe

_NOTHING = np.empty(0, np.uint64)

# This many runs are handled between two checkpoints, in 10 to 40 ms.
_AT_ONCE = 1 << 14

SHORTEST_PASSAGE = 30
"""By default, shorter runs are no passages, except where the guarantee of the recipe is shorter.

On PAN 2013, with the default recipe: the share of pairs that have a passage although nothing was taken
(false); the share of the taken characters in passages / of the characters in passages that were taken. Chosen
on one half; on the other half .097 of the pairs are false at 1, and .015 at 30.

    min_length  false     verbatim    reworded  translated  summarised
             1   .101   .998/.945   .218/.927   .272/.765   .299/.665
            20   .074   .998/.960   .206/.950   .263/.820   .291/.693
            25   .037   .998/.971   .180/.971   .247/.871   .274/.737
            30   .015   .998/.979   .153/.975   .226/.892   .253/.788
            40   .002   .998/.985   .093/.979   .178/.952   .203/.873
            50   .000   .998/.990   .051/.981   .132/.984   .167/.938
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """A stretch with the same symbols in two texts. Case, accents and other characters may differ."""

    query_start: int
    """Where it begins in the query, in characters."""
    query_end: int
    """Where it ends in the query: ``query[passage.query_start : passage.query_end]``."""
    start: int
    """Where it begins in the other text, in characters."""
    end: int
    """Where it ends in the other text."""
    length: int
    """The number of its symbols."""
    query_line: int
    """The line of the query in which it begins, counted from 1."""
    line: int
    """The line of the other text in which it begins, counted from 1."""
    boilerplate: bool
    """Whether it is boilerplate: apart from what templates contain, no stretch of it is long enough for a
    passage. So a few letters that happen to agree beside a template do not count."""
    query_place: str = ""
    """Where it lies in the source of the query, such as "page 3"; "" for a text without places."""
    place: str = ""
    """Where it lies in the source of the other text."""


@dataclasses.dataclass(frozen=True, slots=True)
class Alignment:
    """The passages that two texts have in common, and how much of each text they cover.

    Boilerplate counts neither as covered nor as a part of the text.
    """

    passages: list[Passage]
    """Ordered by where they begin in the query, then in the other text. They may overlap."""
    query_coverage: float
    """The share of the query's symbols that lie in a passage that is not boilerplate; 0 to 1."""
    coverage: float
    """The share of the other text's symbols that lie in a passage that is not boilerplate; 0 to 1."""


def with_places(found: Sequence[Passage], of_query: Places, of_text: Places) -> list[Passage]:
    """Some passages with the places where they lie in the sources of the two texts."""
    if not (of_query.starts or of_text.starts):
        return list(found)
    return [
        dataclasses.replace(
            passage,
            query_place=of_query.between(passage.query_start, passage.query_end),
            place=of_text.between(passage.start, passage.end),
        )
        for passage in found
    ]


def default_min_length(recipe: Recipe) -> int:
    """The symbols that a passage has at least, if nobody says otherwise.

    >>> default_min_length(Recipe()), default_min_length(Recipe(k=5, window=4))
    (30, 8)
    """
    return min(SHORTEST_PASSAGE, recipe.guarantee)


def passages(query: str, text: str, recipe: Recipe, min_length: int | None = None) -> list[Passage]:
    r"""The passages that two texts have in common, of at least `min_length` symbols.

    Every common run of at least `recipe.guarantee` symbols is in a passage. Shorter runs may be found too, if
    they have at least `recipe.k` symbols; of these, runs that are shorter than `min_length` are left out. (By
    default, that is `default_min_length`.) If one text is nothing but the run, the run is never too short
    for `min_length`. A run that is shortened to whole characters may become shorter than the guarantee, or be
    left out.

    >>> query, text = "Hamlet: To be, or not to be.", "and\r\nTO BE\r\nor not to be!"
    >>> [found] = passages(query, text, Recipe(k=5, window=4))
    >>> query[found.query_start : found.query_end], text[found.start : found.end], found.length, found.line
    ('To be, or not to be', 'TO BE\r\nor not to be', 13, 2)
    """
    return align(query, text, recipe, min_length).passages


def align(
    query: str, text: str, recipe: Recipe, min_length: int | None = None, ignored: U64 = _NOTHING
) -> Alignment:
    """The passages of two texts, as `passages` gives them, and how much of each text they cover.

    `ignored` are the hashes of all k-grams of the boilerplate, as an index stores them. A passage is
    boilerplate if nowhere in it `min_length` neighbouring symbols (and at least k) lie outside of the k-grams
    of templates that it contains. For coverage, a symbol is boilerplate if it lies in any k-gram of a
    template. A run that is all of a text except its boilerplate is never too short for `min_length`.

    Nothing covers a text without symbols, or a text that is all boilerplate. Periodic texts have more
    passages than anybody can read; `kernels.alignment.maximal_runs` says which of them are returned.

    >>> alignment = align("To be, or not to be.", "or not to be", Recipe(k=5, window=4))
    >>> len(alignment.passages), round(alignment.query_coverage, 2), alignment.coverage
    (1, 0.69, 1.0)
    """
    reader = symbol_reader(recipe.reading)
    of_query, of_text = _symbols(query, reader), _symbols(text, reader)
    query_size, size = len(of_query), len(of_text)
    i, j, length = maximal_runs(of_query, of_text, recipe.k, recipe.window, checkpoint)
    if not len(length):
        return Alignment([], 0.0, 0.0)
    in_query, in_text = (template_runs(symbols, recipe.k, ignored) for symbols in (of_query, of_text))
    del of_query, of_text  # frees a byte for each symbol, which the borders may need
    i, j, length = _whole(_borders(query, query_size, reader), _borders(text, size, reader), i, j, length)
    floor = default_min_length(recipe) if min_length is None else min_length
    least = max(recipe.k, min(floor, in_query.own, in_text.own))
    kept = length >= least
    i, j, length = i[kept], j[kept], length[kept]
    boilerplate = in_query.fill(i, length, least)
    counted = ~boilerplate
    return Alignment(
        passages=_passages(query, text, (i, j, length), boilerplate, reader) if len(length) else [],
        query_coverage=_share(i[counted], length[counted], in_query),
        coverage=_share(j[counted], length[counted], in_text),
    )


def _symbols(text: str, reader: SymbolReader) -> U8:
    """The symbols of a text of any length."""
    return np.concatenate([reading.symbols for reading in reader.readings(text)])


def _borders(text: str, size: int, reader: SymbolReader) -> Bool:
    """Whether each place before, between or after the symbols of a text is a border of characters.

    `size` is the number of symbols. In ASCII every place is a border, and the array takes no memory.
    """
    return np.broadcast_to(np.True_, size + 1) if text.isascii() else reader.borders(text)


def _whole(of_query: Bool, of_text: Bool, i: I64, j: I64, length: I64) -> tuple[I64, I64, I64]:
    """The runs, shortened to whole characters in both texts, given the borders of characters."""
    cut = ~(of_query[i] & of_text[j] & of_query[i + length] & of_text[j + length])
    # This shortens a few percent of the runs of ideographs and half of the runs of Hangul, in 2 us each.
    for number, run in enumerate(np.flatnonzero(cut).tolist()):
        if not number % _AT_ONCE:
            checkpoint()
        size = length[run] + 1
        in_both = of_query[i[run] : i[run] + size] & of_text[j[run] : j[run] + size]
        first, behind = in_both.argmax(), in_both[::-1].argmax()
        i[run] += first
        j[run] += first
        length[run] -= first + behind if in_both.any() else length[run]
    return i, j, length


def _passages(
    query: str, text: str, common: tuple[I64, I64, I64], boilerplate: Bool, reader: SymbolReader
) -> list[Passage]:
    """The passages that belong to common runs; the runs are given as positions of symbols."""
    i, j, length = common
    query_starts, starts = _in_any_order(reader.offsets, query, i), _in_any_order(reader.offsets, text, j)
    columns = np.array(
        [
            query_starts,
            _in_any_order(reader.ends, query, i + length - 1),
            starts,
            _in_any_order(reader.ends, text, j + length - 1),
            length,
            lines_and_columns(query, query_starts)[0],
            lines_and_columns(text, starts)[0],
        ]
    )
    order = np.lexsort((starts, query_starts))
    found: list[Passage] = []
    for begin in range(0, len(order), _AT_ONCE):
        checkpoint()
        some = order[begin : begin + _AT_ONCE]
        fields = [*columns[:, some].tolist(), boilerplate[some].tolist()]
        found += [Passage(*values) for values in zip(*fields, strict=True)]
    return found


def _in_any_order(where: Callable[[str, I64], I64], text: str, positions: I64) -> I64:
    """The result of `where` for positions in any order; `where` itself needs ascending positions."""
    order = np.argsort(positions)
    found = np.empty_like(positions)
    found[order] = where(text, positions[order])
    return found


def _share(begins: I64, lengths: I64, templates: TemplateRuns) -> float:
    """The share of the symbols of a text, without boilerplate, that runs cover; 0 if all is boilerplate."""
    own = templates.own
    return templates.own_in(*merged_ranges(begins, begins + lengths)) / own if own else 0.0
