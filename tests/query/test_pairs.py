"""`pairs` finds the pairs of documents that comparing every pair finds, with the same numbers."""

import contextlib
import dataclasses
import functools
import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import docindex
from docindex import Recipe
from docindex.minhash.slots import estimate_resemblance
from docindex.query.measures import Measures
from docindex.query.pairs import candidates, join, overlap, shared_counts, slots, spilled_numbers
from docindex.query.pairs.join import SizesOfSets, needs_of_sets
from docindex.query.pairs.joined import METHODS, Threshold
from docindex.query.pairs.pairs import find_containments, find_pairs
from docindex.query.scope import Scope, never_cancelled
from docindex.sketching.single_text import shingle_set
from docindex.storage.postings import segment_writer
from docindex.storage.postings.segments import POSTING_HASH_BITS, all_segments
from docindex.storage.rows import contents
from docindex.storage.rows.slot_bytes import slots_in
from docindex.storage.rows.templates import Ignored
from tests.query.plain_estimates import by_slots

# Small numbers, so that texts of a few words have fingerprints.
RECIPE = Recipe(k=4, window=3, shingle=2, slots=32, features=(4, 3, 2))
NAMES = [field.name for field in dataclasses.fields(Measures)]
THRESHOLDS = [1e-9, 0.1, 0.25, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.9, 1.0]


def hash_sets(index, bits=POSTING_HASH_BITS, ignored=(), ignore_above=None, method="shingles"):
    """For each key, the hashes that count and the words; and the number of hashes that are set aside.

    The hashes are shingles or, by the method "fingerprints", of fingerprints.
    """
    with index._store.reading() as db:
        rows = db.execute(
            "select key, content, words_hash from docindex_document join docindex_content as content on "
            "content.id = content"
        ).fetchall()
        sets = {
            content: (
                set(contents.fingerprints_of(db, content, index.recipe.window)[0].tolist())
                if method == "fingerprints"
                else set(shingle_set(contents.text_of(db, content), index.recipe).tolist())
            )
            - set(ignored)
            for content in {row[1] for row in rows}
        }
    # Only the high bits of a fingerprint hash decide whether it is set aside.
    low = 64 - bits if method == "fingerprints" else 0
    holders = {}
    for content, hashes in sets.items():
        for hash_ in hashes:
            holders.setdefault(hash_ >> low, set()).add(content)
    aside = {
        prefix for prefix, own in holders.items() if ignore_above is not None and len(own) > ignore_above
    }
    counting = {
        content: {hash_ for hash_ in own if hash_ >> low not in aside} for content, own in sets.items()
    }
    return {key: (counting[content], words) for key, content, words in rows}, len(aside)


def numbers(a, b):
    """Resemblance, containment, reverse containment and shared, from the sets."""
    both = len(a[0] & b[0])
    if a[1] == b[1]:
        return 1.0, 1.0, 1.0, both
    share = [both / whole if whole else 0.0 for whole in (len(a[0] | b[0]), len(a[0]), len(b[0]))]
    return *share, both


def best_first(found, score):
    return sorted(found, key=lambda row: (-score(row), row[0], row[1]))


def brute_pairs(sets, least, *, measure="resemblance"):
    """The definition: the pairs of documents, found by comparing every pair."""

    def score(row):
        return row[2] if measure == "resemblance" else max(row[3], row[4])

    rows = [(a, b, *numbers(sets[a], sets[b])) for a, b in itertools.combinations(sorted(sets), 2)]
    return best_first([row for row in rows if score(row) >= least], score)


def brute_containments(sets, least):
    rows = [(a, b, *numbers(sets[a], sets[b])) for a, b in itertools.permutations(sorted(sets), 2)]
    return best_first([row for row in rows if row[3] >= least], lambda row: row[3])


@contextlib.contextmanager
def scope_of(index, ignored=(), where=None, check_cancelled=never_cancelled):
    """A scope that ignores any hashes and shingles, not only those of templates."""
    hashes = np.array(sorted(ignored), np.uint64)
    with index._store.reading() as db:
        yield Scope(db, index.recipe, Ignored(hashes=hashes, shingles=hashes), where, check_cancelled)


def shown(found, method):
    assert all(pair.exact == (method == "shingles") and pair.basis == method for pair in found)
    return [
        (pair.a, pair.b, pair.resemblance, pair.containment, pair.reverse_containment, pair.shared)
        for pair in found
    ]


def check(index, least, *, bits=POSTING_HASH_BITS, ignore=None, ignore_above=None, where=None):
    """Check that all three questions have the answers of the definitions, by shingles and by fingerprints.

    `ignore` gives the hashes to ignore, for the index and a method.
    """
    for method in ("shingles", "fingerprints"):
        ignored = ignore(index, method) if ignore else ()
        sets, aside = hash_sets(index, bits, ignored, ignore_above, method)
        if where is not None:
            with index._store.reading() as db:
                wanted = {key for (key,) in db.execute(f"select key from docindex_document where {where}")}
            sets = {key: own for key, own in sets.items() if key in wanted}
        scopes = functools.partial(scope_of, index, ignored, where)
        resemblance, containment = (
            Threshold(measure=measure, least=least, method=method, ignore_above=ignore_above)
            for measure in ("resemblance", "containment")
        )
        found = find_pairs(scopes, resemblance)
        assert shown(found, method) == brute_pairs(sets, least)
        assert shown(found, method) == brute_pairs(sets, least)  # pairs can be iterated again
        assert found.set_aside == aside
        found = find_pairs(scopes, containment)
        assert shown(found, method) == brute_pairs(sets, least, measure="containment")
        found = find_containments(scopes, containment)
        assert shown(found, method) == brute_containments(sets, least)
        assert found.set_aside == aside


def corpus(rng, count):
    """Texts made of a few pieces, so that many texts share pieces. Some are copies, short or empty."""
    pool = ["".join(rng.choices("abcdef", k=rng.randrange(1, 30))) for _ in range(rng.randrange(1, 12))]
    common = [rng.choice(pool) for _ in range(rng.randrange(3))]
    texts = []
    for _ in range(count):
        kind = rng.random()
        if texts and kind < 0.15:
            texts.append(rng.choice(texts))
        elif texts and kind < 0.3:
            texts.append(" ".join(rng.choice(texts)).title())
        else:
            texts.append(" ".join(common + rng.choices(pool, k=rng.randrange(7))))
    return texts


@pytest.fixture
def tight(monkeypatch):
    """Make all batches small, and index so few bits of a hash that many hashes look alike."""
    monkeypatch.setattr("docindex.storage.postings.lookup.KEYS_IN_MEMORY", 64)
    monkeypatch.setattr(segment_writer, "KEYS_IN_MEMORY", 64)
    monkeypatch.setattr(segment_writer, "POSTING_HASH_BITS", 9)
    monkeypatch.setattr(candidates, "_MEETINGS", 50)
    monkeypatch.setattr(candidates, "_KEPT", 0)
    monkeypatch.setattr(shared_counts, "_HASHES", 40)
    monkeypatch.setattr(shared_counts, "_LOOKED_UP", 10)
    monkeypatch.setattr(shared_counts, "_SETS", 64)
    monkeypatch.setattr(spilled_numbers, "_RUN", 50)
    monkeypatch.setattr(spilled_numbers, "_IN_MEMORY", 40)
    monkeypatch.setattr(slots, "_COMPARED", 3)
    monkeypatch.setattr("docindex.query.pairs.pairs._LOOKED_UP", 2)


def build(rng, count):
    """An index with many segments, some of them half merged; some documents were removed or replaced."""
    index = docindex.open(":memory:", recipe=RECIPE)
    for number, text in enumerate(corpus(rng, count)):
        index.add(f"{rng.randrange(100):02} {number}", text)
    for key in list(index):
        if rng.random() < 0.1:
            index.remove(key)
        elif rng.random() < 0.1:
            index.add(key, rng.choice(corpus(rng, 3)))
    return index


def some_ignored(seed):
    """A function that chooses hashes to ignore; some of them only begin like a hash of the index."""

    def chosen(index, method):
        rng = random.Random(seed)
        sets, _ = hash_sets(index, method=method)
        all_hashes = sorted(set().union(*(own for own, _ in sets.values())))
        chosen = rng.sample(all_hashes, rng.randrange(1 + len(all_hashes) // 3))
        return {hash_ ^ (rng.randrange(3) << 16) for hash_ in chosen}

    return chosen


def test_pairs_are_found_as_by_comparing_every_pair():
    for seed in range(60):
        rng = random.Random(seed)
        with build(rng, rng.randrange(30)) as index:
            for least in rng.sample(THRESHOLDS, 3):
                check(index, least)
                check(index, least, ignore=some_ignored(seed))
                check(index, least, ignore_above=rng.randrange(1, 8))
            check(index, least, where="key < '50'", ignore_above=rng.choice([None, 3]))


@pytest.mark.usefixtures("tight")
def test_small_batches_and_hashes_that_look_alike_change_nothing(monkeypatch):
    for seed in range(36):
        rng = random.Random(seed)
        bits = (4, 6, 9)[seed % 3]
        monkeypatch.setattr(segment_writer, "POSTING_HASH_BITS", bits)
        with build(rng, rng.randrange(30)) as index:
            for least in rng.sample(THRESHOLDS, 2):
                check(index, least, bits=bits)
                check(index, least, bits=bits, ignore=some_ignored(seed))
                check(index, least, bits=bits, ignore_above=rng.randrange(1, 8))
                check(index, least, bits=bits, ignore=some_ignored(seed), ignore_above=4, where="id % 3")


@pytest.mark.usefixtures("tight")
def test_a_half_finished_merge_changes_nothing(monkeypatch):
    monkeypatch.setattr(segment_writer, "_LEAST", 16)
    monkeypatch.setattr(segment_writer, "_BLOCK", 4)
    monkeypatch.setattr(segment_writer, "_MERGED_AT_LEAST", 3)
    monkeypatch.setattr(segment_writer, "_MERGED_PER_POSTING", 0)
    under_way = 0
    for seed in range(12):
        rng = random.Random(seed)
        with build(rng, 25) as index:
            with index._store.reading() as db:
                segments = all_segments(db)
            under_way += len(segments) > 1 and any(segment.moved for segment in segments)
            least = rng.choice(THRESHOLDS)
            check(index, least, bits=9)
            index.optimize()
            check(index, least, bits=9)
    assert under_way > 4


@given(st.lists(st.text("ab ", max_size=20), max_size=8), st.sampled_from(THRESHOLDS))
@settings(max_examples=100)
def test_pairs_of_any_texts_are_found_as_by_comparing_every_pair(texts, least):
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many(((str(number), text) for number, text in enumerate(texts)), workers=1)
        check(index, least)


def test_a_batch_has_no_more_contents_than_fit_next_to_a_hash_in_64_bits(monkeypatch):
    together = []
    original = overlap.FingerprintOverlap.counting

    def counting(self, places):
        together.append(len(places))
        return original(self, places)

    monkeypatch.setattr(overlap.FingerprintOverlap, "counting", counting)
    monkeypatch.setattr(shared_counts, "_SETS", 5)
    with build(random.Random(3), 30) as index:
        check(index, 0.1, ignore_above=20)
    assert max(together) == 4


@pytest.mark.usefixtures("tight")
def test_slots_and_the_shingles_of_all_texts_give_the_same_pairs(monkeypatch):
    monkeypatch.setattr(join, "_BANDS_A_SHINGLE", 1_000_000)
    pairs = 0
    for seed in range(20):
        with build(random.Random(seed), 25) as index:
            for least in THRESHOLDS:
                found = list(index.pairs(min_resemblance=least))
                with monkeypatch.context() as patched:
                    patched.setattr(join, "likely_bands", lambda *_: None)
                    assert list(index.pairs(min_resemblance=least)) == found
                pairs += len(found)
    assert pairs > 1000


def test_pairs_have_the_numbers_of_comparing_the_two_texts():
    for seed in range(10):
        with build(random.Random(seed), 25) as index:
            index.boilerplate.add(index.text(next(iter(index))) or "x")
            for pair in index.pairs(min_containment=0.1):
                measures = index.measures(docindex.Key(pair.a), docindex.Key(pair.b))
                assert [getattr(pair, name) for name in NAMES] == [getattr(measures, name) for name in NAMES]


def test_a_pair_that_just_reaches_the_threshold_is_found():
    for seed in range(6):
        with build(random.Random(seed), 16) as index:
            sets, _ = hash_sets(index)
            fingerprints, _ = hash_sets(index, method="fingerprints")
            scores = {row[2] for row in brute_pairs(sets, 1e-9)}
            scores |= {row[3] for row in brute_containments(sets, 1e-9)}
            scores |= {row[2] for row in brute_pairs(fingerprints, 1e-9)}
            for score in sorted(scores):
                check(index, score)
                check(index, np.nextafter(score, 2) if score < 1 else 1.0)


def test_statements_use_an_index_or_read_a_whole_table_once():
    with build(random.Random(1), 20) as index:
        db = index._store._writer
        for method in METHODS:
            statements = []

            def trace(_, sql, bindings, statements=statements):
                statements.append((sql, bindings))
                return True

            db.exec_trace = trace
            ignored = sorted(hash_sets(index)[0][next(iter(index))][0])[:3]
            threshold = Threshold(measure="resemblance", least=0.5, method=method)
            statements.clear()
            list(find_pairs(functools.partial(scope_of, index, ignored), threshold))
            db.exec_trace = None
            scans = [
                (step, sql)
                for sql, bindings in statements
                if sql.startswith("select")
                for *_, step in db.execute(f"explain query plan {sql}", bindings)
                if step.startswith("SCAN")
                and not step.startswith(("SCAN wanted VIRTUAL", "SCAN (subquery"))
                and step not in ("SCAN main.docindex_segment", "SCAN main.docindex_dead")  # short tables
            ]
            assert sorted(step for step, _ in scans) == [
                "SCAN main.docindex_content",
                "SCAN main.docindex_document USING COVERING INDEX docindex_document_content",
            ]


class Held:
    """A source whose members are sets of small numbers; a group ignores the lowest bit of a number."""

    def __init__(self, sets):
        self.count = len(sets)
        self.beginnings = [{number >> 1 for number in own} for own in sets]
        self.slack = np.array(
            [len(own) - len(begin) for own, begin in zip(sets, self.beginnings, strict=True)]
        )

    def groups(self):
        for some in (range(8), range(8, 64)):
            members = [[n for n, own in enumerate(self.beginnings) if number in own] for number in some]
            yield (
                np.array([len(own) for own in members if own], np.int64),
                np.array([member for own in members for member in own], np.int64),
            )


def common_sets(rng):
    """Sets that share low numbers; some of the other numbers differ only in the lowest bit."""
    common = rng.randrange(1, 30)
    return [
        {number for number in range(common) if rng.random() < 0.8}
        | {rng.randrange(128) for _ in range(rng.randrange(12))}
        for _ in range(rng.randrange(2, 24))
    ]


def exact_needs(measure, slack, least, counts):
    return needs_of_sets(measure, SizesOfSets(counts, slack, counts), least)


@pytest.mark.parametrize("kept", [0, 1 << 25])
def test_candidates_miss_no_pair_even_if_hashes_begin_alike(kept, monkeypatch):
    monkeypatch.setattr(candidates, "_KEPT", kept)
    monkeypatch.setattr(candidates, "_MEETINGS", 40)
    ignored = 0
    for seed in range(500):
        rng = random.Random(seed)
        sets, least = common_sets(rng), rng.choice(THRESHOLDS)
        source = Held(sets)
        for measure, whole in (
            ("resemblance", lambda a, b: len(a | b)),
            ("containment", lambda a, b: min(len(a), len(b))),
        ):
            found = [
                tuple(sorted(pair))
                for a, b in candidates.candidates(
                    source,
                    functools.partial(exact_needs, measure, source.slack, least),
                    lambda: None,
                )
                for pair in zip(a.tolist(), b.tolist(), strict=True)
            ]
            wanted = {
                (a, b)
                for a, b in itertools.combinations(range(len(sets)), 2)
                if sets[a] & sets[b] and len(sets[a] & sets[b]) / whole(sets[a], sets[b]) >= least
            }
            assert len(found) == len(set(found))
            assert wanted <= set(found)
            ignored += len(set(itertools.combinations(range(len(sets)), 2)) - set(found))
    assert ignored > 10_000


def test_short_and_empty_texts_pair_only_with_texts_of_the_same_words():
    with docindex.open(":memory:", recipe=RECIPE) as index:
        for key, text in zip("abcdefg", ["", " ", "ab", "AB.", "a b", "", "long enough"], strict=True):
            index.add(key, text)
        found = index.pairs(min_resemblance=1e-9)
        assert [(pair.a, pair.b, pair.resemblance, pair.shared) for pair in found] == [
            ("a", "b", 1.0, 0),
            ("a", "f", 1.0, 0),
            ("b", "f", 1.0, 0),
            ("c", "d", 1.0, 1),
        ]
        check(index, 1.0)


def test_ignoring_all_hashes_leaves_only_texts_with_the_same_words():
    def everything(index, method):
        return set().union(*(own for own, _ in hash_sets(index, method=method)[0].values()))

    with docindex.open(":memory:", recipe=RECIPE) as index:
        for key, text in zip(
            "abc", ["the same header", "The same, header", "the same header and"], strict=True
        ):
            index.add(key, text)
        check(index, 0.5, ignore=everything)
        for method in ("shingles", "fingerprints"):
            threshold = Threshold(measure="resemblance", least=0.1, method=method)
            found = find_pairs(functools.partial(scope_of, index, everything(index, method)), threshold)
            assert [(pair.a, pair.b, pair.resemblance, pair.shared) for pair in found] == [("a", "b", 1.0, 0)]


def header_and_bodies(count, rng):
    """Texts that all begin with the same licence."""
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(2000)]
    licence = " ".join(rng.choices(words, k=80))
    for number in range(count):
        body = [f"{rng.choice(words)}{rng.randrange(10**6)}" for _ in range(rng.choice([5, 250]))]
        yield f"{number:05}", f"{licence} {' '.join(body)}"


def test_a_licence_at_the_beginning_of_all_texts_makes_few_meetings(monkeypatch):
    met = []
    original = candidates.meeting_pairs

    def counting(early, late, begins, counts):
        met.append(int(counts.sum()))
        return original(early, late, begins, counts)

    monkeypatch.setattr(candidates, "meeting_pairs", counting)
    with docindex.open(":memory:") as index:
        texts = [item for item in header_and_bodies(3000, random.Random(5)) if len(item[1]) > 1000]
        index.add_many(texts, workers=1)
        assert len(index) > 1000
        for method in ("shingles", "fingerprints"):
            assert list(index.pairs(min_containment=0.5, method=method)) == []
            assert sum(met) < 10 * len(index)
            met.clear()


def test_a_licence_at_the_beginning_of_all_texts_hides_no_pair():
    with docindex.open(":memory:") as index:
        index.add_many(header_and_bodies(120, random.Random(5)), workers=1)
        check(index, 0.3)
        check(index, 0.6)
        check(index, 0.3, ignore_above=100)


def test_pairs_of_ten_thousand_copies_are_made_one_at_a_time():
    with docindex.open(":memory:") as index:
        text = "a text that many have " * 9
        index.add_many(((f"{number:05}", text) for number in range(10_000)), workers=1)
        found = index.pairs(min_resemblance=0.5)
        first = list(itertools.islice(found, 12_000))
        assert first[9_998].b == "09999"
        assert (first[9_999].a, first[9_999].b, first[9_999].resemblance) == ("00001", "00002", 1.0)


def test_a_document_that_was_removed_after_the_question_is_left_out():
    with docindex.open(":memory:") as index:
        for key in "abc":
            index.add(key, "the same text for all of them")
        found = index.pairs(min_resemblance=0.5)
        index.remove("b")
        assert [(pair.a, pair.b) for pair in found] == [("a", "c")]


def estimated(index, least):
    """The definition of pairs by slots: the measures of each pair, without `basis`, by the two keys."""
    with index._store.reading() as db:
        rows = db.execute(
            "select key, slots, shingles, words_hash from docindex_document join docindex_content as "
            "content on content.id = content"
        ).fetchall()
    found = {}
    for (a, *of_a), (b, *of_b) in itertools.combinations(sorted(rows), 2):
        if of_a[2] == of_b[2]:
            found[a, b] = (1.0, 1.0, 1.0, RECIPE.slots, 0.0, 0.0, 0.0)
        elif of_a[1] and of_b[1]:
            slots_a, slots_b = slots_in([of_a[0], of_b[0]], RECIPE.slots)
            r, error = map(float, estimate_resemblance(slots_a, slots_b))
            size_a, size_b = of_a[1], of_b[1]
            both = min(r / (1 + r) * (size_a + size_b), size_a, size_b)
            slope = (size_a + size_b) / (1 + r) ** 2
            if r >= least:
                found[a, b] = (
                    *(both / size_a, both / size_b, r, int(np.count_nonzero(slots_a == slots_b))),
                    *(error * slope / size_a, error * slope / size_b, error),
                )
    return found


def measures_of(found):
    """The measures of pairs, as `estimated` gives them."""
    assert all(pair.basis == "slots" for pair in found)
    return {
        (pair.a, pair.b): (
            *(pair.containment, pair.reverse_containment, pair.resemblance, pair.shared),
            *(pair.containment_error, pair.reverse_containment_error, pair.resemblance_error),
        )
        for pair in found
    }


@pytest.mark.usefixtures("tight")
def test_slots_find_the_pairs_that_comparing_all_slots_finds():
    for seed in range(30):
        rng = random.Random(seed)
        with build(rng, 25) as index:
            least = rng.choice(THRESHOLDS)
            found = list(index.pairs(min_resemblance=least, method="slots"))
            expected = estimated(index, least)
            assert measures_of(found) == expected
            assert len(found) == len(expected)


@pytest.mark.usefixtures("tight")
def test_features_find_the_pairs_that_pass_the_filter():
    passed = 0
    for seed in range(30):
        with build(random.Random(seed), 25) as index:
            wanted = estimated(index, 0.5)
            found = measures_of(list(index.pairs(min_resemblance=0.5, method="features")))
            with index._store.reading() as db:
                rows = db.execute(
                    "select key, words_hash, shingles from docindex_document as d "
                    "join docindex_content as c on c.id = d.content"
                ).fetchall()
            values = {
                key: (
                    words,
                    set(docindex.sketch(index.text(key), RECIPE).features.tolist()) if shingles else {None},
                )
                for key, words, shingles in rows
            }
            expected = {
                pair: score
                for pair, score in wanted.items()
                if values[pair[0]][0] == values[pair[1]][0]
                or len((values[pair[0]][1] & values[pair[1]][1]) - {None}) >= RECIPE.features[2]
            }
            assert found == expected
            passed += len(expected)
    assert passed > 100


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_resemblance": 0.5, "min_containment": 0.5}, "either min_resemblance or min_containment"),
        ({"min_resemblance": 0}, "min_resemblance must be"),
        ({"min_resemblance": float("nan")}, "min_resemblance must be"),
        ({"min_containment": 1.5}, "min_containment must be"),
        ({"min_resemblance": 0.5, "method": "guessing"}, "method must be one of"),
        ({"min_resemblance": 0.5, "ignore_above": 0}, "ignore_above must be"),
        (
            {"min_resemblance": 0.5, "ignore_above": 3, "method": "slots"},
            "cannot ignore common text",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(wrong, message):
    with docindex.open(":memory:") as index, pytest.raises(ValueError, match=message):
        index.pairs(**wrong)


def test_a_threshold_may_be_a_number_of_another_type():
    with build(random.Random(2), 25) as index:
        expected = list(index.pairs(min_resemblance=0.5))
        assert expected
        for half in (Fraction(1, 2), np.float32(0.5)):
            assert list(index.pairs(min_resemblance=half)) == expected


def test_a_threshold_that_is_not_a_number_is_a_type_error():
    with docindex.open(":memory:") as index:
        with pytest.raises(TypeError, match="min_containment must be a number"):
            index.pairs(min_containment="x")
        with pytest.raises(TypeError, match="ignore_above must be a whole number"):
            index.pairs(min_resemblance=0.5, ignore_above=1.5)


def test_a_pair_by_slots_has_the_measures_of_comparing_its_sketches():
    compared = 0
    for seed in range(10):
        with build(random.Random(seed), 25) as index:
            sketches = {key: docindex.sketch(index.text(key), RECIPE) for key in index}
            for pair in index.pairs(min_resemblance=0.05, method="slots"):
                a, b = sketches[pair.a], sketches[pair.b]
                if a.words_hash != b.words_hash:
                    found = by_slots(a.slots, b.slots, a.shingles, b.shingles)
                    assert [getattr(pair, name) for name in NAMES] == [getattr(found, name) for name in NAMES]
                    assert not pair.exact
                    compared += 1
    assert compared > 100


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize(
    ("method", "measure"),
    [
        *itertools.product(METHODS, ["resemblance"]),
        ("shingles", "containment"),
        ("fingerprints", "containment"),
    ],
)
def test_pairs_can_be_stopped_at_every_step(method, measure):
    with build(random.Random(1), 20) as index:
        for steps in itertools.count():
            left = iter(range(steps))

            def check_cancelled(left=left):
                if next(left, None) is None:
                    raise KeyboardInterrupt

            scopes = functools.partial(scope_of, index, check_cancelled=check_cancelled)
            try:
                find_pairs(scopes, Threshold(measure=measure, least=0.5, method=method))
            except KeyboardInterrupt:
                continue
            break
        assert steps > 10


@pytest.fixture
def few_pairs(monkeypatch):
    """Let a few pairs be too many."""
    monkeypatch.setattr(join, "COMMON", 5)
    monkeypatch.setattr(join, "_FEW_COMPARED", 100)
    monkeypatch.setattr(join, "_COMPARED_EACH", 0)


@pytest.mark.usefixtures("few_pairs")
def test_too_many_pairs_are_counted_without_common_shingles_and_the_result_says_so():
    limits = set()
    for seed in range(40):
        rng = random.Random(seed)
        with build(rng, rng.randrange(30)) as index:
            least = rng.choice(THRESHOLDS[1:])
            questions = [
                functools.partial(index.pairs, min_resemblance=least),
                functools.partial(index.containments, least),
                functools.partial(index.clusters, least),
            ]
            for ask in questions:
                found = ask()
                assert found.ignore_above in (None, 5)
                limits.add(found.ignore_above)
                expected = ask(ignore_above=1000 if found.ignore_above is None else 5)
                assert list(found) == list(expected)
                assert found.set_aside == expected.set_aside
                assert ask(ignore_above=1000).ignore_above is None
    assert limits == {None, 5}


@pytest.mark.usefixtures("few_pairs")
@pytest.mark.parametrize("least", [0.1, 0.6])
def test_whether_pairs_are_too_many_does_not_depend_on_the_order_in_which_documents_were_added(least):
    for seed in range(30):
        rng = random.Random(seed)
        items = [(f"{number:02}", text) for number, text in enumerate(corpus(rng, rng.randrange(8, 16)))]
        found = []
        for _ in range(3):
            rng.shuffle(items)
            with docindex.open(":memory:", recipe=RECIPE) as index:
                index.add_many(items, workers=1)
                pairs = index.pairs(min_resemblance=least)
                found.append((pairs.ignore_above, pairs.set_aside, [(pair.a, pair.b) for pair in pairs]))
        assert found[0] == found[1] == found[2]
