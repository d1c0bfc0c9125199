"""Boilerplate can be added, listed and removed, by name, by key and by text."""

import random

import pytest

import docindex
from tests.storage.texts import prose

TEMPLATE = prose(random.Random(1), 60)


def test_templates_are_added_listed_and_removed(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add("licence", TEMPLATE)
        assert index.boilerplate.add("licence") == "licence"
        assert index.boilerplate.add("Sent from my telephone", name="signature") == "signature"
        nameless = index.boilerplate.add("another text that everybody has")
        assert nameless.startswith("text ")
        assert len(index.boilerplate) == 3
        assert {known.name: known.text for known in index.boilerplate}["licence"] == TEMPLATE
        assert "licence" in index.boilerplate
        assert TEMPLATE in index.boilerplate
        index.boilerplate.remove("another text that everybody has")
        index.boilerplate.remove("signature")
        assert [known.name for known in index.boilerplate] == ["licence"]
        assert index.check() == []
    with docindex.open(tmp_path / "index", readonly=True) as index:
        assert len(index.boilerplate) == 1
        with pytest.raises(docindex.ReadOnly):
            index.boilerplate.add("x")


def test_a_template_is_stored_once_and_another_template_can_take_its_name():
    with docindex.open(":memory:") as index:
        assert index.boilerplate.add(TEMPLATE) == index.boilerplate.add(TEMPLATE)
        index.boilerplate.add(TEMPLATE, name="one")
        index.boilerplate.add("other words", name="one")
        assert [(known.name, known.text) for known in index.boilerplate] == [("one", "other words")]


def test_a_template_stays_when_its_document_is_removed():
    with docindex.open(":memory:") as index:
        index.add_many([("licence", TEMPLATE), ("one", TEMPLATE + prose(random.Random(2), 60))])
        index.boilerplate.add("licence")
        before = index.search("one")
        index.remove("licence")
        assert len(index.boilerplate) == 1
        assert index.search("one") == before


def test_a_template_that_cannot_be_stored_is_refused():
    with docindex.open(":memory:") as index:
        index.add("not kept", TEMPLATE, store_text=False)
        with pytest.raises(docindex.TextNotKept, match="give the template itself"):
            index.boilerplate.add("not kept")
        with pytest.raises(KeyError):
            index.boilerplate.remove("never added")
        with pytest.raises(KeyError):
            index.boilerplate.remove(1)
        with pytest.raises(TypeError):
            index.boilerplate.add(None)
        with pytest.raises(ValueError, match="a lone surrogate"):
            index.boilerplate.add("\ud800 is no letter")


def test_another_process_sees_new_templates_at_once(tmp_path):
    with docindex.open(tmp_path / "index") as one, docindex.open(tmp_path / "index") as other:
        text = TEMPLATE + " " + prose(random.Random(3), 60)
        one.add_many([("a", text), ("b", TEMPLATE)])
        assert len(other.search("a")) == 2
        name = one.boilerplate.add(TEMPLATE)
        assert [match.key for match in other.search("a")] == ["a"]
        one.boilerplate.remove(name)
        assert len(other.search("a")) == 2
