"""Find what is likely to be a comment in source code whose language is not known yet.

In: the code points of texts. Out: ranges of them. The words of comments must not say which language a program
is in. A range that is no comment does no harm: a few words less are counted.
"""

import numpy as np

from docindex.kernels.arrays import I64, U8, U64

_HASH, _SLASH, _STAR, _DASH, _QUOTE, _SPACE = map(ord, '#/*-" ')


def likely_comments(codes: U8 | U64, text_starts: I64, breaks: I64) -> I64:
    r"""Where likely comments begin and end, one row for each. They may overlap. `breaks` are the line ends.

    >>> source = np.frombuffer(b"x # y\nz /* 1 */", np.uint8)
    >>> likely_comments(source, np.array([0, 15]), np.array([5])).tolist()
    [[2, 5], [8, 13]]
    """
    padded = np.concatenate([codes, np.full(2, _SPACE, codes.dtype)])
    # To look for all the signs at once, and then at the few places, takes half the time.
    wanted = codes == _HASH
    for sign in (_SLASH, _STAR, _DASH, _QUOTE):
        wanted |= codes == sign
    at = wanted.nonzero()[0]
    before, first, following, second = (padded.take(at + step) for step in (-1, 0, 1, 2))
    slashed = (first == _SLASH) & (following == _SLASH)
    dashed = (first == _DASH) & (following == _DASH) & (second <= _SPACE)
    lines = at[slashed | dashed | (first == _HASH) & (following <= _SPACE)]
    # "//*" is a comment of one line.
    blocks = at[(first == _SLASH) & (following == _STAR) & (before != _SLASH)]
    ends = at[(first == _STAR) & (following == _SLASH)]
    quotes = at[(first == _QUOTE) & (following == _QUOTE) & (second == _QUOTE)]
    return np.concatenate(
        [
            _up_to(lines, breaks, text_starts),
            _up_to(blocks, ends, text_starts),
            _triple_quoted(quotes, text_starts),
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
