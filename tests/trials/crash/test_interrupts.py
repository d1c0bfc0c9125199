"""Interrupts at any instruction lose nothing. In full: ``python -m tests.trials.crash.interrupts 5000``."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("seed", [1, 2])
def test_an_index_that_is_interrupted_at_any_instruction_can_be_closed_and_has_lost_nothing(seed):
    """In a process of its own, which ends itself if it hangs."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.trials.crash.interrupts", "300", "--seed", str(seed)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "nothing lost, nothing hangs" in done.stdout
