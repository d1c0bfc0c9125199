"""Read a source with the documents inside it, and the documents inside these: `read_source`.

In: a source, such as a mailbox or an archive. Out: its own text and those of its parts, by their names. Must
never open a file.
"""

import dataclasses
import time
from collections.abc import Mapping

from docindex.frontends.encodings.text import decode, looks_binary
from docindex.frontends.extracted import PART_MARK, Extracted, SourcePart, text_in
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from docindex.frontends.isolated.work_budget import WorkBudget
from docindex.frontends.recognition import may_need_front_end

_DEEPEST = 4
"""How deep documents may lie inside each other: an attachment of a message of a mailbox in an archive."""

_HEAD = 1 << 14
"""Bytes that show whether a part is binary."""

LIMIT_S = 600.0
"""Seconds that the documents inside one source may take together. A mailbox with ten thousand takes ten."""


@dataclasses.dataclass(frozen=True, slots=True)
class SourceDocuments:
    """The documents of a source."""

    main: Extracted | None
    """The text of the source itself; None if it only holds others."""
    parts: Mapping[str, Extracted | str]
    """The documents inside it, by their names. Plain text is a string."""
    reading: str
    """The name and version of the front end."""
    problems: tuple[str, ...]
    """What could not be read, in sentences."""


def read_source(source: Source, extractor: Extractor) -> SourceDocuments:
    """All documents of a source; `NotExtracted` if the source itself cannot be read."""
    budget = WorkBudget.of_size(len(source.data))
    found = extractor.extract(source, budget)
    budget.characters -= len(found.text)
    if budget.characters <= 0:
        budget.refuse_if_spent()
    parts = _Parts(extractor, source.options, budget)
    parts.read(found.parts, "", 1)
    has_text = found.text.strip() or not parts.found
    main = dataclasses.replace(found, parts=()) if has_text else None
    return SourceDocuments(main, parts.found, found.reading, (*found.warnings, *parts.problems()))


class _Parts:
    """Reads the documents inside a source, and the documents inside these."""

    def __init__(self, extractor: Extractor, options: ExtractionOptions, budget: WorkBudget) -> None:
        self._extractor = extractor
        self._options = options
        self._budget = budget
        self.found: dict[str, Extracted | str] = {}
        self._used: dict[str, int] = {}
        self._unread = 0
        self._end = time.monotonic() + LIMIT_S

    def read(self, parts: tuple[SourcePart, ...], prefix: str, depth: int) -> None:
        """Read some parts of a source; `prefix` is that of their names."""
        for part in parts:
            name = self._unused(f"{prefix}{_storable(part.name)}")
            if depth > _DEEPEST or self._is_full():
                self._unread += 1
                continue
            text = self._text_of(part)
            if isinstance(text, Extracted):
                self.read(text.parts, f"{name}{PART_MARK}", depth + 1)
                text = dataclasses.replace(text, parts=())
                if not text.text.strip():
                    continue
            if text is not None:
                self._budget.characters -= len(text_in(text))
                self._budget.documents -= 1
                self.found[name] = text

    def _is_full(self) -> bool:
        return self._budget.is_spent or time.monotonic() > self._end

    def _text_of(self, part: SourcePart) -> Extracted | str | None:
        archives = self._options.archives
        if part.format is not None or may_need_front_end(part.data, part.name, archives=archives):
            try:
                source = Source(part.data, part.name, format=part.format, options=self._options)
                return self._extractor.extract(source, self._budget)
            except NotExtracted as error:
                if error.reason != "unknown format":
                    self._unread += 1
                    return None
        encoding = self._options.encoding
        if looks_binary(part.data[:_HEAD], encoding):
            return None
        try:
            decoded = decode(part.data, encoding)
        except ValueError:  # its encoding cannot be detected, or is not the wanted one
            self._unread += 1
            return None
        return None if decoded is None else decoded.text

    def _unused(self, name: str) -> str:
        """A name, with a number if another part has it."""
        unused = name
        while unused in self._used:
            self._used[name] += 1  # a hundred thousand parts may have one name
            unused = f"{name} ({self._used[name]})"
        self._used[unused] = 1
        return unused

    def problems(self) -> list[str]:
        """A sentence if some parts were not read."""
        if not self._unread:
            return []
        are = "document inside it was" if self._unread == 1 else "documents inside it were"
        reason = " It takes too much work for its size." if self._budget.is_spent else ""
        return [f"{self._unread:,} {are} not read.{reason}"]


def _storable(name: str) -> str:
    r"""A name that can be a part of a key: without NUL and lone surrogates.

    >>> _storable("caf\udce9\0.txt")
    'caf\\udce9\\x00.txt'
    """
    return name.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()
