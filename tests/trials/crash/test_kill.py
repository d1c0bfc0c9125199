"""A killed writer loses no call that had returned. In full: ``python -m tests.trials.crash.kill 10000``."""

import itertools
import random

import pytest

import docindex
from docindex.index.adding import Target
from tests.trials.crash import kill, program


@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_writer_loses_no_finished_call_and_leaves_none_half_done(tmp_path, monkeypatch, seed):
    program.shrink(monkeypatch.setattr)
    met = kill.kills(tmp_path, 30, seed)
    assert met["kills"] >= 30
    assert met["acknowledged calls"] > 30
    assert met["checks"] >= 2


def test_the_killed_program_predicts_what_the_index_holds(monkeypatch):
    """The kill test relies on these predictions, so they are compared with an index, call by call."""
    program.shrink(monkeypatch.setattr)
    state = {}
    with docindex.open(":memory:") as index:
        for call in itertools.islice(program.calls(random.Random(1), {}), 400):
            if call[0] != "backup":
                program.do(index, call)
                state = program.after(state, call)
                assert program.contents(index) == program.expected(state)
        assert index.check() == []


def test_the_killed_program_announces_the_commits_of_add_many(monkeypatch):
    program.shrink(monkeypatch.setattr)
    monkeypatch.setattr(Target, "commit", Target.commit)  # restores it after the test
    sizes, held = [], []
    with docindex.open(":memory:") as index:
        program.announce_commits(lambda _, size: (held.append(len(index)), sizes.append(size)))
        program.do(index, ("add_many", [(f"{number}", number, None) for number in range(1, 31)]))
        assert len(sizes) > 3
        assert held == [0, *itertools.accumulate(sizes)][:-1]
        assert len(index) == sum(sizes) == 30
