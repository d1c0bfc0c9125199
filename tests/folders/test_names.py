"""A path and its key can be converted into each other, whatever bytes the path has."""

from hypothesis import example, given
from hypothesis import strategies as st

from docindex.folders.walking.path_keys import key_of, path_of

PIECES = [
    b"!",
    b"\\",
    b"x",
    b"\\x",
    b"4",
    b"a",
    b"f",
    b"\xc3",
    b"\xa9",
    b"\xff",
    b"/",
    b"\n",
    b"\xed\xa0\x80",
]
NAMES = st.lists(st.sampled_from(PIECES)).map(b"".join) | st.binary().filter(lambda name: b"\0" not in name)


@given(NAMES)
@example(rb"\\x41")
@example(b"\\\xff")
def test_a_path_comes_back_from_its_key(path):
    assert path_of(key_of(path)) == path


@given(NAMES, NAMES)
def test_different_paths_have_different_keys(a, b):
    assert (key_of(a) == key_of(b)) == (a == b)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0\\!")))
def test_an_ordinary_name_is_its_own_key(name):
    assert key_of(name.encode()) == name
