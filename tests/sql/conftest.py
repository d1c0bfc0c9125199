"""Fixtures of the tests of SQL."""

import sqlite3

import pytest


@pytest.fixture(autouse=True)
def no_callback_tracebacks():
    sqlite3.enable_callback_tracebacks(False)  # Datasette switches them on when it is imported
