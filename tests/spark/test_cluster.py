"""A cluster that loses a worker answers as an index does. `tests.spark.cluster_trial` is the long form."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.standalone_cluster import standalone_cluster, until

pytestmark = [
    pytest.mark.usefixtures("java"),
    pytest.mark.skipif(sys.platform != "linux", reason="the processes of a worker are found in /proc"),
]
ROOT = Path(__file__).parent.parent.parent
TRIAL = [sys.executable, "-m", "tests.spark.cluster_trial", "--cluster", "--made", "300", "--tasks", "8"]


def test_a_cluster_that_loses_a_worker_in_the_middle_answers_as_an_index_does():
    asked = ("--questions", "sketches", "near", "pairs", "clusters", "--kill", "pairs")
    trial = subprocess.run([*TRIAL, *asked], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert trial.returncode == 0, trial.stdout + trial.stderr
    assert trial.stdout.count("a worker was killed when") == 1
    assert trial.stdout.count("equal\n") == 5  # four answers, and all together
    assert trial.stdout.endswith("all answers are equal\n")


def test_no_process_of_a_cluster_is_left_after_the_program_that_started_it_was_killed(tmp_path):
    program = f"""
from tests.spark.standalone_cluster import standalone_cluster
with standalone_cluster({str(tmp_path)!r}, workers=1) as cluster:
    print(*(process for daemon in cluster.daemons for process in daemon.processes()), flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE) as child:
        processes = [int(word) for word in child.stdout.readline().split()]
        child.send_signal(signal.SIGKILL)
    assert len(processes) >= 4
    until("the end of all processes", lambda: not any(map(runs, processes)), lambda: processes)


def runs(process):
    return Path(f"/proc/{process}").exists()


def test_a_cluster_ends_with_its_block_although_the_block_fails(tmp_path):
    daemons = []

    def fail():
        with standalone_cluster(tmp_path, workers=1) as cluster:
            daemons.extend(cluster.daemons)
            assert all(daemon.processes() for daemon in daemons)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()
    assert [daemon.processes() for daemon in daemons] == [[], []]
