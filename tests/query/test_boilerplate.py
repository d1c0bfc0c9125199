"""Boilerplate can be added, listed and removed, by name, by key and by text."""

import dataclasses
import itertools
import random

import pytest

import docindex
from docindex import Recipe
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
        with pytest.raises(docindex.TextNotKept, match="give the text itself"):
            index.boilerplate.add("not kept")
        with pytest.raises(KeyError):
            index.boilerplate.remove("never added")
        with pytest.raises(TypeError, match="a template must be str, not 1"):
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
        with pytest.raises(KeyError, match=r"there is no template 'strange'; index\.boilerplate lists"):
            index.search(texts[0], boilerplate=["licence", "strange"])
        with pytest.raises(KeyError):
            index.pairs(min_resemblance=0.5, boilerplate=["\ud800"])
        for wrong in ("licence", 1, None, [b"licence"]):
            with pytest.raises(
                TypeError, match="boilerplate must be True, False or a list of template names"
            ):
                index.similar(texts[0], boilerplate=wrong)


LICENCES = {
    "Latin": "Permission is hereby granted, free of charge, to any person obtaining a copy of this software",
    "Cyrillic": "Данная лицензия разрешает лицам, получившим копию данного программного обеспечения",
    "Devanagari": "यह अनुमति किसी भी व्यक्ति को निःशुल्क दी जाती है जो इस सॉफ़्टवेयर की एक प्रति प्राप्त करता है",
    "Chinese": "特此免费授予任何获得本软件副本和相关文档文件的人不受限制地处理本软件的权利",
    "code": "# SPDX-License-Identifier: MIT\n# pylint: disable=too-many-lines, missing-docstring\n",
}


@pytest.mark.parametrize("script", LICENCES)
@pytest.mark.parametrize("recipe", [Recipe(), Recipe(k=25, window=26), Recipe(k=12, window=10, shingle=3)])
def test_two_texts_that_share_only_a_template_share_nothing(script, recipe):
    template = LICENCES[script]
    rng = random.Random(script)
    # The letters around the template agree by chance. That must not make a passage of it that counts.
    own = [f"al{mark}que {prose(rng, 60)} {mark}el" for mark in "qx"]
    a, b = (f"{text}\n\n{template}\n\n{text}" for text in own)
    with docindex.open(":memory:", recipe=recipe) as index:
        index.boilerplate.add(template, name="licence")
        found = index.compare(a, b)
        assert (found.resemblance, found.containment, found.reverse_containment) == (0.0, 0.0, 0.0)
        assert (found.query_coverage, found.coverage, found.longest) == (0.0, 0.0, None)
        assert found.passages
        assert all(passage.boilerplate for passage in found.passages)
        assert index.compare(template, a).coverage == index.compare(template, a).query_coverage == 0.0
        assert index.compare(template, template.upper()).query_coverage == 1.0
        assert index.compare(a, a).coverage == 1.0
        plain = index.compare(a, b, boilerplate=False)
        assert plain.coverage > 0
        assert plain.longest == plain.passages[0] == dataclasses.replace(found.passages[0], boilerplate=False)


def test_coverage_is_a_share_of_the_text_without_boilerplate():
    rng = random.Random(12)
    copied, one, other = (prose(rng, words) for words in (60, 60, 90))
    a, b = f"{copied} + {TEMPLATE} + {one}", f"{other} + {TEMPLATE} + {copied}"
    with docindex.open(":memory:") as index:
        index.boilerplate.add(TEMPLATE)
        found = index.compare(a, b)
        assert [passage.boilerplate for passage in found.passages] == [False, True]
        copied, one, other = (sum(map(str.isalnum, part)) for part in (copied, one, other))
        assert found.query_coverage == copied / (copied + one)
        assert found.coverage == copied / (copied + other)
        assert found.longest == found.passages[0]


def test_a_template_too_short_for_a_fingerprint_is_ignored_in_shingles_and_makes_no_passage():
    with docindex.open(":memory:", recipe=Recipe(k=15, window=36, shingle=3)) as index:
        index.boilerplate.add("is it in a nut")
        a, b = "is it in a nut! Ada weaves algebraical patterns", "Bob says: is it in a nut"
        found = index.compare(a, b)
        assert (found.resemblance, found.query_coverage, found.coverage) == (0.0, 0.0, 0.0)
        assert found.passages == ()
        assert index.compare(a, b, boilerplate=False).shared == 3


def test_matches_mark_passages_by_the_templates_that_the_question_chose():
    rng = random.Random(13)
    text = f"{prose(rng, 60)}\n{TEMPLATE}"
    with docindex.open(":memory:") as index:
        index.add_many([("a", f"{TEMPLATE} 1 {text[:300]}"), ("b", text.upper())])
        index.boilerplate.add(TEMPLATE, name="licence")
        index.boilerplate.add("some other text that nobody has in a document", name="other")
        for choice, marked in (
            (True, True),
            (False, False),
            (["licence"], True),
            (["other"], False),
            ([], False),
        ):
            for key in "ab":
                compared = index.compare(text, key, boilerplate=choice)
                (match,) = (m for m in index.search(text, boilerplate=choice) if m.key == key)
                assert match.passages() == list(compared.passages)
            assert [p.boilerplate for p in index.compare(TEMPLATE, "a", boilerplate=choice).passages] == [
                marked
            ]
            (similar,) = index.similar(text, 0.9, boilerplate=choice)
            assert similar.passages() == list(index.compare(text, "b", boilerplate=choice).passages)
        (match, _) = index.search(text, boilerplate=["licence"])
        index.boilerplate.remove("licence")
        with pytest.raises(KeyError, match="licence"):
            match.passages()


def test_boilerplate_is_not_counted_as_shared_by_two_texts_with_the_same_words_if_one_is_known():
    template, own = "this line is in every letter", "and these seven words are my own"
    with docindex.open(":memory:") as index:
        index.add("a", f"{template} {own}", store_text=False)
        index.boilerplate.add(docindex.Text(template))
        of_text = index.measures("a", docindex.Text(f"{template}, {own}!"))
        index.add("b", f"{template}: {own}.")
        assert of_text == index.measures("a", "b") == index.measures("b", docindex.Text(index.text("b")))
        assert (of_text.basis, of_text.shared) == ("shingles", 7)
