"""``docindex compare A B``: how much two text files share."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import docindex
from docindex.errors import UnreadableFile
from docindex.strings import shares

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it


def register(commands: "Commands") -> None:
    """Add the command and its options."""
    about = "Tell how much two text files share."
    parser = commands.add_parser("compare", help=about, description=about)
    parser.add_argument("a", metavar="A", type=Path, help="a text file in UTF-8")
    parser.add_argument("b", metavar="B", type=Path, help="another one")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> str:
    """The report of one comparison."""
    a, b = _text(options.a), _text(options.b)
    resemblance, a_in_b, b_in_a = shares(a, b)
    of_a, of_b = docindex.sketch(a), docindex.sketch(b)
    found = {
        "a": str(options.a),
        "b": str(options.b),
        "resemblance": resemblance,
        "containment_of_a_in_b": a_in_b,
        "containment_of_b_in_a": b_in_a,
        "fingerprints_of_a": len(of_a.hashes),
        "fingerprints_of_b": len(of_b.hashes),
        "shared_fingerprints": len(np.intersect1d(of_a.hashes, of_b.hashes)),
        "simhash_distance": docindex.distance(of_a.simhash, of_b.simhash),
    }
    return json.dumps(found, indent=2) if options.json else _report(found)


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


def _text(path: Path) -> str:
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
