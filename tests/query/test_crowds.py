"""Connected clusters of many similar texts are those of all pairs, though most pairs are not compared."""

import functools
import random

import numpy as np
import pytest

import docindex
from docindex.arrays.joins import components
from docindex.query import clusters
from docindex.query.pairs import candidates, join, nodes
from docindex.query.pairs.join import join_pairs
from docindex.query.pairs.joined import Threshold
from tests.query.test_clusters import check_reasons, definition, keys_of
from tests.query.test_pairs import RECIPE, hash_sets, scope_of

LARGE = 4


@pytest.fixture
def small_crowds(monkeypatch):
    """Make crowds of a few texts."""
    for module in (candidates, nodes):
        monkeypatch.setattr(module, "LARGE", LARGE)


def families(rng, count):
    """Versions of a few texts; the more a version is edited, the less it resembles the others."""
    words = ["".join(rng.choices("abcdefgh", k=5)) for _ in range(300)]
    roots = [rng.choices(words, k=rng.randrange(20, 60)) for _ in range(rng.randrange(1, 6))]
    roots.append(roots[0][: len(roots[0]) // 2] + roots[-1][len(roots[-1]) // 2 :])  # between two families
    texts = []
    for _ in range(count):
        text = list(rng.choice(roots))
        for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 8])):
            text[rng.randrange(len(text))] = rng.choice(words)
        texts.append(" ".join(text))
    return texts


def built(texts):
    index = docindex.open(":memory:", recipe=RECIPE)
    index.add_many(((f"{number:03}", text) for number, text in texts), workers=1)
    return index


def joined(index, threshold, *, connecting):
    with scope_of(index) as scope:
        return join_pairs(scope, threshold, connecting=connecting)


@pytest.mark.usefixtures("small_crowds")
@pytest.mark.parametrize("kept", [10**9, 0])
def test_clusters_of_crowds_are_those_of_all_pairs(kept, monkeypatch):
    monkeypatch.setattr(candidates, "_KEPT", kept)
    without = 0
    for seed in range(60):
        rng = random.Random(seed)
        with built(enumerate(families(rng, rng.randrange(20, 80)))) as index:
            least, ignore_above = rng.choice([0.3, 0.5, 0.6, 0.7, 0.8, 0.9]), rng.choice([None, 3, 15, 40])
            sets, aside = hash_sets(index, ignore_above=ignore_above)
            found = index.clusters(least, ignore_above=ignore_above)
            assert keys_of(found) == definition(sets, least, "connected")
            assert found.set_aside == aside
            if ignore_above is None:
                for cluster in found:
                    check_reasons(index, cluster, least, "connected")
            threshold = Threshold(measure="resemblance", least=least, ignore_above=ignore_above)
            every = joined(index, threshold, connecting=False)
            some = joined(index, threshold, connecting=True)
            pairs = [numbered(every), numbered(some)]
            assert len(pairs[1]) == len(some)  # each pair once
            assert pairs[1].items() <= pairs[0].items()
            without += len(every) - len(some)
    assert without > 3000


def numbered(found):
    """How much the two nodes of each pair have in common."""
    pairs = map(frozenset, zip(found.a.tolist(), found.b.tolist(), strict=True))
    return dict(zip(pairs, found.common.tolist(), strict=True))


@pytest.mark.usefixtures("small_crowds")
def test_a_cluster_of_few_texts_has_all_its_pairs():
    for seed in range(20):
        with built(enumerate(families(random.Random(seed), 60))) as index:
            threshold = Threshold(measure="resemblance", least=0.7)
            every, some = (joined(index, threshold, connecting=connecting) for connecting in (False, True))
            roots = components(every.a.astype(int), every.b.astype(int), 60)
            of_few = np.bincount(roots, minlength=60)[roots] <= LARGE
            for one in (every, some):
                assert (of_few[one.a] == of_few[one.b]).all()
            assert of_few[every.a].sum() == of_few[some.a].sum()


@pytest.mark.usefixtures("small_crowds")
def test_the_members_of_a_crowd_do_not_depend_on_the_order_in_which_documents_were_added():
    for seed in range(15):
        rng = random.Random(seed)
        texts = list(enumerate(families(rng, 60)))
        ignore_above = rng.choice([None, 30])
        found = []
        for _ in range(3):
            rng.shuffle(texts)
            with built(texts) as index:
                clusters_of = functools.partial(index.clusters, 0.6, ignore_above=ignore_above)
                found.append(
                    [[(m.key, m.why, m.like, m.resemblance) for m in c.members] for c in clusters_of()]
                )
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("ignore_above", [None, 900])
def test_a_thousand_similar_texts_need_few_comparisons(ignore_above, monkeypatch):
    rng = random.Random(1)
    words = [f"word{number}" for number in range(200)]
    texts = [" ".join([*words, *rng.choices("abcdefghijk", k=6)]) for _ in range(1000)]
    compared = []
    count_shared = join.count_shared

    def counted(sets, a, b, check_cancelled):
        compared.append(len(a))
        return count_shared(sets, a, b, check_cancelled)

    for module in (join, nodes):
        monkeypatch.setattr(module, "count_shared", counted)
    with docindex.open(":memory:") as index:
        index.add_many(((f"{number:04}", text) for number, text in enumerate(texts)), workers=1)
        if ignore_above is not None:  # these make the limit matter, and are in no cluster
            index.add_many(
                ((f"other {number}", f"{rng.random()} {number}") for number in range(5)), workers=1
            )
            (cluster,) = index.clusters(0.8, ignore_above=1004)
        else:
            (cluster,) = index.clusters(0.8)
    assert len(cluster) == 1000
    assert sum(compared) < 5000


def test_other_linkages_compare_all_pairs(monkeypatch):
    asked = []
    original = clusters.join_pairs
    monkeypatch.setattr(
        clusters, "join_pairs", lambda *given, connecting: asked.append(connecting) or original(*given)
    )
    with docindex.open(":memory:") as index:
        for linkage in ("connected", "greedy", "complete"):
            index.clusters(linkage=linkage)
    assert asked == [True, False, False]
