"""Spark finds the same connected clusters as an index, with far fewer pairs than a crowd has."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex import Recipe, spark
from docindex.spark.frame_clusters import SpanningForest, connected_nodes
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


@pytest.mark.parametrize("least", [0.8, 0.3])
def test_the_clusters_are_those_of_an_index(index, sketches, least):
    expected = of_index(index, least)
    assert len(expected) > 10
    assert of_spark(spark.clusters(sketches, least)) == expected


def test_clusters_of_texts_that_are_not_kept_are_estimated_by_slots(index, texts, session):
    bare = sketches_of(session, texts, keep_text=False)
    assert of_spark(spark.clusters(bare)) == of_index(index, 0.8, method="slots")


def test_pairs_that_the_first_round_does_not_compare_are_found_in_the_second(session):
    rng = random.Random(2)
    texts = {f"{number}": " ".join(rng.sample(WORDS[:60], 30)) for number in range(150)}
    recipe = Recipe(shingle=1)
    with index_of(texts, recipe) as index:
        expected = of_index(index, 0.5)
    assert len(expected) > 5
    assert of_spark(spark.clusters(sketches_of(session, texts, recipe), 0.5)) == expected


def test_clusters_of_no_documents_and_of_copies_only(session, sketches):
    assert of_spark(spark.clusters(sketches.limit(0))) == {}
    copies = sketches_of(session, {"b": "some words", "a": "Some words!", "c": "others"})
    assert of_spark(spark.clusters(copies)) == {"a": {"a", "b"}}


def test_wrong_arguments_are_named(sketches):
    with pytest.raises(ValueError, match="min_resemblance must be a number above 0"):
        spark.clusters(sketches, 0)
    with pytest.raises(ValueError, match="max_missed must be a number above 0"):
        spark.clusters(sketches, max_missed=0)


@given(st.lists(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=20), max_size=4))
def test_a_forest_has_the_components_of_its_edges(batches):
    forest, groups = SpanningForest(), {number: {number} for number in range(31)}
    for batch in batches:
        forest.add(*np.array(batch, np.int64).reshape(-1, 2).T)
        for first, second in batch:
            joined = groups[first] | groups[second]
            groups.update(dict.fromkeys(joined, joined))
    labels = {number: min(group) for number, group in groups.items()}
    nodes, least = forest.edges()
    expected = {number: label for number, label in labels.items() if number != label}
    assert dict(zip(nodes.tolist(), least.tolist(), strict=True)) == expected


def test_a_long_path_a_crowd_and_random_edges_of_several_partitions_are_connected(session):
    rng = random.Random(4)
    names = rng.sample(range(-(10**12), 10**12), 300)
    edges = list(itertools.pairwise(names[:100]))
    edges += [(names[100], other) for other in names[101:180]]
    edges += [tuple(rng.choices(names[180:], k=2)) for _ in range(70)]
    groups = {name: {name} for name in names}
    for first, second in edges:
        joined = groups[first] | groups[second]
        groups.update(dict.fromkeys(joined, joined))
    frame = session.createDataFrame(edges, "u long, v long").repartition(5)
    found = {row.node: row.label for row in connected_nodes(frame).collect()}
    assert found == {name: min(group) for name, group in groups.items() if name != min(group)}
