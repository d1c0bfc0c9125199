import pytest

import docindex
from docindex import Recipe
from docindex.sketching.sketcher import sketch_batches


def test_a_batch_iterates_over_its_sketches_and_refuses_a_number_beyond_the_last():
    (batch,) = sketch_batches(["a", "b"], Recipe())
    assert [sketch.symbols for sketch in batch] == [1, 1]
    with pytest.raises(IndexError, match="batch of 2 sketches"):
        batch[2]


def test_sketches_and_fingerprints_are_equal_only_to_themselves_and_can_be_hashed():
    for make in (docindex.sketch, docindex.fingerprints):
        one, other = make("a text"), make("a text")
        assert one == one
        assert one != other
        assert len({one, other}) == 2
