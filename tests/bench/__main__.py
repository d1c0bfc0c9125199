"""``python -m tests.bench NAME``: measure a part of docindex and its peers in one run.

The figures are ratios within one run, because machines differ and other programs use them, too. A target
stands at the end of its line.
"""

import argparse

from tests.bench import (
    between,
    build,
    cores,
    exact,
    files,
    formats,
    groups,
    kernels,
    memory,
    million,
    minhash,
    near,
    notes,
    quality,
    query,
    questions,
    shards,
    spark,
    sql,
    stages,
)

BENCHES = {
    "between": between.run,
    "build": build.run,
    "cores": cores.run,
    "exact": exact.run,
    "files": files.run,
    "formats": formats.run,
    "groups": groups.run,
    "kernels": kernels.run,
    "memory": memory.run,
    "million": million.run,
    "minhash": minhash.run,
    "near": near.run,
    "notes": notes.run,
    "quality": quality.run,
    "query": query.run,
    "questions": questions.run,
    "shards": shards.run,
    "spark": spark.run,
    "sql": sql.run,
    "stages": stages.run,
}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("name", choices=BENCHES)
    parser.add_argument(
        "folders",
        nargs="*",
        help="text files to measure with (default: Python's own); for build, cores, shards and stages, M, "
        "notes or large (default: all three; for shards, M and notes); for quality, questions and spark, "
        "sections (default: all); for spark, also numbers of notes",
    )
    parser.add_argument("--megabytes", type=int, default=120, help="how much text (default: %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="how often each program runs (default: %(default)s)"
    )
    BENCHES[(options := parser.parse_args()).name](options)


main()
