"""Settings for every test: hypothesis without deadlines (machines differ), seeded in CI; Control-C works."""

import os
import signal
import sqlite3
import tracemalloc

import pytest
from hypothesis import settings

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# A shell starts background jobs with SIGINT ignored. Programs that tests start and interrupt would inherit
# that, and would never end.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_callback_tracebacks():
    sqlite3.enable_callback_tracebacks(False)  # Datasette switches them on when it is imported


@pytest.fixture
def traced_peak():
    """The greatest number of bytes that a function holds while it runs, including its result."""

    def peak(function) -> int:
        tracemalloc.start()
        try:
            function()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return peak
