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
from docindex.kernels.table_design import TableDesign
from docindex.storage import simhash_index, tallies
from docindex.storage.connection import Store
from docindex.storage.migrations import empty_index
from tests.storage.damage import change_row
from tests.storage.texts import prose

BITS = 64
HIGH = 1 << 63
INDEXES = ("docindex_content_simhash", "docindex_content_simhash_22", "docindex_content_simhash_43")


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
    contents = range(first, first + step * len(signed), step)
    tallies.note(db, {"simhash": tallies.mixed_tally(contents, signed)})
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
    """All parts that `_by_lookup` or `_by_scan` yields, as triples in the order of `near_simhashes`."""
    places, contents, distances = np.concatenate([np.empty((3, 0), np.int64), *found], axis=1)
    return sorted(zip(places.tolist(), distances.tolist(), contents.tolist(), strict=True))


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


def test_flipped_bits_are_found_however_they_are_spread_over_the_blocks():
    rng = random.Random(1)
    blocks = [range(64 - turn - width, 64 - turn) for turn, width in simhash_index._BLOCKS]
    assert sorted(itertools.chain(*blocks)) == list(range(BITS))
    centre = rng.getrandbits(BITS) | HIGH
    for distance in range(9):
        simhashes = []
        for shares in itertools.product(range(distance + 1), repeat=3):
            if sum(shares) == distance:
                for choose in (lambda bits, n: bits[:n], lambda bits, n: bits[len(bits) - n :], rng.sample):
                    chosen = [choose(block, share) for block, share in zip(blocks, shares, strict=True)]
                    simhashes.append(centre ^ sum(1 << bit for bit in itertools.chain(*chosen)))
        db, query = filled(simhashes), np.array([centre], np.uint64)
        assert len(in_order(simhash_index._by_lookup(db, query, distance))) == len(simhashes)
        if distance:
            assert in_order(simhash_index._by_lookup(db, query, distance - 1)) == []


def test_flips_looked_up_plus_one_for_each_block_add_up_to_the_distance_plus_one():
    for distance in range(BITS):
        most = simhash_index._most_flips(distance)
        assert sum(flipped + 1 for flipped in most) == distance + 1
        assert min(most) >= -1


def test_each_value_that_a_block_can_have_is_looked_up_once():
    for width, most in ((1, 1), (5, 2), (5, 5), (21, 3)):
        found = simhash_index._flips(width, most).tolist()
        assert found == sorted({number << 64 - width for number in range(1 << width)} & set(found))
        expected = [number << 64 - width for number in range(1 << width) if number.bit_count() <= most]
        assert found == expected


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
    for count, expected in ((enough - 1, {simhash_index._ALL}), (enough, set(simhash_index._PROBES))):
        ran, db = set(), filled([number << 20 for number in range(count)])
        db.exec_trace = lambda _, statement, __, ran=ran: ran.add(statement) or True
        simhash_index.near_simhashes(db, simhashes, 3)
        ran = {statement for statement in ran if "main.docindex_tally" not in statement}
        assert ran == {simhash_index._COUNT, *expected}
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
def test_each_statement_reads_one_index_and_never_the_table(told_sizes):
    db = filled(range(1000))
    if told_sizes:
        db.execute("analyze").fetchall()
    wanted = apsw.carray(np.array([1], np.int64))
    for index, statement in zip(INDEXES, simhash_index._PROBES, strict=True):
        column = "simhash" if index == "docindex_content_simhash" else "<expr>"
        plan = [step for *_, step in db.execute(f"explain query plan {statement}", (wanted,))]
        assert plan == [
            "SCAN wanted VIRTUAL TABLE INDEX 1:",
            f"SEARCH main.docindex_content USING COVERING INDEX {index} ({column}>? AND {column}<?)",
        ]
    plan = [step for *_, step in db.execute(f"explain query plan {simhash_index._ALL}")]
    assert plan == ["SCAN main.docindex_content USING COVERING INDEX docindex_content_simhash"]
    plan = [step for *_, step in db.execute(f"explain query plan {simhash_index._COUNT}", (5,))]
    assert any(step.startswith("SCAN main.docindex_content USING COVERING INDEX") for step in plan)


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


def pages_of(path, name):
    """The offsets in a file where the pages of a table or an index begin."""
    with contextlib.closing(apsw.Connection(str(path))) as db:
        found = db.execute("select pageno from dbstat where name = ?", (name,)).fetchall()
        return [(page - 1) * db.pragma("page_size") for (page,) in found]


def change_index(path, name, old, new):
    """Fill an index by another definition than the one that the schema keeps."""
    for change, again in (((old, new), True), ((new, old), False)):
        with contextlib.closing(apsw.Connection(str(path))) as db:
            db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
            db.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
            update = "update sqlite_schema set sql = replace(sql, ?, ?) where name = ?"
            db.execute(update, (*change, name))
            assert db.changes() == 1
        if again:
            with contextlib.closing(apsw.Connection(str(path))) as db:
                db.execute(f"reindex {name}")


def test_simhashes_can_be_read_even_if_the_rows_of_the_table_are_damaged(whole, copy):
    source, queries = whole
    damaged = bytearray(source.read_bytes())
    pages = pages_of(source, "docindex_content")
    assert len(pages) > 1
    for begin in pages:
        damaged[begin : begin + 8192] = b"\xff" * 8192
    copy.write_bytes(damaged)
    expected = answers(source, queries)
    assert expected[0] == expected[1] != []
    assert answers(copy, queries) == expected


def test_a_changed_byte_of_an_index_is_an_error_or_harmless_or_named_by_check(whole, copy):
    path, queries = whole
    source, expected = path.read_bytes(), answers(path, queries)
    rng = random.Random(6)
    wrong = errors = named = 0
    for name in INDEXES:
        (begin,) = pages_of(path, name)
        used = [offset for offset in range(begin, begin + 8192) if source[offset] or offset < begin + 12]
        for offset in rng.sample(used, 60):
            damaged = bytearray(source)
            damaged[offset] ^= 1 << rng.randrange(8)
            copy.write_bytes(damaged)
            found = answers(copy, queries)
            with docindex.open(copy, readonly=True) as index:
                findings = index.check()
            assert findings or found == expected, (name, offset - begin)
            wrong += found[0] not in (expected[0], None)
            assert found[1] in (expected[1], None), (name, offset - begin)  # all rows are read and tallied
            errors += None in found
            named += bool(findings)
    # Most changes must hit bytes that are used, or the test shows nothing.
    assert wrong > 5
    assert errors > 5
    assert named > 150


@pytest.mark.parametrize("name", INDEXES)
def test_check_names_an_index_that_lost_a_row(name, copy):
    with contextlib.closing(apsw.Connection(str(copy))) as db:
        (sql,) = db.execute("select sql from sqlite_schema where name = ?", (name,)).fetchone()
    change_index(copy, name, sql, sql + " where id <> 7")
    with docindex.open(copy) as index:
        assert any(name in finding for finding in index.check())


def test_two_indexes_that_disagree_are_an_error_and_named_by_check(whole, copy):
    rotated = simhash_index._rotated(22)[1:-1]
    change_index(copy, "docindex_content_simhash_22", rotated, f"({rotated}) + 1")
    assert answers(copy, whole[1])[0] is None
    with docindex.open(copy) as index:
        assert any("docindex_content_simhash_22" in finding for finding in index.check())


@pytest.mark.parametrize("stored", ["'x'", "x'0102'", "1.5", "null", "cast(x'ff' as text)"])
def test_a_simhash_that_is_not_an_integer_is_an_error_and_named_by_check(stored, whole, copy):
    assert change_row(copy, f"update docindex_content set simhash = {stored} where id = 7", [])
    assert answers(copy, whole[1])[1] is None
    with docindex.open(copy) as index:
        assert any("content" in finding for finding in index.check())
