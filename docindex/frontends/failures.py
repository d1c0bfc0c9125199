"""The error of a source whose text cannot be extracted, and its reasons."""

from typing import Literal

Reason = Literal[
    "encrypted",
    "damaged",
    "no text",
    "too large",
    "too slow",
    "too much work",
    "not installed",
    "unknown format",
]
"""Why a source has no text:

- "encrypted": it needs a password or a key
- "damaged": it does not follow the rules of its format
- "no text": it has pictures only, such as a scanned PDF
- "too large", "too slow": it exceeds the limits of memory or time
- "too much work": it takes far more work than other sources of its size
- "not installed": a package that its format needs is missing, or no process can be started to read it
- "unknown format": no front end accepts it
"""


class NotExtracted(ValueError):
    """The text of a source cannot be extracted.

    `reason` is the kind of problem. The message is a phrase about the source, such as "it needs a password".
    """

    def __init__(self, reason: Reason, message: str, reading: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.reading = reading
        """The name and version of the front end that was asked; "" if none was."""
