"""A package imports only what stands before it in the list of packages; so do the parts of a package."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "docindex"

# From the bottom up: packages and modules at the top level.
ORDER = [
    "spelling",
    "errors",
    "version",
    "patterns",
    "worker_command",
    "default_path",
    "private_files",
    "embedding",
    "arguments",
    "cancellation",
    "recipe",
    "arrays",
    "winnowing",
    "shingling",
    "minhash",
    "simhashing",
    "frontends",
    "reading",
    "sketching",
    "storage",
    "query",
    "index",
    "sql",
    "opening",
    "merging",
    "folders",
    "shown",
    "report",
    "__init__",
    "spark",
    "plugins",
    "cli",
    "_pyinstaller",
    "__main__",
]
# Arrays in, arrays out.
PAPERS = {"arrays", "winnowing", "shingling", "minhash", "simhashing"}
STANDARD_FOR_PAPERS = {
    *("collections", "dataclasses", "functools", "heapq", "itertools", "math", "operator", "typing"),
}


def imports(path):
    """The dotted names that a module imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_of(parts):
    """The module that a dotted name leads to, as a path without its ending; None outside docindex."""
    if parts[0] != "docindex":
        return None
    while not PACKAGE.parent.joinpath(*parts).with_suffix(".py").exists():
        if PACKAGE.parent.joinpath(*parts, "__init__.py").exists():
            return (*parts[1:], "__init__")
        parts = parts[:-1]
    return tuple(parts[1:])


def modules():
    """Every module: its parts, and those of the modules that it imports."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        imported = {module_of(name.split(".")) for name in imports(path)} - {None, parts}
        yield path, parts, imported


MODULES = list(modules())
PACKAGES = sorted({parts[:-1] for _, parts, _ in MODULES} - {()})
APART = {("_pyinstaller",), ("plugins",)}  # for other programs, which say what lies where
NESTED = sorted({one[:length] for one in PACKAGES for length in range(1, len(one))} - APART)


def parts_in_order(package):
    """The modules and packages that the `__init__` of a package lists, from the bottom up."""
    text = PACKAGE.joinpath(*package, "__init__.py").read_text("utf-8")
    listed = re.search(r"^# From the bottom up: ((?:.|\n# )*?)\.$", text, re.MULTILINE)
    return re.findall(r"\w+", listed[1]) if listed else []


def assert_imports_only_below(order, package=()):
    """Assert that each part of a package imports only from parts that are listed before it."""
    depth = len(package)
    for path, parts, imported in MODULES:
        if parts[:depth] == package and parts[depth] in order:
            above = [
                other
                for other in imported
                if other[:depth] == package
                and other[depth] in order
                and order.index(other[depth]) > order.index(parts[depth])
            ]
            assert above == [], path


def test_every_package_has_its_place_in_the_order():
    assert {parts[0] for _, parts, _ in MODULES} == set(ORDER)


def test_a_package_imports_only_from_packages_below_it():
    assert_imports_only_below(ORDER)


@pytest.mark.parametrize("package", NESTED, ids=".".join)
def test_a_package_with_packages_lists_its_parts_from_the_bottom_up(package):
    order = parts_in_order(package)
    parts = {parts[len(package)] for _, parts, _ in MODULES if parts[: len(package)] == package}
    assert set(order) == parts - {"__init__"}
    assert_imports_only_below(order, package)


def test_modules_do_not_import_each_other():
    graph = {
        parts: {other for other in imported if other[-1] != "__init__"} for _, parts, imported in MODULES
    }
    assert list(TopologicalSorter(graph).static_order())  # `CycleError` if they do


def test_packages_of_papers_import_numpy_and_arithmetic_only():
    for path, parts, _ in MODULES:
        if parts[0] in PAPERS:
            outside = {name.split(".")[0] for name in imports(path)} - {"docindex"}
            assert outside <= {"numpy"} | STANDARD_FOR_PAPERS, path


def test_commands_do_not_import_each_other():
    for path, parts, imported in MODULES:
        if parts[:2] == ("cli", "commands") and parts[-1] != "code_pairs":
            others = [other for other in imported if other[:2] == ("cli", "commands")]
            assert [other for other in others if other[-1] != "code_pairs"] == [], path


def test_the_map_names_what_is_there():
    text = (PACKAGE / "README.md").read_text("utf-8")
    assert text.count("\n") <= 150
    for name in re.findall(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`", text):
        parts = name.removeprefix("docindex.").split(".")
        if parts[0] == "crash" or parts[-1] == "py":  # a long trial, and a path
            continue
        at = next((n for n in range(len(parts), 0, -1) if is_there(parts[:n])), 0)
        assert at >= len(parts) - 1, name
        if at < len(parts):
            source = PACKAGE.joinpath(*parts[:at]).with_suffix(".py").read_text("utf-8")
            assert re.search(rf"^(def |class )?{parts[-1]}\b", source, re.MULTILINE), name
    for name in re.findall(r"`([\w/]+)/`", text):
        top = PACKAGE.parent / name
        assert top.is_dir() or is_there(name.split("/")) or len(list(PACKAGE.rglob(name))) == 1, name


def is_there(parts):
    path = PACKAGE.joinpath(*parts)
    return path.is_dir() or path.with_suffix(".py").exists()
