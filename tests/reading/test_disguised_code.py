"""Code that was disguised contains its original; two programs that do different things share little."""

import itertools
import random
import re

import pytest

import docindex
from docindex import Recipe
from docindex.reading.code.languages import LANGUAGES
from docindex.reading.code.source_code import language_of
from docindex.reading.code.syntax import comments_and_strings
from tests.reading.forty_functions import FUNCTIONS

NAMES, RAW = Recipe.code("names"), Recipe.code("raw")
FORTY = [(language, number) for language, sources in FUNCTIONS.items() for number in range(len(sources))]
KNOWN = {language.name: language for language in LANGUAGES}
OF_C = {"Java": "C"}  # they are one language to a reading


def pieces(language, source):
    """The code and the strings of a source, in turn: (text, is code)."""
    known, end = KNOWN[OF_C.get(language, language)], 0
    for begin, behind in comments_and_strings(source, known.syntax):
        yield source[end:begin], True
        yield source[begin:behind], False
        end = behind
    yield source[end:], True


def renamed(language, source):
    """Each name replaced by another one."""
    keywords = KNOWN[OF_C.get(language, language)].keywords

    def other(match):
        return match[0] if match[0] in keywords else f"renamed_{match[0][::-1]}"

    return "".join(
        re.sub(r"\b[A-Za-z_]\w*", other, text) if is_code else text
        for text, is_code in pieces(language, source)
    )


def reformatted(language, source):
    """Wider or narrower: Python with tabs, other languages on one line, with spaces around signs."""
    if language == "Python":
        return source.replace("    ", "\t").replace(", ", ",").replace(" = ", "=")
    joined = "".join(
        re.sub(r"([(){};,])", r" \1 ", re.sub(r"\s*\n\s*", "  ", text)) if is_code else text
        for text, is_code in pieces(language, source)
    )
    return joined if "#define" not in source else source.replace("\n", "\n\n").replace("(", "( ")


def commented(language, source):
    """A comment in each line."""
    mark = "#" if language == "Python" else "//"
    lines = (
        f"{line}  {mark} here (1 + 2) if we return" if line.strip() else line for line in source.split("\n")
    )
    return "\n".join(lines)


def with_other_literals(language, source):
    """Each number and each string replaced by another one."""

    def changed(text, is_code):
        if is_code:
            return re.sub(r"(?<![\w.])\d[\w.]*", "7", text)
        return re.sub(r"\w", "z", text) if text[0] in "\"'`" and len(text) > 2 else text

    return "".join(changed(*piece) for piece in pieces(language, source))


DISGUISES = [renamed, reformatted, commented, with_other_literals]


def disguised_by_all(language, source):
    for disguise in DISGUISES:
        source = disguise(language, source)
    return source


@pytest.mark.parametrize("disguise", [*DISGUISES, disguised_by_all])
@pytest.mark.parametrize(("language", "number"), FORTY)
def test_a_disguised_function_contains_its_original(language, number, disguise):
    source = FUNCTIONS[language][number]
    found = disguise(language, source)
    assert found != source or disguise is with_other_literals
    assert docindex.containment(source, found, NAMES) >= 0.9
    assert docindex.containment(found, source, NAMES) >= 0.9


@pytest.mark.parametrize(("language", "number"), FORTY)
def test_the_language_of_a_disguised_function_is_recognised(language, number):
    for disguise in [*DISGUISES, disguised_by_all]:
        found = disguise(language, FUNCTIONS[language][number])
        assert LANGUAGES[language_of(found)].name == OF_C.get(language, language)


@pytest.mark.parametrize("disguise", [reformatted, commented])
@pytest.mark.parametrize(("language", "number"), FORTY)
def test_layout_and_comments_do_not_count_in_the_raw_form(language, number, disguise):
    source = FUNCTIONS[language][number]
    assert docindex.containment(source, disguise(language, source), RAW) == 1


@pytest.mark.parametrize("recipe", [NAMES, RAW])
@pytest.mark.parametrize("language", FUNCTIONS)
def test_functions_in_another_order_contain_the_original(language, recipe):
    sources = FUNCTIONS[language]
    others = random.Random(1).sample(sources, len(sources))
    assert docindex.containment("\n\n".join(sources), "\n\n".join(others), recipe) >= 0.9


@pytest.mark.parametrize("language", FUNCTIONS)
def test_functions_that_do_different_things_share_little(language):
    pairs = list(itertools.permutations(FUNCTIONS[language], 2))
    assert max(docindex.resemblance(one, other, NAMES) for one, other in pairs) < 0.15
    # The largest of all is .23: nine lines, in which a list is filled in a loop.
    assert max(docindex.containment(one, other, NAMES) for one, other in pairs) < 0.24
    assert max(docindex.containment(one, other, RAW) for one, other in pairs) < 0.1
