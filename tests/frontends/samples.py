"""Small whole sources of each format, written by other people's programs, for the tests of damaged files."""

import gzip
import json
import mailbox
import tempfile
from pathlib import Path

from tests.frontends.mails import mail_of, outlook_message_of
from tests.frontends.markup import LETTER
from tests.frontends.office import docx_of, epub_of, odp_of, ods_of, odt_of, pptx_of, xlsx_of
from tests.frontends.prints import letter, locked, pages_of, pdf_of
from tests.frontends.test_archives import MEMBERS, tar_of, zip_of
from tests.frontends.test_mail import ANSWER, RTF, utf16
from tests.frontends.test_subtitles import SRT, VTT
from tests.frontends.test_values import ROWS, VALUES, csv_of


def samples():
    """The sources of each front end, by its name."""
    return office_samples() | other_samples() | text_samples()


def office_samples():
    """The sources of office programs, and a book."""
    page = ["Dear Ada", "yours"]
    return {
        "docx": [docx_of(page, title="A letter"), docx_of(letter(100))],
        "pptx": [pptx_of(page)],
        "xlsx": [xlsx_of([["Dear Ada", 1.5], ["yours", True]])],
        "odt": [odt_of(page)],
        "ods": [ods_of([page, ["yours"]])],
        "odp": [odp_of(page)],
        "epub": [epub_of(["Dear Ada &amp; yours", *letter(100)])],
    }


def other_samples():
    """PDF, mail and archives."""
    attachments = [("a.txt", b"x" * 500), ("b.docx", docx_of(["Dear Ada"]))]
    mails = [mail_of(ANSWER, attachments=attachments), mail_of("Größe " * 50, "ü" * 300, "<p>Größe " * 50)]
    attachment = {"3707001F": utf16("a.txt"), "37010102": b"Dear Bob" * 1000}
    plain = outlook_message_of("x", [("1000001F", utf16("Dear Ada " * 100))], [attachment])
    packed = outlook_message_of("x", [("10090102", RTF)], [attachment])
    scanned = pages_of(["Dear Ada", "yours"], [], encrypt=locked(""))
    return {
        "pdf": [pdf_of(letter(200), "A letter", "Ada"), scanned, pages_of(["x"])],
        "eml": mails,
        "mbox": [_mailbox_of(mails)],
        "msg": [plain, packed],
        "zip": [zip_of(MEMBERS)],
        "tar": [tar_of(MEMBERS), gzip.compress(tar_of(MEMBERS))],
    }


def _mailbox_of(mails):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "box")
        box = mailbox.mbox(path)
        for mail in mails:
            box.add(mail)
        box.close()
        return path.read_bytes()


def text_samples():
    """Markup, notebooks, tables and data."""

    def saved_as(*extensions):
        return [path.read_bytes() for path in sorted(LETTER.iterdir()) if path.suffix in extensions]

    return {
        "html": saved_as(".html", ".xhtml"),
        "rtf": saved_as(".rtf"),
        "markdown": saved_as(".md"),
        "tex": saved_as(".tex"),
        "ipynb": saved_as(".ipynb"),
        "xml": [*saved_as(".xml"), b"<a>" + b'<row id="1" name="Ada &amp; Bob"/>' * 20 + b"</a>"],
        "subtitles": [SRT.encode(), VTT.encode()],
        "csv": [csv_of(ROWS * 20).encode(), csv_of(ROWS * 20, dialect="excel-tab").encode()],
        "json": [json.dumps([VALUES] * 20).encode(), "\n".join([json.dumps(VALUES)] * 20).encode()],
    }
