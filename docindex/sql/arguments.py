"""Decide which text or document an argument of an SQL function means.

TEXT is always a text, and an INTEGER is the id of a document. TEXT that is exactly the key of a document is
an error: whoever writes a key means the document, and would get a silent 0.0 for the text "ada.txt". Must
never write.
"""

from docindex.argument_checks import shown
from docindex.index.reader import IndexReader
from docindex.index.scopes import open_scope
from docindex.query.resolve import Id, Text
from docindex.query.scope import Scope
from docindex.query.unknown_keys import unknown
from docindex.sql.sql_values import Value, text_or_id
from docindex.storage.documents import id_of, is_key


def asked(reader: IndexReader | None, *values: Value) -> list[Text | Id]:
    """The texts and documents that some arguments of a question to an index mean.

    `ValueError` for TEXT that is the key of a document; `TypeError` for a value that means nothing.
    """
    if reader is None or not any(isinstance(value, str) for value in values):
        return [text_or_id(value) for value in values]
    with open_scope(reader, boilerplate=False) as scope:
        return asked_in(scope, *values)


def asked_in(scope: Scope, *values: Value) -> list[Text | Id]:
    """The same, for a question that has begun already."""
    found = [text_or_id(value) for value in values]
    for value in values:
        if isinstance(value, str) and is_key(scope.db, value):
            raise ValueError(
                f"{shown(value)} is the key of a document; write doc_key(...) for that document, "
                "or doc_literal(...) for the text"
            )
    return found


def document_with_key(reader: IndexReader, key: str) -> int:
    """The id of the document with a key. For an unknown key, a `ValueError` with a similar key."""
    with open_scope(reader, boilerplate=False) as scope:
        found = id_of(scope.db, key)
        if found is not None:
            return found
        error = unknown(scope.db, key)
    raise ValueError(str(error)) from error
