"""Texts to fill an index with: like a language's, few words and many repetitions, or like noise."""

import random
import string

WORDS = [
    "".join(random.Random(number).choices(string.ascii_lowercase, k=3 + number % 8)) for number in range(400)
]


def prose(rng, words):
    """So many words, with a capital, a comma and a line end here and there."""
    return " ".join(
        rng.choice(WORDS).title() + rng.choice(["", "", ",", ".\n"])
        if rng.random() < 0.2
        else rng.choice(WORDS)
        for _ in range(words)
    )


def noise(rng, length):
    """Letters that no compression makes shorter."""
    return "".join(
        chr(rng.randrange(0x4E00, 0x9F00)) if rng.random() < 0.3 else chr(rng.randrange(33, 127))
        for _ in range(length)
    )
