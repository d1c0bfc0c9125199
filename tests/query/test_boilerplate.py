"""Boilerplate can be added, listed and removed, by name, by key and by text."""

import itertools
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


def answers(index, texts, **options):
    """The answer of every question that boilerplate can change."""
    a, b = map(docindex.Text, texts)
    return (
        [(match.key, match.containment, match.resemblance) for match in index.search(a, **options)],
        [(match.key, match.resemblance) for match in index.similar(a, 0.01, **options)],
        list(index.pairs(min_resemblance=0.01, **options)),
        list(index.containments(0.01, **options)),
        index.clusters(0.01, **options),
        index.compare(a, b, **options).resemblance,
        index.measures(a, b, **options).resemblance,
    )


def test_a_question_ignores_the_templates_that_it_chooses():
    rng = random.Random(5)
    licence, footer = prose(rng, 50), prose(rng, 50)
    texts = [f"{licence} {prose(rng, 20)} {footer}" for _ in range(3)]
    expected = {}
    for chosen in ((), (licence,), (footer,), (licence, footer)):
        with docindex.open(":memory:") as index:
            index.add_many([(f"{n}", text) for n, text in enumerate(texts)])
            for template in chosen:
                index.boilerplate.add(template)
            expected[chosen] = answers(index, texts[:2])
    everything = list(expected.values())
    assert all(before != after for before, after in itertools.pairwise(everything))
    with docindex.open(":memory:") as index:
        index.add_many([(f"{n}", text) for n, text in enumerate(texts)])
        index.boilerplate.add(licence, name="licence")
        index.boilerplate.add(footer, name="footer")
        for choice, ignored in [
            (True, (licence, footer)),
            (False, ()),
            ([], ()),
            (("licence",), (licence,)),
            (["footer", "footer"], (footer,)),
            (["footer", "licence"], (licence, footer)),
        ]:
            assert answers(index, texts[:2], boilerplate=choice) == expected[ignored], choice
        with pytest.raises(KeyError, match="'strange'"):
            index.search(texts[0], boilerplate=["licence", "strange"])
        with pytest.raises(KeyError):
            index.pairs(min_resemblance=0.5, boilerplate=["\ud800"])
        for wrong in ("licence", 1, None, [b"licence"]):
            with pytest.raises(
                TypeError, match="boilerplate must be True, False or a list of template names"
            ):
                index.similar(texts[0], boilerplate=wrong)
