"""``python -m docindex`` is the command `docindex`."""

import sys

from docindex.cli import main

if __name__ == "__main__":
    sys.exit(main())
