"""Send texts to a worker process, and sketches and text parts back, over binary streams.

In and out: a binary stream, and texts, sketches or parts. A message is one line with the dtypes and shapes of
some arrays, followed by the bytes of the arrays; texts and parts are arrays of bytes. So a message is written
with one call and read with two: each further one would wait, for up to 5 ms, until no other thread needs
Python's lock. Every function that reads raises `EOFError` if the stream ends in the middle of a message. This
module must never pickle anything or start a process.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from docindex.kernels.arrays import I64, starts_of
from docindex.recipe import Recipe
from docindex.sketching.sketches import Sketches
from docindex.sketching.text_parts import Parts

_Array = np.ndarray[Any, Any]

READY_LINE = b"ready\n"
"""The first line that a worker writes."""

# Fields of `Sketches` that hold two arrays: values and starts.
_PAIRS = {"min_s", "mod_m", "level"}

# Each array of a message begins at a multiple of this many bytes: numpy is slower on others.
_ALIGNED = 8


class TextBatch(NamedTuple):
    """A request to a worker."""

    texts: list[str]
    keep: bool
    """Whether to return also the parts in which the texts are stored."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SketchedBatch:
    """The result of one batch of texts."""

    sketches: Sketches
    parts: list[Parts]
    """The parts of each text; an empty list if whoever stores the texts must make them."""


def send_texts(stream: IO[bytes], texts: Sequence[str], keep: bool) -> None:
    """Write a request to a worker."""
    sources = [text.encode("utf-8", "surrogatepass") for text in texts]
    _send(stream, [np.array([keep]), *_of_blobs(sources)])


def receive_texts(stream: IO[bytes]) -> TextBatch:
    """Read the request that `send_texts` wrote."""
    keep, *sources = _receive(stream)
    return TextBatch([str(data, "utf-8", "surrogatepass") for data in _blobs(*sources)], bool(keep[0]))


def send_batch(stream: IO[bytes], batch: SketchedBatch) -> None:
    """Write the answer to a request."""
    parts = list(itertools.chain.from_iterable(batch.parts))
    _send(
        stream,
        [
            np.array([len(own) for own in batch.parts], np.int64),
            np.array([codec for codec, _ in parts], np.int64),
            *_of_blobs([data for _, data in parts]),
            *_arrays(batch.sketches),
        ],
    )


def receive_batch(stream: IO[bytes], recipe: Recipe) -> SketchedBatch:
    """Read the answer that `send_batch` wrote."""
    counts, codecs, lengths, data, *sketches = _receive(stream)
    parts = zip(codecs.tolist(), map(bytes, _blobs(lengths, data)), strict=True)
    kept = [list(itertools.islice(parts, count)) for count in counts.tolist()]
    return SketchedBatch(_sketches(sketches, recipe), kept)


def _of_blobs(blobs: Sequence[bytes]) -> tuple[I64, _Array]:
    """Some bytes as arrays: the length of each, and all of them end to end."""
    return np.array([len(blob) for blob in blobs], np.int64), np.frombuffer(b"".join(blobs), np.uint8)


def _blobs(lengths: I64, data: _Array) -> Iterator[memoryview]:
    whole = data.data
    return (whole[begin:end] for begin, end in itertools.pairwise(starts_of(lengths).tolist()))


def _sketches(arrays: Iterable[_Array], recipe: Recipe) -> Sketches:
    """The batch of which `_arrays` gave the fields."""
    left = iter(arrays)
    values: list[Any] = []
    for field in dataclasses.fields(Sketches):
        if field.name == "recipe":
            values.append(recipe)
        elif field.name in _PAIRS:
            values.append((next(left), next(left)))
        elif field.name == "words_hashes":
            values.append([row.tobytes() for row in next(left)])
        else:
            values.append(next(left))
    return Sketches(*values)


def _arrays(batch: Sketches) -> list[_Array]:
    """The fields of a batch as arrays, in the order in which `_sketches` reads them."""
    arrays: list[_Array] = []
    for field in dataclasses.fields(batch):
        value = getattr(batch, field.name)
        if field.name in _PAIRS:
            arrays.extend(value)
        elif field.name == "words_hashes":
            arrays.append(np.frombuffer(b"".join(value), np.uint8).reshape(-1, 16))
        elif field.name != "recipe":
            arrays.append(value)
    return arrays


def _send(stream: IO[bytes], arrays: Sequence[_Array]) -> None:
    # numpy's own file format needs a stream that can seek, and a pipe cannot.
    heads = (f"{array.dtype.str}:{','.join(map(str, array.shape))}" for array in arrays)
    pieces = [" ".join(heads).encode() + b"\n"]
    for array in arrays:
        pieces += [np.ascontiguousarray(array).tobytes(), bytes(-array.nbytes % _ALIGNED)]
    stream.write(b"".join(pieces))
    stream.flush()


def _receive(stream: IO[bytes]) -> list[_Array]:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the stream ended before a message")
    heads = [head.split(":") for head in line.decode().split()]
    kinds = [(np.dtype(name), tuple(map(int, shape.split(",")))) for name, shape in heads]
    sizes = [math.prod(shape) * dtype.itemsize for dtype, shape in kinds]
    begins = list(itertools.accumulate((size + -size % _ALIGNED for size in sizes), initial=0))
    data = stream.read(begins[-1])
    if len(data) < begins[-1]:
        raise EOFError(f"the stream ended {begins[-1] - len(data)} bytes too early")
    return [
        np.frombuffer(data, dtype, math.prod(shape), begin).reshape(shape)
        for (dtype, shape), begin in zip(kinds, begins, strict=False)  # the last number is the end
    ]
