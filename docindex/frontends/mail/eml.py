"""Extract the text of mail messages (.eml, .emlx, .mht), as MIME writes them.

Gives the text of the message: of alternatives the plain one, otherwise HTML. Attachments, also attached
messages, are parts. A place is a paragraph. The subject is the title and not a part of the text: two short
mails with one subject would be alike by it, and a letter sent by mail has the words of the letter only.
"""

import binascii
import contextlib
import email.errors
import email.header
import email.message
import email.parser
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import NamedTuple

from docindex.frontends.encodings.text import Decoded, UndetectedEncoding, decode
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.mail.body import MailText
from docindex.frontends.part_list import PartList

# Read the structure of mail messages (MIME) that may be hostile: headers, and the leaves of multiparts.
#
# In: the bytes of a message. Out: its leaves, with their headers and decoded bytes. Bounded in depth and
# number, and linear: Python's parser passes every line through a generator for each level. It took 3.3 times
# as long for a mail of 14 MB with one attachment, and for a letter. Python's `email` package reads the
# headers. Must never decode a leaf that nobody asks for.

DEEPEST_MULTIPART = 50
"""How deep multiparts may be nested; a mail that was forwarded ten times has 20 levels."""

MOST_LEAVES = 10_000

_MOST_HEADER_BYTES = 1 << 18
_LONGEST_VALUE = 10_000
_MOST_PARAMETERS = 100
_LINE_FEED = 10
_EMPTY_LINE = re.compile(rb"\r?\n(?:[ \t]*\r?\n)")
_HEADER_LINE = re.compile(rb"[!-9;-~]+[ \t]*:")
_PARSER = email.parser.BytesHeaderParser()
"""With the older policy, which is the default. The newer one parses addresses too; these cost most of the
time, and hostile ones raise any error."""

_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")


class Leaf(NamedTuple):
    """A part of a message that is no multipart, or an attached message."""

    headers: email.message.Message
    body: bytes
    """Its bytes as they are in the message."""
    path: tuple[str, ...]
    """The types of the multiparts around it, such as ("mixed", "alternative"), each with its number."""

    @property
    def media_type(self) -> str:
        """Its type, such as "text/plain"."""
        return self.headers.get_content_type()

    @property
    def charset(self) -> str | None:
        """The name of the encoding of a text, if it is given."""
        return self.headers.get_content_charset()

    @property
    def name(self) -> str | None:
        """The name of an attachment, if it is given."""
        return clean_header(self.headers.get_filename())

    @property
    def is_attached(self) -> bool:
        """Whether it is an attachment."""
        return self.headers.get_content_disposition() == "attachment"

    def decoded(self) -> bytes:
        """Its bytes, decoded as far as that is possible."""
        encoding = str(self.headers.get("content-transfer-encoding", "")).strip().lower()
        if encoding == "base64":
            return _from_base64(self.body)
        if encoding == "quoted-printable":
            return binascii.a2b_qp(self.body)
        if encoding in ("x-uuencode", "uuencode", "x-uue"):
            return _from_uuencoded(self.body)
        return self.body


def split_message(data: bytes) -> tuple[email.message.Message, bytes]:
    r"""The headers and the body of a message.

    >>> headers, body = split_message(b"From: Ada\r\nSubject: Tea\r\n\r\nAt four.\r\n")
    >>> headers["subject"], body
    ('Tea', b'At four.\r\n')
    """
    data = data.lstrip(b"\r\n")
    if not _HEADER_LINE.match(data):  # a part without headers begins with an empty line, which is gone now
        return email.message.Message(), data
    end = _EMPTY_LINE.search(data)
    head, body = (data, b"") if end is None else (data[: end.start()], data[end.end() :])
    headers = _PARSER.parsebytes(head[:_MOST_HEADER_BYTES] + b"\n\n")
    for name in ("content-type", "content-disposition"):
        value = str(headers.get(name, ""))
        # Python splits parameters in quadratic time, and again for each question.
        if len(value) > _LONGEST_VALUE or value.count(";") > _MOST_PARAMETERS:
            del headers[name]
    return headers, body


def leaves_of(headers: email.message.Message, body: bytes) -> Iterator[Leaf]:
    """The leaves of a message, in their order; at most `MOST_LEAVES`, and none that is nested too deep."""
    waiting: list[Leaf] = [Leaf(headers, body, ())]
    count = multiparts = 0
    while waiting and count < MOST_LEAVES:
        leaf = waiting.pop()
        boundary = leaf.headers.get_boundary() if leaf.headers.get_content_maintype() == "multipart" else None
        if not boundary or len(leaf.path) == DEEPEST_MULTIPART:
            count += 1
            yield leaf
            continue
        multiparts += 1
        path = (*leaf.path, f"{leaf.headers.get_content_subtype()} {multiparts}")
        pieces = _pieces(leaf.body, boundary, MOST_LEAVES - count)
        default = "message/rfc822" if leaf.headers.get_content_subtype() == "digest" else "text/plain"
        for piece in reversed(pieces):
            inner, inner_body = _split_piece(piece)
            inner.set_default_type(default)
            waiting.append(Leaf(inner, inner_body, path))


def _split_piece(piece: bytes) -> tuple[email.message.Message, bytes]:
    if piece.startswith((b"\n", b"\r\n")):  # it has no headers
        return email.message.Message(), piece
    return split_message(piece)


def _pieces(body: bytes, boundary: str, most: int) -> list[bytes]:
    """The parts of the body of a multipart, without what stands before the first and after the last."""
    mark = re.escape(b"--" + boundary.encode("utf-8", "surrogateescape"))
    # A literal prefix is found ten times as fast as a line end before it.
    line = re.compile(mark + rb"(--)?[ \t]*(?=\r?\n|\Z)")
    found: list[bytes] = []
    start = None
    for match in line.finditer(body):
        begin = match.start()
        if begin and body[begin - 1] != _LINE_FEED:
            continue
        if start is not None:
            found.append(_without_line_ends(body[start:begin]))
        start = match.end()
        if match[1] or len(found) == most:
            return found
    if start is not None:  # the end is missing
        found.append(_without_line_ends(body[start:]))
    return found


def _without_line_ends(piece: bytes) -> bytes:
    """A part without the end of the line before it, and the one after it, which belongs to the boundary."""
    piece = piece[2:] if piece.startswith(b"\r\n") else piece[1:]
    return piece.removesuffix(b"\n").removesuffix(b"\r")


def clean_header(value: object) -> str | None:
    r"""The text of a header's value in one line, with encoded words decoded; None if the header is missing.

    >>> clean_header("=?utf-8?q?Gr=C3=BC=C3=9Fe?= aus\r\n Wien"), clean_header(None)
    ('Grüße aus Wien', None)
    """
    if value is None:
        return None
    text = str(value)[:_LONGEST_VALUE]
    raw = text.encode("utf-8", "surrogateescape")
    text = raw.decode("utf-8", "replace")
    with contextlib.suppress(email.errors.MessageError, LookupError, ValueError):  # it stays as written
        text = str(email.header.make_header(email.header.decode_header(text)))
    return " ".join(text.split()) or None


def _from_base64(body: bytes) -> bytes:
    try:
        return binascii.a2b_base64(body)
    except binascii.Error:  # it was cut off
        letters = _NOT_BASE64.sub(b"", body)
        whole = len(letters) // 4 * 4
        rest = letters[whole:] if len(letters) % 4 > 1 else b""  # one letter alone means nothing
        return binascii.a2b_base64(letters[:whole] + rest + b"=" * (-len(rest) % 4))


def _from_uuencoded(body: bytes) -> bytes:
    found: list[bytes] = []
    for line in body.splitlines():
        if line.startswith(b"begin "):
            found.clear()
        elif line.strip() == b"end":
            break
        elif line:
            try:
                found.append(binascii.a2b_uu(line))
            except binascii.Error:
                continue
    return b"".join(found)


_HEAD_BYTES = 1 << 16
_FIRST_HEADERS = (
    *(b"arc-", b"authentication-results:", b"content-type:", b"date:", b"delivered-to:", b"dkim-signature:"),
    *(b"envelope-to:", b"from:", b"message-id:", b"mime-version:", b"received:", b"references:"),
    *(b"reply-to:", b"return-path:", b"sender:", b"subject:", b"to:", b"user-agent:", b"x-"),
)
_HEADERS = re.compile(rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*)+\r?\n")
_FROM = re.compile(rb"^from:", re.IGNORECASE | re.MULTILINE)
_BY_PROGRAMS = re.compile(rb"^(message-id|received|mime-version):", re.IGNORECASE | re.MULTILINE)
_APPLE = re.compile(rb"\s*(\d{1,10})\s*\n(?=[!-9;-~]+:)")

_NO_HELP = {
    *("ascii", "us-ascii"),
    *("idna", "mbcs", "oem", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"),
}
"""Charsets that say nothing, because mail programs give them by default; and codecs of Python that are no
encodings of texts, some of which take quadratic time."""

_EXTENSIONS = {
    "application/pdf": ".pdf",
    "message/rfc822": ".eml",
    "text/calendar": ".ics",
    "text/html": ".html",
    "text/plain": ".txt",
}
"""What is appended to the number of an attachment without a name, so that its format is recognised."""

_DECORATION = ("image/", "audio/", "video/", "text/css")
"""Types of parts that belong to the look of a message, unless they are attached."""

_SIGNATURES = {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The text of a message."""
    headers, body = split_message(_message(data))
    if not headers.keys():
        raise NotExtracted("unknown format", "it does not begin with the headers of a mail")
    leaves = list(leaves_of(headers, body))
    builder, parts = TextBuilder(), PartList()
    if len(leaves) == MOST_LEAVES:
        builder.warn(f"Only the first {MOST_LEAVES:,} parts of the message were read.")
    texts = [leaf for leaf in leaves if _is_text(leaf)]
    _add_texts(builder, texts, options)
    for number, leaf in enumerate(leaves, 1):
        if not _is_text(leaf):
            _add_part(parts, number, leaf)
    if not builder.length and not parts.parts:
        _refuse(headers)
    for sentence in parts.warnings():
        builder.warn(sentence)
    return builder.extracted(clean_header(headers["subject"]), parts.parts)


def _message(data: bytes) -> bytes:
    """The message in a file; Apple Mail writes its length before it, and a list of properties after it."""
    apple = _APPLE.match(data)
    return data if apple is None else data[apple.end() : apple.end() + int(apple[1])]


def _refuse(headers: email.message.Message) -> None:
    if headers.get_content_type() in ("multipart/encrypted", "application/pkcs7-mime"):
        raise NotExtracted("encrypted", "it is encrypted for its recipient")
    raise NotExtracted("no text", "it has no text and no attachment")


def _is_text(leaf: Leaf) -> bool:
    return leaf.media_type in ("text/plain", "text/html") and not leaf.is_attached and leaf.name is None


def _add_part(parts: PartList, number: int, leaf: Leaf) -> None:
    kind, name = leaf.media_type, leaf.name
    is_shown = not leaf.is_attached and (name is None or "content-id" in leaf.headers)
    if kind in _SIGNATURES or (is_shown and kind.startswith(_DECORATION)):
        return
    if name is None and kind not in _EXTENSIONS:
        return
    if kind == "message/rfc822":
        inner, _ = split_message(leaf.decoded())
        parts.add(name or clean_header(inner["subject"]) or f"part {number}.eml", leaf.decoded(), "eml")
    else:
        parts.add(name or f"part {number}{_EXTENSIONS[kind]}", leaf.decoded())


def _add_texts(builder: TextBuilder, texts: list[Leaf], options: ExtractionOptions) -> None:
    """Add texts; of alternatives the plain one, unless it is empty."""
    decoded = [_decoded(builder, leaf, options.encoding) for leaf in texts]
    plain = {
        _alternative(leaf)
        for leaf, text in zip(texts, decoded, strict=True)
        if leaf.media_type == "text/plain" and text.strip()
    } - {""}
    added = MailText(builder, options)
    for leaf, text in zip(texts, decoded, strict=True):
        if leaf.media_type == "text/plain":
            added.add_plain(text)
        elif _alternative(leaf) not in plain and text.strip():
            added.add_page(BOM_UTF8 + text.encode("utf-8", "replace"))


def _decoded(builder: TextBuilder, leaf: Leaf, forced: str | None) -> str:
    text = _with_charset(builder, leaf.decoded(), leaf.charset, forced).replace("\r\n", "\n")
    if str(leaf.headers.get_param("delsp", "")).lower() == "yes":
        return text.replace(" \n", "")  # a line was broken in the middle of a word, or after a space
    return text


def _with_charset(builder: TextBuilder, data: bytes, charset: str | None, forced: str | None) -> str:
    if charset and charset not in _NO_HELP:
        with contextlib.suppress(LookupError, ValueError):  # no such encoding: it is detected
            return data.decode(charset, "replace")
    try:
        found = _decoded_as(data, forced)
    except UndetectedEncoding:
        return data.decode("latin-1")
    if found is None:
        builder.warn("A part of the message claims to be text, but is binary data.")
        return ""
    return found.text


def _decoded_as(data: bytes, forced: str | None) -> Decoded | None:
    """A text in the encoding that the caller wants; if it is not valid in that, by its letters."""
    if forced is not None:
        with contextlib.suppress(ValueError):
            return decode(data, forced)
    return decode(data)


def _alternative(leaf: Leaf) -> str:
    """The innermost multipart around a leaf that has alternatives; "" if no multipart has."""
    return next((each for each in reversed(leaf.path) if each.startswith("alternative ")), "")


def _is_mail(data: bytes) -> bool:
    found = _HEADERS.match(data[:_HEAD_BYTES].lstrip(b" \t\r\n"))
    head = found.group() if found else b""
    return _FROM.search(head) is not None and _BY_PROGRAMS.search(head) is not None


FRONT_END = FrontEnd(
    "eml",
    1,
    extract,
    _FIRST_HEADERS,
    _is_mail,
    frozenset({".eml", ".emlx", ".mht", ".mhtml"}),
    frozenset({"message/rfc822", "multipart/related"}),
    is_text=True,
)
