"""Make a frozen application its own worker process: PyInstaller runs this before the application.

Without it, `add_many` works in one process. Must cost nothing in an application that is not a worker.
"""

import importlib
import sys

from docindex.worker_command import WORKER_OPTION, frozen_application_becomes_worker

if getattr(sys, "frozen", False):
    frozen_application_becomes_worker()
    if sys.argv[1:2] == [WORKER_OPTION] and sys.argv[2].startswith("docindex."):
        # Windows gives an application without a console no standard streams. It then works alone.
        if sys.stdin is not None and sys.stdout is not None:
            module, _, function = sys.argv[2].partition(":")
            getattr(importlib.import_module(module), function)()
        sys.exit()
