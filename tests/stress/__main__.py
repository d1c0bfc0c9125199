"""``python -m tests.stress 30``: four reader and two writer processes on one file, for so many seconds."""

import sys
import tempfile

from tests.stress.program import run

with tempfile.TemporaryDirectory() as folder:
    counts = run(folder, float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
