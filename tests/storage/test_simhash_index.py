"""Exactly the contents within a distance are found, by look-up and by reading all simhashes."""

import contextlib
import itertools
import random
import shutil

import apsw
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import docindex
from docindex.simhashing.table_design import TableDesign
from docindex.storage import tallies
from docindex.storage.file.connection import Store
from docindex.storage.migrations import empty_index
from docindex.storage.postings import segment_writer, simhash_index
from docindex.storage.postings.segments import NO_POSTINGS, NewPostings, Postings
from tests.storage.damage import change_row
from tests.storage.texts import prose

BITS = 64
HIGH = 1 << 63


def filled(simhashes, first=10, step=3):
    """A database in memory whose contents have these simhashes. There are gaps between the content ids."""
    db = empty_index()
    signed = np.array(simhashes, np.uint64).view(np.int64).tolist()
    db.executemany(
        "insert into docindex_content (id, symbols, shingles, kept, hashes, hash, words_hash, "
        "characters, fingerprints, simhash, slots, sum) "
        "values (?1, 0, 0, 0, 0, cast(?1 as blob), x'', 0, 0, ?2, x'', 0)",
        ((first + step * number, simhash) for number, simhash in enumerate(signed)),
    )
    tallies.note(db, "content", added=[0] * len(signed))
    # As if there had been three commits, whose segments a merge has not finished to join.
    for some in np.array_split(np.arange(len(signed)), 3):
        bands = simhash_index.bands_of(np.array(simhashes, np.uint64)[some])
        postings = Postings(bands.ravel(), first + step * some, np.full(len(some), 3))
        segment_writer.add_postings(db, NewPostings(NO_POSTINGS, NO_POSTINGS, postings))
    return db


def plain(simhashes, query, distance, first=10, step=3):
    """The definition of what is within a distance: (distance, content) pairs in their order."""
    apart = [((query ^ simhash).bit_count(), first + step * n) for n, simhash in enumerate(simhashes)]
    return sorted(pair for pair in apart if pair[0] <= distance)


def near_one(db, simhash, distance):
    """What `near_simhashes` returns for a single simhash, as (distance, content) pairs."""
    places, contents, distances = simhash_index.near_simhashes(db, [simhash], distance)
    assert not places.any()
    return list(zip(distances.tolist(), contents.tolist(), strict=True))


def triples(found):
    """The arrays that `near_simhashes` returns, as (place, content, distance) triples."""
    return list(zip(*(column.tolist() for column in found), strict=True))


def in_order(found):
    """All parts that `_by_lookup` or `_by_scan` yields, as triples in the order of `near_simhashes`.

    A look-up may find a content by each of its bands.
    """
    places, contents, distances = np.concatenate([np.empty((3, 0), np.int64), *found], axis=1)
    return sorted(set(zip(places.tolist(), distances.tolist(), contents.tolist(), strict=True)))


numbers = st.integers(0, 2**BITS - 1) | st.sampled_from([0, 1, HIGH - 1, HIGH, 2**BITS - 1])
flips = st.sets(st.integers(0, BITS - 1), max_size=10).map(lambda bits: sum(1 << bit for bit in bits))


@st.composite
def families(draw):
    """Simhashes around a few centres, with repetitions; and one more as the query."""
    centres = draw(st.lists(numbers, min_size=1, max_size=3))
    members = st.builds(int.__xor__, st.sampled_from(centres), flips)
    return draw(st.lists(members, max_size=30)), draw(members)


@given(families(), st.integers(0, 12))
@example(([HIGH, 0, 2**BITS - 1, HIGH, HIGH | 1], HIGH), 1)
@example(([], 0), 3)
def test_lookup_finds_what_the_definition_says(family, distance):
    simhashes, query = family
    found = in_order(simhash_index._by_lookup(filled(simhashes), np.array([query], np.uint64), distance))
    assert [(apart, content) for _, apart, content in found] == plain(simhashes, query, distance)


@given(families(), st.integers(0, BITS - 1))
@example(([HIGH, 0, 2**BITS - 1], HIGH - 1), 63)
def test_near_simhashes_finds_what_the_definition_says(family, distance):
    simhashes, query = family
    db = filled(simhashes)
    assert near_one(db, query, distance) == plain(simhashes, query, distance)
    found = simhash_index.near_simhashes(db, [query], distance)
    assert [column.dtype for column in found] == [np.int64, np.int64, np.int64]


@pytest.mark.parametrize("tables", [True, False])
@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
@given(family=families(), more=st.lists(numbers, max_size=40), distance=st.integers(0, 8))
def test_reading_all_finds_what_the_definition_says(tables, at_once, family, more, distance):
    simhashes, query = family
    queries = [query, *more]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simhash_index, "_PAIR", 1e9 if tables else 0)
        patch.setattr(simhash_index, "_QUERY", 0)
        patch.setattr(simhash_index, "_IN_TABLES", at_once)
        patch.setattr(simhash_index, "_AT_ONCE", at_once)
        design = simhash_index._cheapest_design(1, 1000, distance)
        assert isinstance(design, TableDesign if tables else type(None))
        db, array = filled(simhashes), np.array(queries, np.uint64)
        found = in_order(simhash_index._by_scan(db, array, distance, count=1000))
    assert found == [
        (place, *pair) for place, one in enumerate(queries) for pair in plain(simhashes, one, distance)
    ]


def test_every_pattern_of_up_to_three_flipped_bits_is_found():
    centre = 0x9E37_79B9_7F4A_7C15
    assert centre & HIGH
    patterns = [
        sum(1 << bit for bit in bits)
        for apart in range(4)
        for bits in itertools.combinations(range(BITS), apart)
    ]
    simhashes = [centre ^ pattern for pattern in patterns]
    db = filled(simhashes)
    for distance, expected in ((0, 1), (1, 65), (2, 2081), (3, 43_745)):
        assert len(near_one(db, centre, distance)) == expected
    # The first pattern of three bits has them at one end, the last pattern at the other.
    for simhash in (simhashes[2081], simhashes[-1]):
        assert near_one(db, simhash, 3) == plain(simhashes, simhash, 3)


def test_flipped_bits_are_found_however_they_are_spread_over_the_bands():
    rng = random.Random(1)
    bands = [range(64 - above - width, 64 - above) for above, width in simhash_index._BANDS]
    assert sorted(itertools.chain(*bands)) == list(range(BITS))
    centre = rng.getrandbits(BITS) | HIGH
    for distance in range(9):
        simhashes = []
        for shares in itertools.product(range(distance + 1), repeat=3):
            if sum(shares) == distance:
                for choose in (lambda bits, n: bits[:n], lambda bits, n: bits[len(bits) - n :], rng.sample):
                    chosen = [choose(band, share) for band, share in zip(bands, shares, strict=True)]
                    simhashes.append(centre ^ sum(1 << bit for bit in itertools.chain(*chosen)))
        db, query = filled(simhashes), np.array([centre], np.uint64)
        assert len(in_order(simhash_index._by_lookup(db, query, distance))) == len(simhashes)
        if distance:
            assert in_order(simhash_index._by_lookup(db, query, distance - 1)) == []


def test_flips_looked_up_plus_one_for_each_band_add_up_to_the_distance_plus_one():
    for distance in range(BITS):
        most = simhash_index._most_flips(distance)
        assert sum(flipped + 1 for flipped in most) == distance + 1
        assert min(most) >= -1


@pytest.mark.parametrize("distance", [0, 1, 2, 3, 5, 8])
def test_each_value_that_a_band_may_have_is_looked_up_once(distance):
    numbers, flipped, others = simhash_index._flips(distance)
    for number, (_, width) in enumerate(simhash_index._BANDS):
        below, most = 62 - width, simhash_index._most_flips(distance)[number]
        assert set(others[numbers == number].tolist()) <= {(1 << below) - 1}
        assert sorted(flipped[numbers == number].tolist()) == sorted(
            sum(1 << below + bit for bit in bits)
            for count in range(most + 1)
            for bits in itertools.combinations(range(width), count)
        )


def test_a_band_begins_with_its_number_then_the_simhash_rotated_until_the_band_leads():
    simhash = 0x9E37_79B9_7F4A_7C15
    bits = f"{simhash:064b}"
    found = [f"{band:064b}" for band in simhash_index.bands_of(np.array([simhash], np.uint64))[0].tolist()]
    assert found == [
        "00" + bits[:62],
        "01" + (bits[22:] + bits[:22])[:62],
        "10" + (bits[43:] + bits[:43])[:62],
    ]


@pytest.mark.parametrize("distance", [0, 3, 5, 8, 15])
def test_look_up_and_reading_all_give_the_same_answer(distance):
    rng = np.random.default_rng(distance)
    simhashes = rng.integers(0, 2**BITS, 3000, np.uint64)
    simhashes[1500:] = simhashes[:1500]
    for _ in range(distance):
        simhashes[1000:2000] ^= np.uint64(1) << rng.integers(0, BITS, 1000, np.uint64)
    db, queries = filled(simhashes.tolist()), simhashes[rng.integers(0, 3000, 500)]
    found = triples(simhash_index.near_simhashes(db, queries, distance))
    looked_up = in_order(simhash_index._by_lookup(db, queries[:20], distance))
    one_by_one = [(n, *pair) for n, one in enumerate(queries) for pair in near_one(db, one, distance)]
    assert [(place, apart, content) for place, content, apart in found] == one_by_one
    assert looked_up == [hit for hit in one_by_one if hit[0] < 20]
    assert len(found) > 800  # each query and its copy, unless flips moved them too far apart


@pytest.mark.parametrize("distance", [0, 3, 7])
def test_the_answer_is_the_same_just_below_and_above_the_number_where_look_ups_begin(distance):
    enough = simhash_index._min_contents(1, distance)
    for count in (enough - 1, enough, enough + 1):
        simhashes = [HIGH ^ number << 20 for number in range(count)]
        assert near_one(filled(simhashes), HIGH, distance) == plain(simhashes, HIGH, distance)


@pytest.mark.parametrize("queries", [1, 5])
def test_few_contents_are_all_read_and_many_are_looked_up(queries):
    simhashes = np.arange(queries, dtype=np.uint64)
    enough = simhash_index._min_contents(queries, 3)
    assert 100 * queries < enough < 1000 * queries
    for count, expected in ((enough - 1, simhash_index._ALL), (enough, simhash_index._SIMHASHES)):
        ran, db = set(), filled([number << 20 for number in range(count)])
        db.exec_trace = lambda _, statement, __, ran=ran: ran.add(statement) or True
        simhash_index.near_simhashes(db, simhashes, 3)
        assert [statement for statement in ran if "docindex_content" in statement] == [expected]
    # There are so many values to look up that no number of contents makes it worthwhile.
    assert simhash_index._min_contents(1, 63) == simhash_index._NEVER
    assert simhash_index._min_contents(1 << 40, 3) == simhash_index._NEVER


def test_the_answer_is_ordered_by_query_then_distance_then_content():
    db = filled([7, 1, 3, 1, 0])
    assert triples(simhash_index.near_simhashes(db, np.array([1, 0], np.uint64), 2)) == [
        *((0, 13, 0), (0, 19, 0), (0, 16, 1), (0, 22, 1), (0, 10, 2)),
        *((1, 22, 0), (1, 13, 1), (1, 19, 1), (1, 16, 2)),
    ]


def test_an_empty_index_and_an_empty_query_give_an_empty_answer():
    with docindex.open(":memory:") as index, index._store.reading() as db:
        for distance in (0, 3, 63):
            assert near_one(db, HIGH, distance) == []
            assert triples(simhash_index.near_simhashes(db, np.array([1, 2], np.uint64), distance)) == []
    for found in simhash_index.near_simhashes(filled([1, 2]), np.array([], np.uint64), 3):
        assert (len(found), found.dtype) == (0, np.int64)


def test_only_contents_that_exist_are_found():
    with docindex.open(":memory:") as index:
        text = prose(random.Random(1), 100)
        index.add_many([("first", text), ("copy", text), ("other", text + " and more"), ("gone", text + ".")])
        index.add("changed", text + "!")

        def near():
            simhash = index["first"].simhash
            with index._store.reading() as db:
                found = near_one(db, simhash, 63)
            return {
                content: (simhash ^ index[key].simhash).bit_count() == apart
                for apart, content in found
                for key in index
                if index[key].content == content
            }

        keys = ("first", "other", "gone", "changed")
        assert near() == {index[key].content: True for key in keys}
        index.remove("gone")
        index.add("changed", "something else altogether, and then some")
        index.remove("copy")
        assert near() == {index[key].content: True for key in keys if key != "gone"}
        index.optimize()
        assert near() == {index[key].content: True for key in keys if key != "gone"}


@pytest.mark.parametrize("distance", [-1, 64, 1 << 70])
def test_an_impossible_distance_is_refused(distance):
    db = filled([1])
    with pytest.raises(ValueError, match=f"a distance of {distance}: expected 0 to 63"):
        simhash_index.near_simhashes(db, [1], distance)
    with pytest.raises(ValueError, match="expected 0 to 63"):
        simhash_index.near_simhashes(db, np.array([], np.uint64), distance)


def test_a_simhash_beyond_64_bits_is_refused_and_a_signed_one_is_accepted():
    db = filled([HIGH | 5])
    with pytest.raises(ValueError, match="64 bits"):
        simhash_index.near_simhashes(db, [1 << 64], 3)
    assert near_one(db, (HIGH | 5) - (1 << 64), 0) == [(0, 10)]


@pytest.mark.parametrize("told_sizes", [False, True])
def test_a_look_up_reads_only_the_rows_of_contents_that_it_found(told_sizes):
    db = filled(range(1000))
    if told_sizes:
        db.execute("analyze").fetchall()
    wanted = apsw.carray(np.array([1], np.int64))
    plan = [step for *_, step in db.execute(f"explain query plan {simhash_index._SIMHASHES}", (wanted,))]
    assert plan == [
        "SCAN wanted VIRTUAL TABLE INDEX 1:",
        "SEARCH c USING INTEGER PRIMARY KEY (rowid=?)",
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A file with documents of which several are similar; and the simhashes of some of them."""
    path = tmp_path_factory.mktemp("whole") / "index"
    rng = random.Random(5)
    texts = [prose(rng, 60) for _ in range(8)]
    with docindex.open(path) as index:
        index.add_many([(f"{n}", texts[n % 8] + f" number {n}" * (n // 8)) for n in range(40)], workers=1)
        return path, np.array([index[key].simhash for key in index][::3], np.uint64)


@pytest.fixture
def copy(whole, tmp_path):
    """A copy of the file that a test may damage."""
    return shutil.copy(whole[0], tmp_path / "index")


def answers(path, queries):
    """The answers by look-up and by reading all; None for an error about damage.

    The file is not opened as an index, because that would read more of it.
    """
    ways = (simhash_index._by_lookup, lambda *bound: simhash_index._by_scan(*bound, count=40))
    found = []
    with contextlib.closing(Store(str(path), readonly=True, durability="full", timeout_s=0)) as store:
        for way in ways:
            try:
                with store.reading() as db:
                    found.append(in_order(way(db, queries, 8)))
            except docindex.CorruptIndex:
                found.append(None)
    return found


OF_BANDS = "id >> 32 in (select id from docindex_segment where kind = 2)"


def findings(path):
    with docindex.open(path) as index:
        return index.check()


@pytest.mark.parametrize("place", [1, 2, 100, 300, "last"])
def test_a_changed_byte_of_the_bands_is_an_error_and_named_by_check(place, whole, copy):
    with contextlib.closing(apsw.Connection(str(copy))) as db:
        (row, keys) = db.execute(f"select id, keys from docindex_posting where {OF_BANDS}").fetchone()
        damaged = bytearray(keys)
        damaged[len(keys) - 1 if place == "last" else place] ^= 4
        db.execute("update docindex_posting set keys = ? where id = ?", (bytes(damaged), row))
    assert answers(copy, whole[1])[0] is None
    assert any("was changed" in finding for finding in findings(copy))


def test_missing_blocks_of_bands_are_an_error_and_named_by_check(whole, copy):
    assert change_row(copy, f"delete from docindex_posting where {OF_BANDS}", [])
    assert answers(copy, whole[1])[0] is None
    assert any("missing" in finding for finding in findings(copy))


def test_check_names_a_missing_segment_of_bands(copy):
    assert change_row(copy, "delete from docindex_segment where kind = 2", [])
    assert "some blocks belong to no segment" in findings(copy)


def test_check_names_a_band_of_another_simhash(whole, copy):
    queries = whole[1]
    with docindex.open(copy) as index, index._store.writing() as db:
        bands = simhash_index.bands_of(queries[:1] ^ np.uint64(1))
        postings = Postings(bands.ravel(), np.array([7]), np.array([3]))
        segment_writer.add_postings(db, NewPostings(NO_POSTINGS, NO_POSTINGS, postings))
    assert "the inverted index does not match the simhashes of the contents" in findings(copy)


def test_check_names_a_changed_simhash(copy):
    assert change_row(copy, "update docindex_content set simhash = simhash + 1 where id = 1", [])
    assert any("content 1 was changed" in finding for finding in findings(copy))


def test_a_content_that_lost_its_row_is_an_error_and_named_by_check(whole, copy):
    assert change_row(copy, "delete from docindex_content where id = 1", [])
    assert answers(copy, whole[1])[0] is None
    assert any("missing" in finding for finding in findings(copy))


@pytest.mark.parametrize("stored", ["'x'", "x'0102'", "1.5", "null", "cast(x'ff' as text)"])
def test_a_simhash_that_is_not_an_integer_is_an_error_and_named_by_check(stored, whole, copy):
    assert change_row(copy, f"update docindex_content set simhash = {stored} where id = 7", [])
    assert answers(copy, whole[1])[1] is None
    with docindex.open(copy) as index:
        assert any("content" in finding for finding in index.check())
