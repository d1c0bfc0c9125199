"""What questions answer is plain data: it can be pickled, copied, counted, cut and turned into rows."""

import copy
import csv
import dataclasses
import io
import itertools
import json
import pickle
import sys

import numpy as np
import pytest

import docindex
from docindex.frontends.extracted import Place, Places
from tests.query import reworded
from tests.trials.crash import program

LICENCE = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software. "


@pytest.fixture(params=["in a file", "in memory"])
def index(request, tmp_path):
    path = ":memory:" if request.param == "in memory" else tmp_path / "index"
    with docindex.open(path) as index:
        for number in range(6):
            index.add(f"{number}", LICENCE * 3 + program.text_of(number)[: 200 * number])
        index.add("copy of 5", index.text("5"))
        index.add("COPY of 5", index.text("5").upper())
        index.add("alone", program.text_of(99))
        yield index


def values(index):
    (match, *_), (pair, *_) = index.search("5"), index.pairs(min_resemblance=0.1)
    return {
        "Match": match,
        "Pair": pair,
        "Comparison": index.compare("4", "5"),
        "Measures": index.measures("4", "5"),
        "Document": index["5"],
        "Sources": index.sources(index.text("5")),
        "Neighbour": index.near("5")[0],
        "Cluster": index.clusters(0.5)[0],
        "Stats": index.stats(),
    }


@pytest.mark.parametrize("name", sorted(["Match", "Pair", "Comparison", "Measures", "Document", "Neighbour",
                                         "Sources", "Cluster", "Stats"]))  # fmt: skip
def test_answers_survive_pickle_and_copy_and_become_json(index, name):
    value = values(index)[name]
    assert type(value) is getattr(docindex, name)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(value, protocol)) == value
    assert copy.copy(value) == copy.deepcopy(value) == value
    fields = dataclasses.asdict(value)
    assert json.loads(json.dumps(fields)).keys() == fields.keys()
    assert not [name for name in fields if name.startswith("_")]


def test_a_list_of_matches_and_of_clusters_can_be_sent_to_another_process(index):
    matches, clusters = index.search("5"), index.clusters(0.5)
    assert pickle.loads(pickle.dumps(matches)) == matches
    assert pickle.loads(pickle.dumps(clusters)) == clusters
    assert pickle.loads(pickle.dumps(index.execute("select 1 as one"))).columns == ("one",)


def test_a_match_knows_its_passages_as_long_as_the_index_is_open(index):
    match = index.search(docindex.Text(index.text("5")))[0]
    passages = match.passages()
    assert passages
    assert passages == list(index.compare(docindex.Text(index.text("5")), docindex.Id(match.id)).passages)
    index.close()
    with pytest.raises(ValueError, match="is closed"):
        match.passages()


@pytest.mark.parametrize("made", [copy.copy, lambda match: pickle.loads(pickle.dumps(match)),
                                  lambda match: dataclasses.replace(match, key="other")])  # fmt: skip
def test_a_copy_of_a_match_says_how_to_get_its_passages(index, made):
    with pytest.raises(ValueError, match=r"^this match is a copy .* use index.compare\(query, docindex.Id"):
        made(index.search("5")[0]).passages()


def test_answers_know_their_regions_as_long_as_the_index_is_open(index):
    index.add("original", reworded.B)
    compared = index.compare(reworded.A, "original")
    (region,) = compared.regions
    assert region.kind == "reworded"
    assert reworded.A[region.query_start : region.query_end] in reworded.REWORDED
    assert region.shared_words == 26
    (match, *_) = index.search(reworded.ORIGINAL)
    assert match.regions() == list(index.compare(reworded.ORIGINAL, "original").regions) != []
    unread = index.compare(reworded.A, "original", join=9, min_length=90)
    assert compared.passages == () == unread.passages
    assert unread.regions == (region,)
    unread = index.compare(reworded.A, "original")
    index.close()
    assert compared.regions == (region,)
    for ask in (match.regions, lambda: unread.regions):
        with pytest.raises(ValueError, match="is closed"):
            ask()


def test_regions_know_their_places_in_both_sources(index):
    pages = Places((0, reworded.B.index("Visitors")), (Place("page 1"), Place("page 2")))
    index.add("original", docindex.Extracted(reworded.B, pages))
    (region,) = index.compare(reworded.A, "original").regions
    assert (region.query_place, region.place) == ("", "page 1 to page 2")
    (region,) = index.compare("original", reworded.A).regions
    assert (region.query_place, region.place) == ("page 1 to page 2", "")


def test_no_question_looks_for_regions_before_somebody_reads_them(index, monkeypatch):
    monkeypatch.setattr("docindex.query.regions.evidence.regions", None)
    match, compared = index.search("5")[0], index.compare("4", "5")
    assert match.passages()
    assert compared.passages
    with pytest.raises(TypeError):
        compared.regions  # noqa: B018 - reading it looks for them


def test_a_text_that_is_not_kept_has_no_regions(index):
    index.add("sketch", reworded.B, store_text=False)
    assert index.compare(reworded.A, "sketch").regions == ()
    (match, *_) = index.search(reworded.B)
    assert match.key == "sketch"
    with pytest.raises(docindex.TextNotKept):
        match.regions()


@pytest.mark.parametrize("made", [copy.copy, lambda found: pickle.loads(pickle.dumps(found)),
                                  lambda found: dataclasses.replace(found, shared=1)])  # fmt: skip
def test_a_copy_of_an_answer_says_how_to_get_its_regions(index, made):
    with pytest.raises(ValueError, match=r"^this match is a copy .* docindex.Id\(match.id\)\).regions$"):
        made(index.search("5")[0]).regions()
    compared = index.compare("4", "5")
    assert compared.regions
    with pytest.raises(ValueError, match=r"^this comparison is a copy .* use index.compare\(a, b\).regions$"):
        made(compared).regions  # noqa: B018 - reading it raises


def test_a_document_reads_its_text(index):
    document = index["5"]
    assert document.text == index.text("5")
    index.add("sketch", "a text of which only the sketch is kept", store_text=False)
    assert index["sketch"].text is None
    only = index["alone"]
    index.add("alone", "replaced")
    with pytest.raises(KeyError):
        only.text  # noqa: B018 - reading it raises
    with pytest.raises(ValueError, match=r"^this document is a copy"):
        copy.copy(document).text  # noqa: B018


def test_pairs_are_a_sequence(index):
    pairs = index.pairs(min_resemblance=0.1)
    listed = list(pairs)
    assert len(listed) > 5
    assert len(pairs) == len(listed)
    places = [None, 0, 1, 3, -1, -4, len(listed), len(listed) + 5, -len(listed) - 5, np.int64(2)]
    for begin, end, step in itertools.product(places, places, [None, 1, 2, -1]):
        assert pairs[begin:end:step] == listed[begin:end:step], (begin, end, step)
    assert [pairs[number] for number in range(-len(listed), len(listed))] == listed * 2
    for number in (len(listed), -len(listed) - 1):
        with pytest.raises(IndexError, match=rf"^there is no pair {number}; there are {len(listed)} pairs$"):
            pairs[number]
    with pytest.raises(TypeError):
        pairs["0"]


@pytest.mark.parametrize("limit", [1, 2, 5, 1000, np.int64(3)])
@pytest.mark.parametrize("question", ["pairs", "containments"])
def test_a_limit_keeps_the_best_pairs(index, question, limit):
    def ask(limit=None):
        if question == "pairs":
            return index.pairs(min_resemblance=0.1, limit=limit)
        return index.containments(0.1, limit=limit)

    whole, some = list(ask()), ask(limit)
    assert list(some) == whole[:limit]
    assert len(some) == min(limit, len(whole))
    assert some[-1] == whole[:limit][-1]
    assert some[:4] == whole[:limit][:4]


@pytest.mark.parametrize("where", [None, "key <> 'copy of 5'"])
def test_the_length_counts_copies_and_only_documents_that_are_asked_about(index, where):
    for pairs in (index.pairs(min_resemblance=0.9, where=where), index.containments(0.9, where=where)):
        assert len(pairs) == len(list(pairs)) > 0
    index.remove("copy of 5")
    assert len(pairs) == len(list(pairs))
    assert not index.pairs(min_resemblance=0.9, where="key = 'alone'")


def test_a_limit_must_be_a_whole_number_above_0(index):
    for limit in (0, -1):
        with pytest.raises(ValueError, match=r"^limit must be a whole number of 1 or more"):
            index.pairs(min_resemblance=0.5, limit=limit)
    with pytest.raises(TypeError):
        index.containments(limit="10")


def test_pairs_become_dictionaries_and_csv(index):
    pairs = index.pairs(min_resemblance=0.1)
    rows = pairs.to_dicts()
    assert [docindex.Pair(**row) for row in rows] == list(pairs)
    assert list(rows[0])[:3] == ["a", "b", "a_id"]
    assert json.loads(json.dumps(rows)) == rows
    lines = io.StringIO()
    writer = csv.DictWriter(lines, rows[0])
    writer.writerows(rows)
    assert len(lines.getvalue().splitlines()) == len(pairs)


def test_pairs_become_an_arrow_table_with_the_same_values(index, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("docindex.query.pairs.pairs._IN_A_BATCH", 4)
    for pairs in (index.pairs(min_resemblance=0.1), index.pairs(min_resemblance=1.0, where="key = '1'")):
        table = pairs.to_arrow()
        assert table.to_pylist() == pairs.to_dicts()
        assert [(field.name, str(field.type)) for field in table.schema][:3] == [
            ("a", "string"),
            ("b", "string"),
            ("a_id", "int64"),
        ]


def test_without_pyarrow_to_arrow_says_what_is_missing(index, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"^to_arrow needs the package pyarrow; .* to_dicts\(\)$"):
        index.pairs(min_resemblance=0.5).to_arrow()


def test_the_repr_of_an_answer_is_short_and_says_what_matters(index):
    match, pairs = index.search("5")[0], index.pairs(min_resemblance=0.1)
    assert repr(match) == (
        f"Match({match.key!r}, containment=1.0, reverse_containment=1.0, resemblance=1.0, "
        f"shared={match.shared}, basis='fingerprints')"
    )
    assert repr(pairs) == f"<{len(pairs)} Pairs, the best: {pairs[0]!r}>"
    assert repr(pairs[0]).startswith("Pair('5', 'COPY of 5', containment=1.0, ") or "COPY" in repr(pairs[0])
    assert repr(index.pairs(min_resemblance=0.5, where="key = '1'")) == "<0 Pairs>"
    index.close()
    assert repr(pairs) == "<Pairs; their index is closed or busy>"
