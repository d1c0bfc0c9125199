"""Small corpora with planted copies, and the answers of an index and of Spark in one form."""

import random

import docindex
from docindex import spark

WORDS = [f"word{number}" for number in range(3000)]
COLUMNS = [
    "a",
    "b",
    "containment",
    "reverse_containment",
    "resemblance",
    "shared",
    "basis",
    "containment_error",
    "reverse_containment_error",
    "resemblance_error",
]


def copied_texts(count=300, seed=5):
    """Texts by key: edited copies, the same words, quotations, common headers, short and empty texts."""
    rng = random.Random(seed)

    def text(least, most):
        return " ".join(rng.choices(WORDS, k=rng.randrange(least, most)))

    header = text(30, 31)
    bases, found = [text(3, 120)], {"no words": "...", "": "the key is empty", "Ä": "the key is empty"}
    for number in range(count):
        kind = number % 10
        chosen = rng.choice(bases)
        if kind < 4:
            made = text(3, 120)
            bases.append(made)
        elif kind < 7:
            words = chosen.split()
            for _ in range(rng.randrange(12)):
                words[rng.randrange(len(words))] = rng.choice(WORDS)
            made = " ".join(words)
        elif kind == 7:
            made = f"{header} {text(1, 40)}"
        elif kind == 8:
            made = rng.choice([f"{chosen.upper()}!", f"{text(5, 60)} {chosen} {text(5, 60)}"])
        else:
            made = rng.choice(["", "word1", "word1 word2", chosen])
        found[f"{rng.randrange(10**6)} {number}"] = made
    return found


def index_of(texts, recipe=None):
    """An index in memory."""
    index = docindex.open(":memory:", recipe=recipe or docindex.Recipe())
    index.add_many(texts.items())
    return index


def sketches_of(session, texts, recipe=None, *, keep_text=True):
    """A DataFrame of sketches that is not made anew for each question."""
    frame = session.createDataFrame(list(texts.items()), "key string, text string")
    return spark.sketch(frame, recipe, keep_text=keep_text).cache()


def rows_of_index(pairs):
    """The pairs of an index, in an order."""
    return sorted(tuple(pair[name] for name in COLUMNS) for pair in pairs.to_dicts())


def rows_of_spark(frame):
    """The pairs of a DataFrame, in the same order."""
    assert frame.columns == COLUMNS
    return sorted(map(tuple, frame.collect()))
