"""PDF files for tests, written by other people's programs, and what tests compare their texts by."""

import io
import random
import re
import shutil
import subprocess

import pytest
from reportlab.lib import pdfencrypt
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate

WORDS = re.findall(
    r"\w+",
    """
affection afternoon although answered anxious apparently arrangement assurance attention because beginning
brother carriage certainly character circumstance comfortable conversation daughter delightful different
difficulty disappointment engagement evening everybody expectation family favourite feeling fortune friend
garden gentleman happiness however imagine immediately impossible inclination intention interesting invitation
journey kindness letter library London manner marriage moment mother necessary neighbourhood nothing officer
opinion opportunity particular perfectly perhaps pleasure possible present proposal question reason remember
satisfaction situation something surprise together understand visitor walking whatever wonderful yesterday
""",
)

chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
pdftex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdfTeX")
libreoffice = pytest.mark.skipif(shutil.which("soffice") is None, reason="needs LibreOffice")


def letter(words=400, seed=1):
    """Paragraphs of random English words."""
    chosen = random.Random(seed).choices(WORDS, k=words)
    return [" ".join(chosen[at : at + 80]).capitalize() + "." for at in range(0, words, 80)]


def runs_of_words(text, length=4):
    """All runs of four words of a text."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def containment(paragraphs, text):
    """The share of the runs of some paragraphs that are in a text."""
    wanted = runs_of_words("\n\n".join(paragraphs))
    return len(wanted & runs_of_words(text)) / len(wanted)


def pdf_of(paragraphs, head="", title=None, encrypt=None):
    """The bytes of a PDF that reportlab writes, with the number of the page and a head on each page."""

    def decorate(page, document):
        page.drawString(280, 30, f"Page {document.page}")
        page.drawString(200, 810, head)

    written = io.BytesIO()
    style = getSampleStyleSheet()["BodyText"]
    template = SimpleDocTemplate(written, title=title, encrypt=encrypt)
    story = [Paragraph(text, style) for text in paragraphs]
    template.build(story, onFirstPage=decorate, onLaterPages=decorate)
    return written.getvalue()


def pages_of(*pages, encrypt=None):
    """The bytes of a PDF that reportlab writes, with these lines on each page; without any: a picture."""
    written = io.BytesIO()
    sheet = canvas.Canvas(written, encrypt=encrypt)
    for lines in pages:
        for number, line in enumerate(lines):
            sheet.drawString(72, 700 - 14 * number, line)
        if not lines:
            sheet.rect(100, 100, 200, 200, fill=1)
        sheet.showPage()
    sheet.save()
    return written.getvalue()


def locked(user, owner="owner"):
    """The encryption of a PDF by passwords."""
    return pdfencrypt.StandardEncryption(user, owner, strength=128)


def printed_by_chromium(folder, page):
    """The bytes of the PDF that Chromium prints of a web page."""
    (folder / "page.html").write_text(page, "utf-8")
    target = folder / "page.pdf"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    command = ["chromium", *options, f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}"]
    subprocess.run([*command, (folder / "page.html").as_uri()], check=True, capture_output=True, timeout=120)
    return target.read_bytes()


def printed_by_libreoffice(folder, name, data):
    """The bytes of the PDF that LibreOffice exports of a document."""
    (folder / name).write_bytes(data)
    profile = (folder / "profile").as_uri()
    command = ["soffice", "--headless", f"-env:UserInstallation={profile}", "--convert-to", "pdf"]
    command += ["--outdir", str(folder), str(folder / name)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    return (folder / name).with_suffix(".pdf").read_bytes()
