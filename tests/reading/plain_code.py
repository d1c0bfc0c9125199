"""The readings of source code in plain Python: one character at a time, for the tests to compare with."""

import xxhash

from docindex.reading.code.languages import LANGUAGES
from docindex.reading.code.source_code import language_of
from docindex.reading.code.syntax import comments_and_strings
from docindex.reading.code_points import is_sign
from docindex.reading.slicing import codes_of

LONGEST = 256
LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$")
DIGITS = frozenset("0123456789")
PAIRS = "== != <= >= && || ++ -- += -= *= /= %= &= |= ^= -> => :: << >> ** := .. ?? ?.".split()  # noqa: SIM905


def kind_of(text, at):
    """ "word", "sign" or "" for a character."""
    char = text[at]
    if char in LETTERS or char in DIGITS:
        return "word"
    if char > "\x7f":
        return "word" if is_sign(codes_of(char))[0] else ""
    if char == "." and 0 < at < len(text) - 1 and text[at - 1] in DIGITS and text[at + 1] in DIGITS:
        return "word"
    return "sign" if "!" <= char <= "~" else ""


def plain_tokens_of(text):
    """Where each token begins and ends, as if comments and strings were code."""
    kinds = [kind_of(text, at) for at in range(len(text))]
    tokens = []
    for at, kind in enumerate(kinds):
        goes_on = at > 0 and (
            kind == kinds[at - 1] == "word"
            or (kind == kinds[at - 1] == "sign" and text[at - 1 : at + 1] in PAIRS)
        )
        if goes_on and tokens[-1][1] - tokens[-1][0] < LONGEST:
            tokens[-1][1] += 1
        elif kind:
            tokens.append([at, at + 1])
    return tokens


def tokens_of(text, *, names):
    """Each token of a text: where it begins and ends, and what stands for it."""
    language = LANGUAGES[language_of(text)]
    alike = names and language.keywords
    found = plain_tokens_of(text)
    for begin, end in comments_and_strings(text, language.syntax):
        inside = [token for token in found if begin <= token[0] < end]
        found = [token for token in found if token not in inside]
        is_comment = text[begin] in "#-{=" or text[begin : begin + 2] in ("//", "/*")
        if inside and not is_comment:
            found.append([inside[0][0], end, text[begin:end]])
    return [(token[0], token[1], meaning(text, token, alike, language)) for token in sorted(found)]


def meaning(text, token, alike, language):
    begin, end, *string = token
    if string:
        return "a string" if alike else xxhash.xxh3_64_intdigest(string[0].encode("utf-8", "surrogatepass"))
    written = text[begin:end]
    if language.folds_case:
        written = "".join(chr(ord(char) | 32) if "A" <= char <= "Z" else char for char in written)
    if not alike or kind_of(text, begin) == "sign" or written in language.keywords:
        return written
    return "a name" if text[begin] in LETTERS or text[begin] > "\x7f" else "a number"
