"""A loss of power loses no finished commit. For longer: ``python -m tests.trials.crash.power_loss 3000``."""

import random

import pytest

from tests.trials.crash import power_loss, program
from tests.trials.crash.recording_vfs import SECTOR, Disk


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    program.shrink(monkeypatch.setattr)


def test_a_loss_of_power_loses_no_finished_commit_and_leaves_none_half_done(tmp_path):
    met, faults = power_loss.losses(tmp_path, 75, 1)
    assert faults == []
    assert met["losses"] == 75
    assert met["losses with a log"] > 50
    assert met["losses that undid the call under way"] > 30


@pytest.mark.parametrize("weakened", power_loss.WEAKENED[1:])
def test_the_losses_show_what_is_not_synced(tmp_path, weakened):
    _, faults = power_loss.losses(tmp_path, 10, 1, weakened)
    assert len(faults) > 2


def states(operations, files, turns=300):
    """All states that a loss after these operations leaves in many tries."""
    disk = Disk(files)
    for operation in operations:
        disk.do(operation)
    return [disk.after_loss(random.Random(turn)) for turn in range(turns)]


def test_what_was_synced_survives_every_loss():
    operations = [("write", "a", 2, b"xy"), ("truncate", "a", 3), ("sync", "a"), ("write", "b", 0, b"z")]
    assert {state["a"] for state in states(operations, {"a": b"0123456", "b": b""})} == {b"01x"}


def test_of_writes_that_were_not_synced_any_may_be_dropped_torn_or_garbage():
    old, new = bytes(2 * SECTOR), b"n" * (2 * SECTOR)
    found = {
        state["a"] for state in states([("write", "a", 0, new), ("write", "a", 5000, b"later")], {"a": old})
    }
    assert {old, new, new[:SECTOR] + old[SECTOR:]} <= {data[: 2 * SECTOR] for data in found}
    assert any(data.startswith(old) and data.endswith(b"later") for data in found), (
        "the second, not the first"
    )
    assert any(not set(data[:SECTOR]) <= {0, ord("n")} for data in found), "garbage"


def test_a_new_name_is_lost_until_the_folder_is_synced():
    operations = [("make", "log", True), ("write", "log", 0, b"x")]
    assert {"log" in state for state in states(operations, {})} == {True, False}
    assert {"log" in state for state in states([*operations, ("sync", "log")], {})} == {True}
    deleted = [*operations, ("sync", "log"), ("delete", "log", False)]
    assert {state.get("log") for state in states(deleted, {})} == {b"x", None}
    deleted[-1] = ("delete", "log", True)
    assert {state.get("log") for state in states(deleted, {})} == {None}
