"""Send sources to a process that extracts texts, and texts back, over binary streams.

A message is one line of JSON, which says how many bytes follow, and these bytes. Every function that reads
raises `EOFError` if the stream ends in the middle of a message. Must never pickle anything.
"""

import dataclasses
import json
from typing import IO, Any

from docindex.frontends.extracted import Extracted, SourcePart
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import DEFAULT_OPTIONS, ExtractionOptions
from docindex.frontends.isolated.work_budget import WorkBudget
from docindex.frontends.packed_places import packed_places, unpacked_places

_LONGEST_LINE = 1 << 28


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A source to read."""

    data: bytes = dataclasses.field(repr=False)
    name: str = ""
    media_type: str | None = None
    format: str | None = None
    """The name of the front end; None to recognise the format."""
    options: ExtractionOptions = DEFAULT_OPTIONS


def send_source(stream: IO[bytes], source: Source, budget: WorkBudget) -> None:
    """Write a request, with what it may cost."""
    head = {
        "name": source.name,
        "media_type": source.media_type,
        "format": source.format,
        "options": dataclasses.asdict(source.options),
        "seconds": budget.seconds,
    }
    _send(stream, head, [source.data])


def receive_source(stream: IO[bytes]) -> tuple[Source, float]:
    """Read the request that `send_source` wrote: a source, and the processor time that it may take."""
    head, (data,) = _receive(stream)
    options = ExtractionOptions(**head["options"])
    return Source(data, head["name"], head["media_type"], head["format"], options), head["seconds"]


def send_extracted(stream: IO[bytes], answer: Extracted | NotExtracted, seconds: float) -> None:
    """Write the answer to a request, and the processor time that is left of its budget."""
    head: dict[str, Any] = {"seconds": seconds, "reading": answer.reading}
    if isinstance(answer, NotExtracted):
        _send(stream, head | {"reason": answer.reason, "message": str(answer)}, [])
        return
    head |= {
        "title": answer.title,
        "warnings": answer.warnings,
        "places": packed_places(answer.places),
        "parts": [(part.name, part.format) for part in answer.parts],
    }
    _send(stream, head, [answer.text.encode("utf-8", "surrogatepass"), *(part.data for part in answer.parts)])


def receive_extracted(stream: IO[bytes], budget: WorkBudget) -> Extracted:
    """Read the answer that `send_extracted` wrote; raises `NotExtracted` if it is one.

    Sets the processor time of the budget to what is left.
    """
    head, blobs = _receive(stream)
    budget.seconds = head["seconds"]
    if "reason" in head:
        raise NotExtracted(head["reason"], head["message"], head["reading"])
    parts = zip(head["parts"], blobs[1:], strict=True)
    return Extracted(
        blobs[0].decode("utf-8", "surrogatepass"),
        unpacked_places(head["places"]),
        head["title"],
        tuple(head["warnings"]),
        tuple(SourcePart(name, data, format_) for (name, format_), data in parts),
        head["reading"],
    )


def _send(stream: IO[bytes], head: dict[str, Any], blobs: list[bytes]) -> None:
    line = json.dumps(head | {"sizes": [len(blob) for blob in blobs]}).encode() + b"\n"
    stream.write(line)
    for blob in blobs:  # joined, they would take twice the memory
        stream.write(blob)
    stream.flush()


def _receive(stream: IO[bytes]) -> tuple[dict[str, Any], list[bytes]]:
    line = stream.readline(_LONGEST_LINE)
    if not line.endswith(b"\n"):
        raise EOFError("the stream ended before a message")
    head = json.loads(line)
    blobs = [stream.read(size) for size in head["sizes"]]
    if [len(blob) for blob in blobs] != head["sizes"]:
        raise EOFError("the stream ended in a message")
    return head, blobs
