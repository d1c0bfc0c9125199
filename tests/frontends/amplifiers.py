"""Small sources that ask for far more work than honest ones of their size, by what they do."""

import gzip
import io
import struct
import tarfile
import zipfile
import zlib

from tests.frontends.office import docx_of, epub_of, ods_of, pptx_of, xlsx_of
from tests.frontends.test_archives import blocks, header, overlapping, sparse, zip_of
from tests.frontends.test_pdf import CATALOG, FONT, PAGE, drawing, plain_pdf

DRAWN = b"BT /F1 12 Tf 72 700 Td (Dear Ada) Tj ET "
MAIL = b"From: a@b.c\nMessage-ID: <1>\nMIME-Version: 1.0\n"
MIXED = MAIL + b"Content-Type: multipart/mixed; boundary=b\n\n"
PART = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def amplifiers():
    """The format and the bytes of each source, by what it does."""
    office = {
        "docx: a long default": ("docx", document(b'<!ATTLIST w:p x CDATA "%s">' % (b"x" * 400_000))),
        "docx: many defaults": (
            "docx",
            document(b"".join(map(b'<!ATTLIST p x%d CDATA "">'.__mod__, range(5000)))),
        ),
        "docx: a long namespace": ("docx", document(b"", b"u" * 400_000)),
        "xlsx: one sheet, 20,000 times": ("xlsx", sheets(20_000)),
        "xlsx: one drawing, 500 times": ("xlsx", drawings(500)),
        "xlsx: a long shared text": ("xlsx", shared_text()),
        "pptx: one page of notes, 500 times": ("pptx", notes(500)),
        "ods: a repeated cell": ("ods", repeated_cell()),
        "epub: one chapter, 10,000 times": ("epub", spine(10_000)),
    }
    archives = {
        "tar: a member of a terabyte": ("tar", header(1 << 40) + bytes(512)),
        "tar.gz: a member of a terabyte": ("tar", gzip.compress(header(1 << 40))),
        "tar: a member of a terabyte by pax": ("tar", header(512, {"size": str(1 << 40)}) + bytes(512)),
        "tar: a sparse member": ("tar", sparse(1, 250_000_000)),
        "tar.gz: a long map of a sparse member": ("tar", gzip.compress(sparse(20_000, 200_000_000))),
        "tar.gz: keywords of pax in each other": ("tar", gzip.compress(pax_keywords(50_000))),
        "zip: one member, 10,000 times": ("zip", overlapping(10_000)),
        "zip: 250 MB in 5 members": ("zip", zip_of({f"{n}.txt": b"word " * 10_000_000 for n in range(5)})),
    }
    pages = b"<</Type/Pages/Count 100000/Kids[" + b"3 0 R " * 100_000 + b"]>>"
    others = {
        "pdf: forms in forms": ("pdf", forms(12)),
        "pdf: one page, 100,000 times": ("pdf", packed_pdf(pages)),
        "eml: 10,000 multiparts": ("eml", multiparts(10_000)),
        "eml: 100,000 parts": ("eml", MIXED + b"--b\n\nx\n" * 100_000 + b"--b--\n"),
        "eml: many parameters": (
            "eml",
            MIXED + (b"--b\nContent-Type: text/plain%s\n\nx\n" % (b";" * 9900)) * 60,
        ),
        "rtf: labels after a long paragraph": (
            "rtf",
            b"{\\rtf1 " + b"a\\tab " * 20_000 + b"\\tx1 " * 20_000 + b"}",
        ),
        "rtf: nested groups": ("rtf", b"{\\rtf1 " + b"{" * 200_000),
        "tex: titles in a note": ("tex", b"\\begin{document}\\footnote{" + b"a$\\title{}" * 20_000),
        "ipynb: nested lists": ("ipynb", b'{"nbformat":4,"cells":[' + b"[" * 200_000),
        "json: nested lists": ("json", b"[" * 200_000),
        "csv: one long row": ("csv", b"a,b\n" + b"," * 200_000),
    }
    return office | archives | others


def document(declarations, namespace=b"u"):
    """A Word document with declarations, or with a namespace, and 100,000 paragraphs."""
    doctype = b"<!DOCTYPE d [%s]>" % declarations if declarations else b""
    body = doctype + b'<w:d xmlns:w="%s">' % namespace + b"<w:p/><p/>" * 50_000 + b"</w:d>"
    return deflated(docx_of(["x"]), {"word/document.xml": lambda _: body})


def numbered(kind, target, count):
    """Relations q0, q1, ... of a kind; `target` may have a place for the number."""
    return b"".join(
        b'<Relationship Id="q%d" Type="http://x/%s" Target="%s"/>'
        % (n, kind, target.replace(b"#", b"%d" % n))
        for n in range(count)
    )


def sheets(count, target=b"worksheets/sheet1.xml", others=None):
    """A workbook that lists so many sheets."""
    listed = b"".join(b'<sheet name="s%d" xmlns:r="%s" r:id="q%d"/>' % (n, PART, n) for n in range(count))
    changes = {
        "xl/workbook.xml": before(b"</sheets>", listed),
        "xl/_rels/workbook.xml.rels": before(b"</Relationships>", numbered(b"worksheet", target, count)),
        "xl/worksheets/sheet1.xml": lambda _: b"<a>" + b"<row><c><v>1</v></c></row>" * 1000 + b"</a>",
    }
    return deflated(xlsx_of([["x"]]), changes, others)


def drawings(count):
    """A workbook whose sheets have one drawing together."""
    rels = numbered(b"drawing", b"../d.xml", 1)
    others = {f"xl/worksheets/_rels/t{n}.xml.rels": b"<a>" + rels + b"</a>" for n in range(count)}
    others |= {f"xl/worksheets/t{n}.xml": b"<a/>" for n in range(count)}
    return sheets(count, b"worksheets/t#.xml", others | {"xl/d.xml": paragraphs()})


def notes(count):
    """A presentation whose slides have one page of notes together."""
    listed = b"".join(b'<p:sldId xmlns:r="r" r:id="q%d"/>' % n for n in range(count))
    rels = numbered(b"notesSlide", b"../d.xml", 1)
    others = {f"ppt/slides/_rels/t{n}.xml.rels": b"<a>" + rels + b"</a>" for n in range(count)}
    others |= {f"ppt/slides/t{n}.xml": b"<a/>" for n in range(count)}
    changes = {
        "ppt/presentation.xml": before(b"</p:sldIdLst>", listed),
        "ppt/_rels/presentation.xml.rels": before(
            b"</Relationships>", numbered(b"slide", b"slides/t#.xml", count)
        ),
    }
    return deflated(pptx_of(["x"]), changes, others | {"ppt/d.xml": paragraphs()})


def paragraphs():
    return b"<a>" + b"<p><t>x</t></p>" * 15_000 + b"</a>"


def shared_text():
    """A workbook of 3 KB with 95 million characters."""
    changes = {
        "xl/theme/theme1.xml": lambda _: b"<sst><si><t>" + b"long " * 10_000 + b"</t></si></sst>",
        "xl/worksheets/sheet1.xml": lambda _: b"<a>" + b'<row><c t="s"><v>0</v></c></row>' * 1900 + b"</a>",
        "xl/_rels/workbook.xml.rels": lambda member: member.replace(b"/theme", b"/sharedStrings", 1),
    }
    return deflated(xlsx_of([["x"]]), changes)


def repeated_cell():
    """A workbook of 2 KB with 90 million characters."""

    def change(member):
        member = member.replace(
            b"<table:table-cell ", b'<table:table-cell table:number-columns-repeated="99999" '
        )
        return member.replace(b"Dear Ada", b"long " * 180)

    return deflated(ods_of([["Dear Ada"]]), {"content.xml": change})


def spine(count):
    items = b"".join(
        b'<item id="a%d" href="%%2e/a.xhtml#%d" media-type="application/xhtml+xml"/>' % (n, n)
        for n in range(count)
    )
    named = b"".join(b'<itemref idref="a%d"/>' % n for n in range(count))

    def change(member):
        return before(b"</spine>", named)(before(b"</manifest>", items)(member))

    return deflated(epub_of(["word " * 100] * 1000), {"p.opf": change})


def before(mark, added):
    """A function that adds something to a member, before a mark in it."""
    return lambda member: member.replace(mark, added + mark)


def deflated(data, changes, others=None):
    """A zip file with some members changed by functions, and with others."""
    written = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as source,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for info in source.infolist():
            change = changes.get(info.filename, bytes)
            kind = zipfile.ZIP_STORED if info.filename == "mimetype" else zipfile.ZIP_DEFLATED
            target.writestr(info.filename, change(source.read(info)), kind)
        for name, member in (others or {}).items():
            target.writestr(name, member)
    return written.getvalue()


def pax_keywords(count):
    """Records of two bytes, each of whose keywords reaches to the end."""
    info = tarfile.TarInfo("a")
    body = blocks(b"2 " * count, b"=")
    info.type, info.size = tarfile.XHDTYPE, len(body)
    return info.tobuf() + body + header(0) + bytes(1024)


def forms(depth):
    """A PDF with a drawing that is drawn ten times in a drawing, and so on."""
    xobject = (
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X %d 0 R>>>>/Length %d>>stream\n%s"
    )
    first = PAGE + b">>/XObject<</X 5 0 R>>>>"
    first = first.replace(FONT + b">>", FONT)
    body = b"/X Do " * 10
    inner = [xobject % (number, len(body), body) + b"\nendstream" for number in range(6, 5 + depth)]
    last = b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 0>>stream\n\nendstream"
    pages = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    return plain_pdf(CATALOG, pages, first, drawing(b"/X Do"), *inner, last)


def packed_pdf(pages):
    """A PDF with its list of pages in a compressed object."""
    inner = zlib.compress(b"2 0 " + pages, 9)
    packed = b"<</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (
        len(inner),
        inner,
    )
    objects = {1: CATALOG, 3: PAGE + b">>>>", 4: drawing(DRAWN), 5: packed}
    written, places = b"%PDF-1.5\n", {}
    for number, each in objects.items():
        places[number] = len(written)
        written += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    rows = bytes(5) + b"".join(
        struct.pack(">BHH", 2, 5, 0)
        if number == 2
        else struct.pack(">BHH", 1, places.get(number, len(written)), 0)
        for number in range(1, 7)
    )
    table = b"<</Type/XRef/Size 7/W[1 2 2]/Root 1 0 R/Length %d>>stream\n%s\nendstream" % (len(rows), rows)
    return written + b"6 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF" % (table, len(written))


def multiparts(count):
    nested = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(count))
    return MAIL + b"".join(nested) + b"Content-Type: text/plain\n\nDear Ada\n"
