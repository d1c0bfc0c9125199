"""The slots in memory give the contents that share enough of them, whatever was added or removed since."""

import contextlib
import random

import apsw
import numpy as np
import pytest

import docindex
from docindex.minhash.slots import slot_keys, stored_slots
from docindex.query.slot_index import COLUMNS, SlotIndex, fewest_shared
from docindex.sketching.single_text import shingle_set
from docindex.storage.rows import bulk
from tests.query.corpus import RECIPE, corpus


def changed(rng, text):
    """A text that is most likely still similar."""
    words = text.split() or ["word"]
    words[rng.randrange(len(words))] = f"other{rng.random()}"
    return " ".join(words)


def as_new(index, query, least):
    """The answers of an index that has not been asked before."""
    with docindex.open(":memory:", recipe=RECIPE) as new:
        new.add_many([(key, index.text(key)) for key in index], workers=1)
        return {(match.key, match.resemblance) for match in new.similar(query, least)}


@pytest.mark.parametrize("seed", range(3))
def test_an_index_that_changes_between_questions_answers_like_a_new_one(seed):
    rng = random.Random(seed)
    texts = corpus(20 + seed)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(texts.items())
        found = 0
        for step in range(60):
            if rng.random() < 0.5:
                index.add(f"new {step}", changed(rng, rng.choice(list(texts.values()))))
            if rng.random() < 0.5:
                index.remove(rng.choice(list(index)))
            if rng.random() < 0.2:
                index.add(key := rng.choice(list(index)), changed(rng, index.text(key)))
            query = docindex.Text(index.text(rng.choice(list(index))))
            answers = {(match.key, match.resemblance) for match in index.similar(query)}
            assert answers == as_new(index, query, 0.8)
            found += len(answers)
        assert index._scopes._slot_index._sorted is not None
        assert found > 60


def test_contents_that_were_rolled_back_are_forgotten(tmp_path):
    docindex.open(tmp_path / "index", create=True).close()
    with contextlib.closing(apsw.Connection(str(tmp_path / "index"))) as db:
        docindex.register(db)

        def put(text):
            db.execute("select doc_put('a', ?)", (text,)).fetchall()

        def similar(text):
            return db.execute("select key from doc_similar(doc_literal(?))", (text,)).fetchall()

        first, second = (" ".join(f"{word}{number}" for number in range(60)) for word in ("one", "two"))
        db.execute("begin")
        put(first)
        assert [similar(f"{first} more") for _ in range(3)] == [[("a",)]] * 3
        db.execute("rollback")
        put(second)  # gets the id of the content that was rolled back
        assert similar(f"{first} more") == []
        assert similar(f"{second} more") == [("a",)]


def test_contents_share_slots_as_counted_one_by_one():
    rng = random.Random(7)
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(corpus(7).items())
        texts = {key: index.text(key) for key in index}
        slots_of = {}
        for key, text in texts.items():
            own = shingle_set(text, RECIPE)
            slots_of[key] = stored_slots(slot_keys(own, np.array([0, len(own)]), RECIPE.slots))[0]
        content_of = {key: index[key].content for key in texts}
        with index._store.reading() as db:
            known, ids = SlotIndex(), bulk.content_ids(db)
            assert known.current(db, RECIPE.slots, lambda: None) is None
            known = known.current(db, RECIPE.slots, lambda: None)
            for key in rng.sample(list(texts), 10):
                for least in (1, 2, COLUMNS):
                    expected = {
                        content_of[other]
                        for other, slots in slots_of.items()
                        if np.count_nonzero(slots[:COLUMNS] == slots_of[key][:COLUMNS]) >= least
                    }
                    assert known.sharing(slots_of[key], least).tolist() == sorted(expected)
            assert set(known.contents.tolist()) == set(ids.tolist())


def test_two_sets_at_a_threshold_share_as_many_slots_as_are_looked_up():
    rng = np.random.default_rng(3)
    for size in (20, 200, 2000):
        for resemblance in (0.75, 0.8, 0.9):
            common = round(size * resemblance)
            least, fewest = fewest_shared(128, resemblance), COLUMNS
            sets = rng.integers(0, 2**64, (500, size), np.uint64)
            middle = (size + common) // 2
            for a, b in ((own[:middle], np.append(own[:common], own[middle:])) for own in sets):
                pair = np.concatenate((a, b)), np.array([0, len(a), len(a) + len(b)])
                one, other = stored_slots(slot_keys(*pair, 128))
                fewest = min(fewest, np.count_nonzero(one[:COLUMNS] == other[:COLUMNS]))
            assert fewest >= least
