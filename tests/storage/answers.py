"""Collect the answers that must be equal for two indexes with the same documents."""

import numpy as np

from docindex.storage.postings import lookup
from docindex.storage.postings.segments import POSTING_HASH_BITS
from docindex.storage.rows import contents

_SKETCH = (
    "select d.key, d.meta, c.hash, c.words_hash, c.characters, c.symbols, c.shingles, "
    "c.fingerprints, c.simhash, c.slots, s.min_s, s.mod_m, s.level "
    "from docindex_document as d join docindex_content as c on c.id = d.content "
    "left join docindex_sample as s on s.content = c.id order by d.key"
)


def looked_up(db, hashes):
    """The result of `look_up`, with all its pieces joined."""
    places, found = zip((np.empty(0, np.int64),) * 2, *lookup.look_up(db, hashes), strict=True)
    return np.concatenate(places), np.concatenate(found)


def answers(index, hashes=None):
    """Sketches, texts and metas by key, and the documents that have some hashes.

    If `hashes` is None, these are all hashes of the index itself.
    """
    with index._store.reading() as db:
        keys = {}
        for key, content in db.execute("select key, content from docindex_document"):
            keys.setdefault(content, []).append(key)
        if hashes is None:
            hashes = all_hashes(index)
        places, found = looked_up(db, hashes)
        prefixes = hashes >> np.uint64(64 - POSTING_HASH_BITS)
        pairs = {
            (prefix, key)
            for prefix, content in zip(prefixes[places].tolist(), found.tolist(), strict=True)
            for key in keys.get(content, [])  # dead contents have no key
        }
        return {
            "sketches": db.execute(_SKETCH).fetchall(),
            "fingerprints": {
                key: [part.tolist() for part in contents.fingerprints_of(db, content, index.recipe.window)]
                for content in keys
                for key in keys[content]
            },
            "texts": {key: index.text(key) for key in index},
            "found": pairs,
        }


def all_hashes(index):
    """The fingerprints of all documents, ascending."""
    with index._store.reading() as db:
        numbers = [number for (number,) in db.execute("select id from docindex_content")]
        hashes = [contents.fingerprints_of(db, number, index.recipe.window)[0] for number in numbers]
    return np.unique(np.concatenate([np.empty(0, np.uint64), *hashes]))
