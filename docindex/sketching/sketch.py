"""Texts and a recipe in; all that is stored of them out: fingerprints, slots, features, simhash.

Short texts are worked on in batches, long ones in slices, so that memory is bounded by neither
their number nor their length; what comes out does not depend on how they were cut. Must never
keep a text, nor know where a sketch is stored.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import xxhash

from docindex.kernels import minhash, samples
from docindex.kernels.arrays import I64, U8, U16, U32, U64, mix, starts_of
from docindex.kernels.features import features
from docindex.kernels.grams import grams
from docindex.kernels.shingles import distinct, labelled, shingles, token_hashes, token_spans
from docindex.kernels.simhash import ones, signs
from docindex.kernels.winnow import fingerprints
from docindex.reading import slicing
from docindex.reading.english import STOP_WORDS, stemmed
from docindex.reading.protocol import Reading
from docindex.reading.registry import symbol_reader
from docindex.recipe import Recipe
from docindex.sketching.incremental import Counter, Growing, Shingler, Winnower, union

Item = TypeVar("Item")

# Longer tokens are taken for several: a line of base64 is not one word. No word of a natural
# language is longer than half of what a reading keeps together; the whole is as long a run as `grams.spans`
# hashes well.


HASH_BYTES = 6
"""Of each fingerprint's hash the high 48 bits are stored."""
HASH_SHIFT = np.uint64(64 - 8 * HASH_BYTES)

# Of a long text's hashes not all are sorted at a time: that would take as much memory again.
_SORTED = 1 << 16


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """What is stored of one text."""

    recipe: Recipe
    symbols: int
    """How many symbols the text has."""
    hashes: U64
    """Its fingerprints' hashes in the order of their positions: 2^47 values spread evenly over 64 bits."""
    positions: I64
    """Where each fingerprint's k-gram begins, in symbols; ascending."""
    shingles: int
    """How many different shingles it has; above 2^20 an estimate with a standard error of about 0.1%."""
    slots: U32
    """Its min-hash sketch."""
    features: U64
    """Its super-shingles."""
    simhash: int
    """64 bits, 0 to 2^64 - 1."""
    symbols_hash: bytes
    """The xxh3-128 of its symbols: equal for texts that differ only in what does not count."""
    min_s: U64
    """Its MIN_s sketch, empty unless the recipe asks for one. So are the next two."""
    mod_m: U64
    level: U64
    """Its L_i sketch."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Sketches:
    """What is stored of a batch of texts: arrays end to end, and where each text's part begins.

    ``len(batch)`` texts; ``batch[0]`` is the `Sketch` of the first.
    """

    recipe: Recipe
    symbols: I64
    hashes: U64
    gaps: U16
    """Symbols from each fingerprint to the one before; of each text's first, from its begin."""
    starts: I64
    different: I64
    """How many different hashes each text has, as they are stored."""
    shingles: I64
    slots: U32
    features: U64
    simhashes: U64
    symbols_hashes: list[bytes]
    min_s: tuple[U64, I64]
    mod_m: tuple[U64, I64]
    level: tuple[U64, I64]

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, number: int) -> Sketch:
        if not 0 <= number < len(self):
            raise IndexError(f"a batch of {len(self)} sketches has no number {number}")
        begin, end = self.starts[number : number + 2]

        def part(values: U64, starts: I64) -> U64:
            return values[starts[number] : starts[number + 1]]

        return Sketch(
            recipe=self.recipe,
            symbols=int(self.symbols[number]),
            hashes=self.hashes[begin:end],
            positions=np.cumsum(self.gaps[begin:end], dtype=np.int64),
            shingles=int(self.shingles[number]),
            slots=self.slots[number],
            features=self.features[number],
            simhash=int(self.simhashes[number]),
            symbols_hash=self.symbols_hashes[number],
            min_s=part(*self.min_s),
            mod_m=part(*self.mod_m),
            level=part(*self.level),
        )


def sketch_batches(texts: Iterable[str], recipe: Recipe) -> Iterator[Sketches]:
    """The sketches of any number of texts in their order, as many at a time as fit a batch.

    >>> [len(batch) for batch in sketch_batches(["one text", "", "and one more"], Recipe())]
    [3]
    """
    for batch in batches(texts, lambda text: len(text) + recipe.slots):
        yield _sketch_long(batch[0], recipe) if len(batch[0]) > slicing.PART else _sketch_batch(batch, recipe)


def batches(items: Iterable[Item], weight: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Items in their order, as many together as weigh no more than `slicing.PART`; a heavier one alone.

    A text weighs its characters and its slots: both are arrays in memory.
    """
    batch: list[Item] = []
    size = 0
    for item in items:
        if batch and size + weight(item) > slicing.PART:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += weight(item)
    if batch:
        yield batch


def shingle_set(text: str, recipe: Recipe) -> U64:
    """The different shingles of a text as sorted hashes: what resemblance and containment are about.

    >>> len(shingle_set("a rose is a rose is a rose", Recipe(shingle=4)))
    3
    """
    found = Growing(np.uint64)
    for hashes in _shingle_hashes(text, recipe):
        found.extend(hashes)
    hashes = found.taken()
    return union(labelled(hashes, starts_of(np.array([len(hashes)]))) if recipe.bag else hashes)


def text_fingerprints(text: str, recipe: Recipe) -> tuple[U64, I64]:
    """The fingerprints of one text alone: their hashes, spread evenly over 64 bits, and positions in symbols.

    >>> hashes, positions = text_fingerprints("abcdefgh", Recipe(k=3, window=2))
    >>> len(hashes) == len(positions) >= 3
    True
    """
    winnower = Winnower(recipe)
    reader = symbol_reader(recipe.reading)
    for piece in slicing.slices(text):
        winnower.add(reader.read([piece]).symbols)
    hashes, gaps = winnower.end()
    return hashes, np.cumsum(gaps, dtype=np.int64)


def window_hashes(text: str, recipe: Recipe, windows: Sequence[int]) -> list[U64]:
    """The hashes of the fingerprints of one text alone that each of some windows selects."""
    if len(text) > slicing.PART:
        return [text_fingerprints(text, dataclasses.replace(recipe, window=window))[0] for window in windows]
    # One reading for all, and winnowed at once: half the time that a text in slices takes.
    symbols = symbol_reader(recipe.reading).read([text]).symbols
    starts, robust = starts_of(np.array([len(symbols)])), recipe.selector == "robust"
    return [mix(fingerprints(symbols, starts, recipe.k, window, robust=robust)[1]) for window in windows]


def symbols_hash(text: str, recipe: Recipe) -> bytes:
    """The xxh3-128 of a text's symbols.

    >>> symbols_hash("Ada's Éclair", Recipe()) == symbols_hash("adas eclair", Recipe())
    True
    """
    hasher, reader = xxhash.xxh3_128(), symbol_reader(recipe.reading)
    for piece in slicing.slices(text):
        hasher.update(reader.read([piece]).symbols.data)
    return hasher.digest()


def _sketch_batch(texts: list[str], recipe: Recipe) -> Sketches:
    """The sketches of a few short texts, all at once."""
    reader = symbol_reader(recipe.reading)
    reading = reader.read(texts, lines=recipe.token == "line")
    positions, hashes, _ = fingerprints(
        reading.symbols, reading.starts, recipe.k, recipe.window, robust=recipe.selector == "robust"
    )
    hashes = mix(hashes)
    starts = np.searchsorted(positions, reading.starts)
    gaps = np.diff(positions, prepend=0)
    some = np.diff(starts) > 0
    gaps[starts[:-1][some]] = positions[starts[:-1][some]] - reading.starts[:-1][some]
    words = _words(reading, recipe)
    found, found_starts = shingles(*_tokens(reading, recipe, words), recipe.shingle)
    if recipe.bag:
        found = labelled(found, found_starts)
    slots = minhash.slots(minhash.keys(found, found_starts, recipe.slots))
    empty = np.empty(0, np.uint64), np.zeros_like(reading.starts)
    return Sketches(
        recipe=recipe,
        symbols=np.diff(reading.starts),
        hashes=hashes,
        gaps=gaps.astype(np.uint16),
        starts=starts,
        different=_different(hashes, starts),
        shingles=distinct(found, found_starts),
        slots=slots,
        features=features(slots, *recipe.features[:2]),
        simhashes=signs(_balance(*_simhash_words(reading, recipe, words), before=empty[0])),
        symbols_hashes=[
            xxhash.xxh3_128_digest(reading.symbols[begin:end].data)
            for begin, end in itertools.pairwise(reading.starts.tolist())
        ],
        min_s=samples.min_s(found, found_starts, recipe.min_s) if recipe.min_s else empty,
        mod_m=samples.mod_m(found, found_starts, recipe.mod_m) if recipe.mod_m else empty,
        level=samples.l_i(found, found_starts, recipe.level)[:2] if recipe.level else empty,
    )


def _sketch_long(text: str, recipe: Recipe) -> Sketches:
    """The sketch of one long text, slice by slice: what a batch of this one would give."""
    winnower = Winnower(recipe)
    symbols, hasher = 0, xxhash.xxh3_128()
    balance, last_word = np.zeros((1, 64), np.int64), np.empty(0, np.uint64)
    reader = symbol_reader(recipe.reading)
    for reading in reader.readings(text):
        symbols += len(reading.symbols)
        hasher.update(reading.symbols.data)
        winnower.add(reading.symbols)
        words, _ = _simhash_words(reading, recipe, _words(reading, recipe))
        balance += _balance(words, starts_of(np.array([len(words)])), last_word)
        last_word = words[-1:] if len(words) else last_word

    # A second reading for the shingles, which may be of other units than words.
    counter = Counter(recipe)
    if recipe.bag:
        # Only the whole document knows how often a shingle occurs: 64 bytes for each.
        bag = Growing(np.uint64)
        for found in _shingle_hashes(text, recipe):
            bag.extend(found)
        whole = bag.taken()
        counter.add(labelled(whole, starts_of(np.array([len(whole)]))))
    else:
        for found in _shingle_hashes(text, recipe):
            counter.add(found)
    hashes, gaps = winnower.end()
    slots = minhash.slots(counter.keys)

    def alone(values: U64) -> tuple[U64, I64]:
        return values, starts_of(np.array([len(values)]))

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
        simhashes=signs(balance),
        symbols_hashes=[hasher.digest()],
        min_s=alone(counter.min_s),
        mod_m=alone(counter.mod_m),
        level=alone(counter.level),
    )


def _different(hashes: U64, starts: I64) -> I64:
    """How many different hashes each text of a batch has, as they are stored."""
    if len(starts) > 2 or len(hashes) <= _SORTED:
        return distinct(hashes & ~((np.uint64(1) << HASH_SHIFT) - np.uint64(1)), starts)
    sixteenths = (hashes >> np.uint64(60)).astype(np.uint8)
    return np.array([sum(len(union(hashes[sixteenths == n] >> HASH_SHIFT)) for n in range(16))])


def _shingle_hashes(text: str, recipe: Recipe) -> Iterator[U64]:
    """The shingles of a text of any length, in their order, slice by slice."""
    shingler = Shingler(recipe)
    reader = symbol_reader(recipe.reading)
    for reading in reader.readings(text, lines=recipe.token == "line"):
        yield shingler.add(_tokens(reading, recipe)[0])
    yield shingler.end()


Words = tuple[I64, I64, U64]
"""Where words begin and end among the symbols, and their hashes."""


def _words(reading: Reading, recipe: Recipe) -> Words:
    longest = symbol_reader(recipe.reading).longest_unit // 2
    begins, ends = token_spans(reading.words, len(reading.symbols), longest)
    return begins, ends, token_hashes(reading.symbols, begins, ends)


def _tokens(reading: Reading, recipe: Recipe, words: Words | None = None) -> tuple[U8 | U64, I64]:
    """What shingles are made of, and where each text's begin."""
    if recipe.token == "letter":
        return reading.symbols, reading.starts
    if recipe.token == "line":
        longest = symbol_reader(recipe.reading).longest_unit
        begins, ends = token_spans(reading.lines, len(reading.symbols), longest)
        return token_hashes(reading.symbols, begins, ends), np.searchsorted(begins, reading.starts)
    begins, _, hashes = words or _words(reading, recipe)
    return hashes, np.searchsorted(begins, reading.starts)


def _simhash_words(reading: Reading, recipe: Recipe, words: Words) -> tuple[U64, I64]:
    """The words that simhash sees, and where each text's begin."""
    begins, ends, hashes = words
    if recipe.stop_words == "english":
        kept = ~np.isin(hashes, _stop_word_hashes(recipe))
        begins, ends, hashes = begins[kept], ends[kept], hashes[kept]
    if recipe.stemming == "english":
        hashes = token_hashes(reading.symbols, begins, stemmed(reading.symbols, begins, ends))
    return hashes, np.searchsorted(begins, reading.starts)


@lru_cache(maxsize=4)
def _stop_word_hashes(recipe: Recipe) -> U64:
    return _words(symbol_reader(recipe.reading).read([" ".join(STOP_WORDS)]), recipe)[2]


def _balance(words: U64, starts: I64, before: U64) -> I64:
    """For each text and bit, by how much the features with it outnumber those without it.

    The features are the words and the pairs of neighbours, as often as they occur. `before` is the
    word before the first text, if that is the rest of one.
    """
    paired_starts = np.append(0, starts[1:] + len(before))
    pairs, pair_starts = grams(np.concatenate([before, words]), paired_starts, 2)
    counts: I64 = np.diff(starts) + np.diff(pair_starts)
    having: I64 = ones(words, starts) + ones(mix(pairs), pair_starts)
    balance: I64 = 2 * having - counts[:, None]
    return balance
