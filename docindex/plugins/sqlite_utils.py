"""A plugin for sqlite-utils: docindex's SQL functions on every connection that it opens."""

import sqlite3

import sqlite_utils

from docindex.sql.register import register


@sqlite_utils.hookimpl
def prepare_connection(conn: object) -> None:
    """Add the functions to a new connection, if it is a connection of Python's own sqlite3."""
    if isinstance(conn, sqlite3.Connection):
        register(conn)
