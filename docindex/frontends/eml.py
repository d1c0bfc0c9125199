"""Extract the text of mail messages (.eml, .emlx, .mht), as MIME writes them.

Gives the text of the message: of alternatives the plain one, otherwise HTML. Attachments, also attached
messages, are parts. A place is a paragraph. The subject is the title and not a part of the text: two short
mails with one subject would be alike by it, and a letter sent by mail has the words of the letter only.
"""

import contextlib
import email.message
import re
from codecs import BOM_UTF8

from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.mail_text import MailText
from docindex.frontends.mime import MOST_LEAVES, Leaf, clean_header, leaves_of, split_message
from docindex.frontends.part_list import PartList
from docindex.frontends.text import Decoded, UndetectedEncoding, decode

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
