"""A damaged file of a text format gives a text or a reason, in bounded time."""

import pytest

from tests.frontends.mutations import outcomes_of_mutations
from tests.frontends.samples import text_samples

SOURCES = text_samples()


@pytest.mark.parametrize("format_", sorted(SOURCES))
def test_a_damaged_file_gives_a_text_or_a_reason(format_):
    found = outcomes_of_mutations(SOURCES[format_], format_)
    assert found["text"] > 10  # most damaged .ipynb files are no JSON
