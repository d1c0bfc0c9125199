"""Make texts to fill an index with: text like a language, with few words and many repetitions, or noise."""

import random
import string

WORDS = [
    "".join(random.Random(number).choices(string.ascii_lowercase, k=3 + number % 8)) for number in range(400)
]


def prose(rng, words):
    """Text of the given number of words, some of them with a capital, a comma or a line end."""
    return " ".join(
        rng.choice(WORDS).title() + rng.choice(["", "", ",", ".\n"])
        if rng.random() < 0.2
        else rng.choice(WORDS)
        for _ in range(words)
    )


def noise(rng, length):
    """Text of random characters, which does not compress."""
    return "".join(
        chr(rng.randrange(0x4E00, 0x9F00)) if rng.random() < 0.3 else chr(rng.randrange(33, 127))
        for _ in range(length)
    )
