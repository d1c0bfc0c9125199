"""The text of Markdown has the words that a reader of the page sees, in the same lines."""

import pytest

from tests.frontends.markup import containment, extracted, places, saved


@pytest.mark.parametrize("name", ["letter.md", "pandoc.md"])
def test_a_letter_has_the_words_of_its_page(name):
    page, found = saved("pandoc.html"), saved(name)
    assert containment(page.text, found.text) >= 0.96
    assert containment(found.text, page.text) >= 0.96


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("[a *b*c](http://x.y/z_(w) 'title') d", "a bc d"),
        ("[![badge](a.svg)](http://x) [b][1] `[c](d)`\n\n[1]: http://x", "badge b `[c](d)`\n\n"),
        ("[two\nlines](http://x) end", "two\nlines end"),
        ("one<br>two <b>thr</b>ee <http://x.y> &amp; `<b>`", "one two three <http://x.y> & `<b>`"),
        ("a <!-- no\nno --> b", "a \n b"),
        ("```python\n[a](b) **c**\n```\nd", "\n[a](b) **c**\n\nd"),
        ("note[^1]\n\n[^1]: foot", "note\n\n foot"),
        ("1. one\n2) two\n1986 three", " one\n two\n1986 three"),
        ("2 * 3 * 4 and \\*x*", "2 * 3 * 4 and \\*x*"),
    ],
)
def test_marks_that_change_words_are_removed(source, text):
    assert extracted(source, "a.md").text == text


def test_lines_keep_their_numbers():
    found = extracted("---\ntitle: 'Tea'\ntags: x\n---\n\n# Head\n\n```c\nint x;\n```\nlast", "a.md")
    assert found.title == "Tea"
    assert [place for place in places(found) if place[1].strip()] == [
        *(("line 2", "Tea\n"), ("line 6", "# Head\n"), ("line 9", "int x;\n"), ("line 11", "last")),
    ]


def test_the_title_is_the_first_heading_if_no_field_names_one():
    assert extracted("text\n\n# The tea #\n", "a.markdown").title == "The tea"
