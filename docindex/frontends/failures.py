"""The error of a source whose text cannot be extracted, and its reasons."""

from typing import Literal

Reason = Literal[
    "encrypted", "damaged", "no text", "too large", "too slow", "not installed", "unknown format"
]
"""Why a source has no text:

- "encrypted": it needs a password
- "damaged": it is not what its format promises
- "no text": it has pictures only, such as a scanned PDF
- "too large", "too slow": it exceeds the limits of memory or time
- "not installed": its format needs a package of the extra `formats`
- "unknown format": no front end accepts it
"""


class NotExtracted(ValueError):
    """The text of a source cannot be extracted. The message is a phrase that says what was found."""

    def __init__(self, reason: Reason, message: str, reading: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.reading = reading
        """The name and version of the front end that was asked; "" if none was."""
