"""Manage boilerplate, the texts that comparisons ignore: `index.boilerplate`.

Takes texts and keys, returns names. Must never contain SQL.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from docindex.arguments import plain_text, shown
from docindex.errors import TextNotKept
from docindex.index.items import checked_key
from docindex.query.resolve import resolve
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set, text_fingerprints
from docindex.storage.file.connection import Store
from docindex.storage.rows import templates
from docindex.storage.rows.contents import text_hash
from docindex.storage.rows.templates import Template
from docindex.storage.values import can_be_stored

BoilerplateChoice = bool | Sequence[str]
"""The boilerplate that a question ignores: all templates, no template, or the templates with these names."""


def checked_choice(choice: object) -> bool | list[str]:
    """A choice of boilerplate with plain names; `TypeError` if a value does not choose boilerplate.

    >>> checked_choice(("licence", "footer"))
    ['licence', 'footer']
    """
    if isinstance(choice, bool):
        return choice
    if isinstance(choice, Sequence) and not isinstance(choice, (str, bytes)):
        names = [str.__str__(name) for name in choice if isinstance(name, str)]
        if len(names) == len(choice):
            return names
    raise TypeError(f"boilerplate must be True, False or a list of template names, not {shown(choice)}")


class Boilerplate:
    """The templates of an index: comparisons ignore their fingerprints and shingles.

    Text that a document has in common with a template counts neither as shared nor as the document's own.
    Iterating gives the templates in the order of their names.
    """

    def __init__(self, store: Store, recipe: Recipe) -> None:
        self._store = store
        self._recipe = recipe

    def add(self, template: str, name: str | None = None) -> str:
        """Ignore a text, or the present text of a document, and return the name of the new template.

        `remove` accepts that name. The default name is the key of the document, or "text" and some digits.
        """
        name = None if name is None else checked_key(name, "the name of a template")
        with self._store.writing() as db:
            query = resolve(db, template)
            text = query.text(db)
            if text is None:
                raise TextNotKept(
                    f"the text of {shown(template)} is not kept; give the text itself", self._store.path
                )
            if not can_be_stored(text):
                raise ValueError(
                    "a template must be text that SQLite can store; this text has a NUL or a lone surrogate"
                )
            if name is None:
                known = query.content is not None
                name = checked_key(str(template) if known else f"text {text_hash(text).hex()[:12]}")
            # With a window of 1, winnowing selects every k-gram.
            grams, _ = text_fingerprints(text, dataclasses.replace(self._recipe, window=1))
            templates.put_template(db, Template(name, text), grams, shingle_set(text, self._recipe))
        return name

    def remove(self, template: str) -> None:
        """Stop ignoring a template, given by its name or its text; `KeyError` if it does not exist."""
        template = plain_text("a template", template)
        with self._store.writing() as db:
            if not (can_be_stored(template) and templates.remove_template(db, template)):
                raise KeyError(f"there is no template {shown(template)}; index.boilerplate lists them")

    def __iter__(self) -> Iterator[Template]:
        with self._store.reading() as db:
            return iter(templates.templates(db))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, template: object) -> bool:
        return any(template in (known.name, known.text) for known in self)
