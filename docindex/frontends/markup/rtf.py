"""Extract the text of Rich Text Format (.rtf).

Gives the paragraphs of the body and of tables and text boxes, then foot- and endnotes and comments. Headers
and footers of pages, the numbers of lists, hidden and deleted text are left out. A place is a paragraph,
counted as in a word processor: from 1, also in tables.
"""

import dataclasses
import re

from docindex.frontends.encodings.decoded_source import codec_of
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd

# Read the groups and control words of RTF: `RtfReader`.
#
# In: the bytes of a document, as characters below 256. Out: a filled text builder, and the title. Text is
# collected as bytes and decoded where the font or the group changes, because a character of Chinese may be
# two escapes, or an escape and a letter. Groups are kept on a list, so that no nesting is too deep.

# Each character belongs to a match, and no match goes back, so that the time is linear.
_TOKEN = re.compile(
    r"\\(?P<word>[A-Za-z]{1,40})(?P<number>-?[0-9]{1,10})?\ ?"
    r"|\\'(?P<hex>[0-9A-Fa-f]{2})"
    r"|(?P<brace>[{}])"
    r"|[\r\n]++"
    r"|\\(?P<symbol>.)"
    r"|(?P<text>[^\\{}\r\n]++)"
    r"|\\\Z",
    re.DOTALL,
)


def _words(written: str) -> frozenset[str]:
    return frozenset(written.split())


_LEFT_OUT = _words(
    "fonttbl colortbl stylesheet pict header headerl headerr headerf footer footerl footerr footerf "
    "listtext pntext pntxta pntxtb nonshppict objdata fldinst listtable listoverridetable revtbl rsidtbl "
    "filetbl xe tc tcn ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn bkmkstart bkmkend themedata "
    "colorschememapping datastore latentstyles generator author operator company category keywords "
    "subject manager comment doccomm hlinkbase creatim revtim printim buptim atnid atnauthor atntime "
    "atndate atnref atnparent userprops xmlnstbl template sn sv shprslt mmath"
)
"""Destinations whose text is not part of the document."""
_ASIDE = _words("footnote annotation title")
"""Destinations whose text is read, but does not stand where the document has it."""
_STARRED = _words("shpinst shptxt annotation footnote shppict")
"""Destinations that old readers must skip, and that have text."""

_PARAGRAPHS = _words("par cell nestcell")
_BREAKS = _PARAGRAPHS | {"row", "nestrow", "sect", "page", "line"}
_AS_TEXT = {
    "tab": "\t",
    "emdash": "—",
    "endash": "–",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
}
_SYMBOLS = {"~": "\u00a0", "_": "-", "-": "", "\\": "\\", "{": "{", "}": "}", "\t": "\t"}

_CHARSETS = {
    0: "cp1252",
    77: "mac-roman",
    128: "cp932",
    129: "cp949",
    134: "gb18030",
    136: "big5hkscs",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
"""The encodings of the character sets of fonts."""
_OF_FONTS = _words("f fcharset cpg ansicpg")
_PAGES = {"ansi": "cp1252", "mac": "mac-roman", "pc": "cp437", "pca": "cp850"}
_MOST_GROUPS = 1_000_000

_BINARY = re.compile(r"(?<!\\)\\bin([0-9]{1,10}) ?")
_LABEL = re.compile(r"\s{0,9}[0-9A-Za-z]{1,4}[.)]")
_LONGEST_LABEL = 14
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclasses.dataclass(slots=True)
class _Group:
    """What a group takes over from the group around it."""

    codec: str | None = None
    """The encoding of the font; None for that of the document."""
    skipped: int = 1
    """How many characters after a Unicode character are its replacement for old readers."""
    is_left_out: bool = False
    is_hidden: bool = False
    is_font_table: bool = False


_HIDES = frozenset(("v", "deleted", "plain"))
_KNOWN = _LEFT_OUT | _ASIDE | _BREAKS | _OF_FONTS | _HIDES | {"u", "uc", "tx", *_AS_TEXT, *_PAGES}


class RtfReader:
    """The text of a document in `builder`, and its `title`."""

    def __init__(self, source: str) -> None:
        self.builder = TextBuilder().begin("paragraph 1")
        self.title: str | None = None
        self._codec = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = 0  # that the table of fonts describes
        self._group = _Group()
        self._outer: list[_Group] = []
        self._bytes: list[str] = []  # characters below 256, not yet decoded
        self._text: list[str] = []  # the text of the paragraph, or of what is read aside
        self._aside: list[tuple[int, str, list[str]]] = []  # the depth, what is read, the text around it
        self._notes: list[str] = []
        self._to_skip = 0
        self._is_starred = False
        self._paragraphs = 1
        self._read(source)
        while self._outer:  # a document that was cut off
            self._close_group()
        self._end_paragraph()
        for count, note in enumerate(self._notes, 1):
            self.builder.begin(f"note {count}").add(note).end_paragraph()

    def _read(self, source: str) -> None:
        for token in _TOKEN.finditer(_without_binary(source)):
            kind = token.lastgroup
            if kind in ("word", "number"):
                word = token["word"]
                if word in _KNOWN or self._is_starred:  # most words are about fonts and sizes
                    self._control(word, token["number"])
            elif kind == "text":
                self._add_bytes(token[0])
            elif kind == "hex":
                self._add_bytes(chr(int(token["hex"], 16)))
            elif kind == "brace":
                self._open_group() if token[0] == "{" else self._close_group()
            elif kind == "symbol":
                self._obey_symbol(token["symbol"])

    def _open_group(self) -> None:
        self._decode()
        self._to_skip = 0
        if len(self._outer) >= _MOST_GROUPS:
            raise NotExtracted("damaged", f"its groups are nested more than {_MOST_GROUPS:,} levels deep")
        self._outer.append(self._group)
        now = self._group
        # dataclasses.replace takes six times as long.
        self._group = _Group(now.codec, now.skipped, now.is_left_out, now.is_hidden, now.is_font_table)

    def _close_group(self) -> None:
        self._decode()
        self._to_skip = 0
        if self._aside and self._aside[-1][0] == len(self._outer):
            _, kind, around = self._aside.pop()
            read = _whole("".join(self._text)).strip()
            if kind == "title":
                self.title = read
            elif read:
                self._notes.append(read)
            self._text = around
        if self._outer:
            self._group = self._outer.pop()

    def _obey_symbol(self, symbol: str) -> None:
        if symbol == "*":
            self._is_starred = True
        else:
            self._add_text(_SYMBOLS.get(symbol, ""))

    def _control(self, word: str, number: str | None) -> None:
        """Obey a control word."""
        is_starred, self._is_starred = self._is_starred, False
        value = int(number) if number else 0
        if word == "u":
            self._add_text(_character(value))
            self._to_skip = self._group.skipped
        elif word == "uc":
            self._group.skipped = max(value, 0)
        elif word in _LEFT_OUT or (is_starred and word not in _STARRED):
            self._decode()
            self._group.is_left_out = True
            self._group.is_font_table |= word == "fonttbl"
        elif word in _OF_FONTS or word in _PAGES:
            self._set_encoding(word, value)
        elif word in _BREAKS:
            self._break(word)
        elif word in _AS_TEXT:
            self._add_text(_AS_TEXT[word])
        elif word in _ASIDE:
            self._begin_aside(word)
        elif word == "tx":
            self._leave_out_label()
        elif word in _HIDES:
            self._decode()
            self._group.is_hidden = word != "plain" and number != "0"

    def _leave_out_label(self) -> None:
        """Leave out the number of a list. pandoc writes it as text, and sets the tabulator after it."""
        self._decode()
        if sum(map(len, self._text[: _LONGEST_LABEL + 1])) <= _LONGEST_LABEL and _LABEL.fullmatch(
            "".join(self._text)
        ):
            self._text.clear()

    def _begin_aside(self, kind: str) -> None:
        if not self._group.is_left_out:
            self._decode()
            self._aside.append((len(self._outer), kind, self._text))
            self._text = []

    def _set_encoding(self, word: str, value: int) -> None:
        self._decode()
        if word in _PAGES:
            self._codec = _PAGES[word]
        elif word == "ansicpg":
            self._codec = codec_of(f"cp{value}") or self._codec
        elif not self._group.is_font_table:
            if word == "f":
                self._group.codec = self._fonts.get(value)
        elif word == "f":
            self._font = value
        else:
            codec = _CHARSETS.get(value) if word == "fcharset" else codec_of(f"cp{value}")
            if codec:
                self._fonts[self._font] = codec

    def _break(self, word: str) -> None:
        if self._aside or word == "line":
            self._add_text("\n")
        elif not self._group.is_left_out:
            self._decode()
            self._end_paragraph()
            self._paragraphs += word in _PARAGRAPHS
            self.builder.begin(f"paragraph {self._paragraphs}")

    def _end_paragraph(self) -> None:
        self.builder.add(_whole("".join(self._text)).strip(" ")).end_paragraph()
        self._text.clear()

    def _is_shown(self) -> bool:
        return not (self._group.is_left_out or self._group.is_hidden)

    def _add_bytes(self, text: str) -> None:
        if self._to_skip:
            skipped = min(self._to_skip, len(text))
            self._to_skip -= skipped
            text = text[skipped:]
        if text and self._is_shown():
            self._bytes.append(text)

    def _add_text(self, text: str) -> None:
        self._decode()
        if text and self._is_shown():
            self._text.append(text)

    def _decode(self) -> None:
        if self._bytes:
            read = "".join(self._bytes)
            self._bytes.clear()
            is_ascii = read.isascii()
            codec = self._group.codec or self._codec
            self._text.append(read if is_ascii else read.encode("latin-1").decode(codec, "replace"))


def _without_binary(source: str) -> str:
    """A document without the binary data of pictures, whose bytes may look like anything."""
    pieces, last = [], 0
    while found := _BINARY.search(source, last):
        pieces.append(source[last : found.start()])
        last = found.end() + int(found[1])
    return "".join([*pieces, source[last:]]) if pieces else source


def _character(number: int) -> str:
    """A character, or half of one, of a number that RTF writes with a sign."""
    code = number & 0xFFFF
    # Fonts of symbols have their signs here: they are bullets and arrows, not letters.
    return " " if 0xF000 <= code <= 0xF0FF else chr(code)


def _whole(text: str) -> str:
    """A text in which the two halves of a character are one character."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def extract(data: bytes, _: ExtractionOptions) -> Extracted:
    """The text of an RTF document."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise NotExtracted("damaged", "it does not begin like an RTF file")
    reader = RtfReader(data.decode("latin-1"))
    return reader.builder.extracted(reader.title)


FRONT_END = FrontEnd(
    "rtf",
    1,
    extract,
    (b"{\\rtf",),
    extensions=frozenset({".rtf"}),
    media_types=frozenset({"application/rtf", "text/rtf", "text/richtext"}),
    most_bytes=100_000_000,
)
