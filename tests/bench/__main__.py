"""``python -m tests.bench NAME``: measure a part of docindex and its peers in one run.

The figures are ratios within one run, because machines differ and other programs use them, too. A target
stands at the end of its line.
"""

import argparse

from tests.bench import build, files, kernels, memory, minhash, near, notes, quality, query, questions, sql

BENCHES = {
    "build": build.run,
    "files": files.run,
    "kernels": kernels.run,
    "memory": memory.run,
    "minhash": minhash.run,
    "near": near.run,
    "notes": notes.run,
    "quality": quality.run,
    "query": query.run,
    "questions": questions.run,
    "sql": sql.run,
}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("name", choices=BENCHES)
    parser.add_argument(
        "folders",
        nargs="*",
        help="text files to measure with (default: Python's own); for quality and questions, sections",
    )
    parser.add_argument("--megabytes", type=int, default=120, help="how much text (default: %(default)s)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="how often each program runs (default: %(default)s)"
    )
    BENCHES[(options := parser.parse_args()).name](options)


main()
