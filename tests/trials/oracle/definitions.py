"""The measures in plain Python: sets of tuples of words, without the code or the hashes of docindex.

A text is read by the definition of Unicode's folding in `tests.unicode_tables`. `Truth` holds the documents
of an index, and answers the questions of `docindex.Index` by looking at every pair of documents.
"""

import functools
import itertools
from collections import Counter
from typing import NamedTuple

from tests import plain
from tests import unicode_tables as kinds

_LONGEST_WORD, _LONGEST_LINE = 64, 128  # symbols; longer ones are cut into pieces

_VOICING = {kinds.VOICED: 0x3099, kinds.HALF_VOICED: 0x309A}

_folded = functools.cache(kinds.folded)


@functools.cache
def _letter(kind):
    """The symbols of a letter: each is the code point and a byte. Some letters share their bytes."""
    return [(kind & kinds.LETTER, symbol) for symbol in plain._letter_symbols(kind)]


def symbols_of(text):
    """The symbols of a text, each with the code point of its letter; and the numbers at which words begin."""
    symbols, begins = [], []
    inside = ended = False  # whether a word is open; whether the last letter ended its word
    for char in text:
        for kind in _folded(ord(char)):
            if kind in (kinds.LEFT_OUT, kinds.INVISIBLE):
                continue
            if kind in _VOICING:  # it belongs to the word of the kana before
                if not (inside or ended):
                    begins.append(len(symbols))
                    inside = True
                symbols += _letter(_VOICING[kind])
                continue
            if kind < 0 or kind & kinds.STARTS:
                inside = False
            ended = kind >= 0 and bool(kind & kinds.ENDS)
            if kind >= 0:
                if not inside:
                    begins.append(len(symbols))
                symbols += _letter(kind)
                inside = not ended
    return symbols, begins


def _cut(symbols, begins, longest):
    """The symbols from each beginning to the next, in pieces of at most `longest`."""
    return [
        tuple(symbols[place : min(place + longest, end)])
        for begin, end in itertools.pairwise([*begins, len(symbols)])
        for place in range(begin, end, longest)
    ]


def words_of(text):
    """The words of a text as letters. Without words, its signs: what is neither white space nor invisible."""
    symbols, begins = symbols_of(text)
    if symbols:
        return tuple(_cut(symbols, begins, len(symbols)))
    unseen = ((kinds.BLANK,), (kinds.INVISIBLE,))
    return tuple(char for char in text if _folded(ord(char)) not in unseen)


def tokens_of(text, token):
    """The tokens that shingles consist of, as bytes."""
    if token == "line":
        lines = [symbols_of(line)[0] for line in text.replace("\r", "\n").split("\n")]
        found = [piece for line in lines if line for piece in _cut(line, [0], _LONGEST_LINE)]
    else:
        symbols, begins = symbols_of(text)
        found = _cut(symbols, range(len(symbols)) if token == "letter" else begins, _LONGEST_WORD)
    return [bytes(byte for _, byte in piece) for piece in found]


def shingles_of(text, recipe):
    """Broder's shingles. A text of fewer tokens than a shingle has is one shingle."""
    return frozenset(plain.shingles(tokens_of(text, recipe.token), recipe.shingle, bag=recipe.bag))


class Shares(NamedTuple):
    """The exact measures of two texts."""

    containment: float
    reverse_containment: float
    resemblance: float
    shared: int


def shares_of(a, b, *, alike):
    """The measures of two sets. If one is empty, `alike` says whether the texts have the same words."""
    if not (a and b):
        return Shares(*[float(alike)] * 3, 0)
    shared = len(a & b)
    return Shares(shared / len(a), shared / len(b), shared / (len(a) + len(b) - shared), shared)


@functools.lru_cache(maxsize=1024)
def _read(text, recipe):
    return words_of(text), shingles_of(text, recipe)


class Truth:
    """The documents of an index, and the exact answers about them; `kept` are the texts that it keeps."""

    def __init__(self, texts, recipe, templates=()):
        self.texts = dict(sorted(texts.items()))
        self.recipe = recipe
        self.ignored = frozenset().union(*(self.shingles(template) for template in templates))

    def shingles(self, text):
        """All shingles of a text."""
        return _read(text, self.recipe)[1]

    def words(self, text):
        """What decides whether two texts have the same words."""
        return _read(text, self.recipe)[0]

    def mean_word(self, text):
        """How many symbols the words of a text have on average."""
        symbols, begins = symbols_of(text)
        return len(symbols) / max(1, len(begins))

    def counted(self, text):
        """The shingles of a text that count."""
        return self.shingles(text) - self.ignored

    def measures(self, a, b):
        """The measures of two texts."""
        return shares_of(self.counted(a), self.counted(b), alike=self.words(a) == self.words(b))

    def too_common(self, ignore_above, kept):
        """The shingles that more than `ignore_above` of the kept texts have."""
        if ignore_above is None:
            return frozenset()
        having = Counter()
        for text in set(self.texts.values()) & kept:
            having.update(self.counted(text))
        return frozenset(shingle for shingle, count in having.items() if count > ignore_above)

    def same_unit(self, a, b):
        """Whether two texts are put together before they are compared. Lines of the same words may differ."""
        return a == b or (self.recipe.token != "line" and self.words(a) == self.words(b))

    def known_among(self, keys, kept):
        """The texts that are kept, and those with the same words as such a text of these documents."""
        words = {self.words(self.texts[key]) for key in keys if self.texts[key] in kept}
        same = {text for text in self.texts.values() if self.words(text) in words}
        return kept if self.recipe.token == "line" else kept | same

    def all_pairs(self, keys, ignore_above, kept):
        """The measures of each pair of documents, by their keys in order, that have something in common."""
        common = self.too_common(ignore_above, kept)
        chosen = [(key, self.texts[key]) for key in self.texts if key in keys]
        sets = {text: self.counted(text) - common for _, text in chosen}
        known = self.known_among(keys, kept)
        found = {}
        for (a, text_a), (b, text_b) in itertools.combinations(chosen, 2):
            if self.same_unit(text_a, text_b):
                # Without the texts nobody knows which of their shingles count.
                own = sets[text_a] if text_a in known else self.shingles(text_a)
                found[a, b] = Shares(1.0, 1.0, 1.0, len(own))
            elif shared := len(sets[text_a] & sets[text_b]):
                size_a, size_b = len(sets[text_a]), len(sets[text_b])
                found[a, b] = Shares(
                    shared / size_a, shared / size_b, shared / (size_a + size_b - shared), shared
                )
        return found

    def clusters(self, near, least, linkage):
        """The clusters by their definition: lists of (key, why, like, resemblance), the largest first.

        `near` has the measures of each pair of documents.
        """
        resemblance = {}
        for (a, b), shares in near.items():
            if shares.resemblance >= least:
                resemblance[a, b] = resemblance[b, a] = shares.resemblance
        units = []  # lists of lists of keys with the same text, each ordered by their first keys
        for key in sorted({key for pair in resemblance for key in pair}):
            unit = next((u for u in units if self.same_unit(self.texts[u[0][0]], self.texts[key])), None)
            if unit is None:
                units.append([[key]])
                continue
            group = next((g for g in unit if self.texts[g[0]] == self.texts[key]), None)
            if group is None:
                unit.append([key])
            else:
                group.append(key)
        partners = {
            number: {
                other: resemblance[unit[0][0], units[other][0][0]]
                for other in range(len(units))
                if other != number and (unit[0][0], units[other][0][0]) in resemblance
            }
            for number, unit in enumerate(units)
        }
        sizes = [sum(map(len, unit)) for unit in units]
        order = sorted(
            range(len(units)), key=lambda u: (-sizes[u] - sum(sizes[other] for other in partners[u]), u)
        )
        grouped = {"connected": _connected, "greedy": _greedy, "complete": _complete}[linkage]
        made = []
        for group in grouped(order, partners):
            members = []
            for unit, like, share in group:
                first = units[unit][0][0]
                for keys in units[unit]:
                    if keys[0] != first:
                        members.append((keys[0], "same words", first, 1.0))
                    elif like is None:
                        members.append((first, "first", None, 1.0))
                    else:
                        members.append((first, "near", units[like][0][0], share))
                    members += [(key, "exact copy", keys[0], 1.0) for key in keys[1:]]
            if len(members) > 1:
                made.append(members)
        return sorted(made, key=lambda members: (-len(members), members[0][0]))


def _connected(order, partners):
    """Each component; the next unit is always the closest to any unit before it."""
    done = set()
    for first in order:
        if first in done:
            continue
        done.add(first)
        group = [(first, None, 1.0)]
        while True:
            open_links = [
                (-share, other, place, unit)
                for place, (unit, _, _) in enumerate(group)
                for other, share in partners[unit].items()
                if other not in done
            ]
            if not open_links:
                break
            share, unit, _, like = min(open_links)
            done.add(unit)
            group.append((unit, like, -share))
        yield group


def _led(order, partners, *, complete):
    """Each leader with its free partners, the closest first; if `complete`, partners of all before them."""
    done = set()
    for first in order:
        if first in done:
            continue
        done.add(first)
        group = [(first, None, 1.0)]
        for unit, share in sorted(partners[first].items(), key=lambda link: (-link[1], link[0])):
            members = [member for member, _, _ in group]
            if unit not in done and (not complete or all(unit in partners[member] for member in members)):
                done.add(unit)
                group.append((unit, first, share))
        yield group


_greedy = functools.partial(_led, complete=False)
_complete = functools.partial(_led, complete=True)
