"""Every error that docindex raises of its own, as one tree.

    DocIndexError           something about an index or a recipe, not about the call
      RecipeError           a stored recipe cannot be read (also a ValueError)

A slip in a call (a window of 0, bytes where text is due) is a plain `ValueError` or
`TypeError`. A message says what was found, what was expected, and what to do; the
facts stand in attributes as well.
"""


class DocIndexError(Exception):
    """The root: ``except DocIndexError`` catches whatever docindex reports of its own."""


class RecipeError(DocIndexError, ValueError):
    """A stored recipe is not one that this version can follow."""
