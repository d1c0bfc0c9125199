"""Leave out of a mail what it quotes of another mail."""

import re

_QUOTED = re.compile(r"[ \t]{0,3}[>|]")
_WROTE = re.compile(
    r"\b(wrote|writes|schrieb|schreibt|a écrit|escribió|escreveu|ha scritto|schreef|skrev|napisał\(?a?\)?|"
    r"kirjoitti|написала?|пишет)\b[^:]{0,200}:\s*$"
)
"""The end of the line before a quote: "On Monday, Ada wrote:", in the languages of common programs."""

_BEGINNING = re.compile(r"(On|Am|Le|El|Il|Em|Op|Den) \S.{,400}$")
"""The line before that, if the program has broken it into two."""

_ORIGINAL = re.compile(
    r"-{2,}\s*(Original Message|Original Appointment|Ursprüngliche Nachricht|Message d'origine|"
    r"Mensaje original|Messaggio originale|Mensagem original|Oorspronkelijk bericht)\s*-{2,}\s*$",
    re.IGNORECASE,
)
"""The line with which Outlook begins the mail that is answered; it is not marked line by line."""

_LONGEST_MARK = 400


def without_quotes(text: str) -> str:
    r"""A text without quoted lines, the line before them that says who wrote them, and without the mail that
    Outlook appends to an answer.

    >>> without_quotes("Yes, at four.\n\nOn Monday, Ada\nwrote:\n> Tea?\nBob").split()
    ['Yes,', 'at', 'four.', 'Bob']
    """
    kept: list[str] = []
    in_quote = False
    for line in text.split("\n"):
        if len(line) < _LONGEST_MARK and _ORIGINAL.match(line):
            break
        if not _QUOTED.match(line):
            in_quote = False
            kept.append(line)
        elif not in_quote:
            in_quote = True
            _remove_wrote(kept)
    return "\n".join(kept)


def _remove_wrote(kept: list[str]) -> None:
    """Remove the line at the end that says who wrote the following quote; it may be broken into two."""
    last = len(kept) - 1
    while last >= 0 and not kept[last].strip():
        last -= 1
    if last < 0 or len(kept[last]) > _LONGEST_MARK or not _WROTE.search(kept[last]):
        return
    is_broken = last > 0 and _BEGINNING.match(kept[last - 1]) and not _BEGINNING.match(kept[last])
    del kept[last - 1 if is_broken else last :]
    kept.append("")
