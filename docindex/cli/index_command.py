"""``docindex index``: index a table of an app, inside the app's own database."""

import click

from docindex.cli.options import Command, form_options
from docindex.cli.output import show
from docindex.cli.wording import several
from docindex.opening import open as open_index


@click.command("index", cls=Command)
@click.argument("database", type=click.Path(exists=True, dir_okay=False))
@click.argument("table")
@click.option("--text", required=True, metavar="COLUMN", help="The column with the texts.")
@click.option("--key", default="id", show_default=True, metavar="COLUMN", help="The column that names a row.")
@click.option("--meta", metavar="COLUMN", help="A column with meta: JSON, a text or a number.")
@click.option("--prefix", default="", metavar="TEXT", help="What the keys of the documents begin with.")
@form_options
def index_command(
    database: str, table: str, text: str, key: str, meta: str | None, prefix: str, form: str | None
) -> int:
    """Index a table in the database of an app.

    The index becomes a part of DATABASE. It keeps no copy of the texts, and follows all later changes of
    TABLE: its triggers note them.

    \b
    Examples:
      docindex index app.db note --text body
      docindex sql app.db "select * from doc_pairs(0.8)"
    """
    with open_index(database, create=True) as index:
        index.follow(table, key=key, text=text, meta=meta, prefix=prefix)
        count = len(index)
    record = {"table": table, "documents": count}
    return show([record], form, lambda: f"indexed: {several(count, 'document')}", record)
