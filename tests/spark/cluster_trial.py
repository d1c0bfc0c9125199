"""``python -m tests.spark.cluster_trial``: ask Spark and an index the same, and lose a worker in the middle.

The documents are 100 MB of real text (``--megabytes``), or made ones (``--made 300``). An index answers each
question. Then Spark answers it in this process with two cores, and on a cluster of one master and two
workers, of which one is killed while it works on the question; another one then takes its place. The answers
must be equal: the sketches bit by bit, the others as sets, with all their numbers. ``--local`` and
``--cluster`` choose one of the two places, and ``--kill`` the questions during which a worker is killed. The
exit code is 0 if all answers are equal.
"""

import argparse
import contextlib
import dataclasses
import os
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import docindex
from docindex import spark
from tests.spark import questions
from tests.spark.standalone_cluster import standalone_cluster, worker_killed_in_the_middle
from tests.spark.trial_documents import made_documents, real_documents

SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    # A worker can be killed in the middle of a stage only if the stage has several tasks.
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.sql.files.openCostInBytes": "0",
}
KILLED = ["sketch", *(question.name for question in questions.QUESTIONS if question.is_work)]


def main():
    options = arguments()
    documents = made_documents(options.made) if options.made else real_documents(options.megabytes)
    size = sum(len(text.encode()) for text in documents.values()) / 1e6
    print(f"{len(documents):,} documents, {size:.1f} MB; load {os.getloadavg()[0]:.1f}", flush=True)
    places = [place for place in ("local", "cluster") if getattr(options, place)] or ["local", "cluster"]
    # `ignore_cleanup_errors`: a JVM that is ending may still write.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = Path(folder)
        store(documents, folder / "documents", options.tasks)
        with docindex.open(folder / "index") as index:
            timed("index", "add", lambda: index.add_many(documents.items()))
            asked = [question for question in questions.QUESTIONS if question.name in options.questions]
            expected = {
                question.name: timed("index", question.name, lambda question=question: question.of(index))
                for question in asked
            }
        trial = Trial(folder, asked, expected, options.kill, options.tasks)
        equal = [getattr(trial, place)() for place in places]
    print("all answers are equal" if all(equal) else "ANSWERS DIFFER")
    sys.exit(0 if all(equal) else 1)


def arguments():
    parser = argparse.ArgumentParser(prog="python -m tests.spark.cluster_trial", description=__doc__)
    names = [question.name for question in questions.QUESTIONS]
    parser.add_argument("--megabytes", type=int, default=100, help="how much real text (default: 100)")
    parser.add_argument("--made", type=int, help="use so many made documents instead of real text")
    parser.add_argument("--tasks", type=int, default=8, help="tasks of a stage (default: %(default)s)")
    parser.add_argument("--local", action="store_true", help="only in this process")
    parser.add_argument("--cluster", action="store_true", help="only on a cluster")
    parser.add_argument(
        "--questions", nargs="+", choices=names, default=names, help="which questions (default: all)"
    )
    parser.add_argument(
        "--kill",
        nargs="*",
        choices=KILLED,
        default=KILLED,
        help="during which questions a worker is killed (default: all that take long enough)",
    )
    return parser.parse_args()


def store(documents, folder, files):
    """Write documents as Parquet, in so many files."""
    folder.mkdir()
    items = list(documents.items())
    for number in range(files):
        keys, texts = zip(*items[number::files], strict=True)
        pq.write_table(pa.table({"key": keys, "text": texts}), folder / f"{number}.parquet")


@dataclasses.dataclass(frozen=True, slots=True)
class Trial:
    """What is asked about the documents in a folder, and the right answers."""

    folder: Path
    asked: list
    expected: dict
    kill: list
    """The questions during which a worker is killed."""
    tasks: int
    """The tasks of a stage."""

    def settings(self, of_place):
        """The settings of a Spark session."""
        names = "spark.sql.shuffle.partitions", "spark.sql.files.minPartitionNum"
        return SETTINGS | dict.fromkeys(names, str(self.tasks)) | of_place

    def local(self):
        """Ask Spark in local mode; whether all answers are equal."""
        with session_of(self.settings({"spark.master": "local[2]"})) as session:
            return self._answer("local", session, lambda _name: contextlib.nullcontext([]))

    def cluster(self):
        """Ask a cluster, and kill workers; whether all answers are equal."""
        (self.folder / "cluster").mkdir()
        with (
            standalone_cluster(self.folder / "cluster", memory="1500m") as cluster,
            session_of(self.settings(cluster.settings())) as session,
        ):

            @contextlib.contextmanager
            def killing(name):
                if name not in self.kill:
                    yield []
                    return
                if len(cluster.workers) < 2:
                    cluster.add_worker()
                cluster.wait_for_workers(executors=True)
                # After a stage, the worker has results that the next stages need: they are lost, too.
                stages = 0 if name == "sketch" else 1
                with worker_killed_in_the_middle(cluster, session.sparkContext, stages=stages) as kills:
                    yield kills

            return self._answer("cluster", session, killing)

    def _answer(self, place, session, killing):
        """Sketch the documents on Spark, ask each question, and compare; whether all answers are equal."""
        sketches = str(self.folder / f"sketches-{place}")
        with killing("sketch") as kills:
            timed(place, "sketch", lambda: sketch(session, str(self.folder / "documents"), sketches))
        say(kills)
        frame = session.read.parquet(sketches)
        results = []
        for question in self.asked:
            with killing(question.name) as kills:
                found = timed(place, question.name, lambda question=question: question.by_spark(frame))
            say(kills)
            results.append(questions.compare(found, self.expected[question.name]))
            print(f"{place:9}{question.name:15}{results[-1] or 'equal'}", flush=True)
        return not any(results)


def sketch(session, documents, sketches):
    spark.sketch(session.read.parquet(documents)).write.parquet(sketches)
    return range(session.read.parquet(sketches).count())


def say(kills):
    for kill in kills:
        print(f"{'':9}{kill}", flush=True)


@contextlib.contextmanager
def session_of(settings):
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def timed(place, name, work):
    """The result of some work, whose duration is printed, with the load of the machine."""
    begin = time.perf_counter()
    found = work()
    took, load = time.perf_counter() - begin, os.getloadavg()[0]
    count = f"{found:,}" if isinstance(found, int) else f"{len(found):,}"
    print(f"{place:9}{name:15}{count:>12}{took:9.1f} s   load {load:.1f}", flush=True)
    return found


if __name__ == "__main__":
    main()
