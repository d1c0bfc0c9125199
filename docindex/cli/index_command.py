"""``docindex index``: index a table of an app, inside the app's own database."""

import click

from docindex.cli.existing_index import open_existing
from docindex.cli.options import Command, form_options
from docindex.cli.output import show
from docindex.cli.wording import several
from docindex.opening import open as open_index


@click.command("index", cls=Command)
@click.argument("database", type=click.Path(exists=True, dir_okay=False))
@click.argument("table")
@click.option("--text", metavar="COLUMN", help="The column with the texts.")
@click.option("--key", default="id", show_default=True, metavar="COLUMN", help="The column that names a row.")
@click.option("--meta", metavar="COLUMN", help="A column with meta: JSON, a text or a number.")
@click.option("--prefix", default="", metavar="TEXT", help="What the keys of the documents begin with.")
@click.option("--unfollow", is_flag=True, help="Stop following TABLE, and remove its documents.")
@form_options
def index_command(
    database: str,
    table: str,
    text: str | None,
    key: str,
    meta: str | None,
    prefix: str,
    unfollow: bool,
    form: str | None,
) -> int:
    """Index a table in the database of an app.

    The index becomes a part of DATABASE. It keeps no copy of the texts, and follows all later changes of
    TABLE: its triggers note them, and the next command indexes them. Run it again to index all rows again.

    \b
    Examples:
      docindex index app.db note --text body
      docindex sql app.db "select * from doc_pairs(0.8)"
    """
    if unfollow:
        with open_existing(database, readonly=False) as index:
            index.unfollow(table)
        return show([{"table": table}], form, lambda: f"no longer followed: {table}")
    if text is None:
        raise click.UsageError("give --text COLUMN, the column with the texts, or --unfollow")
    with open_index(database, create=True) as index:
        index.follow(table, key=key, text=text, meta=meta, prefix=prefix)
        index.rebuild(table)
        count = next(found.documents for found in index.followed() if found.table == table)
    record = {"table": table, "documents": count}
    return show([record], form, lambda: f"indexed: {several(count, 'document')}", record)
