"""Damage files at random, and read them as the extractor's process does."""

import random
import time

from docindex.frontends.child import extracted_from
from docindex.frontends.failures import NotExtracted
from docindex.frontends.messages import Source


def mutated(data, chance):
    """Data with a few bytes flipped, cut out, moved or repeated."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5, 20))):
        start = chance.randrange(len(data))
        end = min(len(data), start + chance.choice((1, 2, 16, 300)))
        kind = chance.randrange(4)
        if kind == 0:
            data[start] ^= 1 << chance.randrange(8)
        elif kind == 1 and end - start < len(data):
            del data[start:end]
        elif kind == 2:
            to = chance.randrange(len(data))
            data[to:to] = data[start:end]
        else:
            data[start:end] = data[start:end] * chance.choice((2, 10))
    return bytes(data)


def outcomes_of_mutations(sources, format_, count=300, limit_s=5.0):
    """How often mutated sources have a text, or which reason not to have one."""
    chance, found = random.Random(format_), {}
    for number in range(count):
        source = Source(mutated(sources[number % len(sources)], chance), format=format_)
        begun = time.monotonic()
        try:
            reason = "text" if isinstance(extracted_from(source).text, str) else "nothing"
        except NotExtracted as error:
            reason = error.reason
        assert time.monotonic() - begun < limit_s
        found[reason] = found.get(reason, 0) + 1
    return found
