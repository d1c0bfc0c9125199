"""Deduplication on Spark keeps one document of each cluster that an index finds."""

import random

import pytest
from pyspark.sql import Observation

from docindex import spark
from tests.spark.copied_texts import copied_texts, index_of

TEXTS = copied_texts(count=120)


def score_of(key):
    """A number that many documents share, or None."""
    return random.Random(key).choice([None, 1, 2, 3])


@pytest.fixture(scope="module")
def frame(session):
    rows = [(score_of(key), text, key, {"n": len(text)}) for key, text in TEXTS.items()]
    return session.createDataFrame(rows, "`a.b` int, text string, key string, more struct<n: int>").cache()


@pytest.fixture(scope="module")
def sketches(frame):
    return spark.sketch(frame).cache()


@pytest.fixture(scope="module")
def clusters():
    with index_of(TEXTS) as index:
        return [cluster.keys for cluster in index.clusters(0.6)]


def by_score(sign):
    def place(key):
        score = score_of(key)
        return (score is None, sign * (score or 0), key)

    return place


RULES = {
    "longest": lambda key: (-len(TEXTS[key]), key),
    "shortest": lambda key: (len(TEXTS[key]), key),
    "first": lambda key: key,
    "max:`a.b`": by_score(-1),
    "min:`a.b`": by_score(1),
}


@pytest.mark.parametrize("keep", RULES)
def test_one_document_of_each_cluster_of_an_index_is_kept(frame, sketches, clusters, keep):
    removed = {key for keys in clusters for key in sorted(keys, key=RULES[keep])[1:]}
    counts = Observation()
    found = spark.deduplicate(frame, min_resemblance=0.6, keep=keep, sketches=sketches, counts=counts)
    assert found.columns == frame.columns
    rows = found.collect()
    assert sorted(row.key for row in rows) == sorted(TEXTS.keys() - removed)
    for row in rows:
        assert (row.text, row["a.b"], row.more.n) == (TEXTS[row.key], score_of(row.key), len(row.text))
    assert counts.get == {
        "documents": len(TEXTS),
        "kept": len(rows),
        "removed": len(removed),
        "clusters": len(clusters),
    }


def test_sketches_are_deduplicated_like_their_texts(frame, sketches):
    texts = spark.deduplicate(frame, min_resemblance=0.6).select("key")
    own = spark.deduplicate(sketches, min_resemblance=0.6)
    assert own.columns == sketches.columns
    assert sorted(texts.collect()) == sorted(own.select("key").collect())


def test_documents_that_resemble_none_are_all_kept(session):
    rows = [("a", "some words"), ("b", "others entirely")]
    found = spark.deduplicate(session.createDataFrame(rows, "key string, text string"))
    assert sorted(map(tuple, found.collect())) == rows


@pytest.mark.parametrize("keep", ["best", "max", "max:", "mean:score", ""])
def test_a_rule_that_does_not_exist_is_refused(frame, keep):
    with pytest.raises(ValueError, match=r"keep must be one of longest, .*max:COLUMN.* not "):
        spark.deduplicate(frame, keep=keep)


def test_a_missing_column_of_a_rule_is_refused_with_the_columns_found(frame, sketches):
    with pytest.raises(ValueError, match=r"no column 'score'; the DataFrame has a\.b, text, key, more"):
        spark.deduplicate(frame, keep="max:score", sketches=sketches)


def test_the_kept_document_does_not_depend_on_the_partitions(frame, sketches):
    mixed = frame.repartition(5, "text")
    found = [
        spark.deduplicate(each, min_resemblance=0.6, sketches=sketches).select("key")
        for each in (frame, mixed)
    ]
    assert sorted(found[0].collect()) == sorted(found[1].collect())


@pytest.mark.parametrize("columns", ["texts", "sketches"])
def test_sketches_of_other_texts_under_the_same_keys_are_refused(session, columns):
    rows = [(key, f"the text of {key} has nothing in common with any other {key * 7}") for key in "abc"]
    texts = session.createDataFrame(rows, "key string, text string")
    given = texts if columns == "texts" else spark.sketch(texts)
    others = session.createDataFrame(
        [(key, "one and the same text of some words") for key in "ab"] + rows[2:], "key string, text string"
    )
    with pytest.raises(ValueError, match=r"the sketch with the key '[ab]' was made of a different text"):
        spark.deduplicate(given, sketches=spark.sketch(others))
    assert spark.deduplicate(given, sketches=spark.sketch(texts)).count() == 3
    keys = texts.select("key")  # without texts there is nothing to compare
    assert spark.deduplicate(keys, sketches=spark.sketch(texts)).count() == 3
