"""The three collections of texts that builds are measured with: `M`, `notes` and `large`.

They are made from releases of Django and of manual pages (see `tests.bench.corpora`). A smaller sample of
each has texts of the same sizes.
"""

import functools
import sys

from tests.bench import corpora

NOTE, NOTES = 480, 208_000
LARGE, LARGES = 5_000_000, 19
SHORTEST = 2000


def texts_of(name, megabytes):
    """The texts of a collection: all of them, or every n-th text if they have more than these megabytes."""
    texts = COLLECTIONS[name]()
    size = sum(map(len, texts))
    step = max(1, round(size / (megabytes * 1e6)))
    return texts[step // 2 :: step]


@functools.cache
def releases():
    """M: 7,260 different texts of 12 KB on average: sources and documentation of Django, and manual pages."""
    if not (corpora.present("pyrev") and corpora.present("manpages")):
        sys.exit(f"the releases of Django and of manual pages are not in {corpora.ROOT}")
    parts = corpora.pyrev(".py")[0], corpora.pyrev(".txt")[0], corpora.manpages()[0]
    return list(dict.fromkeys(text for part in parts for text in part.values() if len(text) >= SHORTEST))


@functools.cache
def notes():
    """Up to 208,000 different texts of 480 characters, cut from the same texts."""
    together = "".join(releases())
    pieces = (together[begin : begin + NOTE] for begin in range(0, len(together), NOTE))
    return list(dict.fromkeys(pieces))[:NOTES]


@functools.cache
def large():
    """Up to 19 texts of five million characters, joined from the same texts."""
    together = "".join(releases())
    return [together[begin : begin + LARGE] for begin in range(0, len(together), LARGE)][:LARGES]


COLLECTIONS = {"M": releases, "notes": notes, "large": large}
