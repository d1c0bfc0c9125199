"""One local Spark for all tests of a process: its start takes five seconds."""

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def session():
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
