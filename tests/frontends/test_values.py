"""The texts of CSV, JSON and XML are their values, and files that are none of these stay readable."""

import csv
import io
import json
import time
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docindex.frontends.isolated.child import extracted_from
from docindex.frontends.isolated.messages import Source
from docindex.frontends.markup.json_marks import split_values
from docindex.frontends.markup.json_values import search_values
from docindex.frontends.packed_places import packed_places, unpacked_places
from tests.frontends.markup import containment, extracted, places, saved


def csv_of(rows, **options):
    written = io.StringIO()
    csv.writer(written, **options).writerows(rows)
    return written.getvalue()


ROWS = [["name", "price, each"], ["Tea", "12,50"], ["Milk\nfresh", '3 "net"'], ["Café", ""]]


@pytest.mark.parametrize(
    ("extension", "options"),
    [
        ("csv", {}),
        ("csv", {"delimiter": ";"}),
        ("tsv", {"dialect": "excel-tab"}),
        ("csv", {"quoting": csv.QUOTE_ALL}),
    ],
)
def test_the_rows_of_a_table_are_lines_and_places(extension, options):
    found = extracted(csv_of(ROWS, **options), f"a.{extension}")
    assert places(found) == [
        ("row 1", "name\tprice, each\n"),
        ("row 2", "Tea\t12,50\n"),
        ("row 3", 'Milk\nfresh\t3 "net"\n'),
        ("row 4", "Café\n"),
    ]


def test_the_rows_of_a_large_table_share_places():
    found = extracted("a,b\n" * 1_000_000, "a.csv")
    assert len(found.places.places) < 200_001
    assert found.places.at(4 * 30).name == "rows 31-35"


def test_prose_with_the_extension_of_a_table_stays_as_it_is():
    prose = 'Dear Ada, how are you?\nI am well.\nSo is Bob, who says "hello", and the cat.\n'
    assert extracted(prose, "a.csv").text == prose


VALUES = {"name": "Ada", "lines": ["one\ntwo", "Größe \U0001f600"], "price": -12.5, "ok": True, "none": None}


def test_the_strings_and_numbers_of_json_are_lines():
    for options in ({}, {"indent": 2}, {"ensure_ascii": False}):
        text = extracted(json.dumps(VALUES, **options), "a.json").text
        assert text == "Ada\none\ntwo\nGröße \U0001f600\n-12.5\n"


def test_a_place_in_json_is_a_line_and_in_a_long_line_a_column():
    assert places(extracted('{"a": "x"}\n\n{"a": "y"}\n', "a.jsonl")) == [
        ("line 1", "x\n"),
        ("line 3", "y\n"),
    ]
    found = extracted(json.dumps([f"value {number}" for number in range(1000)]), "a.json")
    assert [place for place, _ in places(found)][:2] == ["line 1", "line 1 column 1,012"]


def test_json_that_was_cut_off_or_has_comments_gives_its_values():
    assert extracted('// no\n{"a": ["x", /* no */ "y\\u00e9z', "a.json").text == "x\nyéz\n"
    assert extracted("[" * 1_000_000 + '"x"', "a.json").text == "x\n"


def test_what_is_no_json_is_given_as_it_is_with_a_warning():
    for text in ("Dear Ada,\nhow are you?", "{'a': 'Dear Ada'}"):
        found = extracted(text, "a.json")
        assert found.text == text
        assert found.warnings == ("It is not valid JSON; its text is given as it is.",)


MARKS = [
    '"',
    '"a"',
    '"\\"b"',
    '"x\\\\"',
    "\\",
    '"k":',
    '"k" :',
    ":",
    " :",
    ",",
    "[",
    "]",
    "{",
    "}",
    " ",
    "\n",
    "é",
]
MARKS += [
    "1",
    "-2.5e3",
    "true",
    "null",
    "-Infinity",
    "I",
    "-",
    "/",
    "//",
    "/*",
    "\x1b",
    "\xa0",
    "tr",
    '""',
    '"\\n"',
]


@given(st.lists(st.sampled_from(MARKS), max_size=9).map("".join))
def test_values_split_by_their_marks_are_those_that_the_expression_finds(source):
    def given_values(found):
        return [pair for pair in zip(found.values, found.offsets.tolist(), strict=True) if pair[0]]

    if found := split_values(source):
        assert given_values(found) == given_values(search_values(source))


VALUES_OF_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES_OF_JSON, st.sampled_from((None, 1)), st.sampled_from((":", ": ", " : ")), st.booleans())
def test_json_of_pythons_writer_is_split_by_its_marks(value, indent, colon, is_ascii):
    written = json.dumps(value, indent=indent, separators=(",", colon), ensure_ascii=is_ascii)
    assert split_values(written) is not None


def test_the_docbook_of_pandoc_has_the_words_of_the_page():
    page, found = saved("pandoc.html"), saved("pandoc.xml")
    assert containment(page.text, found.text) >= 0.96
    assert containment(found.text, page.text) >= 0.96
    assert found.reading == "xml-1"


def test_the_values_of_xml_are_neither_glued_nor_torn():
    root = ET.fromstring("<r><a>1</a><b>2</b><p>some w<i>ord</i>s &amp; <b>more</b> text</p><c x='no'/></r>")
    for source in (ET.tostring(root), ET.tostring(root, "utf-16", xml_declaration=True)):
        assert extracted(source, "a.xml").text == "1\n\n2\n\nsome words & more text\n\n"


def test_names_in_xml_are_of_any_script():
    source = '<?xml version="1.0"?><Товар Код="1">чай<数/></Товар>'
    assert extracted(source, "a.xml").text == "чай\n\n"


def test_a_document_type_may_have_any_sign_in_quotes():
    source = '<?xml version="1.0"?><!DOCTYPE r SYSTEM "a>b[c.dtd"><r>tea</r>'
    assert extracted(source, "a.xml").text == "tea\n\n"


def test_xml_with_elements_named_like_those_of_pages_is_no_page():
    for source in ("<TEI><head>Tea</head></TEI>", "<article><body>Tea</body></article>"):
        found = extracted(f"<?xml version='1.0'?>\n<!-- x -->{source}", "a")
        assert (found.reading, found.text) == ("xml-1", "Tea\n\n")


def test_a_place_in_xml_is_a_line():
    assert places(extracted("<r>\n <a>x</a>\n\n <a>y</a></r>", "a.xml")) == [
        ("line 2", "x\n\n"),
        ("line 4", "y\n\n"),
    ]


def test_xml_without_texts_gives_its_attributes():
    assert extracted('<r><a name="Tea" price="3"/><a name="Milk"/></r>', "a.xml").text == "Tea\t3\nMilk\n"


def test_xml_that_is_broken_or_hostile_gives_its_texts():
    bomb = '<!DOCTYPE r [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><r>&c; <p>x &lt; y</p>'
    assert extracted(bomb, "a.xml").text == "&c; x < y\n\n"
    assert extracted("<r><p>one</q><p>two", "a.xml").text == "one\n\ntwo\n\n"
    external = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><r>&x;</r>'
    assert extracted(external, "a.xml").text == "&x;\n\n"


def test_the_places_of_a_table_survive_the_way_into_an_index_and_back():
    for source, name in (("a,b\n" * 900_000, "a.csv"), (json.dumps(["x" * 700] * 3), "a.json")):
        found = extracted(source, name).places
        assert unpacked_places(json.loads(json.dumps(packed_places(found)))) == found


def test_a_hostile_json_source_is_read_in_linear_time():
    for source in (
        "[" * 10**6 + "x",
        "]" * 10**6,
        '"a":' * 10**6,
        '"\\' * 10**6,
        "/*" * 10**6,
        "true," * 10**6,
    ):
        begun = time.process_time()
        extracted(source, "a.json")
        assert time.process_time() - begun < 2


def test_the_text_of_xml_with_declarations_comes_out_without_their_defaults():
    found = extracted_from(
        Source(b'<?xml version="1.0"?><!DOCTYPE a [<!ATTLIST b c CDATA "no">]><a><b>yes</b></a>', "x.xml")
    )
    assert found.text == "yes\n\n"
