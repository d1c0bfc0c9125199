"""Spark's matches are those of an index, with the same numbers in the same order."""

import dataclasses
import random

import pytest

import docindex
from docindex import Recipe, spark
from docindex.sketching.single_text import window_hashes

RECIPE = Recipe(k=8, window=6)
WORDS = [f"w{number} q{number * 7919 % 997}" for number in range(400)]
FIELDS = [field.name for field in dataclasses.fields(docindex.Match) if field.name != "id"]


def documents():
    """Texts with common headers, copied stretches, exact copies, short texts, and texts without words."""
    chosen = random.Random(3)
    header = " ".join(chosen.choices(WORDS, k=12))
    texts = {}
    for number in range(80):
        text = " ".join(chosen.choices(WORDS, k=chosen.choice([2, 20, 80])))
        texts[f"text {number:02}"] = header + " " + text if number % 4 else text
        if number % 5 == 0:
            other = texts[f"text {chosen.randrange(number + 1):02}"]
            texts[f"copy {number:02}"] = text + " " + other[len(other) // 3 :]
        if number % 20 == 0:
            texts[f"same {number:02}"] = texts[f"text {number:02}"]
    return texts | {"empty": "", "dots": "...", "Ä": "a", "a": "A!"}


def queries():
    """Excerpts, mixtures, whole documents, and texts without fingerprints."""
    texts = documents()
    keys = sorted(texts)
    asked = {f"q{number}": texts[keys[number]] for number in range(0, len(keys), 9)}
    long = [text for text in texts.values() if len(text) > 400]
    asked["mixture"] = long[0][50:250] + " own words " + long[3][:200] + long[7][100:300]
    asked["other"] = "nothing like it anywhere in these documents"
    return asked | {"none": "", "short": "a", "marks": "!!!"}


def frame_of(session, texts):
    return session.createDataFrame(list(texts.items()), "key string, text string")


@pytest.fixture(scope="module")
def sketched(session):
    return spark.sketch(frame_of(session, documents()), RECIPE).cache()


@pytest.fixture(scope="module")
def index():
    with docindex.open(":memory:", recipe=RECIPE) as made:
        made.add_many(documents().items())
        yield made


def by_query(frame):
    found = {}
    for row in sorted(frame.collect(), key=lambda row: (row.query, row.position)):
        found.setdefault(row.query, []).append(row)
        assert row.position == len(found[row.query])
    return found


def numbers(match):
    return tuple(getattr(match, name) for name in FIELDS)


def assert_same(index, frame, asked, **options):
    found = by_query(frame)
    for key, text in asked.items():
        wanted = [numbers(match) for match in index.search(docindex.Text(text), **options)]
        assert [numbers(row) for row in found.pop(key, [])] == wanted, key
    assert found == {}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"limit": 3, "rank": "excerpt"},
        {"limit": None, "window": 20, "budget": 9},
        {"limit": 4, "ignore_above": 6, "min_shared": 2},
        {"ignore_above": 3, "rank": "excerpt", "min_resemblance": 0.05, "window": 15},
        {"limit": 2, "min_containment": 0.2, "min_reverse_containment": 0.1},
    ],
    ids=str,
)
def test_the_matches_are_those_of_an_index(session, sketched, index, options):
    asked = queries()
    frame = spark.search(frame_of(session, asked), sketched, passages=0, **options)
    assert_same(index, frame, asked, **options)


def like_hashes():
    """Two texts with different hashes whose first 32 bits are equal: an index takes one for the other."""
    chosen, having = random.Random(1), {}
    while True:
        text = " ".join(f"{chosen.randrange(10**9)}" for _ in range(20))
        for value in map(int, window_hashes(text, RECIPE, [RECIPE.window])[0]):
            other, of = having.setdefault(value >> 32, (value, text))
            if other != value:
                return of, text


def test_hashes_that_an_index_confuses_weigh_the_same(session):
    one, other = like_hashes()
    texts, asked = {"one": one, "other": other}, {"q": f"{one} {documents()['text 01']}"}
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        found = spark.search(frame_of(session, asked), spark.sketch(frame_of(session, texts), RECIPE))
        assert_same(index, found, asked)


def test_the_best_matches_have_the_passages_that_an_index_finds(session, sketched, index):
    asked = queries()
    found = by_query(spark.search(frame_of(session, asked), sketched, passages=2))
    for key, text in asked.items():
        for match, row in zip(index.search(docindex.Text(text)), found.get(key, []), strict=True):
            if row.position > 2:
                assert row.passages is None
                continue
            wanted = [dataclasses.astuple(passage)[:7] for passage in match.passages()]
            assert [tuple(passage) for passage in row.passages] == wanted
    assert found["mixture"][0].passages


def test_common_hashes_that_are_ignored_are_counted(session, sketched):
    asked = {"header": documents()["text 01"]}
    counts = {}
    for most in (None, 20, 1):
        (rows,) = by_query(spark.search(frame_of(session, asked), sketched, ignore_above=most)).values()
        (counts[most],) = {row.set_aside for row in rows}
    assert counts[None] == 0
    assert 5 < counts[20] < counts[1]


def test_texts_that_are_not_kept_are_found_without_passages(session):
    texts, asked = documents(), queries()
    sketches = spark.sketch(frame_of(session, texts), RECIPE, keep_text=False)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items(), store_text=False)
        frame = spark.search(frame_of(session, asked), sketches).cache()
        assert_same(index, frame, asked)
    assert {row.passages for row in frame.collect()} == {None}


def test_a_window_smaller_than_that_of_the_sketches_is_refused(session, sketched):
    with pytest.raises(ValueError, match="smaller than the window"):
        spark.search(frame_of(session, {}), sketched, window=2)


def test_no_queries_and_no_documents_give_no_matches(session, sketched):
    nothing = frame_of(session, {})
    assert spark.search(nothing, sketched).count() == 0
    assert spark.search(frame_of(session, {"q": "some words"}), spark.sketch(nothing)).count() == 0
