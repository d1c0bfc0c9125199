"""Measure how well pairs of programs are found with the recipes for code.

All numbers are those of `Index.pairs` with the default recipes of both forms: resemblance, and the larger
containment of the two directions. A pair that `pairs` does not list has 0. Figures of other programs are
those that their authors, or the authors of a collection, published.
"""

import bisect
import itertools
import time
import zlib

import docindex
from docindex import Recipe
from docindex.sketching.sketcher import sketch_batches
from tests.bench import code_corpora, corpora

LEAST = 0.005
FOLDS = 10


def run():
    """Print a line for each collection and each form."""
    for corpus, measure in (
        ("conplag", conplag),
        ("soco14", soco),
        ("progpedia", progpedia),
        ("irplag", irplag),
    ):
        if corpora.present(corpus):
            measure()
    if corpora.present("pyrev"):
        speed()


def speed():
    """Print how fast sources are sketched, as a ratio to text; in processor time, as other programs run."""
    texts = list(corpora.pyrev(".py")[0].values())[:1000]
    recipes = {"text": Recipe(), "names": Recipe.code("names"), "raw": Recipe.code("raw")}
    times = dict.fromkeys(recipes, float("inf"))
    for _ in range(5):
        for form, recipe in recipes.items():
            begin = time.thread_time()
            for _ in sketch_batches(texts, recipe):
                pass
            times[form] = min(times[form], time.thread_time() - begin)
    shown = ", ".join(f"{form} {times['text'] / times[form]:.2f}" for form in ("names", "raw"))
    print(f"   speed of sketching / that of text: {shown} (target .35)", flush=True)


def both_forms(texts, **options):
    """For each form, the scores of pairs by shingles: {"resemblance": {pair: score}, "containment": ...}."""
    for form in ("names", "raw"):
        with docindex.open(":memory:", recipe=Recipe.code(form, **options)) as index:
            index.add_many(texts.items())
            found = {"resemblance": {}, "containment": {}}
            for pair in index.pairs(min_containment=LEAST, ignore_above=len(texts)):
                names = frozenset((pair.a, pair.b))
                found["resemblance"][names] = pair.resemblance
                found["containment"][names] = max(pair.containment, pair.reverse_containment)
            fingerprints = {}
            for pair in index.pairs(min_containment=LEAST, ignore_above=len(texts), method="fingerprints"):
                fingerprints[frozenset((pair.a, pair.b))] = max(pair.containment, pair.reverse_containment)
            yield form, {**found, "containment by fingerprints": fingerprints}


def show(name, form, values, target):
    shown = ", ".join(f"{measure} {value}" for measure, value in values.items())
    print(f"   {name:32}{form:7}{shown} ({target})", flush=True)


def conplag():
    for version, name, target in (
        (1, "ConPlag raw", "target .80; JPlag .80, MOSS .77"),
        (2, "ConPlag template-free", "target .85; JPlag .86, MOSS .79"),
    ):
        texts, pairs = code_corpora.conplag(version)
        for form, scores in both_forms(texts):
            best = {}
            for measure, of in scores.items():
                judged = [(of.get(frozenset((a, b)), 0.0), copy) for a, b, copy in pairs]
                best[measure] = f"{best_f(judged, 1.5)[0]:.3f}"
            show(f"{name}, F1.5", form, best, target)


def soco():
    for language, target in (("java", "target .80; MOSS .67-.71 on its test set"), ("c", "target .54")):
        texts, copies = code_corpora.soco(language)
        for form, scores in both_forms(texts):
            found = {measure: f"{left_out_f(texts, copies, of):.3f}" for measure, of in scores.items()}
            show(f"SOCO {language}, F1, fold left out", form, found, target)


def left_out_f(texts, copies, scores):
    """F1 if pairs with a text of one tenth are judged by the best threshold for the pairs without one."""
    fold_of = {key: zlib.crc32(key.encode()) % FOLDS for key in texts}
    right = chosen = 0
    for fold in range(FOLDS):
        inside = {pair for pair in scores if fold in {fold_of[key] for key in pair}}
        threshold = best_f(
            [(score, pair in copies) for pair, score in scores.items() if pair not in inside],
            1,
            sum(fold not in {fold_of[key] for key in pair} for pair in copies),
        )[1]
        # A pair of texts of two folds is judged twice, and counts by half each time.
        for pair in inside:
            if scores[pair] >= threshold:
                weight = 1 / len({fold_of[key] for key in pair})
                chosen += weight
                right += weight * (pair in copies)
    return 2 * right / (chosen + len(copies))


def progpedia():
    targets = {"insert": "target .98; JPlag .78-.98", "refactor": "target .97", "gptobf": "target .98"}
    for number in (19, 56):
        texts, copies = code_corpora.progpedia(number)
        independent = [key for key in texts if key.startswith("human/")]
        for form, scores in both_forms(texts):
            for kind, pairs in copies.items():
                values = {}
                for measure, of in scores.items():
                    below = [of.get(frozenset(pair), 0.0) for pair in itertools.combinations(independent, 2)]
                    above = [of.get(frozenset(pair), 0.0) for pair in pairs]
                    values[measure] = f"{auc(above, below):.3f}"
                show(f"Progpedia{number} {kind}, AUC", form, values, targets[kind])


def irplag():
    targets = {"L1": "target .97", "L2": "target .93", "L3": "target .80"}
    published = {"L1": ".96", "L2": ".93", "L3": ".83", "L4": ".68", "L5": ".50", "L6": ".40"}
    texts, pairs = code_corpora.irplag()
    for form, scores in both_forms(texts):
        for level in sorted(set(pairs) - {"non"}):
            values = {}
            for measure, of in scores.items():
                above, below = (
                    [of.get(frozenset(pair), 0.0) for pair in pairs[name]] for name in (level, "non")
                )
                values[measure] = f"{auc(above, below):.3f}"
            target = f"{targets.get(level, 'no target')}; copydetect {published[level]}"
            show(f"IR-Plag {level}, AUC", form, values, target)


def best_f(scored, beta, total=None):
    """The best F over all thresholds, and that threshold. `scored`: (score, is a copy)."""
    scored = sorted(scored, reverse=True)
    total = sum(copy for _, copy in scored) if total is None else total
    best, threshold, right = 0.0, 1.0, 0
    for count, (score, copy) in enumerate(scored, 1):
        right += copy
        if right and (count == len(scored) or scored[count][0] != score):
            found = (1 + beta**2) * right / (count + beta**2 * total)
            if found > best:
                best, threshold = found, score
    return best, threshold


def auc(above, below):
    """The probability that one of the first scores is larger than one of the others; ties are half."""
    below = sorted(below)
    less = sum(bisect.bisect_left(below, score) + bisect.bisect_right(below, score) for score in above)
    return less / 2 / (len(above) * len(below))
