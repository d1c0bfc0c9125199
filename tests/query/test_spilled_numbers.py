"""Numbers that go to a temporary file are read back as they were appended."""

import itertools
import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

import docindex
from docindex.query.pairs import spilled_numbers
from docindex.query.pairs.spilled_numbers import SpilledNumbers


def full_disk(**_):
    return Path("/dev/full").open("wb", buffering=0)


@pytest.mark.parametrize("in_memory", [0, 10, 1 << 20])
def test_every_range_is_read_as_it_was_appended(in_memory, monkeypatch):
    monkeypatch.setattr(spilled_numbers, "_IN_MEMORY", in_memory)
    rng, numbers, expected = random.Random(1), SpilledNumbers(), []
    for _ in range(40):
        some = [rng.getrandbits(64) for _ in range(rng.randrange(9))]
        numbers.append(np.array(some, np.uint64))
        expected += some
        assert len(numbers) == len(expected)
        begin = rng.randrange(len(expected) + 1)
        end = rng.randrange(begin, len(expected) + 1)
        assert numbers.read(begin, end).tolist() == expected[begin:end]
        begins = sorted(rng.randrange(len(expected) + 1) for _ in range(rng.randrange(6)))
        lengths = [rng.randrange(min(4, len(expected) - begin) + 1) for begin in begins]
        found = numbers.read_ranges(np.array(begins, np.int64), np.array(lengths, np.int64))
        parts = (expected[begin : begin + length] for begin, length in zip(begins, lengths, strict=True))
        assert found.tolist() == list(itertools.chain.from_iterable(parts))
    numbers.close()


def test_a_full_folder_for_temporary_files_is_named(monkeypatch):
    monkeypatch.setattr(spilled_numbers, "_IN_MEMORY", 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", full_disk)
    numbers = SpilledNumbers()
    with pytest.raises(docindex.DiskFull, match=r"folder for temporary files, .*, is full; free some space"):
        numbers.append(np.zeros(10, np.uint64))
    numbers.close()


def test_a_question_without_room_for_its_shingles_says_so(monkeypatch):
    monkeypatch.setattr(spilled_numbers, "_IN_MEMORY", 0)
    with docindex.open(":memory:") as index:
        for key in "abc":
            index.add(key, f"a text of more than five words, and its name is {key}")
        assert len(list(index.pairs(min_containment=0.5))) == 3
        monkeypatch.setattr(tempfile, "TemporaryFile", full_disk)
        with pytest.raises(docindex.DiskFull):
            index.pairs(min_containment=0.5)
        monkeypatch.undo()
        assert len(list(index.pairs(min_containment=0.5))) == 3
