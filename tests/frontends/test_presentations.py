"""Presentations give the words on their slides and in the notes, slide by slide."""

import docx
import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from tests.frontends.office import converted, pandoc, places, read, rezipped, saved, xlsx_of


def presentation():
    """Two slides: one with a list and notes, a hidden one with a table and a group of shapes."""
    document = pptx.Presentation()
    document.core_properties.title = "Engines"
    first = document.slides.add_slide(document.slide_layouts[1])
    first.shapes.title.text = "On engines"
    first.placeholders[1].text = "brass\vand steel\npatience"
    first.notes_slide.notes_text_frame.text = "Say this aloud."
    second = document.slides.add_slide(document.slide_layouts[6])
    second._element.set("show", "0")
    grid = second.shapes.add_table(1, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    grid.cell(0, 0).text, grid.cell(0, 1).text = "one", "two"
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "in a group"
    return document


EXPECTED = [
    ("slide 1", "On engines"),
    ("slide 1", "brass\nand steel"),
    ("slide 1", "patience"),
    ("notes of slide 1", "Say this aloud."),
    ("slide 2", "one"),
    ("slide 2", "two"),
    ("slide 2", "in a group"),
]


def test_slides_give_shapes_tables_and_notes_in_order():
    found = read(saved(presentation()))
    assert found.title == "Engines"
    assert places(found) == EXPECTED


def test_slides_come_in_the_order_of_the_presentation_not_of_the_file():
    document = presentation()
    slides = document.slides._sldIdLst
    slides.insert(0, slides[1])
    assert places(read(saved(document)))[0] == ("slide 1", "one")


def test_both_formats_name_the_same_places(tmp_path):
    written = converted(tmp_path, saved(presentation()), "pptx", "odp")
    again = converted(tmp_path, written, "odp", "pptx")
    for data in (written, again):
        found = read(data)
        assert found.title == "Engines"
        assert places(found) == EXPECTED


@pytest.mark.parametrize(("field", "kind"), [("slidenum", "sldNum"), ("datetime1", "dt"), ("x", "ftr")])
def test_numbers_dates_and_footers_of_slides_are_left_out(field, kind):
    document = pptx.Presentation()
    slide = document.slides.add_slide(document.slide_layouts[6])
    for is_placeholder in (True, False):
        box = slide.shapes.add_textbox(0, 0, Inches(1), Inches(1))
        run = box.text_frame.paragraphs[0].add_run()
        run.text = "decoration"
        if is_placeholder:
            properties = box._element.nvSpPr.find(pptx.oxml.ns.qn("p:nvPr"))
            properties.append(pptx.oxml.parse_xml(f'<p:ph {pptx.oxml.ns.nsdecls("p")} type="{kind}"/>'))
        elif field != "x":
            run._r.tag = pptx.oxml.ns.qn("a:fld")
            run._r.set("type", field)
        else:
            run.text = "kept"
    assert [text for _, text in places(read(saved(document)))] == (["kept"] if field == "x" else [])


def test_a_slide_that_is_damaged_is_named_and_the_others_are_read():
    data = saved(presentation())
    broken = rezipped(data, lambda name, data: data[:500] if name == "ppt/slides/slide1.xml" else data)
    found = read(broken)
    assert places(found) == EXPECTED[4:]
    assert found.warnings[0].startswith("Slide 1 cannot be read: its XML is not well-formed")


def test_pandoc_writes_the_words_of_a_presentation(tmp_path):
    found = read(pandoc(tmp_path, "# One\n\nDear Ada\n\n# Two\n\n- a\n- b", "pptx"))
    assert places(found) == [
        ("slide 1", "One"),
        ("slide 1", "Dear Ada"),
        ("slide 2", "Two"),
        ("slide 2", "a"),
        ("slide 2", "b"),
    ]


def test_a_chart_with_its_workbook_leaves_a_presentation_what_it_is():
    document = presentation()
    chart = CategoryChartData()
    chart.categories = ["a"]
    chart.add_series("s", [1])
    document.slides[0].shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, Inches(2), Inches(2), chart)
    assert places(read(saved(document))) == EXPECTED


def test_a_workbook_stored_in_a_document_does_not_change_the_format():
    holder = docx.Document()
    holder.add_paragraph("holds a workbook")
    data = rezipped(saved(holder), lambda name, data: xlsx_of([["x"]]) if name == "word/styles.xml" else data)
    assert places(read(data)) == [("paragraph 1", "holds a workbook")]
