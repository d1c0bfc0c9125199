"""Read from Spark what its stages cost: shuffled bytes, the largest task's share, and processor time.

The numbers of stages come from the REST interface of the driver, which the Spark UI uses too. Spark counts
only the processor time of Java; so that of all processes of this program is read from /proc.
"""

import dataclasses
import json
import os
import time
import urllib.request
from pathlib import Path


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    """What some work cost."""

    seconds: float
    processor_s: float
    """Of this process, Java and all Python workers."""
    shuffled_bytes: int
    worst_share: float
    """The largest share of a stage's shuffled bytes that one task read, among stages with much to read."""
    tasks: int
    """The tasks of that stage: in an even stage the largest share is a little more than 1 / tasks."""
    longest_share: float
    """The largest share of a stage's running time that one task took, among stages that ran long."""


class Meter:
    """Measures work on a Spark session whose UI is enabled."""

    def __init__(self, session):
        context = session.sparkContext
        self.address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"

    def measured(self, work):
        """The result of some work, and its `Cost`."""
        before = {(stage["stageId"], stage["attemptId"]) for stage in self._stages()}
        begin, processor = time.perf_counter(), processor_seconds()
        result = work()
        seconds, processor = time.perf_counter() - begin, processor_seconds() - processor
        stages = [stage for stage in self._stages() if (stage["stageId"], stage["attemptId"]) not in before]
        worst, tasks = self._worst(stages, "shuffleReadBytes", _bytes_read)
        longest, _ = self._worst(stages, "executorRunTime", _running_time)
        shuffled = sum(stage["shuffleWriteBytes"] for stage in stages)
        return result, Cost(seconds, processor, shuffled, worst, tasks, longest)

    def _stages(self):
        # The listener of the UI may be a little behind.
        time.sleep(0.5)
        return [stage for stage in self._answer("") if stage["status"] == "COMPLETE"]

    def _worst(self, stages, total, of_task):
        """The largest share of a task in its stage, among stages with a tenth of all; and their tasks."""
        everything = sum(stage[total] for stage in stages)
        found = (0.0, 0)
        for stage in stages:
            if stage[total] * 10 < everything or stage["numTasks"] < 2:
                continue
            tasks = self._answer(f"/{stage['stageId']}/{stage['attemptId']}/taskList?length=100000")
            values = [of_task(task.get("taskMetrics", {})) for task in tasks]
            if sum(values):
                found = max(found, (max(values) / sum(values), len(values)))
        return found

    def _answer(self, path):
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            return json.load(answer)


def _bytes_read(metrics):
    read = metrics.get("shuffleReadMetrics", {})
    return read.get("remoteBytesRead", 0) + read.get("localBytesRead", 0)


def _running_time(metrics):
    return metrics.get("executorRunTime", 0)


def processor_seconds():
    """The processor time that this process and its descendants have used, also those that have ended."""
    parents, times = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name of the program may contain anything, and ends with the last parenthesis.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        process = int(entry.name)
        parents[process] = int(fields[1])
        # Own time, and that of children that were waited for.
        times[process] = sum(map(int, fields[11:15]))
    total = 0
    for process, ticks in times.items():
        ancestor = process
        while ancestor not in (os.getpid(), 0):
            ancestor = parents.get(ancestor, 0)
        total += ticks if ancestor else 0
    return total / os.sysconf("SC_CLK_TCK")
