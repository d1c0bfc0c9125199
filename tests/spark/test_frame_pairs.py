"""Spark finds the same pairs as an index, with the same numbers."""

import random

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as every Spark program writes it

from docindex import Recipe, RecipeMismatch, spark
from docindex.minhash.bands import Bands
from tests.spark.copied_texts import (
    COLUMNS,
    copied_texts,
    index_of,
    rows_of_index,
    rows_of_spark,
    sketches_of,
)

QUESTIONS = [{}, {"min_resemblance": 0.1}, {"min_resemblance": 0.3, "min_shared": 10}]


@pytest.fixture(scope="module")
def texts():
    return copied_texts()


@pytest.fixture(scope="module")
def index(texts):
    with index_of(texts) as made:
        yield made


@pytest.fixture(scope="module")
def sketches(session, texts):
    return sketches_of(session, texts)


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_the_pairs_are_those_of_an_index(index, sketches, question):
    expected = rows_of_index(index.pairs(**question))
    assert len(expected) > 30
    assert rows_of_spark(spark.pairs(sketches, **question)) == expected


@pytest.mark.parametrize(
    "recipe",
    [Recipe(token="line", shingle=1), Recipe(token="letter", shingle=9), Recipe(bag=True, shingle=1)],
    ids=lambda recipe: f"{recipe.token} {recipe.shingle}",
)
def test_every_kind_of_shingle_gives_the_pairs_of_an_index(session, recipe):
    texts = {key: text.replace("word1", "\nword1") for key, text in copied_texts(100).items()}
    texts |= {"lines": "one two\nthree", "other lines": "one\ntwo three", "same lines": "one\ntwo three"}
    with index_of(texts, recipe) as index:
        expected = rows_of_index(index.pairs(min_resemblance=0.4))
    assert rows_of_spark(spark.pairs(sketches_of(session, texts, recipe), min_resemblance=0.4)) == expected


def test_pairs_between_two_frames_are_those_between_two_sets_of_an_index(texts, sketches):
    first = {key: text for number, (key, text) in enumerate(texts.items()) if number % 3}
    second = {key: text for number, (key, text) in enumerate(texts.items()) if number % 4 < 2}
    with index_of({}) as marked:
        marked.add_many(
            (key, text, {"first": key in first, "second": key in second}) for key, text in texts.items()
        )
        sets = ("meta->>'first'", "meta->>'second'")
        expected = rows_of_index(marked.pairs(min_resemblance=0.4, between=sets))
    frames = [sketches.where(sketches.key.isin(list(chosen))) for chosen in (first, second)]
    assert rows_of_spark(spark.pairs(frames[0], min_resemblance=0.4, between=frames[1])) == expected
    assert len(expected) > 50


def test_the_pairs_do_not_depend_on_the_order_and_partitions_of_rows(sketches):
    expected = rows_of_spark(spark.pairs(sketches, min_resemblance=0.3))
    other = sketches.repartition(7, "text_hash").sortWithinPartitions("words_hash")
    assert rows_of_spark(spark.pairs(other, min_resemblance=0.3)) == expected


def test_an_empty_frame_has_no_pairs(sketches):
    nothing = sketches.limit(0)
    assert rows_of_spark(spark.pairs(nothing)) == []
    assert rows_of_spark(spark.pairs(sketches, between=nothing)) == []


def test_copies_are_pairs_although_they_have_no_words(session):
    texts = {"a": "", "b": "...", "c": "", "d": "words", "e": "...", "f": ""}
    with index_of(texts) as index:
        expected = rows_of_index(index.pairs())
    assert len(expected) == 4
    assert rows_of_spark(spark.pairs(sketches_of(session, texts))) == expected


def test_wrong_sketches_are_named(session, sketches):
    one = sketches.limit(1)
    key = one.collect()[0].key
    with pytest.raises(ValueError, match=f"several rows of the sketches have the key {key!r}"):
        spark.pairs(one.union(one))
    with pytest.raises(ValueError, match="a row of the sketches has no key"):
        spark.pairs(one.replace(key, None, subset="key"))
    with pytest.raises(ValueError, match="must have the column words_hash"):
        spark.pairs(sketches.drop("words_hash"))
    with pytest.raises(TypeError, match="must be a DataFrame of Spark, not 'sketches'"):
        spark.pairs("sketches")
    other = sketches_of(session, {"other": "words"}, Recipe(k=5))
    with pytest.raises(RecipeMismatch, match="made with different recipes"):
        spark.pairs(sketches.union(other))
    with pytest.raises(RecipeMismatch, match="made with different recipes"):
        spark.pairs(sketches, between=other)


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ({"min_resemblance": 1.5}, "min_resemblance must be a number above 0"),
        ({"max_missed": 0}, "max_missed must be a number above 0"),
        ({"min_shared": -1}, "min_shared must be a whole number"),
    ],
)
def test_wrong_questions_are_named(sketches, question, named):
    with pytest.raises(ValueError, match=named):
        spark.pairs(sketches, **question)


def test_a_pair_of_exactly_the_minimum_resemblance_is_found(session):
    words = [f"word{number}" for number in range(24)]
    texts = {"twenty shingles": " ".join(words), "sixteen of them": " ".join(words[:20])}
    with index_of(texts) as index:
        expected = rows_of_index(index.pairs(min_resemblance=0.8))
    assert rows_of_spark(spark.pairs(sketches_of(session, texts), min_resemblance=0.8)) == expected
    assert len(expected) == 1


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_pairs_of_texts_that_are_not_kept_are_estimated_by_slots(session, texts, share):
    rng = random.Random(8)
    kept = {key for key in texts if rng.random() < share}
    with index_of({}) as mixed:
        for is_kept in (True, False):
            some = {key: text for key, text in texts.items() if (key in kept) == is_kept}
            mixed.add_many(some.items(), store_text=is_kept)
        expected = rows_of_index(mixed.pairs())
    sketches = sketches_of(session, texts)
    bare = F.when(F.col("key").isin(list(kept)), F.col("text"))
    assert rows_of_spark(spark.pairs(sketches.withColumn("text", bare))) == expected
    assert {row[COLUMNS.index("basis")] for row in expected} == {"shingles", "slots"}


@pytest.fixture
def small_batches(session):
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    session.conf.set(name, "50")
    yield
    session.conf.unset(name)


@pytest.mark.usefixtures("small_batches")
def test_the_pairs_of_a_crowd_that_is_cut_into_parts_and_cells_are_all_found(session, monkeypatch):
    monkeypatch.setattr("docindex.spark.frame_pairs._PART", 10)
    monkeypatch.setattr("docindex.spark.crowd_parts._PART", 10)
    monkeypatch.setattr("docindex.spark.frame_pairs._MEETINGS_OF_A_TASK", 1000)
    monkeypatch.setattr("docindex.spark.frame_pairs._BLOCKS", 3)
    texts = copied_texts(100)
    start = " ".join(f"head{number}" for number in range(20))
    texts |= {f"crowd {number}": f"{start} {number} {number}" for number in range(60)}
    with index_of(texts) as index:
        expected = rows_of_index(index.pairs())
    assert rows_of_spark(spark.pairs(sketches_of(session, texts))) == expected
    assert len(expected) > 60 * 59 // 2


def test_a_band_that_different_texts_share_is_no_pair(session, monkeypatch):
    monkeypatch.setattr("docindex.spark.frame_pairs.band_design", lambda *_: Bands(128, 1, 1))
    texts = copied_texts(100)
    with index_of(texts) as index:
        expected = rows_of_index(index.pairs(min_resemblance=0.9))
    assert rows_of_spark(spark.pairs(sketches_of(session, texts), min_resemblance=0.9)) == expected
