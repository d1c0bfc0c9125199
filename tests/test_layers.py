"""Imports point one way: a room may import only from the rooms above it (and from its own)."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "docindex"

# From the ground up: each line may import from the lines above it, and a package from itself.
ORDER = [
    {"errors", "version"},
    {"kernels"},
    {"recipe"},
    {"frontends"},
    {"reading"},
    {"sketching"},
    {"storage"},
    {"query"},
    {"index"},
    {"sql"},
    {"opening"},
    {"folders"},
    {"report"},
    {"__init__"},
    {"plugins"},
    {"cli"},
    {"__main__"},
]
# Inside kernels: what any may use, then the others in the order in which they build on each other.
KERNELS = [
    {"arrays"},
    {"grams", "minhash", "simhash", "features", "packing", "tally"},
    {"winnow", "shingles", "samples", "hamming", "joins"},
    {"align"},
    {"study"},
]
OUTSIDE = {"kernels": {"numpy"}}
STANDARD = {
    "kernels": {"collections", "dataclasses", "functools", "heapq", "itertools", "math", "operator", "typing"}
}


def imports(path):
    """The dotted names a module imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield path, parts


def level(order, room):
    return next(number for number, names in enumerate(order) if room in names)


def test_every_room_has_its_place_in_the_order():
    assert {parts[0] for _, parts in rooms()} == set().union(*ORDER)
    assert {parts[1] for _, parts in rooms() if parts[0] == "kernels"} - {"__init__"} == set().union(*KERNELS)


def test_a_room_imports_only_from_rooms_above_it():
    for path, parts in rooms():
        for name in imports(path):
            if name != "docindex" and not name.startswith("docindex."):
                continue
            room = [*name.split("."), "__init__"][1]
            if not (PACKAGE / room).exists() and not (PACKAGE / f"{room}.py").exists():
                room = "__init__"  # a name of the package itself
            if room == parts[0] != "kernels":
                continue
            if room == parts[0] == "kernels":
                assert level(KERNELS, name.split(".")[2]) < level(KERNELS, parts[1]), f"{path} imports {name}"
            else:
                assert level(ORDER, room) < level(ORDER, parts[0]), f"{path} imports {name}"


def test_kernels_know_numpy_and_arithmetic_alone():
    for path, parts in rooms():
        if parts[0] == "kernels":
            outside = {name.split(".")[0] for name in imports(path)} - {"docindex"}
            assert outside <= OUTSIDE["kernels"] | STANDARD["kernels"], path
