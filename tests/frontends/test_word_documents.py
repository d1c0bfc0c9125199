"""Word and OpenDocument texts give the words that a reader reads, in their order, with their paragraphs."""

import io
import zipfile

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from odf import office, opendocument, table, text

from docindex.frontends.extracted import SourcePart
from tests.frontends.office import converted, docx_of, pandoc, places, read, rezipped, saved

BOX = """<w:r {}><w:pict><v:rect xmlns:v="urn:schemas-microsoft-com:vml" style="width:99pt;height:50pt">
<v:textbox><w:txbxContent><w:p><w:r><w:t>in the box</w:t></w:r></w:p></w:txbxContent></v:textbox>
</v:rect></w:pict></w:r>"""


def test_a_document_of_word_gives_its_body_and_tables_in_order():
    document = docx.Document()
    document.sections[0].header.paragraphs[0].text = "a header"
    document.sections[0].footer.paragraphs[0].text = "a footer"
    document.add_heading("On engines")
    paragraph = document.add_paragraph("be")
    paragraph.add_run("fore").bold = True
    paragraph.add_run("\tafter\nnext line")
    paragraph.paragraph_format.tab_stops.add_tab_stop(914400)
    cells = document.add_table(1, 2).rows[0].cells
    cells[0].text, cells[1].text = "one", "two"
    document.add_paragraph("")
    document.add_paragraph("the end")
    assert places(read(saved(document))) == [
        ("paragraph 1", "On engines"),
        ("paragraph 2", "before\tafter\nnext line"),
        ("paragraph 3", "one"),
        ("paragraph 4", "two"),
        ("paragraph 6", "the end"),
    ]


def with_content(content):
    """A document with a paragraph of Word's XML after its first one."""
    document = docx.Document()
    document.add_paragraph("first")
    document.element.body.insert(1, parse_xml(f"<w:p {nsdecls('w', 'm')}>{content}</w:p>"))
    return saved(document)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<w:smartTag><w:r><w:t>Lon</w:t></w:r></w:smartTag><w:r><w:t>don</w:t></w:r>", "London"),
        ("<w:sdt><w:sdtContent><w:r><w:t>filled in</w:t></w:r></w:sdtContent></w:sdt>", "filled in"),
        ("<w:hyperlink w:anchor='x'><w:r><w:t>a link</w:t></w:r></w:hyperlink>", "a link"),
        ("<w:r><w:t>a</w:t><w:sym w:font='Wingdings' w:char='F04A'/><w:t>b</w:t></w:r>", "a\uf04ab"),
        ("<w:r><w:sym w:char='D800'/><w:sym w:char='no'/><w:t>b</w:t></w:r>", "b"),
        (
            "<w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>",
            "new",
        ),
        ("<w:r><w:t>co</w:t><w:softHyphen/><w:t>op</w:t><w:noBreakHyphen/><w:t>x</w:t></w:r>", "coop-x"),
        ("<w:fldSimple w:instr='DATE'><w:r><w:t>May</w:t></w:r></w:fldSimple>", "May"),
        ("<w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>7</w:t></w:r>", "7"),
        ("<m:oMath><m:r><m:t>x+1</m:t></m:r></m:oMath>", "x+1"),
        ("<w:pPr><w:tabs><w:tab w:val='left' w:pos='9'/></w:tabs></w:pPr><w:r><w:t>x</w:t></w:r>", "x"),
        (
            "<w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r>"
            "</w:rubyBase></w:ruby></w:r>",
            "漢",
        ),
    ],
)
def test_the_elements_of_a_paragraph_of_word_give_what_a_reader_sees(content, expected):
    assert places(read(with_content(content))) == [("paragraph 1", "first"), ("paragraph 2", expected)]


def test_a_text_box_does_not_tear_the_paragraph_that_it_is_anchored_in():
    document = docx.Document()
    paragraph = document.add_paragraph("be")
    paragraph._p.append(parse_xml(BOX.format(nsdecls("w"))))
    paragraph.add_run("fore")
    document.add_paragraph("last")
    assert places(read(saved(document))) == [
        ("paragraph 1", "before"),
        ("text box in paragraph 1", "in the box"),
        ("paragraph 2", "last"),
    ]


def test_notes_and_comments_follow_the_text_of_word():
    document = docx.Document()
    run = document.add_paragraph("a claim").runs[0]
    document.add_comment(run, "Is it true?", author="Bob")
    assert places(read(saved(document))) == [("paragraph 1", "a claim"), ("comment 1", "Is it true?")]


def test_a_damaged_part_beside_the_text_gives_a_warning_and_the_text():
    document = docx.Document()
    document.add_comment(document.add_paragraph("a claim").runs[0], "Is it true?")
    broken = rezipped(saved(document), lambda name, data: data[:99] if "comments.xml" in name else data)
    found = read(broken)
    assert found.text == "a claim\n\n"
    assert found.warnings[0].startswith(
        "The part with its comments cannot be read: its XML is not well-formed"
    )


def test_the_parts_of_a_document_may_have_other_names_as_some_of_word_365_have():
    document = docx.Document()
    document.add_comment(document.add_paragraph("a claim").runs[0], "Is it true?")
    written, names = io.BytesIO(), {"document.xml": "document2.xml", "comments.xml": "comments2.xml"}
    with zipfile.ZipFile(io.BytesIO(saved(document))) as source, zipfile.ZipFile(written, "w") as target:
        for name in source.namelist():
            member, new = source.read(name), name
            for old, other in names.items():
                member, new = member.replace(old.encode(), other.encode()), new.replace(old, other)
            target.writestr(new, member)
    found = read(written.getvalue(), "x.docx")
    assert places(found) == [("paragraph 1", "a claim"), ("comment 1", "Is it true?")]


def test_a_document_with_damaged_relations_keeps_its_text():
    data = rezipped(docx_of(["a claim"]), lambda name, old: b"<x" if "document.xml.rels" in name else old)
    found = read(data)
    assert found.text == "a claim\n\n"
    assert found.warnings[0].startswith("The list of its notes and comments cannot be read: ")


def test_a_web_page_that_word_would_import_is_a_part():
    relation = b'<Relationship Id="h" Type="http://x/aFChunk" Target="page.html"/></Relationships>'

    def change(name, member):
        is_list = name == "word/_rels/document.xml.rels"
        return member.replace(b"</Relationships>", relation) if is_list else member

    data = rezipped(docx_of([]), change)
    assert read(data).parts == ()  # the part that it names is missing
    written = io.BytesIO(data)
    with zipfile.ZipFile(written, "a") as target:
        target.writestr("word/page.html", "<p>a page")
    assert read(written.getvalue()).parts == (SourcePart("word/page.html", b"<p>a page"),)


def test_an_open_document_gives_its_body_tables_and_notes_in_order():
    document = opendocument.OpenDocumentText()
    document.text.addElement(text.H(outlinelevel=1, text="On engines"))
    paragraph = text.P(text="be")
    paragraph.addElement(text.Span(text="fore"))
    paragraph.addElement(text.S(c=1_000_000_000))
    note = text.Note(noteclass="footnote")
    note.addElement(text.NoteCitation(text="1"))
    body = text.NoteBody()
    body.addElement(text.P(text="a note"))
    note.addElement(body)
    paragraph.addElement(note)
    comment = office.Annotation()
    comment.addElement(text.P(text="Is it true?"))
    paragraph.addElement(comment)
    paragraph.addElement(text.Span(text="after"))
    document.text.addElement(paragraph)
    grid, row = table.Table(), table.TableRow()
    for words in ("one", "two"):
        cell = table.TableCell()
        cell.addElement(text.P(text=words))
        row.addElement(cell)
    grid.addElement(row)
    document.text.addElement(grid)
    assert places(read(saved(document))) == [
        ("paragraph 1", "On engines"),
        ("paragraph 2", "before after"),
        ("paragraph 3", "one"),
        ("paragraph 4", "two"),
        ("footnote 1", "a note"),
        ("comment 1", "Is it true?"),
    ]


def test_text_that_was_deleted_with_track_changes_is_left_out_of_an_open_document():
    document = opendocument.OpenDocumentText()
    tracked, region, deletion = (
        text.TrackedChanges(),
        text.ChangedRegion(check_grammar=False),
        text.Deletion(),
    )
    deletion.addElement(text.P(text="deleted"))
    region.addElement(deletion)
    tracked.addElement(region)
    document.text.addElement(tracked)
    document.text.addElement(text.P(text="kept"))
    assert places(read(saved(document))) == [("paragraph 1", "kept")]


def test_word_and_open_documents_name_the_same_places(tmp_path):
    document = docx.Document()
    document.add_heading("On engines")
    document.add_paragraph("")
    document.add_paragraph("one item", style="List Number")
    document.add_table(1, 1).rows[0].cells[0].text = "a cell"
    paragraph = document.add_paragraph("be")
    paragraph._p.append(parse_xml(BOX.format(nsdecls("w"))))
    paragraph.add_run("fore")
    document.core_properties.title = "A letter"
    written = converted(tmp_path, saved(document), "docx", "odt")
    again = converted(tmp_path, written, "odt", "docx")
    expected = read(saved(document))
    assert expected.title == read(written).title == read(again).title == "A letter"
    assert ("text box in paragraph 5", "in the box") in places(expected)
    assert places(read(written)) == places(read(again)) == places(expected)


def test_footnotes_of_pandoc_come_last_in_both_formats(tmp_path):
    markdown = "Ada,[^1] it is *half*way.\n\n[^1]: The note.\n\nThe end."
    for target in ("docx", "odt"):
        assert places(read(pandoc(tmp_path, markdown, target))) == [
            ("paragraph 1", "Ada, it is halfway."),
            ("paragraph 2", "The end."),
            ("footnote 1", "The note."),
        ]
