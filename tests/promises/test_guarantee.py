"""Every common run of t symbols is found; a common run shorter than k symbols is never found."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import docindex
from docindex import Recipe

recipes = st.builds(
    Recipe,
    k=st.integers(1, 12),
    window=st.integers(1, 12),
    selector=st.sampled_from(["robust", "rightmost"]),
)


def symbols_of(text):
    return [char for char in text.lower() if char.isalnum()]


def random_text(rng, alphabet, length):
    return "".join(rng.choice(alphabet) for _ in range(length))


# Alphabets of one and two letters make equal hashes, and runs that overlap themselves.
@given(recipes, st.randoms(use_true_random=False), st.sampled_from(["a", "ab", "abcdefghijklmnopqrstuvwxyz"]))
def test_two_texts_with_a_common_run_of_t_symbols_share_a_hash_in_that_run(recipe, rng, alphabet):
    run = random_text(rng, alphabet, recipe.guarantee)
    # Copied as people copy: with other line ends, case, accents and punctuation.
    copied = "".join(
        rng.choice([char, char.upper(), char + "\r\n", f"({char}", char + "\u0301"]) for char in run
    )
    a = random_text(rng, alphabet, rng.randrange(60)) + run + random_text(rng, alphabet, rng.randrange(60))
    before = random_text(rng, alphabet, rng.randrange(60))
    b = before + copied + random_text(rng, alphabet, rng.randrange(60))
    of_a, of_b = docindex.fingerprints(a, recipe), docindex.fingerprints(b, recipe)
    inside = (of_b.offsets >= len(before)) & (of_b.positions <= len(before) + len(run) - recipe.k)
    assert set(of_a.hashes.tolist()) & set(of_b.hashes[inside].tolist())


@given(recipes, st.randoms(use_true_random=False))
def test_texts_that_share_no_k_symbols_share_no_hash(recipe, rng):
    # Every k-gram of `b` has a letter that does not occur in `a`.
    a = random_text(rng, "abc", 100)
    b = random_text(rng, "abc", recipe.k - 1).join("xyz"[i % 3] for i in range(20))
    of_a, of_b = docindex.fingerprints(a, recipe), docindex.fingerprints(b, recipe)
    assert not set(of_a.hashes.tolist()) & set(of_b.hashes.tolist())


@given(recipes, st.text(max_size=80))
def test_a_fingerprint_is_at_its_offset(recipe, text):
    found = docindex.fingerprints(text, recipe)
    for hash_, offset in zip(found.hashes.tolist(), found.offsets.tolist(), strict=True):
        # The text begins at the offset with the same k-gram.
        again = docindex.fingerprints(text[offset:], Recipe(k=recipe.k, window=1, selector="rightmost"))
        assert hash_ in again.hashes[:3].tolist()


@pytest.mark.parametrize(("k", "window"), [(4096, 3), (1, 65_535), (4096, 65_535)])
def test_the_guarantee_holds_for_the_largest_k_and_window(k, window):
    recipe = Recipe(k=k, window=window)
    rng = random.Random(k)
    run = random_text(rng, "abcdefgh", recipe.guarantee)
    a, b = (random_text(rng, "abcdefgh", 3000) + run + random_text(rng, "abcdefgh", 3000) for _ in range(2))
    of_a, of_b = docindex.fingerprints(a, recipe), docindex.fingerprints(b, recipe)
    assert set(of_a.hashes.tolist()) & set(of_b.hashes.tolist())
