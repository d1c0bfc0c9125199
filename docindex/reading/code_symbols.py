"""Give each token of source code its symbol and its hash, in the form "names" or "raw".

In: tokens, and the languages of their texts. Out: one byte and one hash for each token. Must never depend on
which other texts are in a batch.
"""

import itertools
from collections.abc import Iterable, Sequence

import numpy as np
import xxhash

from docindex.kernels.arrays import I64, U8, U64, mix
from docindex.reading.code_languages import LANGUAGES
from docindex.reading.code_syntax import Span
from docindex.reading.code_tokens import IS_SIGN, NAME, NUMBER, STRING, CodeTokens
from docindex.reading.code_vocabulary import hashed_symbols, vocabulary

ALIKE = {NAME: "name", NUMBER: "0", STRING: '""'}
"""The classes whose tokens are alike in the form "names", and how such a token is shown."""

HASH_OF_CLASS = mix(np.arange(256, dtype=np.uint64) + np.uint64(256))
"""The hash of all tokens of a class that are alike."""

_IS_RAW = np.array([not language.keywords for language in LANGUAGES])


def string_hashes(text: str, spans: Sequence[Span], language: int, *, names: bool) -> Iterable[int]:
    """A hash for each comment and string of a text; 0 for all if it does not matter which string it is."""
    if names and not _IS_RAW[language]:
        return itertools.repeat(0, len(spans))
    return [
        xxhash.xxh3_64_intdigest(text[begin:end].encode("utf-8", "surrogatepass")) for begin, end in spans
    ]


def symbols_and_hashes(tokens: CodeTokens, languages: I64, *, names: bool) -> tuple[U8, U64]:
    """The symbol and the hash of each token, given the number of the language of each text.

    With `names`, keywords and signs keep their identity, and so do all tokens of a text in no language.
    """
    classes = tokens.classes
    alike = ~IS_SIGN.take(classes)
    symbols = np.where(alike, hashed_symbols(tokens.hashes), classes)
    if not names:
        return symbols, tokens.hashes
    counts = np.diff(tokens.starts)
    alike &= np.repeat(~_IS_RAW[languages], counts)
    words = vocabulary()
    where, numbers = words.find(tokens.hashes)
    own = np.repeat(languages, counts)[where].astype(np.uint32)
    are_keywords = ((words.languages[numbers] >> own) & 1 == 1) & (classes[where] == NAME)
    keywords = where[are_keywords]
    symbols[keywords] = words.symbols[numbers[are_keywords]]
    alike[keywords] = False
    at = alike.nonzero()[0]
    hashes = tokens.hashes.copy()
    symbols[at] = classes[at]
    hashes[at] = HASH_OF_CLASS[classes[at]]
    return symbols, hashes
