"""Spark finds the same pairs as an index, with the same numbers."""

import pytest
from pyspark.sql import Observation

from docindex import Recipe, RecipeMismatch, spark
from docindex.spark import rarest_values
from tests.spark.copied_texts import (
    copied_texts,
    index_of,
    rows_of_index,
    rows_of_spark,
    sketches_of,
)

QUESTIONS = [
    {},
    {"min_resemblance": 0.05},
    {"min_containment": 0.5},
    {"min_containment": 0.9, "min_shared": 10},
    {"min_resemblance": 0.2, "ignore_above": 8},
    {"method": "slots"},
    {"min_containment": 0.5, "method": "slots"},
]


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


@pytest.mark.parametrize("least", [0.3, 1.0])
def test_the_containments_are_those_of_an_index(index, sketches, least):
    expected = rows_of_index(index.containments(least))
    assert rows_of_spark(spark.containments(sketches, least)) == expected
    assert len(expected) > 30


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
        for question in ({"min_resemblance": 0.4}, {"min_containment": 0.6}):
            expected = rows_of_index(marked.pairs(**question, between=sets))
            frames = [sketches.where(sketches.key.isin(list(chosen))) for chosen in (first, second)]
            assert rows_of_spark(spark.pairs(frames[0], **question, between=frames[1])) == expected
            assert len(expected) > 50


def test_containments_between_two_frames_have_the_first_frame_inside_the_second(session):
    new = sketches_of(session, {"line": "to be or not to be", "other": "nothing of the kind here at all"})
    old = sketches_of(
        session, {"speech": "to be or not to be that is the question", "line 2": "to be or not"}
    )
    found = spark.containments(new, 0.9, between=old).collect()
    assert [(pair.a, pair.b) for pair in found] == [("line", "speech")]


def test_the_number_of_ignored_shingles_is_that_of_an_index(index, sketches):
    expected = index.pairs(min_resemblance=0.2, ignore_above=8)
    said = Observation()
    found = rows_of_spark(spark.pairs(sketches, min_resemblance=0.2, ignore_above=8, set_aside=said))
    assert found == rows_of_index(expected)
    assert said.get["set_aside"] == expected.set_aside > 20


def test_nothing_is_ignored_without_a_limit(sketches):
    said = Observation()
    spark.pairs(sketches, set_aside=said).collect()
    assert said.get["set_aside"] == 0


def test_values_of_very_many_texts_are_split_and_no_pair_is_lost(session, monkeypatch):
    chosen = rarest_values.RarestValues
    monkeypatch.setattr(
        "docindex.spark.frame_pairs.RarestValues", lambda question: chosen(question, split_above=10)
    )
    texts = copied_texts(150)
    start = " ".join(f"head{number}" for number in range(20))
    texts |= {f"crowd {number}": f"{start} {number} {number}" for number in range(60)}
    with index_of(texts) as index:
        for question in ({"min_resemblance": 0.5}, {"min_containment": 0.5}):
            expected = rows_of_index(index.pairs(**question))
            assert rows_of_spark(spark.pairs(sketches_of(session, texts), **question)) == expected
            assert len(expected) > 60 * 59 // 2


def test_the_pairs_do_not_depend_on_the_order_and_partitions_of_rows(sketches):
    expected = rows_of_spark(spark.pairs(sketches, min_resemblance=0.3))
    other = sketches.repartition(7, "text_hash").sortWithinPartitions("words_hash")
    assert rows_of_spark(spark.pairs(other, min_resemblance=0.3)) == expected


def test_texts_that_are_not_kept_are_estimated_by_slots(session, texts, sketches):
    bare = sketches_of(session, texts, keep_text=False)
    found = rows_of_spark(spark.pairs(bare, min_resemblance=0.5))
    assert found == rows_of_spark(spark.pairs(sketches, min_resemblance=0.5, method="slots"))


def test_sketches_of_which_some_have_no_text_are_refused(session, sketches):
    bare = sketches_of(session, {"bare": "words"}, keep_text=False)
    with pytest.raises(ValueError, match=r'^1 of \d+ rows have no text.*method="slots"$'):
        spark.pairs(sketches.union(bare))


def test_bands_give_exact_numbers_and_hardly_miss_a_pair(index, sketches):
    expected = rows_of_index(index.pairs(min_resemblance=0.6))
    assert (
        rows_of_spark(spark.pairs(sketches, min_resemblance=0.6, method="bands", max_missed=1e-9)) == expected
    )


def test_an_empty_frame_has_no_pairs(sketches):
    nothing = sketches.limit(0)
    assert rows_of_spark(spark.pairs(nothing)) == rows_of_spark(spark.containments(nothing)) == []
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
        ({"min_resemblance": 0.5, "min_containment": 0.5}, "either min_resemblance or min_containment"),
        ({"min_resemblance": 1.5}, "min_resemblance must be a number above 0"),
        ({"method": "guess"}, "method must be one of shingles, bands, slots"),
        ({"method": "slots", "ignore_above": 5}, 'method="slots" cannot ignore common text'),
        ({"method": "bands", "min_containment": 0.5}, 'method="bands" finds resembling texts only'),
        ({"min_shared": -1}, "min_shared must be a whole number"),
    ],
)
def test_wrong_questions_are_named(sketches, question, named):
    with pytest.raises(ValueError, match=named):
        spark.pairs(sketches, **question)


@pytest.mark.parametrize(("limit", "found"), [(4, 0), (5, 10)])
def test_a_shingle_is_ignored_if_more_texts_than_the_limit_have_it(session, limit, found):
    phrase = "a phrase of ten words that all of these texts have"
    texts = {f"text {number}": f"{phrase} {number}" for number in range(5)}
    question = {"min_resemblance": 0.5, "ignore_above": limit}
    with index_of(texts) as index:
        expected = rows_of_index(index.pairs(**question))
    assert rows_of_spark(spark.pairs(sketches_of(session, texts), **question)) == expected
    assert len(expected) == found


def test_a_pair_of_exactly_the_minimum_resemblance_is_found(session):
    words = [f"word{number}" for number in range(24)]
    texts = {"twenty shingles": " ".join(words), "sixteen of them": " ".join(words[:20])}
    with index_of(texts) as index:
        expected = rows_of_index(index.pairs(min_resemblance=0.8))
    assert rows_of_spark(spark.pairs(sketches_of(session, texts), min_resemblance=0.8)) == expected
    assert len(expected) == 1
