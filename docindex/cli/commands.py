"""All commands, by their names."""

import click

from docindex.cli.ask import pairs, search, similar
from docindex.cli.change import add, boilerplate, remove
from docindex.cli.compare import compare
from docindex.cli.dups import act, dups, undo
from docindex.cli.filter import design
from docindex.cli.report import report
from docindex.cli.scan import scan
from docindex.cli.sql import shell, sql
from docindex.cli.upkeep import check, info, optimize
from docindex.version import __version__


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="docindex", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="show where an error comes from")
def docindex(debug: bool) -> None:
    """Find which documents share text, where exactly, and how much."""
    del debug  # see `frame.run`


_COMMANDS = (
    *(scan, dups, act, undo, search, similar, compare, pairs, add, remove, boilerplate),
    *(sql, shell, info, check, optimize, design, report),
)
for command in _COMMANDS:
    docindex.add_command(command)
