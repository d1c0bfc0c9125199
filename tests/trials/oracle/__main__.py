"""``python -m tests.trials.oracle 1000``: compare all answers on 1,000 corpora with plain definitions."""

import sys

from tests.trials.oracle.run import report, run

first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
sys.exit(report(run(range(first, first + int(sys.argv[1] if len(sys.argv) > 1 else 1000)))))
