"""The greatest memory that one long document takes besides itself and what comes out of it."""

import resource
import subprocess
import sys

MEGABYTE = 1 << 20

CHILD = """
import resource, sys
import docindex
from tests.bench import corpus, memory

what, megabytes = sys.argv[1], int(sys.argv[2])
piece = "".join(corpus.texts([], min(megabytes, 50)))
if what.endswith("ascii"):
    piece = piece.encode("ascii", "ignore").decode()
text = (piece * (megabytes * 1_000_000 // len(piece) + 1))[: megabytes * 1_000_000]
del piece
docindex.sketch("a warm start")
before = memory.peak()
if what.startswith("fingerprints"):
    found = docindex.fingerprints(text)
else:
    found = docindex.sketch(text)
result = found.hashes.nbytes + found.positions.nbytes
print(memory.peak() - before - result)
"""


def run(options):
    megabytes = max(options.megabytes, 500)
    for what in ("fingerprints, ascii", "all sketches, ascii", "all sketches, any text"):
        child = [sys.executable, "-c", CHILD, what, str(megabytes)]
        done = subprocess.run(child, capture_output=True, text=True, check=True)
        took = int(done.stdout.split()[-1]) / MEGABYTE
        print(f"{what}: {megabytes} MB in one document took {took:.0f} MB (target: under 300)")


def peak():
    """The greatest resident size so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
