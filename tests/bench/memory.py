"""Measure the peak memory of sketching and adding long documents, and of adding many documents.

For sketching, the document itself and the result are not counted.
"""

import os
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


# Adds one long document to an index, with its text.
LONG_DOCUMENT = """
import sys, tempfile
import docindex
from tests.bench import corpus, memory

megabytes = int(sys.argv[1])
piece = "".join(corpus.texts([], 5)).encode("ascii", "ignore").decode()
text = (piece * (megabytes * 1_000_000 // len(piece) + 1))[: megabytes * 1_000_000]
del piece
with tempfile.TemporaryDirectory() as folder, docindex.open(folder + "/index") as index:
    memory.reset_peak()
    index.add("long", text)
    print(memory.peak())
"""

# Adds many documents from a generator, with two workers; prints the peaks of this process and of the workers.
MANY_DOCUMENTS = """
import sys, tempfile
import docindex
from tests.bench import corpus, memory

megabytes = int(sys.argv[1])

def documents():
    texts, size, number = corpus.texts([], 20), 0, 0
    while size < megabytes * 1_000_000:
        for text in texts:
            size += len(text)
            number += 1
            yield str(number), f"{number} {text}"  # all documents differ

workers = set()
with tempfile.TemporaryDirectory() as folder, docindex.open(folder + "/index") as index:
    memory.reset_peak()
    look = lambda *_: workers.update(memory.children_peaks().items())
    index.add_many(documents(), workers=2, progress=look)
    print(memory.peak(), max(peak for _, peak in workers))
"""


def run(options):
    if not Path("/proc/self/clear_refs").exists():
        sys.exit("this needs /proc/self/clear_refs, which only Linux has")
    megabytes = max(options.megabytes, 500)
    for what in ("fingerprints, ascii", "all sketches, ascii", "all sketches, any text"):
        (took,) = measured(CHILD, what, megabytes)
        print(f"{what}: {megabytes} MB in one document took {took:.0f} MB of memory (target: under 300)")
    (took,) = measured(LONG_DOCUMENT, 300)
    print(f"one document of 300 MB added: {took:.0f} MB of memory in total (target: under 600)")
    writer, worker = measured(MANY_DOCUMENTS, 1000)
    print(f"1 GB of documents added: the writer took {writer:.0f} MB (target: under 500)")
    print(f"  and a worker {worker:.0f} MB (target: under 300)")


def measured(program, *arguments):
    """The sizes in the last line that a program prints, in megabytes."""
    child = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=True)
    return [int(peak) / MEGABYTE for peak in done.stdout.splitlines()[-1].split()]


def children_peaks():
    """The peak of each child of this process, by its process id."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {child: peak(child) for child in listed}


def reset_peak():
    """Forget the largest resident size so far, and return the present size in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak(process="self"):
    """The largest resident size since `reset_peak`, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
