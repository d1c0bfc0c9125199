"""The Unicode table says what the Unicode data of the running Python say, and is whole."""

import unicodedata
import zlib

import pytest

from docindex.reading.unicode_table import LETTER, SEQUENCE, unicode_table
from tests import unicode_tables

PLANES = range(17)


@pytest.mark.parametrize("plane", PLANES)
def test_every_code_point_that_this_python_knows_has_the_letters_of_the_definition(plane):
    table = unicode_table()
    starts, items = table.sequence_starts.tolist(), table.items.tolist()
    for code, value in enumerate(table.plane(plane).tolist(), plane << 16):
        if not unicode_tables.is_known(code):
            continue
        number = SEQUENCE - value
        found = tuple(items[starts[number] : starts[number + 1]]) if value <= SEQUENCE else (value,)
        # A later version of Unicode may know what was a letter of an unknown kind before.
        newer = unicodedata.unidata_version > unicode_tables.VERSION and found[0] & LETTER == code
        assert found == unicode_tables.folded(code) or newer, hex(code)


# Only a Python with the Unicode data of the file can make it again: CI runs this test under the newest one.
# Under any other, the test above compares all code points that the two versions know.
@pytest.mark.skipif(
    unicodedata.unidata_version != unicode_tables.VERSION,
    reason=f"this Python has Unicode {unicodedata.unidata_version}, not {unicode_tables.VERSION}",
)
def test_the_file_is_what_its_script_makes():
    made, kept = (part.split(b"\n", 1) for part in (unicode_tables.table(), unicode_tables.FILE.read_bytes()))
    assert made[0] == kept[0]
    assert zlib.decompress(made[1]) == zlib.decompress(kept[1])
