"""Measure what docindex finds in collections of texts whose copies are known: the tables beside its defaults.

``python -m tests.bench quality`` prints all sections, ``python -m tests.bench quality recipe passages`` some.
The collections are those of `tests.bench.corpora`; a section whose collections are missing is left out. A
default is chosen on one half of a collection, and reported on the other.
"""

import sys
import time

from tests.bench import (
    corpora,
    quality_answers,
    quality_code,
    quality_kinds,
    quality_pairs,
    quality_passages,
    quality_ranking,
    quality_recipe,
    quality_regions,
    quality_shingle,
    quality_simhash,
)

SECTIONS = {
    "recipe": (quality_recipe.run, ["pan13"]),
    "passages": (quality_passages.run, ["pan13"]),
    "regions": (quality_regions.run, ["pan13"]),
    "kinds": (quality_kinds.run, ["clough"]),
    "shingle": (quality_shingle.run, ["pan13"]),
    "answers": (quality_answers.run, []),
    "code": (quality_code.run, []),
    "pairs": (quality_pairs.run, []),
    "ranking": (quality_ranking.run, []),
    "simhash": (quality_simhash.run, []),
}


def run(options):
    if unknown := set(options.folders) - set(SECTIONS):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; the sections are {', '.join(SECTIONS)}")
    for name in options.folders or SECTIONS:
        section, needed = SECTIONS[name]
        if missing := [corpus for corpus in needed if not corpora.present(corpus)]:
            print(f"== {name}: left out, because {', '.join(missing)} is missing in {corpora.ROOT}")
            continue
        print(f"== {name}", flush=True)
        begin = time.perf_counter()
        section()
        print(f"   ({time.perf_counter() - begin:.0f} s)\n", flush=True)
