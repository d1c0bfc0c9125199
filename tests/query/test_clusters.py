"""`clusters` gives the clusters of the plain definition, in whatever order the documents were added."""

import itertools
import random

import pytest

import docindex
from docindex import Recipe
from docindex.query.clusters import Cluster, Member
from docindex.query.pairs.joined import METHODS
from tests.query.test_pairs import RECIPE, THRESHOLDS, brute_pairs, build, corpus, hash_sets

LINKAGES = ["connected", "greedy", "complete"]


def definition(sets, least, linkage):
    """The definition: the keys of each cluster, found by visiting the documents one by one."""
    near = {key: set() for key in sets}
    score = {}
    for a, b, resemblance, *_ in brute_pairs(sets, least):
        near[a].add(b)
        near[b].add(a)
        score[a, b] = score[b, a] = resemblance
    free, found = set(sets), []
    for leader in sorted(sets, key=lambda key: (-len(near[key]), key)):
        if leader not in free:
            continue
        group = {leader}
        if linkage == "connected":
            while more := {b for a in group for b in near[a]} - group:
                group |= more
        elif linkage == "greedy":
            group |= near[leader] & free
        else:
            # Texts with the same words are in one cluster, even if other keys stand between theirs.
            same = {key: min(other for other in sets if sets[other][1] == sets[key][1]) for key in sets}
            for key in sorted(near[leader] & free, key=lambda key: (-score[leader, key], same[key], key)):
                if group <= near[key] | {key}:
                    group.add(key)
        free -= group
        if len(group) > 1:
            found.append(sorted(group))
    return sorted(found)


def keys_of(found):
    return sorted(sorted(cluster.keys) for cluster in found)


def check_reasons(index, cluster, least, linkage):
    """Check that each member is like a member before it, for the reason that it gives."""
    sets, _ = hash_sets(index)
    near = {(a, b): resemblance for a, b, resemblance, *_ in brute_pairs(sets, 1e-9)}
    seen = {}
    for member in cluster.members:
        if not seen:
            assert member == Member(member.key, member.id, "first", None, None, 1.0)
        else:
            assert member.like in seen
            assert member.resemblance == near[min(member.key, member.like), max(member.key, member.like)]
            same_words = sets[member.key][1] == sets[member.like][1]
            same_content = index[member.key].content == index[member.like].content
            expected = "exact copy" if same_content else "same words" if same_words else "near"
            assert member.why == expected
            assert member.resemblance >= least
            if linkage != "connected" and member.why == "near":
                assert member.like == cluster.members[0].key
        seen[member.key] = member
    if linkage != "connected":
        ordered = [(-member.resemblance, member.key) for member in cluster.members if member.why == "near"]
        assert ordered == sorted(ordered)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_clusters_are_those_of_the_definition(linkage):
    sizes = []
    for seed in range(60):
        rng = random.Random(seed)
        with build(rng, rng.randrange(30)) as index:
            least = rng.choice(THRESHOLDS[1:])
            sets, _ = hash_sets(index)
            found = index.clusters(least, linkage=linkage)
            assert keys_of(found) == definition(sets, least, linkage)
            order = [(-len(cluster), cluster.members[0].key) for cluster in found]
            assert order == sorted(order)
            for cluster in found:
                check_reasons(index, cluster, least, linkage)
                assert cluster.texts == len({index[key].content for key in cluster.keys})
            sizes += [len(cluster) for cluster in found]
    assert len(sizes) > 60


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("method", METHODS)
def test_clusters_do_not_depend_on_the_order_in_which_documents_were_added(linkage, method):
    for seed in range(15):
        rng = random.Random(seed)
        items = [(f"{number:02}", text) for number, text in enumerate(corpus(rng, 25))]
        found = []
        for _ in range(3):
            rng.shuffle(items)
            with docindex.open(":memory:", recipe=RECIPE) as index:
                cut = rng.randrange(25)
                index.add_many(items[:cut], workers=1)
                index.add("gone", rng.choice(items)[1] + " and more")
                index.add_many(items[cut:], workers=1)
                index.remove("gone")
                clusters = index.clusters(0.4, linkage=linkage, method=method)
                found.append([[(m.key, m.why, m.like, m.resemblance) for m in c.members] for c in clusters])
        assert found[0] == found[1] == found[2]


def test_members_and_pairs_come_with_the_ids_of_their_documents():
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add("gone", "a text")
        index.remove("gone")
        index.add_many([(f"{number:02}", text) for number, text in enumerate(corpus(random.Random(3), 25))])
        for member in (member for cluster in index.clusters(0.4) for member in cluster.members):
            assert member.id == index[member.key].id
            assert member.like_id == (index[member.like].id if member.like else None)
        for pair in (*index.pairs(min_resemblance=0.2), *index.containments(0.2)):
            assert (pair.a_id, pair.b_id) == (index[pair.a].id, index[pair.b].id)


def test_a_connected_cluster_grows_from_its_closest_members():
    # A chain: each text has most in common with its neighbours.
    words = ["".join(letters) for letters in itertools.permutations("abcde", 4)]
    pieces = [" ".join(random.Random(number).sample(words, 20)) for number in range(8)]
    with docindex.open(":memory:", recipe=RECIPE) as index:
        for number in range(6):
            index.add(f"{number}", " ".join(pieces[number : number + 3]))
        (cluster,) = index.clusters(0.4)
        assert sorted(cluster.keys) == [*"012345"]
        for member in cluster.members[1:]:
            assert abs(int(member.key) - int(member.like)) == 1
        apart = index.clusters(0.4, linkage="complete")
        assert [sorted(cluster.keys) for cluster in apart] == [["0", "1"], ["2", "3"], ["4", "5"]] or all(
            len(cluster) == 2 for cluster in apart
        )


def test_ten_thousand_copies_of_a_text_are_one_cluster():
    with docindex.open(":memory:") as index:
        text = "a text that many have " * 9
        index.add_many(((f"{number:05}", text) for number in range(10_000)), workers=1)
        index.add("other", text.title())
        for linkage in LINKAGES:
            (cluster,) = index.clusters(0.8, linkage=linkage)
            assert len(cluster) == 10_001
            assert cluster.texts == 2
            assert cluster.members[0] == Member("00000", 1, "first", None, None, 1.0)
            assert cluster.members[1] == Member("00001", 2, "exact copy", "00000", 1, 1.0)
            assert cluster.members[-1] == Member("other", 10_001, "same words", "00000", 1, 1.0)


def test_an_empty_index_has_no_clusters():
    with docindex.open(":memory:") as index:
        for linkage, method in itertools.product(LINKAGES, METHODS):
            assert index.clusters(0.5, linkage=linkage, method=method) == []


def test_only_documents_that_fulfil_the_condition_are_clustered():
    with docindex.open(":memory:") as index:
        for key in "abc":
            index.add(key, f"one and the same long enough text for all of them, except for the end: {key}")
        (cluster,) = index.clusters(0.3, where="key in ('a', 'b')")
        assert cluster == Cluster(cluster.members)
        assert sorted(cluster.keys) == ["a", "b"]


def test_an_unknown_linkage_is_refused():
    with docindex.open(":memory:") as index, pytest.raises(ValueError, match="linkage must be one of"):
        index.clusters(0.5, linkage="average")


def test_texts_with_the_same_words_in_other_lines_are_compared_by_their_lines():
    lines = [f"line {number}" for number in range(20)]
    with docindex.open(":memory:", recipe=Recipe(token="line", shingle=1)) as index:
        index.add("a", "\n".join(lines))
        index.add("b", "\n".join(lines[:10]) + " ".join(["", *lines[10:]]))
        for method in ("shingles", "slots"):
            (cluster,) = index.clusters(0.2, method=method)
            assert [member.why for member in cluster.members] == ["first", "near"]
            assert cluster.members[1].resemblance < 1
