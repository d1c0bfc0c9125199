"""Front ends: extract the text from the bytes of a file. Each file format has one small module.

docindex reads these formats:

- plain text
- office files: docx, pptx, xlsx, odt, odp, ods, rtf; but not the older doc, ppt and xls
- PDF, and Outlook messages (msg), if the extra ``formats`` is installed
- mail (eml, mbox), web pages, books (epub), notebooks (ipynb)
- Markdown, TeX, subtitles, XML, JSON, and tables (csv, tsv)
- the files inside zip and tar archives, if `ExtractionOptions.archives` is true

A file larger than 256 MB is not read. The limit is 100 MB for web pages, XML, JSON, TeX, RTF, tables and
notebooks, and 50 MB for Markdown and subtitles. The process that extracts texts has 60 seconds for a file and
2 GB of memory, on systems that can limit it. The documents inside a file may take 600 seconds together, and
have 256 million characters. A single text has at most 100 million characters. A small file gets less: half a
second of processor time and 10 seconds for each megabyte, a million characters and 200 for each byte. A file
that exceeds a limit is counted and named with the reason: "too large", "too slow" or "too much work".

To read another format, write a `FrontEnd` in a package of your own:

>>> def extract_shouting(data, options):
...     return TextBuilder().begin("all of it").add(data.decode().lower()).extracted()
>>> SHOUTING = FrontEnd("shouting", 1, extract_shouting, extensions=frozenset({".loud"}), is_text=True)
>>> SHOUTING.extract(b"DEAR ADA", ExtractionOptions()).text
'dear ada'

When the package is installed, docindex finds it by an entry point, and asks it before its own front ends. In
the package's pyproject.toml::

    [project.entry-points."docindex.frontends"]
    shouting = "your_package.your_module:SHOUTING"
"""

# From the bottom up: failures, safe_zip, safe_xml, extracted, part_list, line_places, front_end,
# packed_places, encodings, markup, office, mail, pdf, picture, zip_archive, tar_archive, recognition,
# isolated, source_documents, extract.

from docindex.frontends.extracted import Extracted, Place, Places, SourcePart, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd

__all__ = [
    "Extracted",
    "ExtractionOptions",
    "FrontEnd",
    "NotExtracted",
    "Place",
    "Places",
    "SourcePart",
    "TextBuilder",
]
