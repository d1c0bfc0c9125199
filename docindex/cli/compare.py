"""``docindex compare A B``: how much two text files share."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import docindex

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it


class UnusableFileError(Exception):
    """A file that cannot be read as text; the message names it and says what to do."""


def register(commands: "Commands") -> None:
    """Add the command and its options."""
    parser = commands.add_parser("compare", help="tell how much two text files share", description=__doc__)
    parser.add_argument("a", metavar="A", type=Path)
    parser.add_argument("b", metavar="B", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare and report."""
    a, b = _text(options.a), _text(options.b)
    of_a, of_b = docindex.fingerprints(a), docindex.fingerprints(b)
    found = {
        "a": str(options.a),
        "b": str(options.b),
        "resemblance": docindex.resemblance(a, b),
        "containment_of_a_in_b": docindex.containment(a, b),
        "containment_of_b_in_a": docindex.containment(b, a),
        "fingerprints_of_a": len(of_a),
        "fingerprints_of_b": len(of_b),
        "shared_fingerprints": len(np.intersect1d(of_a.hashes, of_b.hashes)),
        "simhash_distance": docindex.distance(docindex.simhash(a), docindex.simhash(b)),
    }
    print(json.dumps(found, indent=2) if options.json else _report(found))
    return 0


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
            raise UnusableFileError(f"{path} is not a regular file; name a text file")
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusableFileError(
            f"{path} is not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}; "
            "convert it to UTF-8 first"
        ) from error
    except OSError as error:
        raise UnusableFileError(f"{path} cannot be read: {error.strerror or error}") from error
