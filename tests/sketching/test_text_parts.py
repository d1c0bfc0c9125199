import pytest

from docindex.sketching import text_parts
from docindex.sketching.text_parts import DEFLATED, RAW, parts_of, source_of


def test_a_part_returns_the_text_that_it_was_made_from():
    for text in ("", "short", "long " * 1000):
        assert "".join(source_of(*part).decode() for part in parts_of(text)) == text


def test_a_text_is_deflated_only_if_it_has_a_thousand_bytes():
    assert list(parts_of("long " * 199)) == [(RAW, b"long " * 199)]
    ((codec, data),) = parts_of("long " * 200)
    assert (codec, len(data) < 30) == (DEFLATED, True)


def test_each_kind_of_damaged_part_is_refused_with_its_own_reason(monkeypatch):
    ((codec, data),) = parts_of("long " * 1000)
    assert codec == DEFLATED
    with pytest.raises(ValueError, match="unknown codec 7; expected 0 or 1"):
        source_of(7, data)
    with pytest.raises(ValueError, match="not valid deflate data"):
        source_of(DEFLATED, b"no deflate data")
    with pytest.raises(ValueError, match="cut short"):
        source_of(DEFLATED, data[:-1])
    monkeypatch.setattr(text_parts, "_LONGEST", 100)
    with pytest.raises(ValueError, match="over 100 bytes"):
        source_of(DEFLATED, data)
    assert source_of(RAW, data) == data
