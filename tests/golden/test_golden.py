"""Pin values that are stored in files. If one changes, the recipe must change, and users must index again."""

import hashlib
import unicodedata

import numpy as np

import docindex
from docindex import Recipe
from docindex.kernels.arrays import mix
from docindex.kernels.kgrams import grams
from docindex.reading.registry import symbol_reader

TEXT = """The Analytical Engine weaves algebraical patterns just as the Jacquard loom weaves flowers and
leaves. Größe, 漢字."""


def digest(values):
    """A hash of an array's values that does not depend on the machine's byte order."""
    values = np.asarray(values)
    return hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()[:16]


def test_every_code_point_is_read_the_same_under_every_python():
    # Only code points of Unicode 3.2: later versions assign code points that had no meaning before.
    known = "".join(
        filter(lambda char: unicodedata.ucd_3_2_0.category(char) != "Cn", map(chr, range(0x110000)))
    )
    reading = symbol_reader("text/1").read([known], lines=True)
    assert (digest(reading.words), digest(reading.lines)) == ("35915608ef672521", "af5570f5a1810b7a")
    assert digest(reading.symbols) == "07d0208cd7160a9a"


def test_the_mix_and_the_kgram_hash_do_not_change():
    assert digest(mix(np.arange(1000, dtype=np.uint64))) == "933d7c5caa2a48da"
    symbols = np.frombuffer(b"theanalyticalengine", np.uint8)
    assert digest(grams(symbols, np.array([0, len(symbols)]), 5)[0]) == "3b448b7c0891c818"


def test_sketches_with_long_tokens_stop_words_and_stems_do_not_change():
    text = "The copies of " + 300 * "x" + "\n" + 300 * "y "
    expected = {}
    for name, recipe in (
        ("word", Recipe(shingle=1, stop_words="english", stemming="english")),
        ("line", Recipe(shingle=1, token="line")),
        ("letter", Recipe(shingle=9, token="letter")),
        ("bag", Recipe(shingle=1, bag=True)),
        ("long k", Recipe(k=100)),
    ):
        sketch = docindex.sketch(text, recipe)
        expected[name] = digest(sketch.slots), digest(np.uint64(sketch.simhash)), digest(sketch.hashes)
    assert expected == {
        "word": ("7d5a2d5b98eb0ea2", "ca176ee3e3ac5fbd", "5bcf56f96f16bac5"),
        "line": ("430badbeb2a952b8", "74f196dda8facd24", "5bcf56f96f16bac5"),
        "letter": ("b3afbc5da643d4c2", "74f196dda8facd24", "5bcf56f96f16bac5"),
        "bag": ("78fb821864700449", "74f196dda8facd24", "5bcf56f96f16bac5"),
        "long k": ("a2fbe6d9fe53ce3d", "74f196dda8facd24", "672654c0b1c9a26f"),
    }


def test_the_parts_of_a_sketch_do_not_change():
    recipe = Recipe(k=5, window=4, shingle=2, min_s=8, mod_m=3, level=8)
    sketch = docindex.sketch(TEXT, recipe)
    assert {
        "hashes": digest(sketch.hashes),
        "positions": digest(sketch.positions),
        "slots": digest(sketch.slots),
        "features": digest(sketch.features),
        "simhash": digest(np.uint64(sketch.simhash)),
        "min_s": digest(sketch.min_s),
        "mod_m": digest(sketch.mod_m),
        "level": digest(sketch.level),
    } == {
        "hashes": "c488ae9fecf4af99",
        "positions": "034134881eddd06e",
        "slots": "5dfebcbfd6dae3ac",
        "features": "b70479a16e3cab5a",
        "simhash": "0413a7d13370bf09",
        "min_s": "1e7603c8bcb69a86",
        "mod_m": "ba9ab8b1ae0458fa",
        "level": "de6d4acd9238bc6e",
    }
