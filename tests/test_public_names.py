"""The README lists all public names, methods and fields, and each function is explained by an example."""

import dataclasses
import importlib
import inspect
import re
from pathlib import Path

import pytest

import docindex
from docindex.index.boilerplate import Boilerplate

README = Path(__file__).parent.parent / "README.md"
SECTION = README.read_text("utf-8").split("\n## Names", 1)[1].split("\n## ", 1)[0]
ROWS = [line.split(" | ", 1) for line in SECTION.splitlines() if line.startswith("| `docindex.")]
CALLS = [line for line in SECTION.splitlines() if line.startswith("| `index")]

NAMES = sorted(set(docindex.__all__) - {"__version__"})
# Their methods are not listed.
BASES = (dict, int, list, str, tuple, Exception)


def members(cls):
    """The public methods, properties and fields of a class, without those of built-in classes."""
    inherited = {name for base in BASES if issubclass(cls, base) for name in dir(base)}
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    return {name for name in {*dir(cls), *fields} - inherited if not name.startswith("_")}


def named_in(text):
    return set(re.findall(r"`(?:index\.)?(\w+)(?:\([^`]*\))?`", text))


def test_the_readme_lists_the_public_names_and_no_others():
    listed = [name for row in ROWS for cell in row for name in re.findall(r"`docindex\.([A-Za-z]\w*)", cell)]
    assert sorted(set(listed) - {"folders"}) == NAMES


def test_the_readme_lists_the_fields_and_methods_of_every_value():
    measures = members(docindex.Measures)
    for name in NAMES:
        member = getattr(docindex, name)
        if inspect.isclass(member) and member is not docindex.Index:
            (row,) = (
                " | ".join(row)
                for row in ROWS
                if f"`docindex.{name}`" in row[0] or f"{name}(" in row[0] or f"`docindex.{name}`" in row[1]
            )
            expected = members(member)
            if name != "Measures" and expected > measures:
                assert "measures" in row, name
                expected -= measures
            assert expected - {"path"} <= named_in(row), name


def test_the_readme_lists_the_methods_and_attributes_of_an_index():
    with docindex.open(":memory:") as index:
        expected = members(docindex.Index) | {name for name in vars(index) if not name.startswith("_")}
    listed = {name for call in CALLS for name in re.findall(r"`index\.(\w+)", call)}
    assert listed == expected


def test_the_readme_lists_the_methods_of_boilerplate():
    (call,) = (call for call in CALLS if "index.boilerplate" in call)
    with docindex.open(":memory:") as index:
        assert {name for name in members(type(index.boilerplate)) if f".{name}(" not in call} == set()


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring(name):
    assert inspect.getdoc(getattr(docindex, name))


def test_every_public_method_and_attribute_of_an_index_is_documented():
    for name in members(docindex.Index):
        assert inspect.getdoc(inspect.getattr_static(docindex.Index, name)), name


def test_every_public_function_has_an_example():
    for name in NAMES:
        member = getattr(docindex, name)
        if inspect.isfunction(member):
            assert ">>>" in (member.__doc__ or ""), name


def test_every_function_of_the_papers_has_an_example():
    papers = ("arrays", "winnowing", "shingling", "minhash", "simhashing")
    for path in (path for name in papers for path in (README.parent / "docindex" / name).glob("*.py")):
        module = importlib.import_module(
            ".".join(path.relative_to(README.parent).with_suffix("").parts).removesuffix(".__init__")
        )
        for name, member in vars(module).items():
            if (
                inspect.isfunction(member)
                and member.__module__ == module.__name__
                and not name.startswith("_")
            ):
                assert ">>>" in (member.__doc__ or ""), f"{path.stem}.{name}"


@pytest.mark.parametrize("name", ["winnowing", "shingling", "minhash", "simhashing"])
def test_the_package_of_a_paper_names_what_it_has(name):
    package = importlib.import_module(f"docindex.{name}")
    modules = [path.stem for path in (README.parent / "docindex" / name).glob("[a-z]*.py")]
    functions = {
        member for module in modules for member in vars(importlib.import_module(f"docindex.{name}.{module}"))
    }
    named = re.findall(r"`(\w+)`", package.__doc__)
    assert set(modules) <= set(named) <= {*modules, *functions}


def parameters_in(written):
    """The parameters that a signature in the README gives, as (name, default, whether keyword-only)."""
    keyword_only = False
    for part in re.findall(r"(?:[^,\"(]|\"[^\"]*\"|\([^)]*\))+", written):
        name, _, default = part.strip().partition("=")
        if name == "*":
            keyword_only = True
        elif name != "...":
            yield name, default, keyword_only


def readme_signatures():
    cells = "\n".join([row[0] for row in ROWS] + [call.split(" | ")[0] for call in CALLS])
    for call, thing in re.findall(r"`((docindex|index|index\.boilerplate)\.\w+\([^`]*\))`", cells):
        name, written = call.removeprefix(f"{thing}.").removesuffix(")").split("(", 1)
        if written != "...":
            yield thing, name, written


@pytest.mark.parametrize(("thing", "name", "written"), list(readme_signatures()))
def test_the_readme_gives_the_parameters_that_the_function_has(thing, name, written):
    owner = {"docindex": docindex, "index": docindex.Index, "index.boilerplate": Boilerplate}[thing]
    parameters = inspect.signature(getattr(owner, name)).parameters
    shown = list(parameters_in(written))
    for parameter, default, keyword_only in shown:
        found = parameters[parameter]
        assert (found.kind is found.KEYWORD_ONLY) == keyword_only, parameter
        if default == "...":
            assert found.default is ..., parameter
        elif default:
            assert found.default == eval(default), parameter
        else:
            assert found.default is inspect.Parameter.empty, parameter
    # Every question has `boilerplate`, which a sentence below the table explains.
    if "..." not in written.replace("=...", ""):
        assert [parameter for parameter, _, _ in shown] == [
            parameter for parameter in parameters if parameter not in ("self", "boilerplate")
        ]
