"""Random corpora: texts of many scripts that copy from each other, in an index with a random history."""

import functools
import random
import unicodedata

import docindex
from docindex import Recipe

# Letters that texts are made of, and whether the script writes spaces between words.
SCRIPTS = {
    "ascii": ("abcdefghijklmnopqrstuvwxyz0123456789", True),
    "latin": ("abcdefghilmnoprstuvzéèêëàäâöôüßçñíóúåøæœłšžčřğ", True),
    "cyrillic": ("абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґ", True),
    "greek": ("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊ", True),
    "hebrew": ("אבגדהוזחטיכלמנסעפצקרשתםןץךף\u05b0\u05b4\u05b7\u05bc", True),
    "arabic": ("ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأإةى\u064e\u0650\u0651", True),
    "devanagari": ("अआइईउऊएऐओऔकखगघचछजझटठडढतथदधनपफबभमयरलवशषसहािीुूेैोौं्", True),
    "bengali": ("অআইঈউঊএঐওঔকখগঘচছজঝটঠডঢতথদধনপফবভমযরলশষসহািীুূেৈোৌং্", True),
    "hangul": ("".join(chr(0xAC00 + 83 * n) for n in range(120)), True),
    "thai": ("กขคงจฉชซญฎดตถทธนบปผฝพฟภมยรลวศสหอฮะาิีึืุูเแโใไ่้", False),
    "chinese": ("".join(chr(0x4E00 + 37 * n) for n in range(400)), False),
    "japanese": (
        "あいうえおかがきぎくぐけこさしすせそただちつてでとなにのはばぱひふ"
        "まみもやゆよらりるれろわをん日本語文書複写",
        False,
    ),
    "katakana": (
        "アイウエオカガキギクケコサシスセソタダチツテトナニノハバパヒフマミモヤユヨ"
        "ラリルレロワン",
        True,
    ),
    "emoji": ("😀😁😂🤣😃👍👎👍🏻❤️🎉🚀🌍🐍🔥⭐✅🇩🇪🇫🇷", False),
    "braille": ("".join(map(chr, range(0x2801, 0x2840))), True),
}  # fmt: skip
MARKS = [" ", " ", " ", " ", ", ", ". ", ".\n", "\n", "\r\n", " - ", "; ", "\u3000", "\u200b ", "!? "]


@functools.cache
def vocabulary(script):
    """The words of a script. Frequent words are short."""
    letters, _ = SCRIPTS[script]
    rng = random.Random(script)
    return tuple(
        "".join(rng.choices(letters, k=min(9, 1 + int(rng.expovariate(0.3)) + number // 60)))
        for number in range(400)
    )


_WEIGHTS = tuple(1 / (5 + rank) for rank in range(400))


def words(rng, count, scripts):
    """Random words. The scripts alternate in stretches."""
    found = []
    while len(found) < count:
        script = rng.choice(scripts)
        found += rng.choices(vocabulary(script), _WEIGHTS, k=min(count - len(found), rng.randint(3, 60)))
    return found


def _is_spaced(word):
    return not any(word[:1] in SCRIPTS[script][0] for script in ("thai", "chinese", "japanese", "emoji"))


def written(rng, tokens):
    """A text of these words, with separators between them."""
    parts = []
    for token in tokens:
        parts.append(token.title() if rng.random() < 0.1 else token)
        parts.append(rng.choice(MARKS) if _is_spaced(token) or rng.random() < 0.1 else "")
    return "".join(parts)


def another_form(rng, text):
    """The same words in another form, or nearly."""
    forms = [
        str.upper,
        str.casefold,
        lambda t: unicodedata.normalize("NFD", t),
        lambda t: unicodedata.normalize("NFC", t),
        lambda t: "".join(c for c in unicodedata.normalize("NFD", t) if unicodedata.category(c) != "Mn"),
        lambda t: t.replace(" ", "\n"),
        lambda t: t.replace(" ", " * "),
        lambda t: f"  {t}...",
        lambda t: t.replace(",", "").replace(".", ""),
    ]
    for form in rng.sample(forms, rng.randint(1, 3)):
        text = form(text)
    return text


def edited(rng, tokens, scripts):
    """The words after random edits."""
    share = rng.choice([0.01, 0.03, 0.1, 0.3])
    found = []
    for token in tokens:
        if rng.random() >= share:
            found.append(token)
            continue
        kind = rng.randrange(3)
        if kind:  # otherwise the word is lost
            found += words(rng, 1, scripts) if kind == 1 else [token, *words(rng, 1, scripts)]
    return found


def _length(rng):
    limits = [(0, 0), (1, 4), (5, 12), (5, 40), (20, 120), (60, 250), (200, 600)]
    return rng.randint(*rng.choice(limits))


def texts(rng, count):
    """Random texts, many of them made from texts before them, and the template that some of them share."""
    scripts = rng.sample(sorted(SCRIPTS), rng.randint(1, 4))
    template = words(rng, rng.randint(2, 60), scripts)
    made = []  # lists of words
    found = []
    odd = [
        "",
        "   ",
        "---",
        "***",
        "?!",
        "• • •",
        "😀",
        "a",
        "A.",
        "x" * 200,
        "now here",
        "nowhere",
        "1.25",
        "125",
    ]
    for _ in range(count):
        kind = rng.random()
        before = rng.choice(made) if made else []
        if kind < 0.3 or not made:
            tokens = words(rng, _length(rng), rng.sample(scripts, rng.randint(1, len(scripts))))
        elif kind < 0.36:
            found.append(rng.choice(odd))
            continue
        elif kind < 0.43:
            found.append(rng.choice(found))
            continue
        elif kind < 0.53:
            found.append(another_form(rng, rng.choice(found)))
            continue
        elif kind < 0.75:
            tokens = edited(rng, before, scripts)
        elif kind < 0.85:  # a piece of it, inside another text or alone
            begin = rng.randint(0, len(before))
            piece = before[begin : begin + rng.randint(0, 120)]
            around = words(rng, rng.choice([0, 10, 100, 400]), scripts)
            at = rng.randint(0, len(around))
            tokens = [*around[:at], *piece, *around[at:]]
        elif kind < 0.9:
            tokens = rng.sample(before, len(before))
        else:
            tokens = [*template, *words(rng, _length(rng) // 2, scripts)]
        made.append(tokens)
        found.append(written(rng, tokens))
    return found, written(rng, template)


RECIPES = {
    "default": {},
    "shingle 3": {"shingle": 3},
    "shingle 1": {"shingle": 1},
    "letters": {"token": "letter", "shingle": 12},
    "lines": {"token": "line", "shingle": 2},
    "bag": {"bag": True},
    "64 slots": {"slots": 64, "features": (4, 8, 2)},
    "small k": {"k": 6, "window": 5},
    "k 25": {"k": 25, "window": 26},
    "MOD_m": {"mod_m": 4},
    "L_i": {"level": 64},
}


class Corpus:
    """One random corpus: its texts by key, which of them are kept, its templates, and how it is built."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.seed = seed
        self.recipe_name = rng.choice([*["default"] * len(RECIPES), *RECIPES])
        self.recipe = Recipe(**RECIPES[self.recipe_name])
        found, template = texts(rng, rng.randint(5, 40))
        keys = [f"{rng.choice('abäz漢')}/{number}.txt" for number in range(len(found))]
        self.texts = dict(zip(keys, found, strict=True))
        self.templates = [template] if rng.random() < 0.3 else []
        share = rng.choice([1.0, 1.0, 0.7, 0.3])
        self._stored = {key: rng.random() < share for key in keys}
        self._rng = random.Random(rng.random())

    def build(self, path):
        """Make the index in a file, in several commits; some documents are removed and added again."""
        rng = self._rng
        index = docindex.open(path, recipe=self.recipe, durability="normal")
        keys = rng.sample(sorted(self.texts), len(self.texts))
        again = rng.sample(keys, len(keys) // 5)
        for number, key in enumerate(again):
            index.add(key, self.texts[key] if number % 2 else rng.choice(list(self.texts.values())))
        for key in again[::2]:
            index.remove(key)
        cut = rng.randint(0, len(keys))
        for part in keys[:cut], keys[cut:]:
            for kept in True, False:
                index.add_many(
                    [(key, self.texts[key]) for key in part if self._stored[key] == kept],
                    workers=1,
                    store_text=kept,
                )
        for template in self.templates:
            index.boilerplate.add(docindex.Text(template), name="template")
        if rng.random() < 0.3:
            index.optimize()
        return index
