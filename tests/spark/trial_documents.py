"""Documents for trials on Spark: made ones with every kind of copy, and real ones from collections."""

import random
import sys

from tests.bench import corpora
from tests.storage.texts import prose

COLLECTIONS = {
    "manpages": lambda: corpora.manpages()[0],
    "pyrev": lambda: corpora.pyrev()[0],
    "pyrev-code": lambda: corpora.pyrev(".py")[0],
    "reuters": corpora.reuters,
    "books": lambda: corpora.books()[0],
    "pan13": lambda: corpora.pan13()[0],
    "vendored": lambda: corpora.vendored()[0],
    "licenses": lambda: corpora.licenses()[0],
    "bible": lambda: corpora.bible()[0],
}


def made_documents(count):
    """Texts by key: in each ten an exact copy, a near one, a part, a whole, and a shared header."""
    rng = random.Random(7)
    header = prose(rng, 60)
    found = {"empty": "", "one word": "engine", "the same words": "Engine!"}
    while len(found) < count:
        number = len(found)
        text = prose(rng, rng.choice((40, 150, 400)))
        words = text.split(" ")
        near = list(words)
        for _ in range(len(words) // 60 + 1):
            near[rng.randrange(len(words))] = f"changed{number}"
        found |= {
            f"{number:05} text": text,
            f"{number:05} copy": text,
            f"{number:05} case": text.upper(),
            f"{number:05} near": " ".join(near),
            f"{number:05} part": " ".join(words[len(words) // 4 : len(words) // 2]),
            f"{number:05} whole": f"{prose(rng, 30)} {text} {prose(rng, 30)}",
            f"{number:05} header": f"{header} {prose(rng, 100)}",
            f"{number:05} alone": prose(rng, 80),
        }
    return dict(list(found.items())[:count])


def real_documents(megabytes):
    """Different real texts by key, of this many megabytes in UTF-8, from all collections that are there."""
    texts = {}
    for name, load in COLLECTIONS.items():
        if corpora.present(name.partition("-")[0]):
            texts |= {text: f"{name}/{key}" for key, text in load().items()}
    everything = list(texts.items())
    random.Random(1).shuffle(everything)
    found, size = {}, 0
    for text, key in everything:
        found[key] = text
        size += len(text.encode())
        if size >= megabytes * 1_000_000:
            return found
    return sys.exit(
        f"{corpora.ROOT} has only {size / 1e6:.0f} MB of different texts, not {megabytes}: get more "
        "collections, as tests.bench.corpora explains"
    )
