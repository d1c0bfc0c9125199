"""Which pairs a report shows: many different ones, and nothing that a group shows already."""

import random

import pytest

import docindex
from docindex.report.chosen_pairs import choose_pairs
from docindex.report.groups import ReportFile, ReportGroup
from tests.storage.texts import prose


@pytest.fixture
def index():
    with docindex.open(":memory:") as opened:
        yield opened


def chosen(index, groups=(), limit=100, min_resemblance=0.1):
    found = choose_pairs(index, list(index.pairs(min_resemblance=min_resemblance)), groups, limit)
    return [{pair.a.rpartition("/")[2], pair.b.rpartition("/")[2]} for pair in found.pairs], found


def add_variants(index, name, count, words, rng):
    text = prose(rng, words)
    for number in range(count):
        index.add(f"/texts/{name}{number}", f"{text} {prose(rng, 20)}")


def test_one_pair_of_each_cluster_comes_before_the_second_of_any(index):
    rng = random.Random(1)
    add_variants(index, "licence", 8, 300, rng)
    add_variants(index, "letter", 2, 200, rng)
    add_variants(index, "note", 3, 100, rng)
    shown, _ = chosen(index, limit=3)
    kinds = [{name.rstrip("0123456789") for name in pair} for pair in shown]
    assert kinds == [{"licence"}, {"letter"}, {"note"}]
    shown, _ = chosen(index, limit=6)
    # Of the cluster with eight texts, the next pairs have other documents.
    assert len(set().union(*(pair for pair in shown if "licence" in min(pair)))) >= 6


def test_longer_shared_texts_come_first(index):
    rng = random.Random(2)
    for name, words in (("short", 40), ("long", 400), ("middle", 150)):
        add_variants(index, name, 2, words, rng)
    assert [min(pair) for pair in chosen(index)[0]] == ["long0", "middle0", "short0"]


def test_copies_that_a_group_shows_are_left_out_and_the_kept_file_stands_for_them(index):
    rng = random.Random(3)
    text = prose(rng, 200)
    index.add("/texts/a copy", text)
    index.add("/texts/original", text)
    index.add("/texts/draft", text[:900] + prose(rng, 50))
    files = [ReportFile("/texts/original", 9, keep=True), ReportFile("/texts/a copy", 9, keep=False)]
    shown, found = chosen(index, [ReportGroup("exact copies", files, 9)])
    assert shown == [{"original", "draft"}]
    assert found.in_groups == 2
    shown, found = chosen(index)
    assert shown[-1] == {"original", "a copy"}
    assert found.in_groups == 0


def test_the_files_of_a_copied_folder_are_left_out_but_not_those_that_differ(index):
    rng = random.Random(4)
    same, other = prose(rng, 200), prose(rng, 200)
    for folder in ("own", "backup"):
        index.add(f"/texts/{folder}/same", same)
        index.add(f"/texts/{folder}/other {folder}", f"{other} {prose(rng, 30)}")
    folders = [ReportFile("/texts/own", 9, keep=True), ReportFile("/texts/backup", 9, keep=False)]
    copies = [[ReportFile(f"/texts/{name}/same", 9, keep=name == "own") for name in ("own", "backup")]]
    shown, _ = chosen(index, [ReportGroup("copied folders", folders, 9, contents=copies)])
    assert shown == [{"other own", "other backup"}]


def test_licences_in_program_folders_are_left_out(index, tmp_path):
    rng = random.Random(5)
    licence = prose(rng, 200)
    for package in ("one", "two"):
        folder = tmp_path / "web" / "node_modules" / package
        folder.mkdir(parents=True)
        (folder / "package.json").write_text("{}")
        index.add(str(folder / "LICENSE"), f"{licence} {package}")
    index.add(str(tmp_path / "mine"), f"{licence} and more")
    index.add(str(tmp_path / "yours"), f"{licence} and less")
    shown, found = chosen(index)
    assert shown == [{"mine", "yours"}]
    assert found.in_programs == 5


def test_a_document_that_was_removed_is_no_reason_to_fail(index):
    rng = random.Random(6)
    add_variants(index, "text", 3, 100, rng)
    pairs = list(index.pairs(min_resemblance=0.1))
    index.remove("/texts/text0")
    assert len(choose_pairs(index, pairs, [], 100).pairs) == 3
