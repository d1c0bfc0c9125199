"""``docindex compare A B``: how much two text files share, and what, side by side."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import click

from docindex.cli.options import Command, form_options
from docindex.cli.output import emit, progress, show
from docindex.cli.wording import given, shown
from docindex.errors import UnreadableFile
from docindex.folders.path_keys import key_of
from docindex.index.texts import distance, sketch
from docindex.opening import open as open_index
from docindex.query.passages import Passage
from docindex.query.resolve import Text

_MOST = 10
"""Passages that are shown to a person who does not ask for all."""


@click.command(cls=Command)
@click.argument("a", metavar="A", type=click.Path())
@click.argument("b", metavar="B", type=click.Path())
@click.option("-v", "--verbose", is_flag=True, help=f"show all passages, not only the {_MOST} longest")
@form_options
def compare(a: str, b: str, verbose: bool, form: str | None) -> int:
    """Show what two text files share, side by side.

    First the numbers, then the passages that A and B have in common, in colour on a terminal that has some.

    \b
    Examples:
      docindex compare draft.txt final.txt
      docindex compare --verbose draft.txt final.txt
    """
    texts = text_of_file(a), text_of_file(b)
    with open_index(":memory:") as index, progress("comparing"):
        found = index.compare(Text(texts[0]), Text(texts[1]))
    sketches = [sketch(text) for text in texts]
    hashes = [set(one.hashes.tolist()) for one in sketches]
    record = {
        "a": key_of(given(a)),
        "b": key_of(given(b)),
        "resemblance": found.resemblance,
        "containment_of_a_in_b": found.containment,
        "containment_of_b_in_a": found.reverse_containment,
        "fingerprints_of_a": len(hashes[0]),
        "fingerprints_of_b": len(hashes[1]),
        "shared_fingerprints": len(hashes[0] & hashes[1]),
        "simhash_distance": distance(sketches[0].simhash, sketches[1].simhash),
        "passages": [dataclasses.asdict(passage) for passage in found.passages],
    }
    show([record], form, lambda: _numbers(record), record)
    if form is None and found.passages:
        _passages(texts, found.passages, len(found.passages) if verbose else _MOST)
    return 0


def _numbers(found: dict[str, Any]) -> str:
    return "\n".join(
        (
            f"resemblance          {found['resemblance']:.3f}",
            f"A contained in B     {found['containment_of_a_in_b']:.3f}   A = {shown(found['a'])}",
            f"B contained in A     {found['containment_of_b_in_a']:.3f}   B = {shown(found['b'])}",
            f"shared fingerprints  {found['shared_fingerprints']} "
            f"(A has {found['fingerprints_of_a']}, B has {found['fingerprints_of_b']})",
            f"simhash distance     {found['simhash_distance']} of 64 bits",
        )
    )


def _passages(texts: tuple[str, str], passages: tuple[Passage, ...], most: int) -> None:
    from docindex.cli.side_by_side import beside  # with rich, which programs that want JSON need not wait for

    longest = sorted(passages, key=lambda passage: -passage.length)[:most]
    emit(f"\n{beside(*texts, sorted(longest, key=lambda passage: passage.query_start))}")
    if len(longest) < len(passages):
        emit(f"\n{len(passages) - len(longest):,} shorter passages; --verbose shows all")


def text_of_file(name: str) -> str:
    """The text of a file in UTF-8, with or without a byte order mark."""
    path = Path(os.fsdecode(given(name)))
    try:
        if path.exists() and not path.is_file():
            raise UnreadableFile(f"{name} is not a regular file; name a text file", name)
        return path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{name} is not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}; "
            "convert it to UTF-8 first",
            name,
        ) from error
    except OSError as error:
        raise UnreadableFile(f"{name} cannot be read: {error.strerror or error}", name) from error
