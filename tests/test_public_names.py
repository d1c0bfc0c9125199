"""The public names are those the README lists, and each is explained by an example that runs."""

import inspect
import re
from pathlib import Path

import docindex

README = Path(__file__).parent.parent / "README.md"


def test_the_readme_lists_the_public_names_and_no_others():
    section = README.read_text("utf-8").split("## Names", 1)[1].split("\n## ", 1)[0]
    listed = set(re.findall(r"^\| `docindex\.(\w+)", section, re.MULTILINE))
    assert listed == set(docindex.__all__) - {"__version__"}


def test_all_public_names_exist_and_say_what_they_are():
    for name in set(docindex.__all__) - {"__version__"}:
        assert inspect.getdoc(getattr(docindex, name)), name


def test_every_public_function_has_an_example():
    for name in docindex.__all__:
        member = getattr(docindex, name)
        if inspect.isfunction(member):
            assert ">>>" in (member.__doc__ or ""), name


def test_every_kernel_has_an_example():
    for path in (README.parent / "docindex" / "kernels").rglob("*.py"):
        name = ".".join(path.relative_to(README.parent).with_suffix("").parts)
        module = __import__(name.removesuffix(".__init__"), fromlist=["*"])
        for name, member in vars(module).items():
            if (
                inspect.isfunction(member)
                and member.__module__ == module.__name__
                and not name.startswith("_")
            ):
                assert ">>>" in (member.__doc__ or ""), f"{path.stem}.{name}"
