"""Plain text files: bytes in, text out, or None for bytes that are no text."""

import codecs

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# What old text files have beside printable characters: tab, line ends, form feed, escape.
_CONTROLS = bytes(set(range(32)) - {9, 10, 12, 13, 27})


def decoded(data: bytes) -> str | None:
    """Bytes as text: UTF-8, UTF-16 with a mark, or else Western European, if nothing in it is no text.

    >>> decoded("Größe".encode()), decoded("Größe".encode("latin-1")), decoded(b"PNG" + bytes(9))
    ('Größe', 'Größe', None)
    """
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                break
    if len(data.translate(None, _CONTROLS)) < len(data):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
