"""Build SQL conditions that select the documents in some folders, by their keys.

Takes the keys of folders or files; returns the text of a condition and its bindings. Must never run a
statement.
"""

import json
from collections.abc import Iterable, Sequence


def under_roots(roots: Iterable[str], *, without: Sequence[str] = ()) -> tuple[str, list[str]]:
    """The condition that a document is under or is one of `roots` (folders or files), and its bindings.

    The keys in `without` do not meet the condition. If there are no roots, all other keys meet it.

    >>> under_roots(["/home/ada"])
    ('(key = ? or (key >= ? and key < ?))', ['/home/ada', '/home/ada/', '/home/ada0'])
    """
    conditions, bindings = [], []
    for root in roots:
        below = root if root.endswith("/") else f"{root}/"
        conditions.append("key = ? or (key >= ? and key < ?)")
        bindings += [root, below, f"{below[:-1]}0"]  # "0" is the character after "/"
    condition = f"({' or '.join(conditions) or '1'})"
    if without:
        condition += " and key not in (select value from json_each(?))"
        bindings.append(json.dumps(list(without)))
    return condition, bindings


def counts_under_roots(roots: Iterable[str]) -> tuple[str, list[str]]:
    """A statement that counts the documents under `roots`, and their different texts; and its bindings.

    >>> counts_under_roots([])[0]
    'select count(*), count(distinct content) from docindex_document where (1)'
    """
    condition, bindings = under_roots(roots)
    return f"select count(*), count(distinct content) from docindex_document where {condition}", bindings
