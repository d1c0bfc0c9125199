import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
from docindex import Recipe
from docindex.sketching.sketcher import sketch_batch
text = " ".join(f"word{number}" for number in range(90_000))
for _ in range(4):
    sketch_batch([text], Recipe())
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(4):
    sketch_batch([text], Recipe())
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) * resource.getpagesize() // 4)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc returns memory so eagerly")
def test_a_later_batch_gets_little_new_memory_from_the_system():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 4_000_000
