"""Importing docindex is cheap, and every public name comes from the module that a type checker sees."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import docindex
from docindex import folders

INIT = Path(docindex.__file__)


def imported(statements):
    """The modules that are loaded after some statements."""
    program = f"{statements}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_docindex_imports_no_package_that_costs_time():
    costly = {"numpy", "apsw", "xxhash", "platformdirs", "dataclasses", "json"}
    assert not costly & imported("import docindex")


def test_a_public_name_is_imported_when_it_is_used():
    assert {"numpy", "apsw", "docindex.opening"} <= imported("import docindex; docindex.open")
    assert "docindex.storage" not in imported("from docindex import Recipe")


def test_extracting_needs_numpy_only_for_the_formats_that_use_it():
    assert "numpy" not in imported(
        "import docindex.frontends.isolated.child\n"
        "from docindex.frontends.recognition import named; named('docx')"
    )


def test_each_page_of_help_that_the_readme_names_can_be_read_after_importing_docindex_alone():
    named = set(re.findall(r"`help\(docindex\.(\w+)\)`", (INIT.parents[1] / "README.md").read_text("utf-8")))
    assert named == set(docindex._PAGES) <= set(dir(docindex))
    for page in named:
        assert f"docindex.{page}" in imported(f"import docindex; assert docindex.{page}.__doc__")


@pytest.mark.parametrize("package", [docindex, folders])
def test_type_checkers_see_the_modules_that_names_come_from(package):
    tree = ast.parse(Path(package.__file__).read_text("utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {node.module: {alias.name for alias in node.names} for node in block.body}
    assert seen == {module: set(names) for module, names in package._HOMES.items()}


@pytest.mark.parametrize("package", [docindex, folders])
def test_every_public_name_can_be_imported_and_an_unknown_one_cannot(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="no attribute 'shingler'"):
        package.shingler  # noqa: B018 - reading it is the test
