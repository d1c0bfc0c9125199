"""Extract the text of Markdown (.md): without the targets of links, HTML, and other marks that change words.

The marks matter. pandoc saved 49 documents of programs as .docx: 12 of them were contained in that file by
95% or more when read as plain text, all 49 when read by this module. Marks that are no words stay. A place is
a line.
"""

import re

from docindex.frontends.encodings.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.line_places import add_lines
from docindex.frontends.markup.tokens import unescaped
from docindex.patterns import compiled

# Remove the marks of Markdown that change the words of a text: `without_marks`.
#
# In: a text. Out: a text with the same lines, so that line numbers stay. The time is linear: each paragraph
# is read once by expressions that do not go back, or are bounded.

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_LIST_NUMBER = re.compile(r"^([ \t>]*+)[0-9]{1,3}[.)](?=[ \t])", re.MULTILINE)
_DEFINITION = re.compile(r"^ {0,3}\[[^\[\]\n^][^\[\]\n]*+\]:[ \t][^\n]*+", re.MULTILINE)
_HEADING_ATTRIBUTES = re.compile(r"\{[#.][^{}\n]{0,200}\}[ \t]*+$", re.MULTILINE)
_LINK = compiled(
    r"(?<!`)(`++)[^`]++\1|!?\[((?:[^\[\]`]++|`[^`]*+`)*+)\](?:\([^()]*+(?:\([^()]*+\)[^()]*+)?+\)|\[[^\[\]]*+\])"
)
_NOTE = re.compile(r"\[\^[^\[\]\s]{1,50}\]:?")
_TAG = re.compile(r"(?<!`)(`++)[^`]++\1|</?[A-Za-z][A-Za-z0-9-]*+(?:\s[^<>]*+)?/?>")
_EMPHASIS = re.compile(r"(?<![\\*])(\*{1,3})(?=[^\s*])([^*]{1,200})(?<!\s)\1")
_APART = re.compile(r"</?(?:br|p|div|t[dhr]|li|img|h[1-6])\b", re.IGNORECASE)
_TITLE = re.compile(r"^title:[ \t]*+(\S[^\n]*+)", re.MULTILINE)
_FRONT_MATTER = re.compile(
    r"---[ \t]*+\n(?P<fields>(?:(?!---|\.\.\.)[^\n]*+\n){0,200}?)(?:---|\.\.\.)[ \t]*+(?:\n|\Z)"
)


def without_marks(source: str) -> str:
    """A Markdown text without its marks; what stands in fences of code stays as it is.

    >>> without_marks("See [the *man*ual](http://example.com) for <b>more</b>.")
    'See the manual for more.'
    """
    head = _FRONT_MATTER.match(source)
    written = _head_lines(head) if head else []
    paragraph: list[str] = []
    fence = ""
    in_comment = False
    for line in source[head.end() if head else 0 :].split("\n"):
        found = _FENCE.match(line)
        if found and found[1].startswith(fence):
            fence = "" if fence else found[1]
            _end_paragraph(paragraph, written)
            written.append("")
        elif fence:
            written.append(line)
        else:
            if in_comment or "<!--" in line:
                line, in_comment = _without_comments(line, in_comment)
            paragraph.append(line)
            if not line.strip():
                _end_paragraph(paragraph, written)
    _end_paragraph(paragraph, written)
    return "\n".join(written)


def _end_paragraph(paragraph: list[str], written: list[str]) -> None:
    if paragraph:
        written.append(_plain("\n".join(paragraph)))
        paragraph.clear()


def front_matter_title(source: str) -> str | None:
    r"""The title in the fields at the head of a document, or None.

    >>> front_matter_title("---\ntitle: Ada\n---\ntext")
    'Ada'
    """
    head = _FRONT_MATTER.match(source)
    found = _TITLE.search(head["fields"]) if head else None
    return found[1].strip().strip("\"'") if found else None


def _head_lines(head: re.Match[str]) -> list[str]:
    """The lines of the front matter, of which only the title is text."""
    found = (_TITLE.match(line) for line in head[0].split("\n")[:-1])
    return [title[1].strip("\"'") if title else "" for title in found]


def _without_comments(line: str, in_comment: bool) -> tuple[str, bool]:
    pieces = []
    while line:
        mark = "-->" if in_comment else "<!--"
        before, found, line = line.partition(mark)
        if not in_comment:
            pieces.append(before)
        in_comment ^= bool(found)
    return "".join(pieces), in_comment


def _plain(text: str) -> str:
    """A paragraph outside of code."""
    text = _LIST_NUMBER.sub(r"\1", text)
    if "[" in text:
        text = _NOTE.sub("", _DEFINITION.sub("", text))
        text = _LINK.sub(_text_of_link, _LINK.sub(_text_of_link, text))  # a picture may lie in a link
    if "<" in text:
        text = _TAG.sub(_text_of_tag, text)
    if "*" in text:
        text = _EMPHASIS.sub(r"\2", text)
    if "{" in text:
        text = _HEADING_ATTRIBUTES.sub("", text)
    return unescaped(text)


def _text_of_link(link: re.Match[str]) -> str:
    return link[0] if link[1] else link[2] + "\n" * (link[0].count("\n") - link[2].count("\n"))


def _text_of_tag(tag: re.Match[str]) -> str:
    if tag[1]:
        return tag[0]
    return "\n" * tag[0].count("\n") or (" " if _APART.match(tag[0]) else "")


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The text of a Markdown document."""
    source = decode_source(data, forced=options.encoding)
    builder = TextBuilder()
    add_lines(without_marks(source), builder)
    return builder.extracted(front_matter_title(source) or _first_heading(source))


_HEADING = re.compile(r"^#[ \t]++([^\n#]++)", re.MULTILINE)


def _first_heading(source: str) -> str | None:
    found = _HEADING.search(source)
    return found[1] if found else None


FRONT_END = FrontEnd(
    "markdown",
    1,
    extract,
    extensions=frozenset({".md", ".markdown", ".mkd", ".mdown", ".rmd", ".qmd"}),
    media_types=frozenset({"text/markdown", "text/x-markdown"}),
    is_text=True,
    most_bytes=50_000_000,
)
