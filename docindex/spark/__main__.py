"""``python -m docindex.spark``: deduplicate a folder of texts on Spark."""

import sys

from docindex.spark.command import run_spark_command

if __name__ == "__main__":
    sys.exit(run_spark_command())
