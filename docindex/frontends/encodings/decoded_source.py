r"""Decode the bytes of a text format: by the encoding that the source declares, or by its letters.

In: bytes, and the name of an encoding that the source or its format states. Out: the text, with "\n" at the
end of each line. Encodings are taken from a list: some codecs of Python are no encodings of text, or take
quadratic time.
"""

import codecs
import io

from docindex.frontends.encodings.text import UndetectedEncoding, decode
from docindex.frontends.failures import NotExtracted

_CODECS = {
    "cp1252": "ascii us-ascii ansi_x3.4-1968 iso-8859-1 iso8859-1 latin1 latin-1 windows-1252 cp1252",
    "iso8859-2": "iso-8859-2 latin2 iso8859-2",
    "iso8859-3": "iso-8859-3 latin3",
    "iso8859-4": "iso-8859-4 latin4",
    "iso8859-5": "iso-8859-5 cyrillic",
    "iso8859-6": "iso-8859-6 arabic",
    "iso8859-7": "iso-8859-7 greek",
    "iso8859-8": "iso-8859-8 iso-8859-8-i hebrew",
    "cp1254": "iso-8859-9 latin5 windows-1254 cp1254",
    "iso8859-10": "iso-8859-10 latin6",
    "iso8859-13": "iso-8859-13",
    "iso8859-14": "iso-8859-14",
    "iso8859-15": "iso-8859-15 latin9 latin-9",
    "iso8859-16": "iso-8859-16",
    "cp874": "iso-8859-11 tis-620 windows-874 cp874",
    "cp1250": "windows-1250 cp1250",
    "cp1251": "windows-1251 cp1251",
    "cp1253": "windows-1253 cp1253",
    "cp1255": "windows-1255 cp1255",
    "cp1256": "windows-1256 cp1256",
    "cp1257": "windows-1257 cp1257",
    "cp1258": "windows-1258 cp1258",
    "koi8-r": "koi8-r koi8",
    "koi8-u": "koi8-u",
    "cp437": "ibm437 cp437",
    "cp850": "ibm850 cp850",
    "cp852": "ibm852 cp852",
    "cp866": "ibm866 cp866",
    "mac-roman": "macintosh mac x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic",
    "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms_kanji cp932",
    "euc-jp": "euc-jp x-euc-jp",
    "iso2022-jp": "iso-2022-jp",
    "gb18030": "gb2312 gbk gb18030 x-gbk gb_2312-80 cp936",
    "big5hkscs": "big5 big5-hkscs x-x-big5 cp950",
    "cp949": "euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 windows-949 uhc cp949",
    "utf-8": "utf-8 utf8 cp65001",
}
"""Python's codecs, and the names that documents use. An encoding that Windows extended is read as the
extended one, as browsers do: pages in "iso-8859-1" contain the quotation marks of Windows-1252."""

_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The byte order marks. That of UTF-32 begins with one of them."""

_BY_LABEL = {label: codec for codec, labels in _CODECS.items() for label in labels.split()}


def codec_of(label: str) -> str | None:
    """The codec of Python for the name of an encoding in a document; None if it is not known.

    >>> codec_of(" ISO-8859-1"), codec_of("punycode"), codec_of("cp1251")
    ('cp1252', None, 'cp1251')
    """
    return _BY_LABEL.get(label.strip().lower())


def decode_source(data: bytes, declared: str | None = None, forced: str | None = None) -> str:
    r"""The text of some bytes; `NotExtracted` if they are not text.

    `forced` is the encoding that the caller wants for sources that neither declare one nor begin with a byte
    order mark. It is used strictly. Without it, UTF-8 comes first, even if the source declares another
    encoding: bytes that happen to be UTF-8 are rare, and programs often convert a file and leave its
    declaration.

    >>> decode_source("Größe\r\n".encode("latin-1"), "iso-8859-1")
    'Größe\n'
    """
    codec = codec_of(declared) if declared else None
    text = _by_declaration(data, codec) if codec else None
    if text is None and forced is not None and not (codec and _is_utf8(data)) and not data.startswith(_MARKS):
        text = _forced(data, forced)
    if text is None:
        text = _by_letters(data)
    return io.IncrementalNewlineDecoder(None, translate=True).decode(text, True) if "\r" in text else text


def _forced(data: bytes, encoding: str) -> str:
    try:
        decoded = decode(data, encoding)
    except ValueError as error:
        raise NotExtracted("damaged", f"{error}") from error
    if decoded is None:
        raise NotExtracted("damaged", f"it contains binary data instead of text in {encoding}")
    return decoded.text


def _by_declaration(data: bytes, codec: str) -> str | None:
    """The text in a declared encoding; None if the bytes are not valid in it, or are UTF-8."""
    if _is_utf8(data) or data[:2] in (b"\xff\xfe", b"\xfe\xff"):  # a byte order mark says more
        return None
    try:
        decoded = decode(data, codec)
    except ValueError:
        return None
    return decoded.text if decoded else None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _by_letters(data: bytes) -> str:
    try:
        decoded = decode(data)
    except UndetectedEncoding as error:
        raise NotExtracted("unknown format", "its encoding cannot be detected") from error
    if decoded is None:
        raise NotExtracted("damaged", "it contains binary data instead of text")
    return decoded.text
