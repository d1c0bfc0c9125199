"""Every regular expression of docindex, and texts that are hard for it.

The texts are made from what an expression itself looks for: its words and one character of each class, alone
and in pairs, repeated many times, with and without a beginning and an end. These are the texts on which an
expression goes back, or searches in vain for an end from each of many beginnings.
"""

import ast
import importlib
import re
import re._constants as codes
import re._parser as parser
from pathlib import Path
from typing import NamedTuple

import docindex

_ROOT = Path(docindex.__file__).parent
_ANCHORED = {"match", "fullmatch"}


class Regex(NamedTuple):
    """A regular expression, and how it is used."""

    place: str
    pattern: re.Pattern
    is_anchored: bool
    """Whether it is only matched at one place, and never searched for."""

    def read(self, text):
        """Use the expression as docindex does."""
        if self.is_anchored:
            self.pattern.match(text)
            self.pattern.fullmatch(text)
        else:
            for _ in self.pattern.finditer(text):
                pass


def regexes():
    """Every expression in a variable of a module, in a list or dictionary of one, or in a call of `re`.

    Not those of the modules for Spark, which read what Spark prints.
    """
    found = {}
    for file in sorted(_ROOT.rglob("*.py")):
        name = ".".join(file.relative_to(_ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        if {"spark", "_pyinstaller", "__main__"}.isdisjoint(name.split(".")):
            for regex in _in_module(name, ast.parse(file.read_text())):
                found.setdefault((regex.pattern, regex.is_anchored), regex)
    return [*found.values()]


def _in_module(name, tree):
    uses, calls = {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            calls.append(node)
    for variable, value in vars(importlib.import_module(name)).items():
        if not variable.startswith("__"):
            is_anchored = bool(uses.get(variable)) and uses[variable] <= _ANCHORED
            for pattern in _patterns_in(value):
                yield Regex(f"{name}.{variable}", pattern, is_anchored)
    for call in calls:
        first = call.args[0] if call.args else None
        is_of_re = getattr(call.func.value, "id", "") == "re" and call.func.attr != "compile"
        if is_of_re and isinstance(first, ast.Constant) and isinstance(first.value, str | bytes):
            yield Regex(f"{name}:{call.lineno}", re.compile(first.value), call.func.attr in _ANCHORED)


def _patterns_in(value):
    if isinstance(value, re.Pattern):
        return [value]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [each for each in values if isinstance(each, re.Pattern)]


def hard_texts(pattern, length):
    """Texts of about this length, in an order that does not depend on the length."""
    pieces = [*dict.fromkeys(_pieces(parser.parse(pattern.pattern, pattern.flags)))][:24]
    words = [*pieces, *(first + second for first in pieces for second in pieces if first != second)]
    for word in words:
        for begin in ("", *pieces[:6]):
            for end in ("", "\0"):
                text = begin + word * (length // len(word)) + end
                yield text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text


def _pieces(tree):
    word = ""
    for code, value in tree:
        if code is codes.LITERAL:
            word += chr(value)
            continue
        if word:
            yield word
        word = ""
        if code is codes.IN:
            yield from _members(value)
        elif code in (codes.NOT_LITERAL, codes.ANY):
            yield "x" if value != ord("x") else "y"
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _pieces(branch)
        elif code is codes.SUBPATTERN:
            yield from _pieces(value[3])
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            yield from _pieces(value[2])
        elif code is codes.ATOMIC_GROUP:
            yield from _pieces(value)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _pieces(value[1])
    if word:
        yield word


def _members(items):
    """One or two characters of each part of a class, or of what it leaves out and one that it has."""
    if items[0][0] is codes.NEGATE:
        left_out = [chr(value) for code, value in items[1:] if code is codes.LITERAL]
        yield from left_out[:3]
        yield next(sign for sign in "x1 \n-" if sign not in left_out)
        return
    for code, value in items[:4]:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.RANGE:
            yield chr(value[0])
        elif code is codes.CATEGORY:
            yield {"SPACE": " ", "DIGIT": "1", "WORD": "a"}[str(value).rpartition("_")[2]]
