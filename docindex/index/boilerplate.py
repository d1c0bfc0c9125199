"""What does not count when documents are compared: the templates that everybody has.

The host's view of them: texts and keys in, names out. Must never contain SQL.
"""

from collections.abc import Iterator

from docindex.errors import TextNotKept
from docindex.index.items import checked_key
from docindex.query.resolve import resolve
from docindex.recipe import Recipe
from docindex.storage import templates
from docindex.storage.connection import Connection, Transactions
from docindex.storage.contents import text_hash
from docindex.storage.templates import Ignored, Template
from docindex.storage.values import can_be_stored


class Boilerplate:
    """The templates of an index, as `index.boilerplate`: added, removed, listed by name.

    What a document shares with a template counts nowhere, neither as shared nor as its own.
    """

    def __init__(self, store: Transactions, recipe: Recipe) -> None:
        self._store = store
        self._recipe = recipe
        self._known = Ignored()

    def add(self, template: str, *, name: str | None = None) -> str:
        """Mark a text, or that of a document, as it is now; gives the name to remove it by.

        Without a name a document's is its key, and a text's begins with "text".
        """
        with self._store.writing() as db:
            query = resolve(db, template)
            text = query.text(db)
            if text is None:
                raise TextNotKept(
                    f"the text of {str(template)!r} is not kept; give the template itself", self._store.path
                )
            if not can_be_stored(text):
                raise ValueError(
                    "a template must be text that SQLite takes; this one has a NUL or a lone surrogate"
                )
            if name is None:
                name = template if query.content is not None else f"text {text_hash(text).hex()[:12]}"
            name = checked_key(name)
            templates.put(db, name, text, self._recipe)
        return name

    def remove(self, template: str) -> None:
        """Let a template count again, by its name or its text; `KeyError` if there is none."""
        with self._store.writing() as db:
            if not (can_be_stored(template) and templates.remove(db, str.__str__(template))):
                raise KeyError(template)

    def __iter__(self) -> Iterator[Template]:
        with self._store.reading() as db:
            return iter(templates.templates(db))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, template: object) -> bool:
        return any(template in (known.name, known.text) for known in self)

    def ignored(self, db: Connection) -> Ignored:
        """What does not count, as the kernels need it; read again only when it changed."""
        self._known = known = templates.ignored(db, self._known)
        return known
