"""Write a text of some paragraphs in every format, if possible with other programs: `WRITERS`."""

import csv
import html
import io
import json
import re
import textwrap
import zipfile

from tests.frontends.mails import mail_of, outlook_message_of
from tests.frontends.office import docx_of, epub_of, odp_of, ods_of, odt_of, pptx_of, xlsx_of
from tests.frontends.prints import pdf_of

_TEX = {
    **{sign: f"\\{sign}" for sign in "{}%&#$_"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def pairs(paragraphs):
    """Rows of two cells; a table of one column has no delimiter."""
    filled = [*paragraphs, ""]
    return [filled[at : at + 2] for at in range(0, len(paragraphs), 2)]


def html_of(paragraphs):
    body = "\n".join(f"<p>{html.escape(each)}</p>" for each in paragraphs)
    return f"<!DOCTYPE html><html><head><title>A text</title></head><body>{body}</body></html>".encode()


def rtf_of(paragraphs):
    def escaped(text):
        text = re.sub(r"([\\{}])", r"\\\1", text)
        return re.sub("[^\0-\x7f]", lambda sign: rf"\'{sign[0].encode('cp1252').hex()}", text)

    body = "\n".join(f"{escaped(each)}\\par" for each in paragraphs)
    return rf"{{\rtf1\ansi\ansicpg1252\deff0{{\fonttbl{{\f0 Arial;}}}}{body}}}".encode("ascii")


def tex_of(paragraphs):
    body = "\n\n".join("".join(_TEX.get(sign, sign) for sign in each) for each in paragraphs)
    return f"\\documentclass{{article}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n".encode()


def markdown_of(paragraphs):
    escaped = (re.sub(r"([\\`*_\[\]<>#~|&]|(?<=^\d)[.)])", r"\\\1", each) for each in paragraphs)
    return "\n\n".join(escaped).encode()


def notebook_of(paragraphs):
    cells = [{"cell_type": "markdown", "metadata": {}, "source": [each]} for each in paragraphs]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def subtitles_of(paragraphs):
    cues = [cue for each in paragraphs for cue in _wrapped(each, 80)]
    shown = [
        f"{number}\n{_time(number)},000 --> {_time(number)},900\n" + "\n".join([*_wrapped(cue, 42), ""])
        for number, cue in enumerate(cues, 1)
    ]
    return "\n".join(shown).encode()


def _wrapped(text, width):
    return textwrap.wrap(text, width, break_long_words=False)


def _time(second):
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"


def xml_of(paragraphs):
    body = "\n".join(f"<para>{html.escape(each)}</para>" for each in paragraphs)
    return f'<?xml version="1.0"?>\n<article>\n{body}\n</article>\n'.encode()


def json_of(paragraphs):
    return json.dumps({"title": None, "paragraphs": paragraphs}, indent=1).encode()


def csv_of_pairs(paragraphs):
    written = io.StringIO()
    csv.writer(written).writerows(pairs(paragraphs))
    return written.getvalue().encode()


def text_of(paragraphs):
    return "\n\n".join(paragraphs).encode()


def mailbox_of(texts):
    """The bytes of a mailbox with a mail for each text."""
    mails = [re.sub(rb"(?m)^(>*From )", rb">\1", mail_of("\n\n".join(each))) for each in texts]
    return b"".join(b"From ada Mon Jan  1 00:00:00 2024\n" + mail + b"\n" for mail in mails)


def archive_of(texts):
    """The bytes of a zip file with a text file for each text."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, each in enumerate(texts, 1):
            archive.writestr(f"{number}.txt", text_of(each))
    return written.getvalue()


WRITERS = {
    "docx": docx_of,
    "pptx": lambda paragraphs: pptx_of(["\n".join(each) for each in pairs(paragraphs)]),
    "xlsx": lambda paragraphs: xlsx_of(pairs([each.lstrip("= ") for each in paragraphs])),  # "=": a formula
    "odt": odt_of,
    "ods": lambda paragraphs: ods_of(pairs(paragraphs)),
    "odp": odp_of,
    "epub": lambda paragraphs: epub_of([html.escape(each) for each in paragraphs]),
    "pdf": lambda paragraphs: pdf_of([html.escape(each) for each in paragraphs]),
    "eml": lambda paragraphs: mail_of("\n\n".join(paragraphs)),
    "msg": lambda paragraphs: outlook_message_of(
        "A text", [("1000001F", "\r\n\r\n".join(paragraphs).encode("utf-16-le"))]
    ),
    "html": html_of,
    "rtf": rtf_of,
    "md": markdown_of,
    "tex": tex_of,
    "ipynb": notebook_of,
    "srt": subtitles_of,
    "xml": xml_of,
    "json": json_of,
    "csv": csv_of_pairs,
    "txt": text_of,
}
"""For each extension, a function that gives the bytes of a file with some paragraphs."""
CONTAINERS = {"mbox": (mailbox_of, "message {}"), "zip": (archive_of, "{}.txt")}
"""For each extension, a function that gives the bytes of a file with some texts, and their names in it."""
