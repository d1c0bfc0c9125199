"""A reading is used through its protocol, and found by the name that a recipe gives it."""

import ast
from pathlib import Path
from typing import get_args

import docindex
from docindex.reading.protocol import SymbolReader
from docindex.reading.registry import symbol_reader

PACKAGE = Path(docindex.__file__).parent
BEHIND_THE_PROTOCOL = {"code_points", "plain_text", "code"}


def imported_names(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_other_package_imports_the_modules_of_one_reading():
    for path in PACKAGE.rglob("*.py"):
        if "reading" not in path.parts[-3:-1]:
            for name in imported_names(path):
                _, _, module = name.partition("docindex.reading.")
                assert module.split(".")[0] not in BEHIND_THE_PROTOCOL, f"{path} imports {name}"


def test_every_name_that_a_recipe_accepts_leads_to_a_reading_with_all_methods():
    methods = {name for name in vars(SymbolReader) if not name.startswith("_")} | {"longest_unit"}
    names = get_args(docindex.Recipe.__annotations__["reading"])
    assert names
    for name in names:
        assert methods <= set(dir(symbol_reader(name)))
