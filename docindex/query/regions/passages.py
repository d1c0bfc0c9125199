"""Find the passages that two texts have in common, as half-open ranges of both original texts.

A common run of symbols may begin or end inside a word, because other words share its letters. Such a run is
shortened to whole words in both texts. Some characters, such as ideographs and the ligature "ﬁ", become
several symbols. So a run without whole words is shortened to whole characters: both ranges, read alone, have
the same symbols. Must never separate an accent from its letter.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from docindex.arrays.joins import found_in
from docindex.arrays.ranges import I64, U8, U64, Bool, are_first, mix, starts_of
from docindex.cancellation import checkpoint
from docindex.reading.protocol import SymbolReader, joined_readings
from docindex.reading.registry import symbol_reader
from docindex.reading.slicing import lines_and_columns
from docindex.recipe import Recipe
from docindex.sketching.sketches import HASH_SHIFT
from docindex.winnowing.common_runs import maximal_runs, merged_ranges, run_chains
from docindex.winnowing.kgrams import grams
from docindex.winnowing.selection import POSITION_BITS

# Find the symbols of a text that are boilerplate, and the passages that contain nothing else.
#
# In: the symbols of a text, and the k-gram hashes of all templates, as an index stores them. A symbol is
# boilerplate if it lies in a k-gram of a template. Must never hold a hash for each symbol of a long text.

# How many k-grams are hashed at a time: half a dozen arrays of this length take 50 MB.
_SLICE = 1 << 20
_UNHASHED_BITS = np.uint64(POSITION_BITS)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class TemplateRuns:
    """Where the k-grams of templates are in a text."""

    firsts: I64
    """Where each run of places begins at which a k-gram of a template begins, ascending."""
    ends: I64
    """The place behind each of these runs."""
    k: int
    size: int
    """The number of symbols of the text."""

    @property
    def own(self) -> int:
        """The number of symbols that are not boilerplate."""
        return self.own_in(np.zeros(1, np.int64), np.array([self.size]))

    def own_in(self, begins: I64, ends: I64) -> int:
        """The number of symbols in some ranges that are not boilerplate; the ranges must not overlap."""
        if not len(self.firsts):
            return int((ends - begins).sum())
        first, last = merged_ranges(self.firsts, self.ends + self.k - 1)
        before = starts_of(last - first)

        def boilerplate_before(places: I64) -> I64:
            begun = np.searchsorted(first, places)
            return before[begun] - np.maximum(np.append(0, last)[begun] - places, 0)

        return int((ends - begins - boilerplate_before(ends) + boilerplate_before(begins)).sum())

    def fill(self, begins: I64, lengths: I64, least: int) -> Bool:
        """True for each passage that is boilerplate: no `least` neighbouring symbols of it are anything else.

        Only the k-grams inside a passage count. So the answer is the same in both texts of the passage,
        whatever surrounds it. `least` must be at least k.
        """
        last_places = begins + lengths - self.k
        first = np.searchsorted(self.ends, begins, "right")
        last = np.searchsorted(self.firsts, last_places, "right") - 1
        filled = first <= last
        begins, last_places, first, last = (of[filled] for of in (begins, last_places, first, last))
        before = self.firsts[first] - begins
        behind = last_places - (self.ends[last] - 1)
        gaps = self.firsts[1:] - (self.ends[:-1] - 1 + self.k)
        long_gaps = starts_of((gaps >= least).astype(np.int64))
        filled[filled] = (before < least) & (behind < least) & (long_gaps[last] == long_gaps[first])
        return filled


def template_runs(symbols: U8, k: int, ignored: U64) -> TemplateRuns:
    """Where the k-grams with these hashes are in a text.

    Takes 50 MB, and 16 bytes for each run of places; real texts have few runs.

    >>> from docindex.recipe import Recipe
    >>> from docindex.sketching.single_text import text_fingerprints
    >>> ignored = text_fingerprints("template", Recipe(k=3, window=1))[0] >> HASH_SHIFT << HASH_SHIFT
    >>> found = template_runs(np.frombuffer(b"xxtemplatextempo", np.uint8), 3, ignored)
    >>> found.firsts.tolist(), found.ends.tolist(), found.own
    ([2, 11], [8, 13], 4)
    """
    firsts, ends = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for begin in range(0, max(0, len(symbols) - k + 1) if len(ignored) else 0, _SLICE):
        part = symbols[begin : begin + _SLICE + k - 1]
        # The same hashes as those of fingerprints. (Winnowing with a window of 1 takes 13 times as long.)
        hashes = grams(part, np.array([0, len(part)]), k)[0] >> _UNHASHED_BITS
        marked = _among(ignored, mix(hashes) >> HASH_SHIFT << HASH_SHIFT)
        changes = np.diff(marked.view(np.int8), prepend=np.int8(0), append=np.int8(0))
        firsts.append(np.flatnonzero(changes == 1) + begin)
        ends.append(np.flatnonzero(changes == -1) + begin)
    return TemplateRuns(*merged_ranges(np.concatenate(firsts), np.concatenate(ends)), k, len(symbols))


def _among(ascending: U64, hashes: U64) -> Bool:
    """True for each hash that is among some ascending hashes."""
    if 4 * len(hashes) > len(ascending):
        return found_in(ascending, hashes)
    # For 800 hashes among 27,000, this takes 0.01 ms, and making the table of `found_in` takes 0.18 ms.
    found: Bool = ascending[np.minimum(np.searchsorted(ascending, hashes), len(ascending) - 1)] == hashes
    return found


_NOTHING = np.empty(0, np.uint64)

# This many runs are handled between two checkpoints, in 10 to 40 ms.
_AT_ONCE = 1 << 14

SHORTEST_PASSAGE = 36
"""By default, shorter runs are no passages, except where the guarantee of the recipe is shorter.

On PAN 2013, with the default recipe: the share of pairs that have a passage although nothing was taken
(false); the share of the taken characters in passages / of the characters in passages that were taken. Chosen
on one half; on the other half .015 of the pairs are false at 30, and .007 at 36.

    min_length  false     verbatim    reworded  translated  summarised
            20   .069   .998/.965   .200/.952   .254/.835   .284/.695
            30   .015   .998/.982   .149/.977   .218/.891   .247/.787
            34   .005   .998/.984   .125/.983   .199/.893   .228/.819
            36   .005   .998/.985   .114/.983   .190/.940   .218/.838
            40   .002   .998/.986   .091/.979   .171/.951   .200/.880
            50   .000   .998/.991   .051/.981   .130/.984   .166/.938
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Passage:
    """A stretch with the same symbols in two texts. Case, accents and other characters may differ.

    With `join`, a passage may consist of several such stretches, and of what lies between them.
    """

    query_start: int
    """Where it begins in the query, in characters."""
    query_end: int
    """Where it ends in the query: ``query[passage.query_start : passage.query_end]``."""
    start: int
    """Where it begins in the other text, in characters."""
    end: int
    """Where it ends in the other text."""
    length: int
    """The number of its symbols that are the same in both texts."""
    query_line: int
    """The line of the query in which it begins, counted from 1."""
    line: int
    """The line of the other text in which it begins, counted from 1."""
    boilerplate: bool
    """Whether it is boilerplate: apart from what templates contain, no stretch of it is long enough for a
    passage. So a few letters that happen to agree beside a template do not count."""
    identical: float = 1.0
    """`length` as a share of its symbols, in the text in which it has more; below 1 only with `join`."""
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


def default_min_length(recipe: Recipe) -> int:
    """The symbols that a passage has at least, if nobody says otherwise.

    >>> default_min_length(Recipe()), default_min_length(Recipe(k=5, window=4))
    (36, 8)
    """
    return min(SHORTEST_PASSAGE, recipe.guarantee)


def passages(
    query: str, text: str, recipe: Recipe, min_length: int | None = None, join: int = 0
) -> list[Passage]:
    r"""The passages that two texts have in common, of at least `min_length` symbols.

    Every common run of at least `recipe.guarantee` symbols is in a passage. Shorter runs may be found too, if
    they have at least `recipe.k` symbols; of these, runs that are shorter than `min_length` are left out. (By
    default, that is `default_min_length`.) If one text is nothing but the run, the run is never too short
    for `min_length`.

    A run is shortened to whole words in both texts. If `min_length` symbols are not left, it is left out, or
    only shortened to whole characters if it is as long as the guarantee, or all of a text.

    Passages that follow each other in both texts, with at most `join` symbols between them, become one.

    >>> query, text = "Hamlet: To be, or not to be.", "and\r\nTO BE\r\nor not to be!"
    >>> [found] = passages(query, text, Recipe(k=5, window=4))
    >>> query[found.query_start : found.query_end], text[found.start : found.end], found.length, found.line
    ('To be, or not to be', 'TO BE\r\nor not to be', 13, 2)
    """
    return align(query, text, recipe, min_length, join=join).passages


def align(
    query: str,
    text: str,
    recipe: Recipe,
    min_length: int | None = None,
    ignored: U64 = _NOTHING,
    *,
    join: int = 0,
) -> Alignment:
    """The passages of two texts, as `passages` gives them, and how much of each text they cover.

    `ignored` are the hashes of all k-grams of the boilerplate, as an index stores them. A passage is
    boilerplate if nowhere in it `min_length` neighbouring symbols (and at least k) lie outside of the k-grams
    of templates that it contains. For coverage, a symbol is boilerplate if it lies in any k-gram of a
    template. A run that is all of a text except its boilerplate is never too short for `min_length`.

    Nothing covers a text without symbols, or a text that is all boilerplate. Periodic texts have more
    passages than anybody can read; `maximal_runs` says which of them are returned.

    >>> alignment = align("To be, or not to be.", "or not to be", Recipe(k=5, window=4))
    >>> len(alignment.passages), round(alignment.query_coverage, 2), alignment.coverage
    (1, 0.69, 1.0)
    """
    in_query, in_text = comparable(query, recipe, ignored), comparable(text, recipe, ignored)
    i, j, length, boilerplate = _runs(in_query, in_text, recipe, min_length)
    counted = ~boilerplate
    found = _joined(i, j, length, boilerplate, join)
    reader = symbol_reader(recipe.reading)
    return Alignment(
        passages=_passages(query, text, found, reader) if len(length) else [],
        query_coverage=_share(i[counted], length[counted], in_query.templates),
        coverage=_share(j[counted], length[counted], in_text.templates),
    )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Comparable:
    """What an alignment needs to know of a text; to compare a text with many, make it once."""

    symbols: U8
    characters: Bool
    """Whether each place before, between or after the symbols is a border of characters."""
    words: Bool
    """Whether it is also a border of words."""
    templates: TemplateRuns


def comparable(text: str, recipe: Recipe, ignored: U64 = _NOTHING) -> Comparable:
    """A text for `passage_runs`; `ignored` is that of `align`. Takes about two bytes for each symbol."""
    reader = symbol_reader(recipe.reading)
    symbols, words = _symbols_and_words(text, reader)
    characters = _borders(text, len(symbols), reader)
    return Comparable(symbols, characters, words & characters, template_runs(symbols, recipe.k, ignored))


def passage_runs(
    query: Comparable, text: Comparable, recipe: Recipe, min_length: int | None = None
) -> tuple[I64, I64, I64]:
    """The passages that are not boilerplate, as runs of symbols; `min_length` is that of `passages`.

    Where each begins in the query and in the other text, in their order, and the number of its symbols.

    >>> texts = [comparable(text, Recipe(k=5, window=4)) for text in ("To be, or not to be", "or not to be")]
    >>> [column.tolist() for column in passage_runs(*texts, Recipe(k=5, window=4))]
    [[4], [0], [9]]
    """
    i, j, length, boilerplate = _runs(query, text, recipe, min_length)
    order = np.lexsort((j, i))
    order = order[~boilerplate[order]]
    return i[order], j[order], length[order]


def _runs(
    query: Comparable, text: Comparable, recipe: Recipe, min_length: int | None
) -> tuple[I64, I64, I64, Bool]:
    """The passages as runs of symbols: where they begin in both texts, their lengths, and if boilerplate."""
    runs = maximal_runs(query.symbols, text.symbols, recipe.k, recipe.window, checkpoint)
    if not len(runs[0]):
        return *runs, np.zeros(0, np.bool_)
    runs = _shortened(query.characters, text.characters, *runs)
    floor = default_min_length(recipe) if min_length is None else min_length
    own, other = query.templates.own, text.templates.own
    least = max(recipe.k, min(floor, own, other))
    always = max(least, min(recipe.guarantee, own, other))
    is_long = runs[2] >= least
    i, j, length = _whole_words(
        (query.words, text.words), (runs[0][is_long], runs[1][is_long], runs[2][is_long]), least, always
    )
    # A run may have become shorter than the others.
    return i, j, length, query.templates.fill(i, length, least)


def _symbols_and_words(text: str, reader: SymbolReader) -> tuple[U8, Bool]:
    """The symbols of a text, and whether each place before, between or after them is a border of words."""
    reading = joined_readings(list(reader.readings(text)))
    borders = np.zeros(len(reading.symbols) + 1, np.bool_)
    borders[reading.words] = True
    borders[-1] = True
    return reading.symbols, borders


def _borders(text: str, size: int, reader: SymbolReader) -> Bool:
    """Whether each place before, between or after the symbols of a text is a border of characters.

    `size` is the number of symbols. In ASCII every place is a border, and the array takes no memory.
    """
    return np.broadcast_to(np.True_, size + 1) if text.isascii() else reader.borders(text)


def _whole_words(
    borders: tuple[Bool, Bool], runs: tuple[I64, I64, I64], least: int, always: int
) -> tuple[I64, I64, I64]:
    """The runs of `least` symbols, shortened to whole words if that leaves `least` symbols.

    Others stay as they are if they have `always` symbols, and are left out if not.
    """
    shortened = _shortened(*borders, *(of.copy() for of in runs))
    enough = shortened[2] >= least
    kept = enough | (runs[2] >= always)
    i, j, length = (np.where(enough, short, run)[kept] for run, short in zip(runs, shortened, strict=True))
    return i, j, length


def _shortened(of_query: Bool, of_text: Bool, i: I64, j: I64, length: I64) -> tuple[I64, I64, I64]:
    """The runs, shortened to places that are borders in both texts; without such places, the length is 0.

    The arrays of runs are changed.
    """
    cut = ~(of_query[i] & of_text[j] & of_query[i + length] & of_text[j + length])
    # This takes 2 us a run: nearly all runs are shortened to words, half of the runs of Hangul to characters.
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


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Stretches:
    """Stretches of symbols in both texts."""

    query_first: I64
    query_last: I64
    first: I64
    last: I64
    common: I64
    """How many of the symbols are the same in both texts."""
    boilerplate: Bool


def _joined(i: I64, j: I64, length: I64, boilerplate: Bool, gap: int) -> _Stretches:
    """The runs, with those joined that follow each other; runs that are boilerplate stay alone."""
    if not gap:
        return _Stretches(i, i + length - 1, j, j + length - 1, length, boilerplate)
    order = np.lexsort((j, i))
    i, j, length, boilerplate = i[order], j[order], length[order], boilerplate[order]
    chains = np.arange(len(i))
    chains[~boilerplate] = len(i) + run_chains(
        i[~boilerplate], j[~boilerplate], length[~boilerplate], gap, checkpoint
    )
    order = np.argsort(chains, kind="stable")
    i, j, length, chains = i[order], j[order], length[order], chains[order]
    begins = np.flatnonzero(are_first(chains))
    ends_i, ends_j = i + length, j + length
    overlap = np.zeros_like(length)
    overlap[1:] = np.maximum(ends_i[:-1] - i[1:], ends_j[:-1] - j[1:])
    overlap[begins] = 0
    common = np.maximum(length - np.maximum(overlap, 0), 0)
    return _Stretches(
        i[begins],
        np.maximum.reduceat(ends_i, begins) - 1,
        j[begins],
        np.maximum.reduceat(ends_j, begins) - 1,
        np.add.reduceat(common, begins),
        boilerplate[order][begins],
    )


def _passages(query: str, text: str, found: _Stretches, reader: SymbolReader) -> list[Passage]:
    """The passages that belong to stretches of symbols."""
    query_starts = _in_any_order(reader.offsets, query, found.query_first)
    starts = _in_any_order(reader.offsets, text, found.first)
    sizes = np.maximum(found.query_last - found.query_first, found.last - found.first) + 1
    identical = np.minimum(found.common / sizes, 1.0)
    columns = np.array(
        [
            query_starts,
            _in_any_order(reader.ends, query, found.query_last),
            starts,
            _in_any_order(reader.ends, text, found.last),
            found.common,
            lines_and_columns(query, query_starts)[0],
            lines_and_columns(text, starts)[0],
        ]
    )
    order = np.lexsort((starts, query_starts))
    made: list[Passage] = []
    for begin in range(0, len(order), _AT_ONCE):
        checkpoint()
        some = order[begin : begin + _AT_ONCE]
        fields = [*columns[:, some].tolist(), found.boilerplate[some].tolist(), identical[some].tolist()]
        made += [Passage(*values) for values in zip(*fields, strict=True)]
    return made


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
