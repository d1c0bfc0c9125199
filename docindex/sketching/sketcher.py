"""Sketch texts in batches: compute the fingerprints, slots, features, simhash and samples of each text.

In: any number of texts, and a recipe. Out: one `Sketches` for each batch, or the shingle sets alone. Short
texts are sketched together and long texts slice by slice, so that the arrays in memory stay small. The result
must never depend on how the texts were batched or cut. Must never keep a text.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from docindex.arrays.ranges import I64, U8, U16, U64, are_first, mix, starts_of, union
from docindex.minhash import slots as minhash
from docindex.minhash.slots import features
from docindex.reading import slicing
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe
from docindex.shingling import samples
from docindex.shingling.shingles import distinct_counts, labelled_bag, shingles
from docindex.sketching.incremental import (
    GrowingArray,
    ShingleCounter,
    Shingler,
    Winnower,
    shingle_hashes,
)
from docindex.sketching.single_text import shingle_set
from docindex.sketching.sketches import HASH_SHIFT, Sketches
from docindex.sketching.tokens import shingle_tokens, simhash_words, words_of
from docindex.sketching.weighted_words import WordCounter, simhashes_of_words
from docindex.sketching.words_hashing import WordsHasher, words_hashes
from docindex.winnowing.selection import select_fingerprints

_LARGEST = (32 << 20) - (1 << 16)
"""glibc ignores blocks of more than 32 MB."""


@functools.cache
def keep_memory() -> None:
    """Let the C library of Linux keep the memory that sketching allocates again and again.

    glibc returns freed memory to the system if it is more than twice as large as the largest block that was
    ever mapped and freed. Sketching allocates and frees some 30 MB for each batch, and the system fills each
    new page with zeros: a third of the time of sketching. One block that is allocated and freed without being
    touched costs nothing and raises the limit to 64 MB. Other C libraries ignore it.
    """
    block = np.empty(_LARGEST, np.uint8)
    del block


_Item = TypeVar("_Item")

# The hashes of a text with more fingerprints than this are counted in sixteen parts: sorting all of them at
# once would double the memory they take.
_SORTED = 1 << 20


def sketch_batches(texts: Iterable[str], recipe: Recipe) -> Iterator[Sketches]:
    """The sketches of any number of texts, in the order of the texts, in batches of bounded size.

    >>> [len(batch) for batch in sketch_batches(["one text", "", "and one more"], Recipe())]
    [3]
    """
    keep_memory()
    for batch in batched_by_weight(texts, lambda text: len(text) + recipe.slots):
        long = len(batch[0]) > slicing.PIECE_CHARACTERS
        yield _sketch_long(batch[0], recipe) if long else _sketch_short(batch, recipe)


def sketch_batch(texts: Sequence[str], recipe: Recipe) -> Sketches:
    """The sketches of texts that fit in one batch.

    >>> len(sketch_batch(["one text", "another"], Recipe()))
    2
    """
    (batch,) = sketch_batches(texts, recipe)
    return batch


def batched_by_weight(items: Iterable[_Item], weight: Callable[[_Item], int]) -> Iterator[list[_Item]]:
    """The items in their order, in lists whose total weight is at most `PIECE_CHARACTERS`.

    An item heavier than that gets a list of its own. The weight of a text is its characters plus its slots,
    because both become arrays in memory.

    >>> list(batched_by_weight(["abc", "de"], len))
    [['abc', 'de']]
    """
    batch: list[_Item] = []
    size = 0
    for item in items:
        if batch and size + weight(item) > slicing.PIECE_CHARACTERS:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += weight(item)
    if batch:
        yield batch


def _sketch_short(texts: list[str], recipe: Recipe) -> Sketches:
    """The sketches of a batch of short texts, all at once."""
    reader = symbol_reader(recipe.reading)
    reading = reader.read(texts, lines=recipe.token == "line")
    hashes, gaps, starts = _fingerprints_of_batch(reading.symbols, reading.starts, recipe)
    words = words_of(reading, recipe)
    found, found_starts = shingles(*shingle_tokens(reading, recipe, words), recipe.shingle)
    if recipe.bag:
        found = labelled_bag(found, found_starts)
    slots = minhash.stored_slots(minhash.slot_keys(found, found_starts, recipe.slots))
    empty = np.empty(0, np.uint64), np.zeros_like(reading.starts)
    return Sketches(
        recipe=recipe,
        symbols=np.diff(reading.starts),
        hashes=hashes,
        gaps=gaps,
        starts=starts,
        different=_different(hashes, starts),
        shingles=distinct_counts(found, found_starts),
        slots=slots,
        features=features(slots, *recipe.features[:2]),
        simhashes=simhashes_of_words(*simhash_words(reading, recipe, words)),
        words_hashes=words_hashes(texts, reading, reader),
        min_s=samples.min_s(found, found_starts, recipe.min_s) if recipe.min_s else empty,
        mod_m=samples.mod_m(found, found_starts, recipe.mod_m) if recipe.mod_m else empty,
        level=samples.l_i(found, found_starts, recipe.level)[:2] if recipe.level else empty,
    )


def _fingerprints_of_batch(symbols: U8, symbol_starts: I64, recipe: Recipe) -> tuple[U64, U16, I64]:
    """The hashes and gaps of the fingerprints of a batch, and where each text's fingerprints begin."""
    positions, hashes, _ = select_fingerprints(
        symbols, symbol_starts, recipe.k, recipe.window, robust=recipe.selector == "robust"
    )
    starts = np.searchsorted(positions, symbol_starts)
    gaps = np.diff(positions, prepend=0)
    filled = np.diff(starts) > 0
    first = starts[:-1][filled]
    gaps[first] = positions[first] - symbol_starts[:-1][filled]
    return mix(hashes), gaps.astype(np.uint16), starts


def _sketch_long(text: str, recipe: Recipe) -> Sketches:
    """The sketch of one long text, slice by slice: the same as a batch of this text would give."""
    winnower = Winnower(recipe)
    reader = symbol_reader(recipe.reading)
    symbols, hasher = 0, WordsHasher(reader)
    word_counter = WordCounter()
    shingler, counter, bag = Shingler(recipe), ShingleCounter(recipe), GrowingArray(np.uint64)
    take = bag.extend if recipe.bag else counter.add
    for reading in reader.readings(text):
        symbols += len(reading.symbols)
        hasher.add(reading)
        winnower.add(reading.symbols)
        words = words_of(reading, recipe)
        word_counter.add(simhash_words(reading, recipe, words)[0])
        if recipe.token != "line":
            take(shingler.add(shingle_tokens(reading, recipe, words)[0]))
    # Lines are not cut where words are, so the text is read a second time for them.
    for found in shingle_hashes(text, recipe) if recipe.token == "line" else [shingler.end()]:
        take(found)
    if recipe.bag:
        # Only the whole text shows how often a shingle occurs. This takes 64 bytes for each shingle.
        counter.add(labelled_bag(*_batch_of_one(bag.taken())))
    hashes, gaps = winnower.end()
    slots = minhash.stored_slots(counter.keys)
    return Sketches(
        recipe=recipe,
        symbols=np.array([symbols]),
        hashes=hashes,
        gaps=gaps,
        starts=starts_of(np.array([len(hashes)])),
        different=_different(hashes, starts_of(np.array([len(hashes)]))),
        shingles=np.array([counter.size]),
        slots=slots,
        features=features(slots, *recipe.features[:2]),
        simhashes=word_counter.simhash,
        words_hashes=[hasher.end(text)],
        min_s=_batch_of_one(counter.min_s),
        mod_m=_batch_of_one(counter.mod_m),
        level=_batch_of_one(counter.level),
    )


def _batch_of_one(values: U64) -> tuple[U64, I64]:
    return values, starts_of(np.array([len(values)]))


def _different(hashes: U64, starts: I64) -> I64:
    """The number of different hashes of each text, counting only the bits that are stored."""
    if len(starts) > 2 or len(hashes) <= _SORTED:
        return distinct_counts(hashes & ~((np.uint64(1) << HASH_SHIFT) - np.uint64(1)), starts)
    sixteenths = (hashes >> np.uint64(60)).astype(np.uint8)
    return np.array([sum(len(union(hashes[sixteenths == n] >> HASH_SHIFT)) for n in range(16))])


# What a text costs on top of its characters when texts are read together, in characters.
_TEXT_COST = 16


def shingle_sets(texts: Iterable[str], recipe: Recipe) -> Iterator[tuple[U64, I64]]:
    """The shingle sets of texts in batches: hashes, and where the set of each text begins.

    >>> (batch,) = shingle_sets(["to be or not to be", "", "to be or not to be or not to be"], Recipe())
    >>> batch[1].tolist()
    [0, 2, 2, 6]
    """
    for batch in batched_by_weight(texts, lambda text: len(text) + _TEXT_COST):
        if len(batch[0]) > slicing.PIECE_CHARACTERS:
            found = shingle_set(batch[0], recipe)
            yield found, starts_of(np.array([len(found)]))
        else:
            yield _sets_of_batch(batch, recipe)


def _sets_of_batch(texts: list[str], recipe: Recipe) -> tuple[U64, I64]:
    reading = symbol_reader(recipe.reading).read(texts, lines=recipe.token == "line")
    hashes, starts = shingles(*shingle_tokens(reading, recipe), recipe.shingle)
    if recipe.bag:
        hashes = labelled_bag(hashes, starts)
    # Sorting text by text takes a third of the time of one sort by text and hash.
    for begin, end in itertools.pairwise(starts.tolist()):
        hashes[begin:end].sort()
    first = are_first(hashes)
    first[starts[:-1][np.diff(starts) > 0]] = True
    return hashes[first], starts_of(first.astype(np.int64))[starts]
