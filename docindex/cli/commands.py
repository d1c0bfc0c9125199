"""All commands, by their names. Must import none but the one that is called: a person waits for it."""

import difflib
import importlib

import click

from docindex.cli.frame import emit
from docindex.version import __version__

_WHERE = {
    "scan": "scan.scan",
    "dups": "dups.dups",
    "act": "dups.act",
    "undo": "dups.undo",
    "search": "ask.search",
    "similar": "ask.similar",
    "compare": "compare.compare",
    "pairs": "ask.pairs",
    "report": "report.report",
    "add": "change.add",
    "remove": "change.remove",
    "boilerplate": "change.boilerplate",
    "sql": "sql.sql",
    "shell": "sql.shell",
    "info": "upkeep.info",
    "check": "upkeep.check",
    "optimize": "upkeep.optimize",
    "filter": "filter.design",
}
"""Of each command the module of this package, and the name in it."""


class _Commands(click.Group):
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _WHERE and not args[0].startswith("-"):
            like = difflib.get_close_matches(args[0], _WHERE, n=1)
            advice = f"did you mean {like[0]}?" if like else "docindex --help lists them"
            raise click.UsageError(f"there is no command {args[0]!r}; {advice}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="docindex", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="show where an error comes from")
@click.pass_context
def docindex(ctx: click.Context, debug: bool) -> None:
    """Find which documents share text, where exactly, and how much."""
    del debug  # see `frame.run`
    if ctx.invoked_subcommand is None:
        emit(ctx.get_help())
