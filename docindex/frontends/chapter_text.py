"""Read the paragraphs of a chapter of a book (XHTML): `read_chapter`.

In: the bytes of a chapter. Out: its paragraphs and its first heading. Elements such as scripts are left out,
the marks of footnotes too, because they would become a part of the word before them.
"""

import html.entities
import re
from typing import NamedTuple

from docindex.frontends.failures import NotExtracted
from docindex.frontends.markup_tokens import single_spaced, unescaped
from docindex.frontends.safe_xml import OTHERS, Attributes, read_xml

_BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "div", "dl", "dt"),
    *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header"),
    *("hr", "li", "main", "nav", "ol", "p", "pre", "section", "summary", "table", "tbody", "td", "th"),
    *("thead", "tr", "ul"),
}
"""The elements that begin and end a paragraph."""

_LEFT_OUT = {"head", "script", "style", "rt", "rp", "template", "annotation", "annotation-xml"}
_MARKS = {"noteref", "doc-noteref", "doc-backlink", "backlink", "pagebreak", "doc-pagebreak"}
"""The types and roles of the marks of footnotes, of the arrows back to them, and of printed pages."""

_HEADINGS = {"h1", "h2", "h3"}


class Chapter(NamedTuple):
    """The text of a chapter."""

    paragraphs: list[str]
    heading: str | None


def read_chapter(data: bytes) -> Chapter:
    r"""The text of a chapter. One that is not well-formed is read as far as its marks can be told from text.

    >>> read_chapter(b"<html><body><h1>The <i>End</i></h1><p>All&nbsp;is<br/>well.</p></body></html>")
    Chapter(paragraphs=['The End', 'All is\nwell.'], heading='The End')
    >>> read_chapter(b"<p>Bread & butter<p>Tea").paragraphs
    ['Bread & butter', 'Tea']
    """
    try:
        reader = _Reader()
        read_xml(_NAMED.sub(_by_number, data), reader.starts, reader.ends, reader.text)
    except NotExtracted:
        reader = _Reader()
        _read_loosely(data, reader)
    reader.end_paragraph()
    return Chapter(reader.paragraphs, reader.heading)


class _Reader:
    """Collects the paragraphs of a chapter. `starts`, `ends` and `text` are its functions for `read_xml`."""

    def __init__(self) -> None:
        self.paragraphs: list[str] = []
        self.heading: str | None = None
        self._pieces: list[str] = []
        self._depth = 0
        self._left_out_at = 0  # the depth of the element whose text is left out; 0 outside of one
        self.starts = {
            **dict.fromkeys(_BLOCKS, self._start_block),
            **dict.fromkeys(_LEFT_OUT, self._leave_out),
            "br": self._start_break,
            OTHERS: self._start,
        }
        self.ends = {
            **dict.fromkeys(_BLOCKS, self._end_block),
            **dict.fromkeys(_HEADINGS, self._end_heading),
            OTHERS: self._end,
        }

    def read_empty(self, name: str) -> None:
        """Read an element without attributes, text and elements."""
        self.starts.get(name, self._start)({})
        self.ends.get(name, self._end)()

    def text(self, text: str) -> None:
        """Read a text between two tags."""
        if not self._left_out_at:
            self._pieces.append(text)

    def end_paragraph(self) -> str:
        """End the paragraph, and return its text."""
        if not self._pieces:
            return ""
        text = "".join(self._pieces)
        self._pieces.clear()
        if "\0" in text:
            text = "\n".join(filter(None, map(single_spaced, text.split("\0"))))
        else:
            text = single_spaced(text)
        if text:
            self.paragraphs.append(text)
        return text

    def _start(self, attributes: Attributes) -> None:
        self._depth += 1
        if attributes and not self._left_out_at and not _MARKS.isdisjoint(_kinds(attributes)):
            self._left_out_at = self._depth

    def _end(self) -> None:
        if self._left_out_at == self._depth:
            self._left_out_at = 0
        self._depth -= 1

    def _leave_out(self, _: Attributes) -> None:
        self._depth += 1
        self._left_out_at = self._left_out_at or self._depth

    def _start_block(self, attributes: Attributes) -> None:
        self._start(attributes)
        if not self._left_out_at:
            self.end_paragraph()

    def _end_block(self) -> None:
        if not self._left_out_at:
            self.end_paragraph()
        self._end()

    def _end_heading(self) -> None:
        if not self._left_out_at and (text := self.end_paragraph()):
            self.heading = self.heading or single_spaced(text)
        self._end()

    def _start_break(self, attributes: Attributes) -> None:
        self._start(attributes)
        self.text("\0")


def _kinds(attributes: Attributes) -> list[str]:
    return f"{attributes.get('type', '')} {attributes.get('role', '')}".split()


_NAMED = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]{1,31});")


def _by_number(found: re.Match[bytes]) -> bytes:
    """The number of a character that HTML names and XML does not; an unknown name stays as it is."""
    name = found[1]
    text = html.entities.html5.get(f"{name.decode()};")
    if text is None:
        return found[0]
    return "".join(f"&#{ord(character)};" for character in text).encode()


def _read_loosely(data: bytes, reader: _Reader) -> None:
    """Read marks that do not match each other; linear in the size, which `html.parser` is not."""
    text = data.decode("utf-8", "replace").replace("\0", " ")
    for before_comment in text.split("<!--"):
        _, is_comment, rest = before_comment.rpartition("-->")
        _read_tags(rest if is_comment else before_comment, reader)


def _read_tags(text: str, reader: _Reader) -> None:
    before, *pieces = text.split("<")
    reader.text(unescaped(before))
    is_script = ""
    for piece in pieces:
        tag, _, rest = piece.partition(">")
        found = _TAG.match(tag)
        name = found[2].lower() if found else ""
        if is_script:
            is_script = "" if name == is_script and tag.startswith("/") else is_script
        elif name in _LEFT_OUT and not tag.startswith("/") and not tag.endswith("/"):
            is_script = name
        elif found is None and not tag.startswith(("!", "?")):
            reader.text(f"<{unescaped(piece)}")
            continue
        elif name:
            reader.read_empty(name)
        if not is_script:
            reader.text(unescaped(rest))


_TAG = re.compile(r"(/?)([A-Za-z][A-Za-z0-9]*)")
