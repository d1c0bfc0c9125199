"""Compare the time of each front end with that of its parser alone, and PDF with one and two extractors.

The parser is the one that the front end calls, or one that a program would call instead, with handlers that
do nothing: zipfile and expat for office files, html.parser for web pages, Python's json, csv and email,
olefile, PDFium. Subtitles, Markdown, TeX and RTF have no such parser. Two extractors are only as fast as two
cores that nothing else uses, so two processes of arithmetic are measured beside them.
"""

import concurrent.futures
import csv
import email
import email.policy
import html.parser
import io
import json
import re
import statistics
import subprocess
import sys
import time
import zipfile
from xml.parsers import expat

import olefile
import pypdfium2

from docindex.frontends.front_end import ExtractionOptions
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from docindex.frontends.recognition import by_extension
from tests.frontends.writers import CONTAINERS, WRITERS

_SAMPLE = 100
"""So many texts make one large source."""
_BAR = 1.3
_OPTIONS = ExtractionOptions(archives=True)
_READ = re.compile(r"word/document|ppt/slides/slide|xl/worksheets/|xl/sharedStrings|content\.xml|.*\.x?html$")
"""The members of office files and books that have most of their text."""


def run(texts, rounds):
    chosen = texts[:_SAMPLE]
    paragraphs = [each for text in chosen for each in text]
    size = len("\n\n".join(paragraphs))
    print(f"one source of {size / 1e6:.1f} MB of text in each format")
    for extension, writer in WRITERS.items():
        _compare(extension, writer(paragraphs), size, rounds)
    for extension, (writer, _) in CONTAINERS.items():
        _compare(extension, writer(chosen), size, rounds)
    _pdf([WRITERS["pdf"](paragraphs)] * 24, rounds)


def _compare(extension, data, size, rounds):
    front_end, parser = by_extension(f"x.{extension}", archives=True), PARSERS.get(extension)
    if front_end is None:  # plain text is no front end
        return
    ours, ratios = [], []
    for _ in range(2 * rounds + 1):
        ours.append(_seconds(lambda: front_end.extract(data, _OPTIONS)))
        if parser:
            ratios.append(ours[-1] / _seconds(lambda: parser(data)))
    speed = f"{extension:6} {size / statistics.median(ours) / 1e6:7.1f} MB of text each second"
    if parser:
        speed += f", {statistics.median(ratios):.2f} of the time of {parser.__name__} (target {_BAR})"
    print(speed, flush=True)


def _seconds(work):
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _nothing(*_):
    pass


def expat_alone(data):
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = parser.EndElementHandler = parser.CharacterDataHandler = _nothing
    parser.Parse(data, True)


def zipfile_and_expat(data):
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        for name in filter(_READ.match, source.namelist()):
            expat_alone(source.read(name))


def pdfium(data):
    document = pypdfium2.PdfDocument(data)
    for page in document:
        text = page.get_textpage()
        text.get_text_range()
        text.close()
        page.close()
    document.close()


def html_parser(data):
    html.parser.HTMLParser().feed(data.decode())


def json_loads(data):
    json.loads(data)


def csv_reader(data):
    for _ in csv.reader(io.StringIO(data.decode())):
        pass


def email_parser(data):
    for part in email.message_from_bytes(data).walk():
        part.get_payload(decode=True)


def email_parser_of_each(data):
    for message in re.split(rb"(?m)^From .*\n", data):
        email_parser(message)


def olefile_streams(data):
    with olefile.OleFileIO(io.BytesIO(data)) as source:
        for name in source.listdir():
            source.openstream(name).read()


def zipfile_alone(data):
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        for name in source.namelist():
            source.read(name)


PARSERS = {
    **dict.fromkeys(("docx", "pptx", "xlsx", "odt", "ods", "odp", "epub"), zipfile_and_expat),
    "pdf": pdfium,
    "eml": email_parser,
    "mbox": email_parser_of_each,
    "msg": olefile_streams,
    "html": html_parser,
    "xml": expat_alone,
    "json": json_loads,
    "ipynb": json_loads,
    "csv": csv_reader,
    "zip": zipfile_alone,
}


def _pdf(files, rounds):
    """Compare two extractors with one, as a scan on two cores uses them."""
    ratios, cores = [], []
    for _ in range(rounds):
        one, two = (_seconds(lambda count=count: _read_all(files, count)) for count in (1, 2))
        ratios.append(one / two)
        one, two = (_seconds(lambda count=count: _calculate(count)) for count in (1, 2))
        cores.append(2 * one / two)
    print(
        f"PDF: two extractors are {statistics.median(ratios):.2f} times as fast as one; "
        f"two processes calculate {statistics.median(cores):.2f} times as fast as one"
    )


def _calculate(count):
    """Run so many processes that do nothing but arithmetic."""
    command = [sys.executable, "-c", "sum(i * i for i in range(12_000_000))"]
    for process in [subprocess.Popen(command) for _ in range(count)]:
        process.wait()


def _read_all(files, count):
    def read(number):
        with Extractor() as extractor:
            for data in files[number::count]:
                extractor.extract(Source(data, "x.pdf"))

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        list(pool.map(read, range(count)))
