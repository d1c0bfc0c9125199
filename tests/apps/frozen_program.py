"""An application to be frozen: uses an index with worker processes, or runs a command of docindex."""

import json
import sys

import docindex
from docindex import cli
from docindex.sketching.workers import SketchWorkers


def use(path):
    """Use an index in a file, and print what was found."""
    index = docindex.open(path)  # never closed: Python drops it at the end of the process
    added = index.add_many(
        ((f"note/{number}", f"the note with the number {number} in words {number}") for number in range(300)),
        workers=2,
    )
    with SketchWorkers(index.recipe, 2) as sketchers:
        sketchers.start()
        has_workers = not sketchers.alone
        job = sketchers.submit(["one text", "another"], keep=True)
        worked = len((job.future if has_workers else job).result().parts)
    answer = {
        "added": added,
        "found": [match.key for match in index.search("the note with the number 7 in words 7", limit=1)],
        "rows": index.execute("select count(*) from doc_near('the note with the number 8 in words 8', 0)"),
        "damage": index.check(),
        "has_workers": has_workers,
        "worked": worked,
    }
    print(json.dumps(answer))
    return index


if __name__ == "__main__":
    if sys.argv[1] == "use":
        kept = use(sys.argv[2])
    else:
        sys.exit(cli.main(sys.argv[1:]))
