"""Run a standalone Spark cluster on this machine: a master, workers, and a way to kill a worker at work.

`standalone_cluster` starts the master and its workers on the loopback interface, each on free ports, with
their files in one folder. `worker_killed_in_the_middle` kills a worker, its executor and its Python processes
with SIGKILL while a question is being computed. All processes end with the `with` block, and also if this
process is killed: each is started by a shell that ends it when our end of a pipe is closed. For Linux.
"""

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
START_S = 60
SETTLED_S = 0.3
"""After this time the driver knows of all tasks that ended before a worker was halted."""
HALT_S = 5
"""A worker is halted for at most so long before it is killed."""
SUPERVISED = '"$@" & read -r _; kill -KILL 0'


class ClusterFailed(Exception):
    """A part of the cluster did not do in time what it should."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kill:
    """When a worker was killed."""

    stage: int
    finished: int
    tasks: int
    """So many of the stage's tasks were finished."""
    processes: int
    """So many processes were killed: the worker, its executor, and their Python processes."""

    def __str__(self):
        return (
            f"a worker was killed when {self.finished} of {self.tasks} tasks of stage {self.stage} were "
            f"done: {self.processes} processes"
        )


class Daemon:
    """A master or a worker: a Java process, and all processes that it starts, in a session of their own."""

    def __init__(self, log, environment, name, *arguments):
        self.log = log
        self.known = set()
        home = environment["SPARK_HOME"]
        command = [f"{home}/bin/spark-class", f"org.apache.spark.deploy.{name}", *arguments]
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", SUPERVISED, "sh", *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def logged(self, pattern):
        """The first match of a pattern in the log; waits for it."""
        return until(
            f"{pattern!r} in {self.log.name}",
            lambda: re.search(pattern, self.log.read_text("utf-8", "replace")),
            lambda: self.log.read_text("utf-8", "replace")[-2000:],
        )

    def processes(self):
        """The ids of all processes of the session."""
        return [
            int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._owns(entry)
        ]

    def _owns(self, entry):
        try:
            # The name of the program may contain anything, and ends with the last parenthesis.
            after_name = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return False
        state, session = after_name[0], int(after_name[3])
        return session == self.process.pid and state != "Z"

    def halt(self):
        """Stop all processes of the session until `go_on` or `kill`."""
        self._signal(signal.SIGSTOP)

    def go_on(self):
        """Let halted processes go on."""
        self._signal(signal.SIGCONT)

    def kill(self):
        """Kill all processes of the session; returns how many there were."""
        killed = set()
        while found := self._signal(signal.SIGKILL):
            killed.update(found)
            time.sleep(0.01)
        self.process.stdin.close()
        self.process.wait()
        return len(killed - {self.process.pid})

    def _signal(self, number):
        """Send a signal to all processes of the session; returns their ids."""
        for process in (found := self.processes()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        return found


class StandaloneCluster:
    """A master and its workers. Use `standalone_cluster`, which ends them."""

    def __init__(self, folder, *, memory="1g"):
        self.folder = Path(folder)
        self.memory = memory
        self.daemons = []
        self.workers = []
        self.url = self.page = None

    def start(self, workers):
        """Start the master and workers, and wait for them."""
        master = self._started(
            "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )  # fmt: skip
        self.url = master.logged(r"Starting Spark master at (\S+)")[1]
        self.page = master.logged(r"MasterWebUI, and started at (\S+)|MasterWebUI: Bound.* at (\S+)")
        self.page = self.page[1] or self.page[2]
        for _ in range(workers):
            self.add_worker()
        self.wait_for_workers()

    def add_worker(self):
        """Start a worker with one core."""
        work = self.folder / f"work-{len(self.daemons)}"
        place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0", "--work-dir", str(work))
        worker = self._started("worker.Worker", *place, "--cores", "1", "--memory", self.memory, self.url)
        self.workers.append(worker)

    def kill_worker(self):
        """Kill the worker that was started first, with its executors; returns the number of processes."""
        return self.workers.pop(0).kill()

    def wait_for_workers(self, *, executors=False):
        """Wait until the master knows each worker, and with `executors` until each has one for the driver."""
        until(
            f"{len(self.workers)} workers" + (" with executors" if executors else ""),
            lambda: self._alive(executors=executors) == len(self.workers),
            lambda: "\n".join(worker.log.read_text("utf-8", "replace")[-1000:] for worker in self.workers),
        )

    def _alive(self, *, executors):
        with urllib.request.urlopen(f"{self.page}/json/", timeout=START_S) as answer:
            workers = [worker for worker in json.load(answer)["workers"] if worker["state"] == "ALIVE"]
        return len([worker for worker in workers if worker["coresused"] or not executors])

    def settings(self):
        """The settings of a Spark session that works on this cluster."""
        return {
            "spark.master": self.url,
            "spark.executor.memory": self.memory,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Each worker must have its share of the tasks at once: otherwise one of them may be idle.
            "spark.locality.wait": "0",
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        }

    def stop(self):
        """Kill all processes that are left."""
        for daemon in self.daemons:
            daemon.kill()

    def _started(self, name, *arguments):
        log = self.folder / f"{len(self.daemons)}-{name}.log"
        self.daemons.append(daemon := Daemon(log, self._environment(), name, *arguments))
        return daemon

    def _environment(self):
        import pyspark

        return {
            **os.environ,
            "SPARK_HOME": str(Path(pyspark.__file__).parent),
            "SPARK_CONF_DIR": str(self.folder),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(self.folder),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
            "SPARK_PUBLIC_DNS": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        }


@contextlib.contextmanager
def standalone_cluster(folder, *, workers=2, memory="1g"):
    """A `StandaloneCluster` whose workers have one core each, and an executor of this memory each."""
    cluster = StandaloneCluster(folder, memory=memory)
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.stop()


@contextlib.contextmanager
def worker_killed_in_the_middle(cluster, context, *, stages=0, share=0.3):
    """Kill a worker while the block computes something on a Spark context; gives a list for the `Kill`.

    When `stages` stages are finished and each worker is at a task of a later one, a worker is halted, so that
    this stage cannot end. It is killed as soon as `share` of the tasks of the stage are finished, or when
    the others wait for it. `ClusterFailed` if this never happened in the block.
    """
    kills, failures, stop = [], [], threading.Event()

    def watch():
        try:
            kills.append(_kill_at(cluster, context.statusTracker(), stages, share, stop))
        except Exception as error:
            failures.append(error)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield kills
    finally:
        stop.set()
        watcher.join()
    if failures:
        raise ClusterFailed("the worker could not be killed") from failures[0]
    if kills == [None]:
        raise ClusterFailed("the work ended before a worker was killed: give it more tasks")


def _kill_at(cluster, tracker, stages, share, stop):
    """Kill a worker at the chosen moment; None if `stop` is set before."""
    seen = set()
    while not stop.is_set():
        active = [stage for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()) if stage]
        seen.update(stage.stageId for stage in active)
        for stage in active:
            ready = len(seen) - len(active) >= stages and stage.numActiveTasks >= len(cluster.workers)
            if ready and stage.numTasks > 1:
                victim = cluster.workers[0]
                victim.halt()
                if held := _held(tracker, stage.stageId, share):
                    return Kill(stage.stageId, held.numCompletedTasks, held.numTasks, cluster.kill_worker())
                victim.go_on()
        stop.wait(0.005)
    return None


def _held(tracker, stage_id, share):
    """A stage that a halted worker holds up, when enough of it is done; None if the stage has ended."""
    time.sleep(SETTLED_S)
    end = time.monotonic() + HALT_S
    while (stage := tracker.getStageInfo(stage_id)) and stage.numCompletedTasks < stage.numTasks:
        # The other workers may be waiting for results of the halted one: then no more will be done.
        if stage.numCompletedTasks >= share * stage.numTasks or time.monotonic() > end:
            return stage
        time.sleep(0.01)
    return None


def until(what, condition, details, seconds=START_S):
    """The value of a condition as soon as it is true; `ClusterFailed` with details if that takes too long."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise ClusterFailed(f"waited {seconds} s in vain for {what}\n{details()}")
        time.sleep(0.05)
    return value
