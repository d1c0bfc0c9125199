"""The numbers in Broder, "On the resemblance and containment of documents" (1997)."""

import pytest

import docindex
from docindex import Recipe

A = "a rose is a rose is a rose"
B = "a rose is a flower which is a rose"


@pytest.mark.parametrize(("q", "percent"), [(1, 70), (2, 50), (3, 30)])
def test_as_bags_the_roses_resemble_each_other_by_70_50_and_30_percent(q, percent):
    assert docindex.resemblance(A, B, Recipe(shingle=q, bag=True)) == pytest.approx(percent / 100)


@pytest.mark.parametrize(("q", "share"), [(1, 3 / 5), (2, 1 / 2), (3, 3 / 7)])
def test_as_sets_the_roses_resemble_each_other_by_60_50_and_42_85_percent(q, share):
    assert docindex.resemblance(A, B, Recipe(shingle=q)) == pytest.approx(share)


def test_the_4_shingling_of_the_rose_has_five_members_as_a_bag_and_three_as_a_set():
    assert docindex.sketch(A, Recipe(shingle=4, bag=True)).shingles == 5
    assert docindex.sketch(A, Recipe(shingle=4)).shingles == 3


def test_a_permutation_of_a_text_can_resemble_it_by_100_percent():
    recipe = Recipe(shingle=2, bag=True)
    assert docindex.resemblance("a c a b a", "a b a c a", recipe) == 1.0


def test_a_contiguous_part_of_a_text_is_contained_in_it_by_100_percent():
    assert docindex.containment("rose is a flower", B, Recipe(shingle=2)) == 1.0
    assert docindex.containment(B, "rose is a flower", Recipe(shingle=2)) == 3 / 6
