"""The README's reference of commands, made from what the commands say of themselves.

python -m tests.reference writes it; a test compares.
"""

import inspect
import re
from pathlib import Path

import click

from docindex.cli.command_list import docindex

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- made by python -m tests.reference -->\n", "<!-- made until here -->\n"

COMMON = {
    "--index FILE": "the index that is meant; without it what the variable `DOCINDEX` says, or your own",
    "--json, --jsonl, --csv": "for programs: one JSON value, a JSON object a line, comma-separated values",
    "-q, --quiet": "show no progress, and no remarks",
    "--debug": "show where an error comes from",
    "-h, --help": "what the command does, with examples",
}
"""Options that most commands have, and that are explained once."""


def reference():
    """The section on commands, as Markdown."""
    parts = ["Options that (nearly) all commands have:\n\n", table(COMMON.items())]
    for path, command in commands(docindex, "docindex"):
        own = [parameter for parameter in command.params if named(parameter) not in COMMON_NAMES]
        usage = " ".join([path, *(["[OPTIONS]"] if any(map(is_option, own)) else []), *metavars(command)])
        text, _, examples = inspect.cleandoc(command.help).partition("\b\n")
        parts.append(f"\n**`{usage}`** - {text.strip()}\n")
        examples = examples.partition("\n")[2]
        parts.append("\n" + "".join(f"    {line.strip()}\n" for line in examples.splitlines()))
        if any(map(is_option, own)):
            parts += ["\n", table((spelled(option), helped(option)) for option in own if is_option(option))]
    return "".join(parts)


def commands(group, path):
    """All commands under a group, those of a group below it in its place."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


COMMON_NAMES = {"--index", "--json", "--jsonl", "--csv", "--quiet", "--debug", "--help"}


def named(parameter):
    return parameter.opts[-1]


def is_option(parameter):
    return isinstance(parameter, click.Option)


def metavars(command):
    return [parameter.metavar for parameter in command.params if isinstance(parameter, click.Argument)]


def spelled(option):
    """How an option is written, with what it takes."""
    names = ", ".join([*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    choices = getattr(option.type, "choices", None)
    takes = "|".join(choices) if choices else option.metavar or option.type.name.split()[0].upper()
    return f"{names} {takes}"


def helped(option):
    """What it does; and what it is without being given."""
    default = f"({option.default} if not given)" if option.show_default and not option.is_flag else ""
    dry = "(the first if not given)" if option.secondary_opts else ""
    return " ".join(filter(None, [option.help, default, dry]))


def table(rows):
    lines = [f"| `{left.replace('|', chr(92) + '|')}` | {right} |\n" for left, right in rows]
    return "".join(["| option | what it does |\n", "|---|---|\n", *lines])


def written():
    """The README with the reference in it."""
    text = README.read_text("utf-8")
    return re.sub(f"(?s){BEGIN}.*{END}", lambda _: f"{BEGIN}\n{reference()}\n{END}", text)


if __name__ == "__main__":
    README.write_text(written(), "utf-8")
