"""Pin values that are stored in files. If one changes, the recipe must change, and users must index again."""

import hashlib

import numpy as np

import docindex
from docindex import Recipe
from docindex.arrays.ranges import mix
from docindex.reading.registry import symbol_reader
from docindex.sketching.sketcher import sketch_batches
from docindex.sketching.weighted_words import count_weights, word_weights
from docindex.winnowing.kgrams import grams
from tests.reading.forty_functions import FUNCTIONS

TEXT = """The Analytical Engine weaves algebraical patterns just as the Jacquard loom weaves flowers and
leaves. Größe, 漢字."""

GRAMS = {"k": 25, "window": 26}


def digest(values):
    """A hash of an array's values that does not depend on the machine's byte order."""
    values = np.asarray(values)
    return hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()[:16]


def test_every_code_point_is_read_the_same_under_every_python():
    everything = "".join(map(chr, range(0x110000)))
    reading = symbol_reader("text/2").read([everything], lines=True)
    letters, _ = symbol_reader("text/2").letters([everything])
    signs = symbol_reader("text/2").signs(everything)
    assert (digest(letters), digest(signs)) == ("0ae56951833b2310", "0b58b6f72d370135")
    assert (digest(reading.words), digest(reading.lines)) == ("85963b4014509ca5", "af5570f5a1810b7a")
    assert digest(reading.symbols) == "d8c9043e034bb6a9"


def test_the_mix_and_the_kgram_hash_do_not_change():
    assert digest(mix(np.arange(1000, dtype=np.uint64))) == "933d7c5caa2a48da"
    symbols = np.frombuffer(b"theanalyticalengine", np.uint8)
    assert digest(grams(symbols, np.array([0, len(symbols)]), 5)[0]) == "3b448b7c0891c818"


def test_sketches_with_long_tokens_stop_words_and_stems_do_not_change():
    text = "The copies of " + 300 * "x" + "\n" + 300 * "y "
    expected = {}
    for name, recipe in (
        ("word", Recipe(**GRAMS, shingle=1, stop_words="english", stemming="english")),
        ("line", Recipe(**GRAMS, shingle=1, token="line")),
        ("letter", Recipe(**GRAMS, shingle=9, token="letter")),
        ("bag", Recipe(**GRAMS, shingle=1, bag=True)),
        ("long k", Recipe(k=100, window=26)),
    ):
        sketch = docindex.sketch(text, recipe)
        expected[name] = digest(sketch.slots), digest(np.uint64(sketch.simhash)), digest(sketch.hashes)
    assert expected == {
        "word": ("a4b71d744c5e1295", "882247fe56643fde", "5bcf56f96f16bac5"),
        "line": ("69a98359710348f1", "29811b20bbfcc18a", "5bcf56f96f16bac5"),
        "letter": ("62b825bb60a6b477", "29811b20bbfcc18a", "5bcf56f96f16bac5"),
        "bag": ("7fad14c16d71d9e4", "29811b20bbfcc18a", "5bcf56f96f16bac5"),
        "long k": ("11b76100f64b43fc", "29811b20bbfcc18a", "672654c0b1c9a26f"),
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
        "words_hash": sketch.words_hash.hex(),
    } == {
        "hashes": "8380049393e069bf",
        "positions": "341310b35a5fcbab",
        "slots": "488b32898b570e70",
        "features": "e8e717f41670ea0a",
        "simhash": "be8e404b87db8fb5",
        "min_s": "292436da2f80e8b9",
        "mod_m": "a87a133be5275e21",
        "level": "67c3bd791194dd9a",
        "words_hash": "e3b4af250c19629337b769322debe290",
    }


def test_the_simhash_of_features_and_the_weights_do_not_change():
    assert docindex.simhash(features={"fox": 2.5, "brown": 0.1, "größe": 3}) == 0xA6D7BBEA01D4872C
    counts = np.array([1, 2, 3, 5, 10, 100, 4096])
    assert count_weights(counts, np.zeros_like(counts)).tolist() == [8, 13, 16, 20, 26, 44, 74]
    assert count_weights(counts, np.ones_like(counts)).tolist() == [12, 20, 24, 30, 39, 66, 111]
    words = np.arange(3, dtype=np.uint64) << np.uint64(60)
    weights = word_weights([[words[: number % 3 + 1]] for number in range(1000)], Recipe())
    assert weights.of(words).tolist() == [1, 7, 18]


COMMON = "the of and a to in is it you that he was for on are as with his they at be this have"
POOLS = (
    COMMON.split(),
    "abc XYZ.,09\n",
    "абвг ДЕЖ ё",
    "漢字 仮名交じり文、",
    "か が は\u3099 ひ\u309a ゲ",
    "हिन्दी में",
    "אבגד\u05b0 هوز",
    "🎉😀👍🏽 \u200d",
    ["e\u0301", "ﬁ", "½", "\ud800", " ", "x" * 150, "-", "\x1e", "\x03"],
)


def made_text(number, size):
    """A text of pieces of one or two pools, chosen by numbers that are the same everywhere."""
    pool = [*POOLS[number % len(POOLS)], " ", *POOLS[number // 3 % len(POOLS)]]
    picks = mix(np.arange(size, dtype=np.uint64) + np.uint64(number << 32)) % np.uint64(len(pool))
    return (" " if pool[0] == "the" else "").join(pool[pick] for pick in picks.tolist())


def test_the_sketches_of_many_texts_in_many_scripts_do_not_change():
    texts = [made_text(number, number * number % 3001) for number in range(400)]
    texts += [made_text(9, 600_000), made_text(14, 1_100_000)]  # sketched slice by slice
    recipe = Recipe(min_s=8, mod_m=50, level=30)
    batches = list(sketch_batches(texts, recipe))
    assert {
        name: digest(np.concatenate([np.ravel(getattr(batch, name)) for batch in batches]))
        for name in ("symbols", "hashes", "gaps", "different", "shingles", "slots", "features", "simhashes")
    } == {
        "symbols": "e0382d6c6fefe4e8",
        "hashes": "eba9e48371790fed",
        "gaps": "35bea995fa7194d4",
        "different": "6e6fe5c16898e416",
        "shingles": "736d22b6c925db67",
        "slots": "f2de3a24e899a836",
        "features": "ce61f0063121772d",
        "simhashes": "8cd3c78c08e69bc3",
    }
    samples = [getattr(batch, name)[0] for batch in batches for name in ("min_s", "mod_m", "level")]
    assert digest(np.concatenate(samples)) == "08463fed17fef116"
    words_hashes = b"".join(hash_ for batch in batches for hash_ in batch.words_hashes)
    assert hashlib.sha256(words_hashes).hexdigest()[:16] == "94d21c97e4912952"


def test_the_sketches_of_code_do_not_change():
    sources = [source for language in FUNCTIONS.values() for source in language]
    sources += ["\n".join(source for source in sources for _ in range(40))]  # read slice by slice
    found = {}
    for form in ("names", "raw"):
        batches = list(sketch_batches(sources, Recipe.code(form)))
        found[form] = {
            name: digest(np.concatenate([np.ravel(getattr(batch, name)) for batch in batches]))
            for name in ("symbols", "hashes", "shingles", "slots", "simhashes")
        }
        words_hashes = b"".join(hash_ for batch in batches for hash_ in batch.words_hashes)
        found[form]["words_hashes"] = hashlib.sha256(words_hashes).hexdigest()[:16]
    assert found == {
        "names": {
            "symbols": "21d94b60bc053596",
            "hashes": "cac94adc63052fc3",
            "shingles": "82176ffc9fc13fb0",
            "slots": "23e5ed799db0b0ec",
            "simhashes": "5dc7e8f732897948",
            "words_hashes": "54a3d5f9c9424037",
        },
        "raw": {
            "symbols": "21d94b60bc053596",
            "hashes": "fe29df89b9fb3040",
            "shingles": "71efd774d7b5fccd",
            "slots": "c3b3b9a71a980b3e",
            "simhashes": "82038f128e6fdafd",
            "words_hashes": "e4f212a9839fb63b",
        },
    }
