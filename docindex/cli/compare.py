"""``docindex compare A B``: how much two text files share."""

from pathlib import Path
from typing import Any

import click
import numpy as np

from docindex.cli.frame import form_options, show
from docindex.errors import UnreadableFile
from docindex.strings import distance, shares, sketch


@click.command()
@click.argument("a", metavar="A", type=click.Path(path_type=Path))
@click.argument("b", metavar="B", type=click.Path(path_type=Path))
@form_options
def compare(a: Path, b: Path, form: str | None) -> int:
    """Tell how much the two text files A and B share.

    \b
    Example:
      docindex compare draft.txt final.txt
    """
    found = _found(a, b)
    show([found], form, lambda: _report(found), found)
    return 0


def _found(path_a: Path, path_b: Path) -> dict[str, Any]:
    a, b = text_of_file(path_a), text_of_file(path_b)
    resemblance, a_in_b, b_in_a = shares(a, b)
    of_a, of_b = sketch(a), sketch(b)
    return {
        "a": str(path_a),
        "b": str(path_b),
        "resemblance": resemblance,
        "containment_of_a_in_b": a_in_b,
        "containment_of_b_in_a": b_in_a,
        "fingerprints_of_a": len(of_a.hashes),
        "fingerprints_of_b": len(of_b.hashes),
        "shared_fingerprints": len(np.intersect1d(of_a.hashes, of_b.hashes)),
        "simhash_distance": distance(of_a.simhash, of_b.simhash),
    }


def _report(found: dict[str, Any]) -> str:
    return "\n".join(
        (
            f"resemblance          {found['resemblance']:.3f}",
            f"A contained in B     {found['containment_of_a_in_b']:.3f}   A = {found['a']}",
            f"B contained in A     {found['containment_of_b_in_a']:.3f}   B = {found['b']}",
            f"shared fingerprints  {found['shared_fingerprints']} "
            f"(A has {found['fingerprints_of_a']}, B has {found['fingerprints_of_b']})",
            f"simhash distance     {found['simhash_distance']} of 64 bits",
        )
    )


def text_of_file(path: Path) -> str:
    """The text of a file in UTF-8, with or without a byte order mark."""
    try:
        if path.exists() and not path.is_file():
            raise UnreadableFile(f"{path} is not a regular file; name a text file", str(path))
        return path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UnreadableFile(
            f"{path} is not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}; "
            "convert it to UTF-8 first",
            str(path),
        ) from error
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror or error}", str(path)) from error
