"""``python -m tests.trials.stress 30``: four readers and two writers use one file for 30 seconds."""

import sys
import tempfile

from tests.trials.stress.program import run

with tempfile.TemporaryDirectory() as folder:
    counts = run(folder, float(sys.argv[1]) if len(sys.argv) > 1 else 30.0)
print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
