"""The description of a front end: its name and version, what it accepts, and the function that extracts."""

import dataclasses
import importlib.metadata
from collections.abc import Callable

from docindex.frontends.extracted import Extracted
from docindex.frontends.failures import NotExtracted


@dataclasses.dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """What to extract in addition to the main text.

    - `navigation`: the navigation, headers and footers of web pages
    - `quotes`: the lines that a mail quotes from another mail
    - `archives`: the files inside zip and tar archives, as parts
    - `encoding`: the encoding of text that does not declare one; None to detect it. A byte order mark, or the
      encoding that a web page, XML, TeX or a mail declares, comes first.
    """

    navigation: bool = False
    quotes: bool = True
    archives: bool = False
    encoding: str | None = None


DEFAULT_OPTIONS = ExtractionOptions()
"""The main text only, with quotes."""


MOST_BYTES = 256_000_000
"""The bytes of a source whose front end does not say how many it reads. A larger file is not opened."""


def _always(_: bytes) -> bool:
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class FrontEnd:
    """Extracts the text of the sources of one format.

    - `name`, `version`: the index stores them with each file that was read. If you change `extract` so that
      it returns other texts, increase the version: the next scan reads these files again.
    - `extract`: a function that gets the bytes of a source, and returns its text or raises `NotExtracted`.
      If it raises another error, the source counts as damaged.
    - `signatures`: every source begins with one of these, in lower case, possibly after white space. Empty if
      the format has no signature.
    - `recognises`: a function that tells whether bytes that begin with a signature are in this format. The
      content decides before the extension does.
    - `extensions`: the extensions of this format, with a dot and in lower case. They decide if no front end
      recognises the content.
    - `media_types`: the media types of this format. They decide last.
    - `is_text`: true if sources are plain text with marks. Then the extension or the media type is enough,
      and a source needs no signature.
    - `most_bytes`: a larger source is refused as too large, before it is read. Choose it so that an ordinary
      source of this size needs less than 1 GB of memory. The process that extracts has 2 GB.
    - `package`: the distribution that `extract` needs, unless it is a part of Python or docindex.
    """

    name: str
    version: int
    extract: Callable[[bytes, ExtractionOptions], Extracted] = dataclasses.field(repr=False)
    signatures: tuple[bytes, ...] = ()
    recognises: Callable[[bytes], bool] = dataclasses.field(default=_always, repr=False)
    extensions: frozenset[str] = frozenset()
    media_types: frozenset[str] = frozenset()
    is_text: bool = False
    most_bytes: int = MOST_BYTES
    package: str | None = None

    def extract_within_limits(self, data: bytes, options: ExtractionOptions) -> Extracted:
        """The result of `extract`; `NotExtracted` if the source is too large for it."""
        if len(data) > self.most_bytes:
            raise NotExtracted("too large", f"it has more than {self.most_bytes / 1e6:,g} MB")
        return self.extract(data, options)

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
