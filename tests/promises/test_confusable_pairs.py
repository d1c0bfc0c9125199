"""A page of pairs of texts that are easily confused, each with the answer a careful person would give."""

import unicodedata

import pytest

import docindex

# Two texts; whether a reader would say that their words are the same.
PAIRS = [
    ("price 1.25 balance -5 now here", "price 125 balance 5 nowhere", False),
    ("1.25", "125", False),
    ("now here", "nowhere", False),
    ("therapist", "the rapist", False),
    ("Ada's Éclair, 2 ﬁelds!", "ADA S: eclair 2 fields", True),
    ("naïve café", "naive cafe", True),
    ("resume", "résumé", True),
    ("straße", "STRASSE", True),
    ("a-b", "a b", True),
    ("the\nsame\r\nwords", "The same... words?", True),
    ("½ cup", "1/2 cup", True),
    ("½ cup", "12 cup", False),
    ("x²", "x2", True),
    ("दिन", "दान", False),  # day, gift
    ("की", "कि", False),
    ("कमल", "কমল", False),  # the same word in Devanagari and Bengali
    ("אבגד", "აბგდ", False),  # Hebrew, Georgian
    ("ABC", "АВС", False),  # Latin, Cyrillic
    ("שָׁלוֹם", "שלום", True),  # with points and without
    ("مُحَمَّد", "محمد", True),
    ("й", "и\u0306", True),  # composed, decomposed
    ("が", "か\u3099", True),
    ("が", "か", False),
    ("ガラス", "カラス", False),  # glass, crow
    ("ไม่", "ไม", False),  # Thai tones
    ("漢字", "字漢", False),
    ("未来", "末来", False),
    ("한글", "글한", False),
    ("한글", unicodedata.normalize("NFD", "한글"), True),
    ("👍", "👎", False),
    ("👍🏻", "👍🏿", False),
    ("👨\u200d👩", "👨👩", True),  # only a joiner differs
    ("❤\ufe0f", "❤", True),  # only the style of the sign differs
    ("🇩🇪", "🇪🇩", False),
    ("★★★☆☆", "★☆☆☆☆", False),
    ("☑ milk ☐ bread", "☐ milk ☑ bread", False),
    ("⠓⠑⠇⠇⠕", "⠺⠕⠗⠇⠙", False),  # Braille
    ("♔♕", "♕♔", False),
    ("• one • two", "- one - two", True),  # bullets
    ("---", "***", False),
    ("---", "", False),
    (" \n\u3000", "", True),
    ("=== one ===", "one", True),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "same"), PAIRS)
def test_texts_are_the_same_words_only_if_a_reader_says_so(a, b, same):
    assert (docindex.sketch(a).words_hash == docindex.sketch(b).words_hash) == same
    assert (docindex.resemblance(a, b) == 1) == same
    assert (docindex.containment(a, b) == 1) == same


def test_an_index_gives_the_same_answers():
    with docindex.open(":memory:") as index:
        for number, (a, b, _) in enumerate(PAIRS):
            index.add(f"{number} a", a)
            index.add(f"{number} b", b)
        for number, (a, b, same) in enumerate(PAIRS):
            compared = index.compare(docindex.Key(f"{number} a"), docindex.Key(f"{number} b"))
            assert (compared.resemblance == 1) == same, (a, b)
            found = {
                match.key: match.resemblance
                for match in index.search(docindex.Text(a), limit=None, exact=True)
            }
            assert (found.get(f"{number} b") == 1) == same, (a, b)
