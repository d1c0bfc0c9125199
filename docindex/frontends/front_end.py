"""The description of a front end: its name and version, what it accepts, and the function that extracts."""

import dataclasses
import importlib.metadata
from collections.abc import Callable

from docindex.frontends.extracted import Extracted


@dataclasses.dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """What to extract beyond the main text.

    - `navigation`: also the navigation, headers and footers of web pages
    - `quotes`: also the lines that a mail quotes from another one
    - `archives`: also the files in zip and tar archives, as parts
    """

    navigation: bool = False
    quotes: bool = True
    archives: bool = False


DEFAULT_OPTIONS = ExtractionOptions()
"""The main text only, with quotes."""


def _always(_: bytes) -> bool:
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class FrontEnd:
    """Extracts the text of the sources of one format.

    - `name`, `version`: they stand in the index beside each file that was read. Increase the version whenever
      the text of a source changes: the next scan reads these files again.
    - `extract`: gives the text of the bytes of a source, or raises `NotExtracted`. Any other error counts as
      damage of the source.
    - `signatures`: every source begins with one of these bytes, in lower case, after white space; empty if
      the format has no such mark
    - `recognises`: whether bytes that begin with a signature are of this format; asked before any extension
    - `extensions`: with a dot and in lower case; asked if no front end recognises the content
    - `media_types`: the types of e-mail attachments and web pages that are of this format
    - `is_text`: whether a source is plain text with marks. Such a source needs no signature if its extension
      or its media type is one of these
    - `package`: the distribution that it imports and that is not a part of Python
    """

    name: str
    version: int
    extract: Callable[[bytes, ExtractionOptions], Extracted] = dataclasses.field(repr=False)
    signatures: tuple[bytes, ...] = ()
    recognises: Callable[[bytes], bool] = dataclasses.field(default=_always, repr=False)
    extensions: frozenset[str] = frozenset()
    media_types: frozenset[str] = frozenset()
    is_text: bool = False
    package: str | None = None

    @property
    def reading(self) -> str:
        """The name and version as they stand in the index.

        >>> FrontEnd("docx", 2, lambda data, options: Extracted("")).reading
        'docx-2'
        """
        return f"{self.name}-{self.version}"

    @property
    def is_installed(self) -> bool:
        """Whether the package that it needs is installed."""
        if self.package is None:
            return True
        try:
            importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return False
        return True
