"""Split HTML and XML into tags and texts with one regular expression each: `HTML`, `XML`, `attributes_of`.

A match is a tag or another mark; the text lies between the matches. The expressions never fail and never
go back, so that the time is linear for any input. The alternative for HTML, `html.parser`, takes five
seconds for 56 KB of ``<a x="`` on Python 3.11.7, stops at ``<![<`` with an AssertionError, and gives
different texts in different versions of Python.

The groups: `raw` is the name of an element whose content is left out, `title` is the text of a title,
`cdata` is text without entities; of a tag: `end` is a slash, `name` is the name, `attributes` are its
attributes and perhaps a slash.
"""

import html
import re

from docindex.patterns import compiled

_ATTRIBUTES = r"""(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+"""
# A mark that nothing ends reaches to the end of the source, as in browsers.
_COMMENT = r"!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>|\Z))"
_CDATA = r"!\[CDATA\[(?P<cdata>(?:[^\]]++|\](?!\]>))*+)(?:\]\]>|\Z)"
_AFTER_NAME = rf"(?P<attributes>{_ATTRIBUTES})(?:>|\Z)"
_TAG = rf"(?P<end>/)?+(?P<name>[A-Za-z_][^\s/>]*+){_AFTER_NAME}"
_XML_TAG = rf"(?P<end>/)?+(?P<name>[A-Za-z_:\x80-\U0010ffff][^\s/>]*+){_AFTER_NAME}"  # also <Товар>

_RAW = "script|style|template|noscript|iframe|noembed|noframes|select|datalist|svg|canvas|audio|video"
_RAW_ELEMENT = rf"(?i:(?P<raw>{_RAW})(?=[\s/>]){_ATTRIBUTES}(?<!/)>(?:[^<]++|<(?!/(?P=raw)[\s/>]))*+)"
_TITLE = rf"(?i:title(?=[\s/>]){_ATTRIBUTES}>(?P<title>[^<]{{0,2000}}+)</title[^>]*+>)"

HTML = compiled(rf"<(?:{_COMMENT}|{_CDATA}|{_TITLE}|{_RAW_ELEMENT}|{_TAG}|[!?/][^>]*+(?:>|\Z))")

_INSTRUCTION = r"\?(?:[^?]++|\?(?!>))*+(?:\?>|\Z)"
_QUOTED = r""""[^"<]*+"|'[^'<]*+'"""
_DOCTYPE = rf"!DOCTYPE(?:[^>\[\"']++|{_QUOTED}|[\"'])*+(?:\[[^\]]*+(?:\]|\Z))?+[^>]*+(?:>|\Z)"

XML = compiled(rf"<(?:{_COMMENT}|{_CDATA}|{_INSTRUCTION}|{_DOCTYPE}|{_XML_TAG}|[!/][^>]*+(?:>|\Z))")

_ATTRIBUTE = compiled(r"""([^\s"'/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"']++)))?+""")
_LONG_NUMBER = re.compile(r"&#[0-9]{9,}+;?")  # Python refuses to read very long ones

_ENTITY = re.compile(r"&(#[0-9]++;?+|#[xX][0-9a-fA-F]++;?+|[^\t\n\f <&#;]{1,32}+;?+)")


class _Signs(dict[str, str]):
    """The texts that entities stand for; looked up, because decoding each one takes twice as long."""

    def __missing__(self, name: str) -> str:
        if len(self) > _MOST_SIGNS:
            self.clear()
        sign = self[name] = html.unescape(_LONG_NUMBER.sub("\ufffd", f"&{name}"))
        return sign


_MOST_SIGNS = 3000
_signs = _Signs()


def attributes_of(written: str) -> dict[str, str]:
    """The attributes of a tag, with names in lower case.

    >>> attributes_of(' Class="a b" id=x hidden')
    {'class': 'a b', 'id': 'x', 'hidden': ''}
    """
    return {
        name.lower(): unescaped(double or single or bare)
        for name, double, single, bare in _ATTRIBUTE.findall(written)
    }


def unescaped(text: str) -> str:
    """A text with its entities decoded, as browsers do.

    >>> unescaped("Ada &amp; Zo&#235;")
    'Ada & Zoë'
    """
    if "&" not in text:
        return text
    return _ENTITY.sub(_sign, text)


def _sign(entity: re.Match[str]) -> str:
    return _signs[entity[1]]


def unescaped_all(texts: list[str]) -> list[str]:
    """Many texts with their entities decoded, each by itself, in a fraction of the time.

    They have no NUL, which no text has that was decoded.

    >>> unescaped_all(["Ada &am", "p; Zo&#235;"])
    ['Ada &am', 'p; Zoë']
    """
    return unescaped("\0".join(texts)).split("\0") if texts else []


def single_spaced(text: str) -> str:
    r"""A text with one space instead of each run of white space, and without any around it.

    >>> single_spaced(" Dear\n\t Ada ")
    'Dear Ada'
    """
    spaced = text.replace("\n", " ")
    if "  " not in spaced and spaced.isprintable():  # its only white space is single spaces
        return spaced.strip(" ")
    return " ".join(spaced.split())  # takes twice as long
