"""Run text-dedup's MinHash, which has a Python of its own: it needs packages that docindex must not need.

The environment variable TEXT_DEDUP names that Python. Its program for one machine runs here. Its program for
Spark needs the Java package GraphFrames, which is not part of Spark and comes from a Maven repository.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

CLUSTERS = """
import json, pickle, sys
with open(sys.argv[1], "rb") as file:
    print(json.dumps(pickle.load(file).parent))
"""


def missing():
    """Why text-dedup cannot run; None if it can."""
    python = os.environ.get("TEXT_DEDUP")
    if not python:
        return "TEXT_DEDUP does not name a Python that has text-dedup"
    found = subprocess.run(
        [python, "-c", "import text_dedup.minhash"], capture_output=True, text=True, check=False
    )
    return f"text-dedup cannot be imported: {found.stderr.splitlines()[-1]}" if found.returncode else None


def spark_missing():
    """Why the program of text-dedup for Spark cannot run; None if it can be imported."""
    found = subprocess.run(
        [os.environ["TEXT_DEDUP"], "-c", "import text_dedup.minhash_spark"],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stderr.splitlines()[-1] if found.returncode else None


def minhash(parquet, threshold):
    """The cluster of each document that has a copy, as the key of a member, by key."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        command = [
            *(os.environ["TEXT_DEDUP"], "-m", "text_dedup.minhash", "--path", "parquet"),
            *("--data_files", str(parquet), "--split", "train", "--cache_dir", f"{folder}/cache"),
            *("--column", "text", "--idx_column", "key", "--threshold", str(threshold), "--ngram", "5"),
            *("--num_proc", "2", "--debug", "--output", str(output)),
        ]
        offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_CACHE": f"{folder}/cache"}
        subprocess.run(command, check=True, capture_output=True, env=offline)
        printed = subprocess.run(
            [os.environ["TEXT_DEDUP"], "-c", CLUSTERS, str(output / "uf.pkl")],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    parents = json.loads(printed)

    def root(key):
        while parents.get(key, key) != key:
            key = parents[key]
        return key

    return {key: root(key) for key in parents}
