"""Time `search`, `similar` and `near`, one text at a time, and how they grow with the number of texts.

The peer of `similar` is gaoya, if it is installed: its index is in memory, and may miss texts. Sections:

- ``files``: 79 MB of Django's sources, its documentation and manual pages (`CORPORA` names their folder);
  without them, Python's own files
- ``unkept``: the same without their texts, so that answers are estimates
- ``notes``: 10,000 and 100,000 pieces of these and other texts, of 570 characters
- ``million``: a million pieces. To index them takes ten minutes, so this is measured only if it is named:
  ``python -m tests.bench questions files notes million``

Times are processor time, which other programs disturb less. Questions are asked right after `add_many`. The
first two of each kind are not counted, because they make what later ones use. The exponents say by which
power of the number of texts the median grows.
"""

import math
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import docindex
from tests.bench import corpora, corpus

QUESTIONS = 200
FILES_MB = 79
NOTE = 570
COUNTS = {"notes": (10_000, 100_000), "million": (1_000_000,)}
SECTIONS = ("files", "unkept", *COUNTS)
KINDS = {
    "search": lambda index, text: index.search(text),
    "similar": lambda index, text: index.similar(text, 0.8),
    "near": lambda index, text: index.near(text),
}
# Milliseconds: the median, and the time that 19 of 20 questions do not exceed.
TARGETS = {
    ("files", "search"): (1.5, None),
    ("files", "similar"): (2, 10),
    ("unkept", "search"): (1.5, None),
    ("unkept", "similar"): (2, 10),
    ("million", "search"): (3, None),
    ("million", "similar"): (None, 20),
}
EXPONENTS = {"search": 0.15, "near": 0.1, "similar": 0.2}


def run(options):
    sections = options.folders or ["files", "notes"]
    if unknown := set(sections) - set(SECTIONS):
        sys.exit(f"no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    random.seed(1)
    medians = {kind: {} for kind in KINDS}
    print(f"{'':24}{'median ms':>10}{'p95 ms':>10}   targets")
    for section in SECTIONS:
        if section not in sections:
            continue
        for count in COUNTS.get(section, (None,)):
            texts = files() if count is None else notes(count)
            for kind, median in measured(section, texts).items():
                if count is not None:
                    medians[kind][count] = median
    for kind, of_counts in medians.items():
        if len(of_counts) > 1:
            few, many = min(of_counts), max(of_counts)
            exponent = math.log(of_counts[many] / of_counts[few]) / math.log(many / few)
            print(
                f"{kind}: exponent {exponent:.2f} from {few:,} to {many:,} texts (target {EXPONENTS[kind]})"
            )


def files():
    """Different files, up to `FILES_MB` in a random order."""
    texts = [
        text
        for name, load in (("manpages", corpora.manpages), ("pyrev", corpora.pyrev))
        if corpora.present(name)
        for text in load()[0].values()
    ]
    if corpora.present("pyrev"):
        texts += corpora.pyrev(".py")[0].values()
    texts = list(dict.fromkeys(texts)) or [
        corpora.text_of(path) for path in corpus.distinct_files([], FILES_MB)
    ]
    random.Random(1).shuffle(texts)
    size, some = 0, []
    for text in texts:
        some.append(text)
        size += len(text)
        if size > FILES_MB * 1_000_000:
            break
    return some


def notes(count):
    """Pieces of texts, in a random order; if there are too few, also pieces that overlap them."""
    texts = files()
    for name in ("reuters", "books", "bible", "vendored", "licenses"):
        if corpora.present(name):
            found = getattr(corpora, name)()
            texts += (found if name == "reuters" else found[0]).values()
    pieces = []
    for shift in (0, NOTE // 2, NOTE // 4, 3 * NOTE // 4):
        if len(pieces) < count:
            pieces += [
                text[begin : begin + NOTE]
                for text in texts
                for begin in range(shift, len(text) - NOTE // 2, NOTE)
            ]
    if len(pieces) < count:
        sys.exit(f"there are only {len(pieces):,} notes, not {count:,}: get more collections")
    random.Random(2).shuffle(pieces)
    return pieces[:count]


def measured(section, texts):
    """Print the times of all kinds of questions to an index of some texts; the median of each kind."""
    print(f"{section}: {len(texts):,} texts, {sum(map(len, texts)) / 1e6:.0f} MB")
    asked = random.Random(3).sample(texts, QUESTIONS)
    with tempfile.TemporaryDirectory() as folder, docindex.open(Path(folder) / "index") as index:
        items = ((f"{number:07}", text) for number, text in enumerate(texts))
        index.add_many(items, store_text=section != "unkept")
        return ask(section, index, texts, asked)


def ask(section, index, texts, asked):
    medians, answers = {}, {}
    for kind, question in KINDS.items():
        times, answers[kind] = timed(lambda text, of=question: of(index, docindex.Text(text)), asked)
        median, slow = TARGETS.get((section, kind), (None, None))
        targets = [f"median {median}"] * bool(median) + [f"p95 {slow}"] * bool(slow)
        medians[kind] = line(kind, times, ", ".join(targets))
    truth = [{int(match.key) for match in found} for found in answers["similar"]]
    beside_gaoya(texts, asked, truth)
    return medians


def timed(question, asked):
    for text in asked[:2]:
        question(text)
    times, answers = [], []
    for text in asked:
        begin = time.thread_time()
        answers.append(question(text))
        times.append(1000 * (time.thread_time() - begin))
    return times, answers


def line(name, times, targets=""):
    median = statistics.median(times)
    print(f"  {name:22}{median:10.2f}{statistics.quantiles(times, n=20)[-1]:10.2f}   {targets}")
    return median


def beside_gaoya(texts, asked, truth):
    """Time gaoya with as many words in a shingle; `truth` is what `similar` found, which is exact."""
    try:
        from gaoya.minhash import MinHashStringIndex
    except ImportError:
        print("  gaoya is not installed (pip install gaoya)", file=sys.stderr)
        return
    words = docindex.Recipe().shingle
    index = MinHashStringIndex(
        jaccard_threshold=0.8,
        num_bands=29,
        band_size=3,
        lowercase=True,
        ngram_range=(words, words),
        id_container="vec",
    )
    index.par_bulk_insert_docs(list(range(len(texts))), texts)
    times, found = timed(index.query, asked)
    line("similar, by gaoya", times)
    answers = sum(map(len, truth))
    right = sum(len(set(some) & true) for some, true in zip(found, truth, strict=True))
    others = sum(map(len, found)) - right
    print(
        f"  gaoya finds {right / answers:.2f} of {answers:,} answers of `similar`, and {others:,} other texts"
    )
