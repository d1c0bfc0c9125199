"""Send texts to a worker process, and sketches and text parts back, over binary streams.

In and out: a binary stream, and texts, sketches or parts. A message is a series of arrays. Each array is one
line with its dtype and shape, followed by its bytes; texts and parts follow the array of their lengths.
Every function that reads raises `EOFError` if the stream ends in the middle of a message. This module must
never pickle anything or start a process.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from docindex.recipe import Recipe
from docindex.sketching.sketches import Sketches
from docindex.sketching.text_parts import Parts

_Array = np.ndarray[Any, Any]

READY_LINE = b"ready\n"
"""The first line that a worker writes."""

# Fields of `Sketches` that hold two arrays: values and starts.
_PAIRS = {"min_s", "mod_m", "level"}


class TextBatch(NamedTuple):
    """A request to a worker."""

    texts: list[str]
    keep: bool
    """Whether to return also the parts in which the texts are stored."""


def send_texts(stream: IO[bytes], texts: Sequence[str], keep: bool) -> None:
    """Write a request to a worker."""
    _send(stream, np.array([keep]))
    sources = [text.encode("utf-8", "surrogatepass") for text in texts]
    _send(stream, np.array([len(source) for source in sources], np.int64))
    stream.writelines(sources)
    stream.flush()


def receive_texts(stream: IO[bytes]) -> TextBatch:
    """Read the request that `send_texts` wrote."""
    keep = bool(_receive(stream)[0])
    lengths = _receive(stream).tolist()
    return TextBatch([_read(stream, length).decode("utf-8", "surrogatepass") for length in lengths], keep)


def send_sketches(stream: IO[bytes], batch: Sketches) -> None:
    """Write the sketches of a batch; the caller flushes."""
    for array in _arrays(batch):
        _send(stream, array)


def receive_sketches(stream: IO[bytes], recipe: Recipe) -> Sketches:
    """Read the sketches that `send_sketches` wrote."""
    values: list[Any] = []
    for field in dataclasses.fields(Sketches):
        if field.name == "recipe":
            values.append(recipe)
        elif field.name in _PAIRS:
            values.append((_receive(stream), _receive(stream)))
        elif field.name == "words_hashes":
            values.append([row.tobytes() for row in _receive(stream)])
        else:
            values.append(_receive(stream))
    return Sketches(*values)


def send_parts(stream: IO[bytes], texts: list[Parts]) -> None:
    """Write the stored parts of the texts of a batch; the caller flushes."""
    _send(stream, np.array([len(parts) for parts in texts], np.int64))
    parts = list(itertools.chain.from_iterable(texts))
    _send(stream, np.array([(codec, len(data)) for codec, data in parts], np.int64).reshape(-1, 2))
    stream.writelines(data for _, data in parts)


def receive_parts(stream: IO[bytes]) -> list[Parts]:
    """Read the parts that `send_parts` wrote."""
    counts = _receive(stream).tolist()
    parts = iter([(codec, _read(stream, length)) for codec, length in _receive(stream).tolist()])
    return [list(itertools.islice(parts, count)) for count in counts]


def _arrays(batch: Sketches) -> list[_Array]:
    """The fields of a batch as arrays, in the order in which `receive_sketches` reads them."""
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


def _send(stream: IO[bytes], array: _Array) -> None:
    # numpy's own file format needs a stream that can seek, and a pipe cannot.
    stream.write(f"{array.dtype.str} {' '.join(map(str, array.shape))}\n".encode())
    stream.write(np.ascontiguousarray(array).data)


def _receive(stream: IO[bytes]) -> _Array:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the stream ended before an array")
    name, *shape = line.decode().split()
    dtype, sizes = np.dtype(name), tuple(map(int, shape))
    return np.frombuffer(_read(stream, math.prod(sizes) * dtype.itemsize), dtype).reshape(sizes)


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError(f"the stream ended {size - len(data)} bytes too early")
    return data
