"""The house rules that a program can check: names, SQL text only in storage, few parameters."""

import ast
import re
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "docindex"

# Functions with a given name: hooks of the host program, and the one of each front end.
HOOKS = {"extract", "prepare_connection"}

# Its functions have the names of the methods of an index, because they answer the same questions.
TWIN = "spark/"

SQL = re.compile(
    r"^\s*(select|insert|update|delete|replace into|create|drop|alter|pragma|attach|detach|begin|commit|"
    r"rollback|savepoint|release|vacuum|analyze|reindex|explain)\s|\sfrom main\.|\bwhere\s.*\?",
    re.IGNORECASE | re.DOTALL,
)
# SQLite wants the declaration of a virtual table as SQL. A plugin is a host that runs SQL on its own
# connection.
SPEAKS_SQL = ("storage/", "sql/virtual_tables.py", "plugins/")


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text("utf-8"))


def is_alias(node):
    """Whether a statement gives a type another name: ``Name = ...`` or ``Name: TypeAlias = ...``."""
    return (
        isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and re.fullmatch(r"[A-Z][a-z]\w*", node.targets[0].id) is not None
    )


def public_names(tree):
    """The public classes, functions and type aliases that a module defines."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif is_alias(node):
            yield node.targets[0].id


def repeated(owners):
    return {name: places for name, places in owners.items() if len(places) > 1}


def names_of_twin():
    """The public names of the package that answers the same questions as an index."""
    tree = ast.parse((PACKAGE / TWIN / "__init__.py").read_text("utf-8"))
    (names,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    return set(names)


def test_a_public_name_means_one_thing_in_the_whole_package():
    owners = defaultdict(set)
    repeats = names_of_twin()
    for path, tree in modules():
        for name in public_names(tree):
            twin = path.startswith(TWIN) and name in repeats
            if not name.startswith("_") and name not in HOOKS and not twin:
                owners[name].add(path)
    assert repeated(owners) == {}


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            for statement in node.body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    yield id(statement.value)


def test_only_storage_contains_sql_text():
    found = []
    for path, tree in modules():
        if path.startswith(SPEAKS_SQL):
            continue
        skipped = set(docstrings(tree))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in skipped:
                continue
            if SQL.search(node.value):
                found.append(f"{path}:{node.lineno}: {node.value[:60]!r}")
    assert found == []


# Functions that people call with many named choices: the public surface, and the commands.
MANY_PARAMETERS = re.compile(
    r"cli/commands/\w+\.py|opening\.py|index/index\.py|folders/finding/(exact_)?findings\.py"
)


def test_no_function_takes_more_than_seven_parameters():
    found = []
    for path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                arguments = node.args
                names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
                count = len([name for name in names if name not in ("self", "cls")])
                if count > 7 and not MANY_PARAMETERS.fullmatch(path):
                    found.append(f"{path}:{node.lineno} {node.name} takes {count}")
    assert found == []
