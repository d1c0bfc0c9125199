"""Make `docindex/frontends/encodings/letter_pairs.py` from texts in many languages.

`python -m tests.frontends.make_letter_pairs FOLDER` prints the module. FOLDER has one UTF-8 text for each
language, named by its code: de.txt, zh_CN.txt and so on. The module in the repository was made from the
translations of Django 4.2, of Sphinx 7.2 and, in Debian 12, of apt, bash, coreutils, gettext, gnupg, tar and
wget, and from Debian's installation guide: 20 KB to 3 MB for each language.
"""

import collections
import itertools
import re
import sys
from pathlib import Path

GROUPS = {
    "WESTERN": "de fr es pt it nl da sv nb fi is ca ga af",
    "CENTRAL": "pl cs sk hu hr sl ro sr_Latn",
    "TURKISH": "tr",
    "ESPERANTO": "eo",
    "BALTIC": "lt lv et",
    "CYRILLIC": "ru uk bg sr mk be",
    "GREEK": "el",
    "HEBREW": "he",
    "ARABIC": "ar",
    "THAI": "th",
}
LATIN = {"WESTERN", "CENTRAL", "TURKISH", "BALTIC", "ESPERANTO"}
CHARACTERS = {"JAPANESE": "ja", "SIMPLIFIED": "zh_CN", "TRADITIONAL": "zh_TW", "KOREAN": "ko"}

NAMES = """
Jérôme Mickaël Raphaël Noël Citroën Chloë Zoë Brontë Müller Jürg Jörg Jürgen Günter Björn Søren Jørgen
José Peña Núñez Muñoz François Prévôt Hélène Désirée Gaëlle Maëlle Aimée Irène Anaïs Benoît Loïc Joël
Cédric Gómez Pérez Martínez Rodríguez Hernández García López Sánchez Ramírez Álvarez João Gonçalves
Mônica Antônio Conceição Magalhães Simões Åke Åsa Håkan Pär Göran Sjöberg Löfgren Ångström Mäkinen Väinö
Þór Guðmundur Jón Ólafur Ægir Weiß Strauß Groß Böhm Köln Zürich Österreich Übersee Gödel Schrödinger
Händel Röntgen Möbius Erdös Poincaré Hölder Cramér Malmö Tromsø Århus São Curaçao Córdoba Málaga Bogotá
Québec Montréal Genève naïve naïf façade vis-à-vis déjà crème brûlée doppelgänger über señor jalapeño
résumé café cliché fiancé exposé coöperate Röyksopp Motörhead
"""
"""Names and words that English text has; many of their pairs are rare in messages."""

SHARE = 0.995
"""The share of the pairs of a text that its language's pairs contain: rarer ones are mostly slips."""

COMMON = 250
"""The characters of a language: half of a Chinese or Korean text, nine in ten of a Japanese one."""

_CEDILLAS = str.maketrans("șțȘȚ", "şţŞŢ")  # Windows-1250 and ISO-8859-2 have no commas below


def pairs_of(text: str) -> collections.Counter[str]:
    """How often each pair of neighbours occurs in the words that have a letter outside ASCII."""
    pairs: collections.Counter[str] = collections.Counter()
    for word in re.findall(r"(?:[^\W\d_ªº]|[\u0e31-\u0e4e])+", _lower(text.translate(_CEDILLAS))):
        if not word.isascii() and len(word) > 1:
            word = f" {word} "
            pairs.update(a + b for a, b in itertools.pairwise(word) if not (a + b).isascii())
    return pairs


def without_latin(pairs: set[str]) -> set[str]:
    """The pairs without a Latin letter, which stem from names of programs with an ending."""
    return {pair for pair in pairs if not re.search("[a-z]", pair)}


def _lower(text: str) -> str:
    """Lower case; a Turkish capital I with a dot, whose lower case has two characters, stays as it is."""
    return "İ".join(part.lower() for part in text.split("İ"))


def frequent(counts: collections.Counter[str], share: float) -> set[str]:
    """The most frequent items, until they are this share of all."""
    least, found, seen = share * counts.total(), set(), 0
    for item, count in counts.most_common():
        if seen >= least:
            break
        found.add(item)
        seen += count
    return found


_HEAD = '''"""Frequent pairs of letters and ideographs, made by `tests.frontends.make_letter_pairs`.

A pair is two neighbours in a word, in lower case, at least one of them outside ASCII; a space stands for the
border of the word. A list has the pairs that make 99.5% of those in its languages.
"""'''


def main(folder: str) -> None:
    """Print the module."""
    print(_HEAD)
    for name, languages in GROUPS.items():
        pairs: set[str] = set()
        for language in languages.split():
            pairs |= frequent(pairs_of(Path(folder, f"{language}.txt").read_text("utf-8")), SHARE)
        if name == "WESTERN":
            pairs |= set(pairs_of(NAMES))
        show(name, languages, "".join(sorted(pairs if name in LATIN else without_latin(pairs))))
    for name, language in CHARACTERS.items():
        text = Path(folder, f"{language}.txt").read_text("utf-8")
        counts = collections.Counter(c for c in text if c >= "\u3041" and c.isalpha())
        show(name, language, "".join(sorted(c for c, _ in counts.most_common(COMMON))))


def show(name: str, what: str, value: str) -> None:
    """Print one constant."""
    print(f"\n{name} = (  # {what}")
    for start in range(0, len(value) or 1, 90):
        print(f'    "{value[start : start + 90]}"')
    print(")")


if __name__ == "__main__":
    main(*sys.argv[1:])
