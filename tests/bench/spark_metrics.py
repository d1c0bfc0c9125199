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
    largest: "Largest"
    """The task that read the most shuffled bytes."""
    longest: "Largest"
    """The task that took the longest, in milliseconds."""

    def plus(self, other):
        """The cost of both."""
        return Cost(
            self.seconds + other.seconds,
            self.processor_s + other.processor_s,
            self.shuffled_bytes + other.shuffled_bytes,
            max(self.largest, other.largest),
            max(self.longest, other.longest),
        )


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Largest:
    """The largest task of all stages with several tasks."""

    amount: int = 0
    share: float = 0.0
    """Its share of its stage."""
    tasks: int = 0
    """The tasks of that stage: if all are equal, the share is 1 / tasks."""


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
        shuffled = sum(stage["shuffleWriteBytes"] for stage in stages)
        tasks = [self._tasks(stage) for stage in stages if stage["numTasks"] > 1]
        largest, longest = _largest(tasks, _bytes_read), _largest(tasks, _running_time)
        return result, Cost(seconds, processor, shuffled, largest, longest)

    def _stages(self):
        # The listener of the UI may be a little behind.
        time.sleep(0.5)
        return [stage for stage in self._answer("") if stage["status"] == "COMPLETE"]

    def _tasks(self, stage):
        return self._answer(f"/{stage['stageId']}/{stage['attemptId']}/taskList?length=100000")

    def _answer(self, path):
        with urllib.request.urlopen(self.address + path, timeout=60) as answer:
            return json.load(answer)


def _largest(stages, amount_of):
    found = [Largest()]
    for tasks in stages:
        amounts = [amount_of(task.get("taskMetrics", {})) for task in tasks]
        if any(amounts):
            found.append(Largest(max(amounts), max(amounts) / sum(amounts), len(amounts)))
    return max(found)


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
