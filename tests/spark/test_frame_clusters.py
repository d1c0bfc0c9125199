"""Spark finds the same connected clusters as an index, with far fewer pairs than a crowd has."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex import Recipe, spark
from docindex.spark.spanning_forests import SpanningForest
from docindex.spark.star_rounds import connected_nodes
from tests.spark.copied_texts import WORDS, copied_texts, index_of, sketches_of


def of_index(index, *arguments, **options):
    return {min(cluster.keys): set(cluster.keys) for cluster in index.clusters(*arguments, **options)}


def of_spark(frame):
    found = {}
    assert frame.columns == ["cluster", "key"]
    rows = frame.collect()
    for row in rows:
        found.setdefault(row.cluster, set()).add(row.key)
    assert sum(map(len, found.values())) == len(rows)
    return found


def crowded_texts():
    """Three crowds, of which two share a start, and a chain that links a crowd to another text."""
    rng = random.Random(9)
    texts = copied_texts(100)
    start = rng.choices(WORDS, k=25)
    for name, own in (("a", start), ("b", start), ("c", [])):
        base = own + rng.choices(WORDS, k=40)
        for number in range(150):
            words = list(base)
            for _ in range(rng.randrange(4)):
                words[rng.randrange(len(words))] = f"{name}{number}"
            texts[f"{name} {number}"] = " ".join(words)
        texts[f"{name} longer"] = " ".join([*base, *rng.choices(WORDS, k=12)])
    return texts


@pytest.fixture(scope="module")
def texts():
    return crowded_texts()


@pytest.fixture(scope="module")
def index(texts):
    with index_of(texts) as made:
        yield made


@pytest.fixture(scope="module")
def sketches(session, texts):
    return sketches_of(session, texts)


@pytest.mark.parametrize(
    ("least", "options"),
    [(0.8, {}), (0.3, {}), (0.5, {"ignore_above": 20}), (0.8, {"method": "slots"})],
    ids=str,
)
def test_the_clusters_are_those_of_an_index(index, sketches, least, options):
    expected = of_index(index, least, **options)
    assert len(expected) > 10
    assert of_spark(spark.clusters(sketches, least, **options)) == expected


def test_pairs_that_the_first_round_does_not_compare_are_found_in_the_second(session):
    rng = random.Random(2)
    texts = {f"{number}": " ".join(rng.sample(WORDS[:60], 30)) for number in range(150)}
    recipe = Recipe(shingle=1)
    with index_of(texts, recipe) as index:
        expected = of_index(index, 0.5)
    assert len(expected) > 5
    assert of_spark(spark.clusters(sketches_of(session, texts, recipe), 0.5)) == expected


def test_clusters_by_bands_are_those_of_an_index_if_no_pair_is_missed(index, sketches):
    found = of_spark(spark.clusters(sketches, 0.7, method="bands", max_missed=1e-9))
    assert found == of_index(index, 0.7)


def test_clusters_of_no_documents_and_of_copies_only(session, sketches):
    assert of_spark(spark.clusters(sketches.limit(0))) == {}
    copies = sketches_of(session, {"b": "some words", "a": "Some words!", "c": "others"})
    assert of_spark(spark.clusters(copies)) == {"a": {"a", "b"}}


def test_wrong_arguments_are_named(sketches):
    with pytest.raises(ValueError, match="min_resemblance must be a number above 0"):
        spark.clusters(sketches, 0)
    with pytest.raises(ValueError, match="method must be one of shingles, bands, slots"):
        spark.clusters(sketches, method="guess")


@given(st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=20), max_size=4))
def test_a_forest_has_the_components_of_its_edges(batches):
    forest, groups = SpanningForest(), {number: {number} for number in range(31)}
    for batch in batches:
        a, b = np.array(batch, np.uint64).reshape(-1, 2).T
        forest.add(a, b)
        for first, second in batch:
            joined = groups[first] | groups[second]
            groups.update(dict.fromkeys(joined, joined))
    every = np.arange(31, dtype=np.uint64)
    assert forest.labels_of(every).tolist() == [min(groups[number]) for number in range(31)]
    edges = sum(len(row.arrays["firsts"]) for row in forest.rows())
    assert edges == 31 - len(set(map(min, groups.values())))


def test_more_documents_than_a_task_holds_have_the_same_clusters(index, sketches, monkeypatch):
    monkeypatch.setattr("docindex.spark.frame_clusters.MOST_NODES", 10)
    assert of_spark(spark.clusters(sketches, 0.6)) == of_index(index, 0.6)
    assert of_spark(spark.clusters(sketches.limit(0), 0.6)) == {}


def test_rounds_of_stars_connect_a_long_path_a_crowd_and_random_edges(session):
    rng = random.Random(4)
    names = rng.sample(range(-(10**12), 10**12), 300)
    edges = list(itertools.pairwise(names[:100]))
    edges += [(names[100], other) for other in names[101:180]]
    edges += [tuple(rng.choices(names[180:], k=2)) for _ in range(70)]
    forest = SpanningForest()
    forest.add(*(np.array(ends).astype(np.uint64) for ends in zip(*edges, strict=True)))
    frame = session.createDataFrame([edge[:: rng.choice([1, -1])] for edge in edges], "a long, b long")
    found = {row.node: row.label for row in connected_nodes(frame).collect()}
    groups = {}
    for name in {end for edge in edges for end in edge}:
        groups.setdefault(forest.labels_of(np.array([name]).astype(np.uint64))[0], []).append(name)
    expected = {name: min(group) for group in groups.values() for name in group}
    assert found == {name: least for name, least in expected.items() if name != least}
