"""Extract the text of Outlook's messages (.msg), which are OLE files (MS-OXMSG).

Gives the body: plain, otherwise HTML, otherwise RTF. Attachments are parts; an attached message becomes a
part in the format of mail (.eml). The subject is the title, as for mail. olefile (BSD) reads the OLE file;
extract-msg, which reads whole messages, has a licence that would bind the application (GPL).
"""

import io
import struct
from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import DEFAULT_OPTIONS, ExtractionOptions, FrontEnd
from docindex.frontends.mail.body import MailText
from docindex.frontends.part_list import MOST_PART_BYTES, PartList

# Decompress RTF as Outlook compresses it (LZFu, MS-OXRTFCP).

_DICTIONARY = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_WINDOW = 4096
_COMPRESSED, _PLAIN = 0x75465A4C, 0x414C454D


def decompressed_rtf(data: bytes) -> bytes:
    r"""The RTF in the property of a message; `NotExtracted` if it holds no RTF.

    >>> head = bytes.fromhex("2d0000002b0000004c5a4675f1c5c7a7")
    >>> body = bytes.fromhex("03000a007263706731323542320af32068656c090020627705b06c647d0a800fa0")
    >>> decompressed_rtf(head + body)
    b'{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n'
    """
    if len(data) < 16:
        raise NotExtracted("damaged", "its compressed RTF is too short")
    size, _, kind, _ = struct.unpack_from("<4I", data)
    if kind == _PLAIN:
        return data[16:]
    if kind != _COMPRESSED:
        raise NotExtracted("damaged", "its RTF is compressed in an unknown way")
    return _inflated(data[16 : size + 4])


def _inflated(data: bytes) -> bytes:
    """Bytes and references to a window, eight of them after each byte of flags."""
    found = bytearray(_DICTIONARY)
    position = 0
    while position < len(data):
        flags = data[position]
        position += 1
        for bit in range(8):
            if not flags >> bit & 1:
                found += data[position : position + 1]
                position += 1
                continue
            if position + 2 > len(data):
                return bytes(found[len(_DICTIONARY) :])
            reference = data[position] << 8 | data[position + 1]
            position += 2
            distance = (len(found) - (reference >> 4)) % _WINDOW
            if distance == 0:  # a reference to the place of writing is the end
                return bytes(found[len(_DICTIONARY) :])
            _copy(found, distance, (reference & 15) + 2)
    return bytes(found[len(_DICTIONARY) :])


def _copy(found: bytearray, distance: int, count: int) -> None:
    """Append bytes that stand some bytes before the end; they may overlap what is appended."""
    if distance > len(found):
        raise NotExtracted("damaged", "its compressed RTF refers to bytes before its beginning")
    for _ in range(count):
        found.append(found[-distance])


if TYPE_CHECKING:
    from olefile import OleFileIO

DEEPEST_MESSAGE = 10
"""How deep messages may be attached to messages."""

MOST_ATTACHMENTS = 1000
MOST_ENTRIES = 50_000
"""Streams and folders: each attachment has a hundred, and olefile looks through a whole folder for a name."""

_MOST_WORK = 2 * MOST_PART_BYTES
_STREAM = 2

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PROPERTIES = "__properties_version1.0"
_PROPERTIES_UTF16 = _PROPERTIES.encode("utf-16-le")
_ATTACHMENT = "__attach_version1.0_"

_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_DATA, _LONG_NAME, _SHORT_NAME, _SHOWN_NAME = "3701", "3707", "3704", "3001"
_CODE_PAGES = (0x3FFD, 0x3FDE)
"""The properties of a message that name its code page: of its strings, and of its HTML."""

_PYTHON_NAMES = {20127: "cp1252", 28591: "latin-1", 50220: "iso2022_jp", 54936: "gb18030", 65001: "utf-8"}
"""The code pages whose number is not in Python's name of them."""

_Path = list[str]


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The text of a message."""
    import olefile

    try:
        ole = olefile.OleFileIO(io.BytesIO(data))
    except RecursionError as error:
        raise NotExtracted("too large", "its folders are nested too deeply") from error
    except (OSError, ValueError, IndexError) as error:
        raise NotExtracted("damaged", f"it is damaged or incomplete: {error}") from error
    with ole:
        if not ole.exists(_PROPERTIES):
            raise NotExtracted("unknown format", "it is an OLE file, but not an Outlook message")
        if len(ole.direntries) > MOST_ENTRIES:
            raise NotExtracted("too large", f"it has more than {MOST_ENTRIES:,} streams and folders")
        message = _Message(_Streams(ole, len(data)), [])
        builder, parts = TextBuilder(), PartList()
        message.add_text(MailText(builder, options))
        message.add_attachments(parts, 0)
        if not builder.length and not parts.parts:
            raise NotExtracted("no text", "it has no text and no attachment")
        for sentence in parts.warnings():
            builder.warn(sentence)
        return builder.extracted(message.string(_SUBJECT), parts.parts)


class _Streams:
    """The streams of an OLE file that may be hostile: olefile follows a loop to the length of the stream."""

    def __init__(self, ole: "OleFileIO", size: int) -> None:
        self._ole = ole
        self._size = size
        self._left = _MOST_WORK
        self._folders: dict[tuple[str, ...], list[_Path]] = {}
        for path in ole.listdir(streams=False, storages=True):
            self._folders.setdefault(tuple(path[:-1]), []).append(path)

    def read(self, path: _Path) -> bytes | None:
        """The bytes of a stream, or None if the stream is missing."""
        if not self.has(path) or self._ole.get_type(path) != _STREAM:
            return None
        size = self._ole.get_size(path)
        self._left -= size
        if size > self._size:
            raise NotExtracted("damaged", f"its stream {path[-1]} is longer than the file")
        if self._left < 0:
            raise NotExtracted("too large", f"its streams have more than {_MOST_WORK // 1_000_000} MB")
        try:
            data: bytes = self._ole.openstream(path).read()
        except (OSError, ValueError, IndexError) as error:
            raise NotExtracted("damaged", f"its stream {path[-1]} cannot be read: {error}") from error
        return data

    def has(self, path: _Path) -> bool:
        """Whether there is a stream or a folder."""
        return bool(self._ole.exists(path))

    def folders_in(self, folder: _Path) -> list[_Path]:
        """The folders that are directly in a folder."""
        return self._folders.get(tuple(folder), [])


class _Message:
    """A message in an OLE file: a folder of it with a stream for each property."""

    def __init__(self, streams: _Streams, folder: _Path) -> None:
        self._streams = streams
        self._folder = folder
        self._charset = self._code_page()

    def string(self, property_: str, folder: _Path | None = None) -> str | None:
        """The value of a property that is a string, or None."""
        unicode = self._stream(f"__substg1.0_{property_}001F", folder)
        if unicode is not None:
            return unicode.decode("utf-16-le", "replace").rstrip("\0")
        plain = self._stream(f"__substg1.0_{property_}001E", folder)
        return None if plain is None else self._decoded(plain).rstrip("\0")

    def _decoded(self, plain: bytes) -> str:
        if self._charset is None:  # most programs that do not name it write UTF-8
            try:
                return plain.decode()
            except UnicodeDecodeError:
                return plain.decode("cp1252", "replace")
        return plain.decode(self._charset, "replace")

    def _stream(self, name: str, folder: _Path | None = None) -> bytes | None:
        return self._streams.read([*(self._folder if folder is None else folder), name])

    def _code_page(self) -> str | None:
        """Python's name of the encoding of 8-bit strings, or None if the message does not say it."""
        properties = self._stream(_PROPERTIES) or b""
        values = {}
        for start in range(24 if self._folder else 32, len(properties) - 15, 16):
            number = int.from_bytes(properties[start + 2 : start + 4], "little")
            values[number] = int.from_bytes(properties[start + 8 : start + 12], "little")
        page = next((values[number] for number in _CODE_PAGES if number in values), None)
        name = _PYTHON_NAMES.get(page or 0, f"cp{page}")
        try:
            "".encode(name)
        except LookupError:
            return None
        return name

    def add_text(self, text: MailText) -> None:
        """Add the body of the message to a text."""
        body = self.string(_BODY)
        if body and body.strip():
            text.add_plain(body)
        elif (page := self._page()) is not None:
            text.add_page(page)
        elif (compressed := self._stream(f"__substg1.0_{_RTF}0102")) is not None:
            text.add_rtf(decompressed_rtf(compressed))

    def _page(self) -> bytes | None:
        """The body in HTML, or None."""
        page = self.string(_HTML)
        return (
            self._stream(f"__substg1.0_{_HTML}0102")
            if page is None
            else BOM_UTF8 + page.encode("utf-8", "replace")
        )

    def add_attachments(self, parts: PartList, depth: int) -> None:
        """Add the attachments of the message to a list of parts."""
        for number, folder in enumerate(self._attachments(), 1):
            if number > MOST_ATTACHMENTS:
                parts.leave_out()
                continue
            names = (self.string(name, folder) for name in (_LONG_NAME, _SHORT_NAME, _SHOWN_NAME))
            name = next((each for each in names if each), f"part {number}")
            try:
                self._add_attachment(parts, name, folder, depth)
            except NotExtracted:
                parts.leave_out()

    def _attachments(self) -> list[_Path]:
        folders = self._streams.folders_in(self._folder)
        return [path for path in folders if path[-1].startswith(_ATTACHMENT)]

    def _add_attachment(self, parts: PartList, name: str, folder: _Path, depth: int) -> None:
        inner = [*folder, f"__substg1.0_{_DATA}000D"]
        if self._streams.has([*inner, _PROPERTIES]):
            if depth == DEEPEST_MESSAGE:
                parts.leave_out()
                return
            parts.add(name, _Message(self._streams, inner).as_mail(depth + 1), "eml")
            return
        data = self._stream(f"__substg1.0_{_DATA}0102", folder)
        if data is None:
            parts.leave_out()
        else:
            parts.add(name, data)

    def as_mail(self, depth: int) -> bytes:
        """The message in the format of mail, with its text and its attachments."""
        import email.policy  # it takes longer than the other modules together, and few messages need it

        builder, parts = TextBuilder(), PartList()
        self.add_text(MailText(builder, DEFAULT_OPTIONS))
        self.add_attachments(parts, depth)
        mail = email.message.EmailMessage(policy=email.policy.default.clone(utf8=True))
        mail["Subject"] = " ".join((self.string(_SUBJECT) or "").split())[:1000]
        mail.set_content(builder.extracted().text, cte="base64")
        for part in parts.parts:
            kind = ("message", "rfc822") if part.format == "eml" else ("application", "octet-stream")
            mail.add_attachment(part.data, *kind, filename=part.name)
        return mail.as_bytes()


FRONT_END = FrontEnd(
    "msg",
    1,
    extract,
    (_OLE,),
    lambda data: _PROPERTIES_UTF16 in data,
    frozenset({".msg"}),
    frozenset({"application/vnd.ms-outlook"}),
    package="olefile",
)
