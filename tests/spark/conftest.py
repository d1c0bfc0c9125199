"""One local Spark for all tests of a process: its start takes five seconds."""

import os
import shutil

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def java():
    """Skips a test where there is no Java."""
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs Java 17, which is not installed (on Debian: default-jre-headless)")


@pytest.fixture(scope="session")
def session(java):  # noqa: ARG001 - it skips
    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    yield made
    made.stop()
