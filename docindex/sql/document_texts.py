"""The scalar functions that name a document or show its text: doc_key, doc_literal, doc_text, doc_snippet ...

They take and return SQL values, like the functions in `scalars`. Must never know which kind of connection
calls them.
"""

from docindex import argument_checks
from docindex.errors import TextNotKept
from docindex.index.reader import IndexReader
from docindex.query.excerpts import Marks, Range, highlighted, snippet
from docindex.query.resolve import Id, Text
from docindex.sql.arguments import asked, document_with_key
from docindex.sql.scalars import Functions
from docindex.sql.sources import IndexSource, full_text
from docindex.sql.sql_values import Value, as_text, literal, schema_name, type_name, writable

_SYMBOLS = 160
"""The length of a snippet: two lines of a terminal."""


class DocumentTexts:
    """The functions for the indexes of one source."""

    def __init__(self, source: IndexSource) -> None:
        self._source = source

    def all(self) -> Functions:
        """The functions."""
        return {
            "doc_key": (self.id_of_key, (1, 2)),
            "doc_literal": (lambda text: None if text is None else literal(text), (1,)),
            "doc_text": (self.text, (1, 2)),
            "doc_snippet": (self.snippet, tuple(range(2, 8))),
            "doc_highlight": (self.highlight, tuple(range(2, 6))),
        }

    def id_of_key(self, key: Value, schema: Value = None) -> Value:
        """The id of the document with a key."""
        if key is None:
            return None
        return document_with_key(self._source.reader(schema_name(schema)), as_text("key", key))

    def text(self, number: Value, schema: Value = None) -> Value:
        """The text of a document; NULL if it is not stored."""
        if number is None:
            return None
        text = _stored_text(self._source.reader(schema_name(schema)), _document(number))
        return None if text is None else writable(text)

    def snippet(
        self,
        number: Value,
        query: Value,
        open_: Value = None,
        close: Value = None,
        ellipsis: Value = None,
        symbols: Value = None,
        schema: Value = None,
    ) -> Value:
        """The stretch of a document that shares most with a query, with marks around what is shared."""
        if number is None or query is None:
            return None
        marks = _marks(open=open_, close=close, ellipsis=ellipsis)
        length = argument_checks.whole_number("symbols", _SYMBOLS if symbols is None else symbols)
        reader = self._source.reader(schema_name(schema))
        text, ranges = self._shared(reader, number, query)
        return None if text is None else writable(snippet(text, ranges, length, reader.recipe.reading, marks))

    def highlight(
        self, number: Value, query: Value, open_: Value = None, close: Value = None, schema: Value = None
    ) -> Value:
        """The text of a document with marks around everything that it shares with a query."""
        if number is None or query is None:
            return None
        text, ranges = self._shared(self._source.reader(schema_name(schema)), number, query)
        return None if text is None else writable(highlighted(text, ranges, _marks(open=open_, close=close)))

    def _shared(self, reader: IndexReader, number: Value, query: Value) -> tuple[str | None, list[Range]]:
        """The text of a document, and the ranges of the passages that it shares with a query."""
        document = _document(number)
        (what,) = asked(reader, query)
        text = _stored_text(reader, document)
        if text is None or (isinstance(what, Id) and _stored_text(reader, what) is None):
            return None, []
        found = reader.compare(what, document).passages
        return text, [(passage.start, passage.end) for passage in found if not passage.boilerplate]


def _document(value: Value) -> Id:
    if not isinstance(value, int):
        raise TypeError(
            f"expected the INTEGER id of a document, as doc_key(...) gives it, not {type_name(value)}"
        )
    return Id(value)


def _stored_text(reader: IndexReader, query: Text | Id) -> str | None:
    try:
        return full_text(reader, query)
    except TextNotKept:
        return None


def _marks(**given: Value) -> Marks:
    """The marks that the caller gave, and the default of those that are NULL."""
    return Marks(**{name: as_text(name, value) for name, value in given.items() if value is not None})
