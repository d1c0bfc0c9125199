"""A file with impossible numbers, whose checksums fit, takes no more work than a file of its size."""

import random
import re

from tests.storage import crafted

# Each of these took all memory, or all room of the disk, or ended in an error of another kind.
KNOWN = re.compile(
    r"segment\.postings of \d+ = 4294967296|segment\.block_bits of \d+ = 31|words_hash of all = 15 bytes"
    r"|extraction\.places of \d+ = 291\d+ bytes"
)


def test_a_crafted_number_is_a_named_error_or_harmless(tmp_path):
    def choose(single):
        return [change for change in single if KNOWN.search(change[0])] + random.Random(7).sample(single, 10)

    found = dict(crafted.run(tmp_path, choose))
    assert len(found) > 15
    assert {name: problems for name, problems in found.items() if problems} == {}
