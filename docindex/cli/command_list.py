"""All commands, by their names. Must import none but the one that is called: a person waits for it."""

import importlib

import click

from docindex.cli.options import CommandGroup
from docindex.version import __version__

_WHERE = {
    "scan": "scan_command.scan",
    "dups": "dups_command.dups",
    "act": "act_command.act",
    "undo": "act_command.undo",
    "search": "search_command.search",
    "similar": "search_command.similar",
    "compare": "compare_command.compare",
    "pairs": "search_command.pairs",
    "report": "report_command.report",
    "add": "add_command.add",
    "remove": "add_command.remove",
    "boilerplate": "add_command.boilerplate",
    "sql": "sql_command.sql",
    "shell": "sql_command.shell",
    "info": "info_command.info",
    "check": "info_command.check",
    "optimize": "info_command.optimize",
    "filter": "filter_command.design",
}
"""Of each command the module of this package, and the name in it."""


class _Commands(CommandGroup):
    """The commands, in the order in which they are met."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # as click calls it
        return list(_WHERE)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _WHERE:
            return None
        module, _, name = _WHERE[cmd_name].partition(".")
        command = getattr(importlib.import_module(f"docindex.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="docindex", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="show where an error comes from")
def docindex(debug: bool) -> None:
    """Find which documents share text, where exactly, and how much."""
    del debug  # see `frame.run`
