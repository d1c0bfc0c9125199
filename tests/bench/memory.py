"""The greatest memory that one long document takes besides itself and what comes out of it."""

import re
import subprocess
import sys
from pathlib import Path

MEGABYTE = 1 << 20

CHILD = """
import sys
import docindex
from tests.bench import corpus, memory

what, megabytes = sys.argv[1], int(sys.argv[2])
piece = "".join(corpus.texts([], min(megabytes, 50)))
if what.endswith("ascii"):
    piece = piece.encode("ascii", "ignore").decode()
text = (piece * (megabytes * 1_000_000 // len(piece) + 1))[: megabytes * 1_000_000]
del piece
docindex.sketch("a warm start")
before = memory.reset_peak()
found = (docindex.fingerprints if what.startswith("fingerprints") else docindex.sketch)(text)
print(memory.peak() - before - found.hashes.nbytes - found.positions.nbytes)
"""


def run(options):
    if not Path("/proc/self/clear_refs").exists():
        sys.exit("only Linux tells what this measures")
    megabytes = max(options.megabytes, 500)
    for what in ("fingerprints, ascii", "all sketches, ascii", "all sketches, any text"):
        child = [sys.executable, "-c", CHILD, what, str(megabytes)]
        done = subprocess.run(child, capture_output=True, text=True, check=True)
        took = int(done.stdout.split()[-1]) / MEGABYTE
        print(f"{what}: {megabytes} MB in one document took {took:.0f} MB (target: under 300)")


def reset_peak():
    """Forget the greatest resident size so far; gives the size there is now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak():
    """The greatest resident size since `reset_peak`, in bytes."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])
