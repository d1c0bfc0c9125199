"""Removing many documents at once is fast, and otherwise the same as removing them one by one."""

import pytest

import docindex
from docindex import Cancelled, Id, Recipe, UnknownKey
from docindex.storage.rows import document_removal

KEYS = [f"key {number:02}" for number in range(60)]
TABLES = ("document", "content", "fingerprint", "sample", "text", "dead", "tally")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(document_removal, "REMOVED_AT_A_TIME", 7)
    monkeypatch.setattr(document_removal, "_CONTENTS_AT_A_TIME", 3)


def made():
    """An index whose documents have copies: each of 40 texts has one or two keys."""
    index = docindex.open(":memory:", recipe=Recipe(k=5, window=4, shingle=2, min_s=8))
    index.add_many((key, f"the text of note {number % 40} is short") for number, key in enumerate(KEYS))
    return index


def everything(index):
    return {table: list(index.execute(f"select * from docindex_{table} order by 1, 2")) for table in TABLES}


def test_removing_many_documents_leaves_what_removing_them_one_by_one_leaves(monkeypatch):
    monkeypatch.setattr("docindex.storage.rows.content_writer.time.time_ns", lambda: 0)
    with made() as together, made() as one_by_one:
        assert everything(together) == everything(one_by_one)
        assert together.remove_many(iter(KEYS[::2])) == 30
        for key in KEYS[::2]:
            one_by_one.remove(key)
        assert everything(together) == everything(one_by_one)
        assert list(together) == KEYS[1::2]
        assert together.check() == []
        together.optimize()
        assert together.stats().dead == 0


@pytest.mark.parametrize(
    "bad", ["no", "key 00", Id(1), Id(99), Id(1 << 80), "NUL \0", "lone \ud800", 7, None]
)
def test_nothing_is_removed_if_a_key_is_unknown_or_repeated(bad):
    with made() as index:
        before = everything(index)
        with pytest.raises(UnknownKey):
            index.remove_many([*KEYS[:20], bad, KEYS[30]])
        assert everything(index) == before
        assert index.check() == []


def test_a_cancelled_removal_removes_nothing():
    def keys(cancel):
        for number, key in enumerate(KEYS):
            if number == 20:
                cancel()
            yield key

    with made() as index:
        before = everything(index)
        with docindex.cancelling() as token, pytest.raises(Cancelled):
            index.remove_many(keys(token.cancel))
        with pytest.raises(Cancelled):
            index.remove_many(keys(index.cancel))
        assert everything(index) == before
        assert index.check() == []
