"""Find what is likely to be a comment in source code whose language is not known yet.

In: the code points of texts. Out: ranges of them. The words of comments must not say which language a program
is in. A range that is no comment does no harm: a few words less are counted.
"""

import numpy as np

from docindex.kernels.arrays import I64, U8, U64, Bool
from docindex.reading.slicing import is_line_end

_HASH, _SLASH, _STAR, _DASH, _QUOTE, _SPACE = map(ord, '#/*-" ')


def likely_comments(codes: U8 | U64, text_starts: I64) -> I64:
    r"""Where likely comments begin and end, one row for each. They may overlap.

    >>> source = np.frombuffer(b"x # y\nz /* 1 */", np.uint8)
    >>> likely_comments(source, np.array([0, 15])).tolist()
    [[2, 5], [8, 13]]
    """
    padded = np.concatenate([codes, np.full(2, _SPACE, codes.dtype)])
    following, second = padded[1:-1], padded[2:]

    def places(first: int, condition: Bool) -> I64:
        # To combine bytes and then look for the few places takes half the time of looking twice.
        at: I64 = ((codes == first) & condition).nonzero()[0]
        return at

    lines = np.concatenate(
        [
            places(_HASH, following <= _SPACE),
            places(_SLASH, following == _SLASH),
            places(_DASH, (following == _DASH) & (second <= _SPACE)),
        ]
    )
    blocks, ends = places(_SLASH, following == _STAR), places(_STAR, following == _SLASH)
    blocks = blocks[padded[blocks - 1] != _SLASH]  # "//*" is a comment of one line
    texts = _triple_quoted(places(_QUOTE, (following == _QUOTE) & (second == _QUOTE)), text_starts)
    return np.concatenate(
        [
            _up_to(lines, is_line_end(codes).nonzero()[0], text_starts),
            _up_to(blocks, ends, text_starts),
            texts,
        ]
    )


def _up_to(begins: I64, ends: I64, text_starts: I64) -> I64:
    """Ranges from each begin up to the next end, or to the end of the text."""
    of_text = text_starts[np.searchsorted(text_starts, begins, "right")]
    following = np.append(ends, text_starts[-1])[np.searchsorted(ends, begins)]
    return np.stack([begins, np.minimum(following, of_text)], axis=1)


def _triple_quoted(quotes: I64, text_starts: I64) -> I64:
    """The ranges between the first and the second triple quote of a text, the third and the fourth, ..."""
    quotes = quotes[np.diff(quotes, prepend=-3) > 2]
    texts = np.searchsorted(text_starts, quotes, "right") - 1
    is_first = (np.arange(len(quotes)) - np.searchsorted(texts, texts)) % 2 == 0
    return _up_to(quotes[is_first], quotes[~is_first], text_starts)
