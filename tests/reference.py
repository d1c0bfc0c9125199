"""Make the README's table of commands from the commands' own help texts.

``python -m tests.reference`` writes it into the README; a test compares.
"""

import inspect
import re
from pathlib import Path

import click

from docindex.cli.command_list import docindex

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- made by python -m tests.reference -->\n", "<!-- made until here -->\n"


def reference():
    """The table of commands, as Markdown: one line for each command."""
    rows = [f"| `{path}` | {summary(command)} |\n" for path, command in commands(docindex)]
    return "".join(["| command | what it does |\n", "|---|---|\n", *rows])


def commands(group):
    """All commands of a group with their full names."""
    context = click.Context(group)
    for name in group.list_commands(context):
        yield f"docindex {name}", group.get_command(context, name)


def summary(command):
    """The first paragraph of a command's help, which is one sentence."""
    return inspect.cleandoc(command.help).partition("\n\n")[0].replace("\n", " ")


def written():
    """The text of the README with the present reference."""
    text = README.read_text("utf-8")
    return re.sub(f"(?s){BEGIN}.*{END}", lambda _: f"{BEGIN}\n{reference()}\n{END}", text)


if __name__ == "__main__":
    README.write_text(written(), "utf-8")
