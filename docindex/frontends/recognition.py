"""Choose the front end that reads a source: by its content first, then by its extension and media type.

In: bytes, a name and perhaps a media type. Out: a front end, or None for plain text and for binary data.
Front ends are those that packages offer by the entry point ``docindex.frontends``, which are asked first, and
the modules of this package. Must never read a source.
"""

import functools
import importlib
import importlib.metadata
import logging
from collections.abc import Iterable
from typing import NamedTuple

from docindex.frontends.front_end import FrontEnd

BUILT_IN = (
    "office.docx",
    "office.pptx",
    "office.xlsx",
    "office.odt",
    "office.ods",
    "office.odp",
    "office.epub",
    "pdf",
    "mail.eml",
    "mail.mbox",
    "mail.msg",
    "markup.web_page",
    "markup.rtf",
    "markup.markdown",
    "markup.tex",
    "markup.notebook",
    "markup.subtitles",
    "markup.xml_values",
    "markup.json_values",
    "markup.delimited",
)
"""The modules of this package that have a `FRONT_END`, in the order in which they are asked."""

ARCHIVES = ("zip_archive", "tar_archive")
"""The modules of the front ends of archives. They are asked last, and only if archives are to be read."""

UNRECOGNISED = ("picture",)
"""The modules of the front ends that no source is recognised for: callers name them."""

ENTRY_POINT = "docindex.frontends"

_log = logging.getLogger("docindex")


def front_ends() -> list[FrontEnd]:
    """All front ends, in the order in which they are asked.

    >>> "docx" in [front_end.name for front_end in front_ends()]
    True
    """
    return [*_offered(), *_built_in()]


def _built_in() -> tuple[FrontEnd, ...]:
    return _of_modules(BUILT_IN)


@functools.cache
def _of_modules(names: tuple[str, ...]) -> tuple[FrontEnd, ...]:
    modules = (importlib.import_module(f"docindex.frontends.{name}") for name in names)
    return tuple(module.FRONT_END for module in modules)


@functools.cache
def _offered() -> tuple[FrontEnd, ...]:
    """The front ends of other packages. One that cannot be imported is logged and left out."""
    found = []
    for entry in importlib.metadata.entry_points(group=ENTRY_POINT):
        try:
            front_end = entry.load()
        except Exception as error:  # the code of another package may raise anything
            _log.warning("the front end %r cannot be loaded: %s", entry.name, error)
            continue
        if isinstance(front_end, FrontEnd):
            found.append(front_end)
        else:
            _log.warning("the front end %r is not a docindex.frontends.FrontEnd", entry.name)
    return tuple(found)


def is_archive(front_end: FrontEnd) -> bool:
    """Whether a front end is only asked if archives are to be read."""
    return front_end in _of_modules(ARCHIVES)


def named(name: str) -> FrontEnd | None:
    """The front end with a name, or None; also one for archives or pictures."""
    known = [*front_ends(), *_of_modules((*ARCHIVES, *UNRECOGNISED))]
    return next((front_end for front_end in known if front_end.name == name), None)


def recognise(
    data: bytes, name: str = "", media_type: str | None = None, *, archives: bool = False
) -> FrontEnd | None:
    """The front end for a source, or None: then it is plain text or binary data.

    `name` is the file's name; only its extension counts. Files that are archives by their content, and no
    documents, are only recognised with `archives`.

    >>> recognise(b"a letter", "ada.txt") is None
    True
    """
    known = front_ends()
    mark = _mark_of(data)
    by_content = (each for each in known if _may_be(each, mark) and each.recognises(data))
    found = next(by_content, None) or _by_name(known, data, name, media_type)
    if found is None and archives:
        return next((each for each in _of_modules(ARCHIVES) if each.recognises(data)), None)
    return found


def _mark_of(data: bytes) -> bytes:
    """The first bytes of a source that are compared with the signatures of front ends."""
    return data[:_MARK].lstrip(_SPACE).lower()


def _may_be(front_end: FrontEnd, mark: bytes) -> bool:
    return mark.startswith(front_end.signatures)


_MARK = 512
_SPACE = b" \t\r\n\x0c\xef\xbb\xbf"  # with a byte order mark


def _by_name(known: list[FrontEnd], data: bytes, name: str, media_type: str | None) -> FrontEnd | None:
    extension, mark = extension_of(name), _mark_of(data)
    for front_end in known:
        if extension in front_end.extensions and (front_end.is_text or _may_be(front_end, mark)):
            return front_end
    for front_end in known:
        if media_type in front_end.media_types and (front_end.is_text or _may_be(front_end, mark)):
            return front_end
    return None


def by_extension(name: str, *, archives: bool = False) -> FrontEnd | None:
    """The front end for sources with the extension of this name, or None; with `archives`, also for archives.

    >>> by_extension("Ada.DOCX").name, by_extension("ada.txt")
    ('docx', None)
    """
    extension = extension_of(name)
    found = _usual().by_extension.get(extension)
    if found is None and archives:
        return next((each for each in _of_modules(ARCHIVES) if extension in each.extensions), None)
    return found


def extension_of(name: str) -> str:
    """The extension of a name, in lower case and with its dot; "" if it has none.

    >>> extension_of("Letters/Ada.DOCX"), extension_of("README"), extension_of(".profile")
    ('.docx', '', '')
    """
    stem, _, extension = name.rpartition(".")
    if not stem or stem[-1] in "/\\" or "/" in extension or "\\" in extension:
        return ""
    return f".{extension.lower()}"


def may_need_front_end(head: bytes, name: str, *, text: bool = True, archives: bool = False) -> bool:
    r"""Whether a front end may accept a source with these first bytes. If not, it is plain text or binary.

    Without `text`, formats that are plain text with marks do not count.

    >>> may_need_front_end(b"a letter", "ada.txt"), may_need_front_end(b"PK\3\4...", "ada.docx")
    (False, True)
    """
    extension, mark, usual = extension_of(name), _mark_of(head), _usual()
    if mark.startswith(usual.signatures if text else usual.binary_signatures):
        return True
    if text and extension in usual.text_extensions:
        return True
    return archives and any(_may_be(each, mark) or each.recognises(head) for each in _of_modules(ARCHIVES))


class _Summary(NamedTuple):
    """The marks of some front ends together. A scan looks at them three times for each file."""

    signatures: tuple[bytes, ...]
    binary_signatures: tuple[bytes, ...]
    """Those of formats that are not plain text with marks."""
    text_extensions: frozenset[str]
    """Those of formats that are plain text with marks."""
    by_extension: dict[str, FrontEnd]


@functools.cache
def _usual() -> _Summary:
    """The marks of all front ends."""
    known = (*_offered(), *_built_in())
    return _Summary(
        signatures=_signatures(known),
        binary_signatures=_signatures(each for each in known if not each.is_text),
        text_extensions=frozenset().union(*(each.extensions for each in known if each.is_text)),
        by_extension={extension: each for each in reversed(known) for extension in each.extensions},
    )


def _signatures(known: Iterable[FrontEnd]) -> tuple[bytes, ...]:
    return tuple(signature for each in known for signature in each.signatures)
