"""The list of all commands. A command's module is imported only when that command is called.

The names and summaries are here, so that ``docindex --help`` need not import the index.
"""

import importlib
from typing import Any, NamedTuple

import click

from docindex.cli.exit_codes import MEANINGS
from docindex.version import __version__


class CommandEntry(NamedTuple):
    """The module that defines a command as the function NAME_command, and a summary of the command."""

    module: str
    summary: str
    """The first sentence of the command's help; a test compares the two."""
    logs: bool = True
    """Whether its log is printed from its beginning."""


COMMANDS = {
    "scan": CommandEntry("commands.scan", "Bring the index up to date with the files under PATH."),
    "dups": CommandEntry("commands.dups", "Find copies and similar texts among files.", logs=False),
    "review": CommandEntry("commands.review", "Choose which copies to keep, group by group.", logs=False),
    "act": CommandEntry("commands.act", "Remove or link the exact copies that a plan lists."),
    "undo": CommandEntry("commands.undo", "Restore the files that act removed or linked."),
    "search": CommandEntry("commands.search", "Find the documents that share text with FILE."),
    "similar": CommandEntry("commands.search", "Find the documents that resemble FILE as a whole."),
    "sources": CommandEntry("commands.sources", "List the few documents that together cover FILE."),
    "compare": CommandEntry("commands.compare", "Show what two files share, or with --diff what differs."),
    "pairs": CommandEntry("commands.search", "List the pairs of texts, or programs, that share the most."),
    "report": CommandEntry("commands.report", "Write a web page with all copies and similar texts."),
    "add": CommandEntry("commands.add", "Add files to the index as documents."),
    "remove": CommandEntry("commands.add", "Remove documents from the index, but not their files."),
    "boilerplate": CommandEntry(
        "commands.add", "List or change the boilerplate: text that comparisons ignore."
    ),
    "sql": CommandEntry("commands.sql", "Run SQL with docindex's functions and tables."),
    "config": CommandEntry("commands.config", "Show or edit your settings.", logs=False),
    "info": CommandEntry("commands.info", "Show how much an index contains, and its size."),
}
"""The commands, in the order in which a new user needs them."""

_EXIT_CODES = "\n".join(["\b", "Exit codes:", *(f"{code:5}  {text}" for code, text in MEANINGS.items())])


class _LazyGroup(click.Group):
    """Imports a command when it is called. Called without a command, it prints its help."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was named, or print the help."""
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())
        return result

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was named; `click.UsageError` with a suggestion if it does not exist."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib  # for this mistake only

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            advice = f"did you mean {close[0]}?" if close else f"{ctx.command_path} --help lists them"
            raise click.UsageError(f"there is no command {args[0]!r}; {advice}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click names the argument
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"docindex.cli.{COMMANDS[cmd_name].module}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        if COMMANDS[cmd_name].logs:
            from docindex.cli.log_remarks import log_as_remarks

            ctx.with_resource(log_as_remarks())
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(
    cls=_LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXIT_CODES,
)
@click.version_option(__version__, prog_name="docindex", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Print a traceback if there is an error.")
def docindex(debug: bool) -> None:
    """Find which documents share text, where exactly, and how much.

    An index is one file. Start with `docindex dups FOLDER` to find the copies in a folder, or with
    `docindex scan FOLDER` to add its files to your index.
    """
    del debug  # `docindex.cli.runner.run` looks for this option itself
