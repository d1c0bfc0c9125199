"""The forward index gives the smallest hashes of contents, without those that the caller excludes."""

import random

import numpy as np
import pytest

import docindex
from docindex.storage.rows.contents import as_stored
from docindex.storage.rows.forward_index import ForwardHashes, HashSet, smallest_without
from tests.query.corpus import RECIPE
from tests.storage.texts import prose


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("factor", [1, 40])
def test_the_smallest_hashes_are_those_of_the_definition(seed, factor):
    """Also if a content has far fewer other hashes than the caller says: the first limit is too low."""
    rng = random.Random(seed)
    texts = [prose(rng, rng.choice((3, 30, 600))) for _ in range(12)]
    own = [as_stored(docindex.fingerprints(text, RECIPE).hashes) for text in texts]
    excluded = np.unique(np.concatenate([rng.choice(own), own[0][::2], own[5][:50]]))
    others = [np.setdiff1d(hashes, excluded).tolist() for hashes in own]
    with docindex.open(":memory:", recipe=RECIPE) as index:
        index.add_many((f"{number:02}", text) for number, text in enumerate(texts))
        with index._store.reading() as db:
            of = np.array([index[f"{number:02}"].content for number in range(len(texts))])
            counts = np.array([factor * len(hashes) for hashes in others])
            for most in (1, 5, 12):
                places, hashes = smallest_without(
                    HashSet(excluded), ForwardHashes(db, of, RECIPE.window), counts, most
                )
                found = [hashes[places == place].tolist() for place in range(len(texts))]
                assert found == [hashes[:most] for hashes in others]
                assert (np.diff(places) >= 0).all()
