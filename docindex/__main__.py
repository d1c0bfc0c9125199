"""Run the command `docindex` as ``python -m docindex``."""

import sys

from docindex.cli import main

if __name__ == "__main__":
    sys.exit(main())
