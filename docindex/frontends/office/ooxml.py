"""Find the parts of a file of Microsoft Office (Office Open XML): the main part and its relations."""

import posixpath
from typing import NamedTuple

from docindex.frontends.failures import NotExtracted
from docindex.frontends.safe_xml import Attributes, read_xml
from docindex.frontends.safe_zip import ZipSource

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_ZIP = b"PK\x03\x04"
_END = b"PK\x05\x06"
_LONGEST_END = 22 + 65_535  # with a comment
_MAIN = "/officeDocument"

TITLE_PART = "docProps/core.xml"
"""The part that has the title of a document."""

SIGNATURES = _ZIP.lower(), _OLE
"""The first bytes of a file of Office: a zip file, or an OLE file if it is encrypted."""


def refuse_encrypted(data: bytes) -> None:
    """Raise `NotExtracted` for a file that needs a password: Office wraps it in an OLE file."""
    if data.startswith(_OLE):
        if _ENCRYPTED in data:
            raise NotExtracted("encrypted", "it needs a password")
        raise NotExtracted("damaged", "it is in the old format of Office 97; save it as docx, pptx or xlsx")


def has_member(data: bytes, name: bytes) -> bool:
    """Whether the directory at the end of a zip file lists a member with this name.

    A name elsewhere does not count: a stored member may be a zip file, too.

    >>> has_member(b"plain", b"word/document.xml")
    False
    """
    end = data.rfind(_END, -_LONGEST_END)
    if not data.startswith(_ZIP) or end < 0:
        return False
    size = int.from_bytes(data[end + 12 : end + 16], "little")
    return data.rfind(name, max(0, end - size), end) > 0


class Relation(NamedTuple):
    """A reference of a part to another part."""

    identity: str
    kind: str
    """The type, an address such as ".../relationships/slide"."""
    target: str
    """The name of the other part."""


def relations(source: ZipSource, part: str) -> list[Relation]:
    """The references of a part to other parts, in their order."""
    folder, _, file = part.rpartition("/")
    listed = source.read_if_there(posixpath.join(folder, "_rels", f"{file}.rels"))
    found: list[Relation] = []

    def start(attributes: Attributes) -> None:
        if attributes.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, attributes.get("Target", "")))
            found.append(Relation(attributes.get("Id", ""), attributes.get("Type", ""), target[1:]))

    if listed is not None:
        read_xml(listed, {"Relationship": start})
    return found


def targets(found: list[Relation], kind: str) -> list[str]:
    """The names of the parts of the relations whose type ends in `kind`, in their order, each once.

    >>> slide = Relation("r1", "http://x/slide", "a.xml")
    >>> targets([slide, Relation("r2", "http://x/notes", "b.xml"), slide], "/slide")
    ['a.xml']
    """
    return list(dict.fromkeys(relation.target for relation in found if relation.kind.endswith(kind)))


def related(source: ZipSource, part: str, kind: str) -> list[str]:
    """The names of the parts that a part refers to by relations whose type ends in `kind`."""
    return targets(relations(source, part), kind)


def main_part(source: ZipSource, usual: str) -> str:
    """The name of the main part of a document, such as "word/document.xml"."""
    return usual if usual in source.names else next(iter(related(source, "", _MAIN)), usual)
