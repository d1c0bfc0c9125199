"""The text of a web page is what a browser shows, without what surrounds the main part."""

import contextlib
import pydoc
import re
import time

import pytest

from docindex.frontends import recognition
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions
from tests.frontends.markup import containment, extracted, places, saved

PAGE = """<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Tea &amp;
milk</title><style>p { color: red }</style><script>if (a<b) "word"</script></head>
<body><nav><a href="/">Home</a></nav><header><p>The shop</p></header>
<article><header><h1>Prices</h1></header><p>Tea costs <b>tw</b>elve<br>and more.
<h2>Milk &#233;t&eacute;</h2><p>Three<!-- no --><p hidden>secret
<div style="display: none">gone<div>too</div></div>
<table><tr><td>a<td>b<tr><th>c</th><th>d</th></table><pre>x
  y</pre></article><aside>Advert</aside><footer>Imprint</footer></body></html>"""


def test_the_main_text_has_no_scripts_styles_hidden_elements_or_navigation():
    found = extracted(PAGE, "a.html")
    assert found.title == "Tea & milk"
    assert found.text.split("\n\n") == [
        *("Prices", "Tea costs twelve\nand more.", "Milk été", "Three", "a\tb\nc\td", "x\n  y", ""),
    ]


def test_navigation_is_given_when_asked_for():
    text = extracted(PAGE, "a.html", ExtractionOptions(navigation=True)).text
    assert text.split("\n\n")[:2] == ["Home", "The shop"]
    assert text.split("\n\n")[-3:] == ["Advert", "Imprint", ""]
    assert "secret" not in text


def test_a_place_is_the_heading_above_or_a_paragraph():
    found = extracted("<p>Before<p>it<h2>The <i>prices</i></h2><p>Tea<p>Milk", "a.html")
    assert places(found) == [
        ("paragraph 1", "Before\n\n"),
        ("paragraph 2", "it\n\n"),
        ('under "The prices"', "The prices\n\nTea\n\nMilk\n\n"),
    ]


def test_a_page_that_names_its_main_part_gives_that_part():
    page = "<div>Menu</div>{}<p>Text</p>{}<div>Related</div>"
    for start, end in (("<main>", "</main>"), ("<div role='main'>", "</div>")):
        assert extracted(page.format(start, end), "a.html").text == "Text\n\n"


def test_a_page_that_is_only_navigation_is_not_empty():
    assert extracted("<nav><ul><li>One<li>Two</ul></nav>", "a.html").text == "One\n\nTwo\n\n"


@pytest.mark.parametrize("name", ["pandoc.xhtml", "libreoffice.html"])
def test_the_pages_of_other_writers_give_the_same_words(name):
    one, other = saved("pandoc.html"), saved(name)
    assert containment(one.text, other.text) == 1
    assert containment(other.text, one.text) == 1
    assert other.title == "A letter to Ada"
    assert 'under "Prices & more"' in [place for place, _ in places(other)]


def test_a_page_of_pydoc_gives_the_words_of_the_docstrings():
    page = pydoc.html.page("a module", pydoc.html.document(recognition))
    text = extracted(page, "a.html").text
    assert containment(recognition.__doc__, text) > 0.9
    assert {"may_need_front_end", "recognise", "named"} <= set(re.findall(r"\w+", text))
    assert "&nbsp;" not in text


@pytest.mark.parametrize(
    ("text", "encoding", "label"),
    [
        ("Größe „groß“", "cp1252", "iso-8859-1"),
        ("Москва", "koi8-r", "koi8-r"),
        ("日本語", "shift_jis", "Shift_JIS"),
        ("中文", "gbk", "gb2312"),
        ("Größe", "utf-8", "iso-8859-1"),
        ("Größe", "utf-16", "utf-8"),
    ],
)
def test_the_declared_encoding_is_used_unless_the_bytes_are_utf_8(text, encoding, label):
    page = f'<html><meta http-equiv="content-type" content="text/html; charset={label}"><p>{text}</p></html>'
    assert extracted(page.encode(encoding), "a.html").text == f"{text}\n\n"
    page = f'<?xml version="1.0" encoding="{label}"?><html><p>{text}</p></html>'
    assert extracted(page.encode(encoding), "a.xhtml").text == f"{text}\n\n"


def test_a_page_is_recognised_by_its_content():
    for page in ("<!DOCTYPE html><p>Tea", "\n<html><p>Tea", "<!-- saved --><html><p>Tea"):
        assert extracted(page, "a.txt").reading == "html-1"
    assert extracted("<p>Tea", "page", media_type="text/html").text == "Tea\n\n"


def test_binary_data_and_pages_without_text_are_refused():
    for data, reason in ((b"<html>\0\1\2", "damaged"), (b"<html><script>x</script>", "no text")):
        with pytest.raises(NotExtracted) as raised:
            extracted(data, "a.html")
        assert raised.value.reason == reason


UNITS = (
    "<a",
    '<a x="',
    "<a ='",
    "</a",
    "<!--",
    "<!",
    "<?",
    "<![",
    "<![CDATA[",
    "<title>",
    "<script>",
    "<svg ",
)
NESTED = ("<p>", "<div>", "<b hidden>", "<table><td>", "<div><b></p></i>", "<nav>a", "</div>", "&#9", "<h1>a")


@pytest.mark.parametrize("unit", UNITS + NESTED)
def test_the_time_is_linear_in_the_size_of_hostile_pages(unit):
    begun = time.process_time()
    with contextlib.suppress(NotExtracted):  # the whole page is a comment
        extracted(f"<p>a{unit * (300_000 // len(unit))}", "a.html")
    assert time.process_time() - begun < 5  # 0.6 s for the slowest; html.parser takes minutes for some
