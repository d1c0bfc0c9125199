"""Passages of source code lead back to the original text, and copies of code are always found."""

import random

import pytest

import docindex
from docindex import Key, Recipe, Text
from docindex.query.regions.passages import passages
from docindex.reading import slicing
from docindex.reading.code import source_code
from tests.reading.forty_functions import FUNCTIONS
from tests.reading.test_disguised_code import commented, renamed

FORMS = ["names", "raw"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("language", FUNCTIONS)
def test_a_copied_function_is_found_where_it_is(form, language):
    sources, recipe = FUNCTIONS[language], Recipe.code(form)
    for seed in range(10):
        picker = random.Random(seed)
        copied, *others = picker.sample(sources, 7)
        a = "\n\n".join([*others[:3], copied])
        b = "\n\n".join([others[3], commented(language, copied), *others[4:]])
        longest = max(passages(a, b, recipe), key=lambda passage: passage.length)
        begin, behind = a.index(copied), b.index(copied.split("(")[0].split("\n")[0])
        # A few tokens around the copy may agree by chance.
        assert longest.query_start <= begin < begin + len(copied) <= longest.query_end
        assert begin - longest.query_start < 80
        assert longest.start <= behind
        assert longest.query_line == a[: longest.query_start].count("\n") + 1
        assert longest.line == b[: longest.start].count("\n") + 1


@pytest.mark.parametrize("form", FORMS)
def test_a_copy_in_a_text_of_many_slices_is_found_where_it_is(form, monkeypatch):
    monkeypatch.setattr(source_code, "PART_CHARACTERS", 700)
    monkeypatch.setattr(slicing, "PIECE_CHARACTERS", 900)
    sources = FUNCTIONS["Java"]
    long = "\n/* many\n lines */\n".join([*sources[:5], *sources[6:]] * 3 + [sources[5]])
    with docindex.open(":memory:", recipe=Recipe.code(form)) as index:
        index.add("long", long)
        index.add("short", sources[5])
        (match,) = [match for match in index.search(Text(sources[5])) if match.key == "long"]
        (passage,) = [each for each in match.passages() if each.length > 50]
        assert long[passage.start : passage.end] == sources[5]
        assert index.compare(Key("short"), Key("long")).containment == 1
        assert index.check() == []


@pytest.mark.parametrize("language", FUNCTIONS)
def test_the_first_answer_is_the_original_of_a_disguised_program(language):
    sources = FUNCTIONS[language]
    with docindex.open(":memory:", recipe=Recipe.code()) as index:
        index.add_many(
            (f"{other} {number}", text) for other in FUNCTIONS for number, text in enumerate(FUNCTIONS[other])
        )
        for number, source in enumerate(sources):
            disguised = commented(language, renamed(language, source))
            assert index.search(Text(disguised), limit=1)[0].key == f"{language} {number}"


def test_programs_with_the_same_tokens_are_the_same_and_others_are_not():
    one, other = "static int f(int x) { return x + 1; }", "static int g(int y) {\n  return y + 2; // two\n}"
    third = "static int g(int y) {\n  return y - 2;\n}"
    with docindex.open(":memory:", recipe=Recipe.code()) as index:
        index.add_many([("one", one), ("other", other), ("third", third)])
        assert [(pair.a, pair.b) for pair in index.pairs(min_resemblance=1)] == [("one", "other")]
    assert docindex.resemblance(one, other, Recipe.code("raw")) < 0.5
    assert docindex.resemblance("// a", "// b", Recipe.code()) == 0
    assert docindex.resemblance("// a", "// a ", Recipe.code()) == 1


def test_long_strings_that_differ_at_their_end_are_not_the_same_in_the_raw_form():
    one, other = (f'static void f() {{ g(x); }}\nstatic String x = "{"a" * 5000}{end}";' for end in "xy")
    assert docindex.resemblance(one, other, Recipe.code("raw")) < 1
    assert docindex.resemblance(one, other, Recipe.code("names")) == 1


def test_a_recipe_for_code_has_no_stop_words():
    with pytest.raises(ValueError, match="source code has no stop words"):
        Recipe.code(stop_words="english")
    with pytest.raises(ValueError, match="form must be"):
        Recipe.code("tokens")
    assert Recipe.from_json(Recipe.code("raw", k=7).to_json()).k == 7
