"""For sqlite-utils: docindex's SQL functions on every connection that it opens."""

import sqlite3

import sqlite_utils

from docindex.sql.register import register


@sqlite_utils.hookimpl
def prepare_connection(conn: object) -> None:
    """Called by sqlite-utils with each new connection, which may be of another library than sqlite3."""
    if isinstance(conn, sqlite3.Connection):
        register(conn)
