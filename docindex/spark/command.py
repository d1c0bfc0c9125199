"""The command ``python -m docindex.spark``, also for spark-submit: deduplicate a folder of texts.

Takes arguments, runs one job, and prints a summary. An error is one sentence on stderr. Must never print a
traceback, or leave out rows without saying how many.
"""

import argparse
import dataclasses
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Observation, SparkSession

from docindex.arguments import share
from docindex.errors import DocIndexError, UnreadableFile
from docindex.query.defaults import SAME_WORK
from docindex.spark.deduplication import deduplicate
from docindex.spark.keep_order import KEEP_RULES, KeepOrder, quoted_name
from docindex.spark.sketching import sketch
from docindex.spark.table_files import (
    ROW,
    TableFormat,
    TextTable,
    columns_found,
    read_rows,
    refuse_existing,
    refuse_nested,
    write_rows,
)

_PROGRAM = "docindex.spark"
_GROUP = "docindex dedup"
_JAVA_OPTIONS = "SPARK_SUBMIT_OPTS"
_USAGE, _FAILED = 2, 3

_DESCRIPTION = """\
Remove near-duplicates from a folder of texts. INPUT is a folder of Parquet files or of JSON lines, with one
text in each row. OUTPUT is a new folder with the rows that are kept: one row of each cluster of similar
texts, and all rows that are in no cluster. The columns stay as they are. Rows without a text, and lines that
are not JSON, are left out and counted.
"""
_EPILOG = f"""\
Without --key, the key of a row is the SHA-256 hash of the row, so it is the same in every run.

On a cluster: spark-submit --master URL {Path(__file__).with_name("__main__.py")} dedup INPUT OUTPUT
"""


@dataclasses.dataclass(frozen=True, slots=True)
class DedupOptions:
    """The arguments of the command."""

    source: str
    output: str
    table: TextTable
    min_resemblance: float
    keep: str
    sketches: str | None
    kind: TableFormat
    overwrite: bool


def run_spark_command(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 2 for a wrong argument, 3 for any other error."""
    try:
        options = _parsed(arguments)
        print(_run(options))
    except (ValueError, TypeError) as error:
        return _say(str(error), _USAGE)
    except (DocIndexError, OSError) as error:
        return _say(str(error), _FAILED)
    except (PySparkException, Py4JError) as error:
        return _say(_sentence(error), _FAILED)
    except KeyboardInterrupt:
        return _say("interrupted; the output is not complete", 130)
    return 0


def _parsed(arguments: Sequence[str] | None) -> DedupOptions:
    parser = argparse.ArgumentParser(
        prog=f"python -m {_PROGRAM}", description="Remove near-duplicate texts on Apache Spark."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    dedup = commands.add_parser(
        "dedup",
        help="remove near-duplicates from a folder of texts",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    dedup.add_argument("INPUT", help="a folder of Parquet files or of JSON lines")
    dedup.add_argument("OUTPUT", help="the folder to write")
    dedup.add_argument(
        "--text", default="text", metavar="COLUMN", help="the column with the texts; default: text"
    )
    dedup.add_argument("--key", metavar="COLUMN", help="a column with a different value in each row")
    dedup.add_argument(
        "--min-resemblance",
        type=float,
        default=SAME_WORK,
        metavar="SHARE",
        help=f"minimum resemblance of similar texts, above 0 and up to 1; default: {SAME_WORK}",
    )
    dedup.add_argument(
        "--keep",
        default="longest",
        metavar="RULE",
        help=f"which text of a cluster to keep: {', '.join(KEEP_RULES)} (the lowest key), max:COLUMN or "
        "min:COLUMN (the highest or lowest value in that column); default: longest",
    )
    dedup.add_argument(
        "--sketches", metavar="DIR", help="also write the sketches of all texts to this folder"
    )
    dedup.add_argument(
        "--format",
        choices=get_args(TableFormat),
        default="parquet",
        help="the format of OUTPUT; default: parquet",
    )
    dedup.add_argument("--overwrite", action="store_true", help="replace OUTPUT and DIR if they exist")
    given = parser.parse_args(arguments)
    return DedupOptions(
        source=given.INPUT,
        output=given.OUTPUT,
        table=TextTable(given.text, given.key),
        min_resemblance=share("--min-resemblance", given.min_resemblance),
        keep=given.keep,
        sketches=given.sketches,
        kind=given.format,
        overwrite=given.overwrite,
    )


def _run(options: DedupOptions) -> str:
    """Do the work; returns the summary."""
    order = KeepOrder.of(options.keep, "--keep")
    folders = [options.source, options.output, *filter(None, [options.sketches])]
    refuse_nested(folders)
    session = _session()
    if not options.overwrite:
        for folder in folders[1:]:
            refuse_existing(session, folder)
    context = session.sparkContext
    context.setJobGroup(_GROUP, f"deduplicate {options.source}")
    rows = read_rows(session, options.source)
    if order.source and order.source not in rows.columns:
        raise ValueError(f"--keep {options.keep}: there is no column {order.source!r}; {columns_found(rows)}")
    context.setJobDescription(f"count the texts of {options.source}")
    counted = options.table.checked_counts(rows)
    if not counted.texts:
        raise UnreadableFile(f"there are no texts in {options.source}", options.source)
    documents = options.table.documents(rows)
    context.setJobDescription("sketch the texts")
    if options.sketches is None:
        sketches = sketch(documents).persist()
    else:
        write_rows(sketch(documents), options.sketches, "parquet", overwrite=options.overwrite)
        sketches = session.read.parquet(options.sketches)
    context.setJobDescription("find the clusters of similar texts")
    counts = Observation()
    keep = f"{order.rule}:{ROW}.{quoted_name(order.source)}" if order.source else order.rule
    kept = deduplicate(
        documents, min_resemblance=options.min_resemblance, keep=keep, sketches=sketches, counts=counts
    )
    context.setJobDescription(f"write {options.output}")
    write_rows(kept.select(f"{ROW}.*"), options.output, options.kind, overwrite=options.overwrite)
    return _summary(counts, counted.rows - counted.texts)


def _session() -> SparkSession:
    """The session of spark-submit, or a new one on this machine."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and shutil.which("java", path=str(Path(home, "bin")))):
        raise UnreadableFile(
            "Spark needs Java 17 or newer, and no java was found; install it (on Debian: apt install "
            "default-jre-headless), or set JAVA_HOME to its folder",
            "java",
        )
    builder = SparkSession.builder.appName(_GROUP)
    # Otherwise cached sketches stay in as many partitions as a shuffle has: for a small folder, 200 that are
    # nearly empty, and each of them is a task in each stage that reads the sketches.
    builder = builder.config("spark.sql.optimizer.canChangeCachedPlanOutputPartitioning", "true")
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        # Without spark-submit, this starts a Java process, which reads its options from the environment.
        os.environ[_JAVA_OPTIONS] = java_options(os.environ)
        builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    return builder.getOrCreate()


def java_options(environment: Mapping[str, str]) -> str:
    """The options of the Java process. They keep Spark's warnings away, unless somebody has configured a log.

    >>> java_options({"SPARK_SUBMIT_OPTS": "-Xmx4g", "SPARK_CONF_DIR": "/etc/spark"})
    '-Xmx4g'
    """
    own = environment.get(_JAVA_OPTIONS, "")
    if "log4j" in own or "SPARK_CONF_DIR" in environment:
        return own
    return f'{own} "-Dlog4j2.configurationFile={Path(__file__).with_name("session_log.properties")}"'.strip()


def _summary(counts: Observation, without_text: int) -> str:
    found = counts.get
    lines = [f"{name:10} {found[name]:>15,}" for name in ("documents", "kept", "removed", "clusters")]
    if without_text:
        lines.append(f"left out   {without_text:>15,} rows without a text, or that are not JSON")
    return "\n".join(lines)


def _sentence(error: Exception) -> str:
    """The line of Spark's message that says what happened, without the names of classes and conditions."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # A worker's traceback ends with such a line. A message from Java begins with two others.
    raised = [line for line in lines if re.match(r"(: )?[\w.]*(Error|Exception|Mismatch|NotKept): ", line)]
    found = re.sub(r"^(: )?[\w.]+: ", "", raised[0]) if raised else lines[0]
    return f"Spark stopped: {re.sub(r'^.[A-Z0-9_.]+. ', '', found)}"


def _say(sentence: str, code: int) -> int:
    print(f"{_PROGRAM}: {sentence}", file=sys.stderr)
    return code
