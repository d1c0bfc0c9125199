import tracemalloc

import pytest


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
