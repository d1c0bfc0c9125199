"""Extract the text of LaTeX documents (.tex): without comments, commands and the preamble.

Math stays as text, with Greek letters as such. Other files are not followed. Footnotes stand at
the end. A place is a line.
"""

import re
import unicodedata

from docindex.frontends.encodings.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.line_places import LinePlaces
from docindex.patterns import compiled

# Tables of the commands of LaTeX: letters, signs, and arguments that are not text.


def _pairs(written: str) -> dict[str, str]:
    words = written.split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _words(written: str) -> frozenset[str]:
    return frozenset(written.split())


SIGNS = _pairs(
    "ss ß ae æ AE Æ oe œ OE Œ aa å AA Å o ø O Ø l ł L Ł i ı j ȷ dh ð DH Ð th þ TH Þ ng ŋ ldots … dots … "
    "textellipsis … cdots ⋯ S § P ¶ copyright © pounds £ euro € texteuro € textbar | textless < "
    "textgreater > textendash – textemdash — textquoteright ’ textquoteleft ‘ guillemotleft « "
    "textquotedblleft “ textquotedblright ” textquotesingle ' guillemotright » textbackslash \\ "
    "textasciitilde ~ textasciicircum ^ textunderscore _ textdegree ° textbullet • textregistered ® "
    "texttrademark ™ textdollar $ TeX TeX LaTeX LaTeX BibTeX BibTeX times × cdot ⋅ pm ± le ≤ leq ≤ ge ≥ "
    "geq ≥ neq ≠ alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ iota ι kappa "
    "κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω "
    "Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω sin sin cos cos tan "
    "tan log log ln ln exp exp max max min min lim lim sup sup inf inf det det"
) | dict.fromkeys(("quad", "qquad", "space"), " ")
"""Commands without arguments, and their text."""

ACCENTS = {
    mark: chr(int(code, 16))
    for mark, code in _pairs(
        "` 0300 ' 0301 ^ 0302 ~ 0303 \" 0308 = 0304 . 0307 u 0306 v 030c H 030b c 0327 k 0328 r 030a d 0323 "
        "b 0331 t 0361"
    ).items()
}
"""Commands that put a mark on the next letter, and the mark as Unicode writes it: after the letter."""

_ONE = _words(
    "label ref eqref pageref autoref cref Cref nameref cite citep citet citealp citealt citeauthor "
    "citeyear parencite textcite autocite footcite nocite usepackage documentclass RequirePackage input "
    "include includeonly includegraphics bibliography bibliographystyle addbibresource vspace hspace "
    "pagestyle thispagestyle pagenumbering usetheme usecolortheme color graphicspath hypersetup index "
    "glossary hyphenation linespread selectlanguage inputencoding setmainfont tikzset "
    "pgfplotsset geometry lstset captionsetup bibitem hyperlink hypertarget cline cmidrule "
    "newtheoremstyle PassOptionsToPackage urlstyle theoremstyle setlist hphantom vphantom "
    "phantom href textcolor raisebox parbox scalebox makebox multirow"
)
_TWO = _words(
    "setlength addtolength setcounter addtocounter fontsize definecolor newcommand renewcommand "
    "providecommand DeclareMathOperator newtheorem def newcounter rule resizebox multicolumn "
    "newcolumntype let DeclareRobustCommand"
)
_THREE = _words("newenvironment renewenvironment")

NO_TEXT = dict.fromkeys(_ONE, 1) | dict.fromkeys(_TWO, 2) | dict.fromkeys(_THREE, 3)
"""How many arguments of a command, from the first one, are not text."""

_WITH_ONE = _words(
    "tabular longtable array minipage multicols thebibliography adjustbox tblr subfigure spacing"
)
_WITH_TWO = _words("tabularx tabular* list wrapfigure CSLReferences tabulary")

ENVIRONMENTS_WITH_ARGUMENTS = dict.fromkeys(_WITH_ONE, 1) | dict.fromkeys(_WITH_TWO, 2)
"""How many arguments of an environment are not text."""

HEADINGS = _words(
    "part chapter section subsection subsubsection paragraph subparagraph title subtitle author date "
    "caption frametitle framesubtitle opening closing signature address ps encl cc"
)
"""Commands whose argument is a paragraph of its own."""

BREAKS = _words(
    "item maketitle par newpage clearpage pagebreak bibitem tableofcontents hline toprule midrule "
    "bottomrule bigskip medskip smallskip"
)
"""Commands that end the paragraph before them."""


# Read LaTeX into paragraphs: `TexReader`. It knows the usual commands, and gives the arguments of others.
#
# In: the text of a document. Out: a filled text builder, and the title. The time is linear: every character
# belongs to one token, and open groups are kept on a list.

_VERBATIM = "verbatim|Verbatim|lstlisting|minted|comment|filecontents|tikzpicture"
_TOKEN = compiled(
    rf"\\begin[ \t]*+\{{(?P<verbatim>{_VERBATIM})\*?\}}(?P<content>(?:[^\\]++|\\(?!end\{{(?P=verbatim)))*+)"
    r"|\\(?P<edge>begin|end)\s*+\{(?P<environment>[^{}\n]{1,40})\}"
    r"|\\verb\*?(?P<quote>[^\w\s])(?P<code>[^\n]{0,1000}?)(?P=quote)"
    r"|\\(?:url|nolinkurl|path)\{(?P<address>[^{}\n]*+)\}"
    r"|\\(?P<command>[A-Za-z@]+)\*?[ \t]*+(?:\n[ \t]*+(?=\S))?+"
    r"|\\(?P<symbol>.)"
    r"|(?P<comment>%[^\n]*+(?:\n[ \t]*+)?+)"
    r"|(?P<empty>\n[ \t]*+\n\s*+)"
    r"|(?P<mark>[{}~&$^_#]|---?|``|''|`)"
    r"|(?P<text>[^\\%\n{}~&$^_#`'-]++|[\n'-])"
    r"|\\\Z",
    re.DOTALL,
)
_OPTION = re.compile(r"\[[^\[\]]{0,1000}\]")
_BEFORE_ARGUMENT = compiled(r"\s*+(?:\[[^\[\]]{0,1000}\]\s*+)?+")
_IN_ARGUMENT = re.compile(r"\\.|[{}]|\n[ \t]*+\n", re.DOTALL)
_ONE_TOKEN = compiled(r"(?:\\[A-Za-z@]++|\\?[^\s{}])(?:#[0-9])*+")
_ACCENTED = re.compile(r"\s*+(?:\{\s*+(\\[ij]|[^\W\d_])?\s*+\}|(\\[ij](?![A-Za-z])[ ]?|[^\W\d_]))")
_SCRIPT = re.compile(r"\{([^{}\\$\n]{1,40})\}|([A-Za-z0-9])")

_MARKS = {"~": "\u00a0", "&": "\t", "--": "–", "---": "—", "``": "“", "''": "”", "`": "‘"}
_SYMBOLS = {"\\": "\n", "-": "", "/": "", "!": "", "@": ""} | {sign: sign for sign in "%$&#_{}"}
_RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_LOWERED = str.maketrans("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋")
_LAST_LATIN = "\u024f"
_DRAWN = frozenset(("comment", "filecontents", "tikzpicture"))
"""Environments that have no text."""
_NOTES = frozenset(("footnote", "footnotetext", "thanks"))

_GROUP, _HEADING, _TITLE, _NOTE = range(4)


class TexReader:
    """The text of a document in `builder`, and its `title`."""

    def __init__(self, source: str) -> None:
        self.builder = TextBuilder()
        self.title: str | None = None
        self._source = source
        self._places = LinePlaces(source, self.builder)
        self._text: list[str] = []  # of the paragraph, or of the note in it
        self._start = 0  # where the paragraph begins in the source
        self._position = 0
        self._groups: list[int] = []
        self._around: list[list[str]] = []  # the paragraphs around notes
        self._notes: list[str] = []
        self._in_preamble = "\\begin{document}" in source
        self._in_title = 0
        self._read()
        while self._groups:  # a document that was cut off
            self._close()
        self._end_paragraph()
        for number, note in enumerate(self._notes, 1):
            self.builder.begin(f"note {number}").add(note).end_paragraph()

    def _read(self) -> None:
        while token := _TOKEN.match(self._source, self._position):
            self._position = token.end()
            kind = token.lastgroup
            if kind == "text":
                self._add(" " if token[0] == "\n" else token[0])
            elif kind == "mark":
                self._read_mark(token["mark"])
            elif kind == "command":
                self._obey(token["command"], is_spaced=token[0][-1].isspace())
            elif kind == "symbol":
                self._read_symbol(token["symbol"])
            elif kind == "empty" or (kind == "comment" and self._source.startswith("\n", token.end())):
                self._end_paragraph()
            elif kind == "environment":
                self._pass_edge(token["environment"], is_begin=token["edge"] == "begin")
            elif kind in ("code", "address"):
                self._add(token[kind])
            elif kind == "content" and token["verbatim"] not in _DRAWN:
                self._add_verbatim(token["content"])

    def _read_mark(self, mark: str) -> None:
        if mark == "{":
            self._groups.append(_GROUP)
        elif mark == "}":
            self._close()
        elif mark in "^_":
            script = _SCRIPT.match(self._source, self._position)
            if script:
                self._position = script.end()
                written = script[1] or script[2]
                is_number = not written.strip("0123456789+-")
                table = _RAISED if mark == "^" else _LOWERED
                self._add(written.translate(table) if is_number else f" {written}")
            else:
                self._add(mark)
        else:
            self._add(_MARKS.get(mark, ""))

    def _read_symbol(self, symbol: str) -> None:
        if symbol in ACCENTS and self._add_accented(symbol):
            return
        if symbol == "\\" and (option := _OPTION.match(self._source, self._position)):
            self._position = option.end()
        self._add(_SYMBOLS.get(symbol, " "))

    def _add_accented(self, accent: str) -> bool:
        """Add the letter that follows, with an accent; False if no letter follows."""
        found = _ACCENTED.match(self._source, self._position)
        if not found:
            return False
        self._position = found.end()
        letter = (found[1] or found[2] or "").strip(" \\")
        self._add(unicodedata.normalize("NFC", letter + ACCENTS[accent]) if letter else "")
        return True

    def _obey(self, command: str, *, is_spaced: bool) -> None:
        if command in SIGNS:
            sign = SIGNS[command]
            # After a letter of a text, a space only ends the command. In math it stands between variables.
            self._add(f"{sign} " if is_spaced and sign > _LAST_LATIN else sign)
            return
        if command in ACCENTS and self._add_accented(command):
            return
        if command in HEADINGS or command in BREAKS:
            self._end_paragraph()
        elif is_spaced:
            self._add(" ")
        if command in NO_TEXT:
            self._leave_out(NO_TEXT[command])
        elif command != "item" and (option := _OPTION.match(self._source, self._position)):
            self._position = option.end()
        if command in HEADINGS or command in _NOTES:
            self._open(_NOTE if command in _NOTES else _TITLE if command == "title" else _HEADING)

    def _open(self, kind: int) -> None:
        """Open the group of an argument, if one follows."""
        if not self._source.startswith("{", self._position):
            return
        self._position += 1
        self._groups.append(kind)
        if kind == _NOTE:
            self._around.append(self._text)
            self._text = []
        else:
            self._in_title += 1

    def _close(self) -> None:
        kind = self._groups.pop() if self._groups else _GROUP
        if kind == _GROUP:
            return
        if kind == _NOTE:
            self._notes.append(_in_lines("".join(self._text)))
            self._text = self._around.pop()
            return
        if kind == _TITLE and not self._around:  # the text of a note goes on
            self.title = _in_lines("".join(self._text))
        self._end_paragraph()
        self._in_title -= 1

    def _pass_edge(self, environment: str, *, is_begin: bool) -> None:
        if environment != "math":
            self._end_paragraph()
        if is_begin and environment == "document":
            self._in_preamble = False
            self._groups.clear()
        elif is_begin:
            self._leave_out(ENVIRONMENTS_WITH_ARGUMENTS.get(environment, 0))
            if option := _OPTION.match(self._source, self._position):
                self._position = option.end()

    def _leave_out(self, arguments: int) -> None:
        """Go behind some arguments and the option before each. A blank line ends an argument, too."""
        for _ in range(arguments):
            before = _BEFORE_ARGUMENT.match(self._source, self._position)
            position = before.end() if before else self._position
            if self._source.startswith("{", position):
                self._position = self._end_of_argument(position + 1)
            elif token := _ONE_TOKEN.match(self._source, position):
                self._position = token.end()

    def _end_of_argument(self, position: int) -> int:
        depth = 1
        for token in _IN_ARGUMENT.finditer(self._source, position):
            if token[0] == "{":
                depth += 1
            elif token[0] == "}":
                depth -= 1
            if depth == 0 or (token[0][0] == "\n" and not self._in_preamble):
                return token.end()
        return len(self._source)

    def _add(self, text: str) -> None:
        if self._in_preamble and not self._in_title:
            return
        if not self._text:
            if text.isspace():
                return
            if not self._around:
                self._start = self._position - len(text)
        self._text.append(text)

    def _add_verbatim(self, content: str) -> None:
        if not self._in_preamble:
            self._end_paragraph()
            self._places.begin(self._position - len(content))
            self.builder.add(_OPTION.sub("", content, count=1) if content[:1] == "[" else content.strip("\n"))
            self.builder.end_paragraph()

    def _end_paragraph(self) -> None:
        if self._around:  # a note has paragraphs of its own
            self._text.append("\n")
            return
        text = _in_lines("".join(self._text))
        self._text.clear()
        if text:
            self._places.begin(max(self._start, 0))
            self.builder.add(text).end_paragraph()


def _in_lines(text: str) -> str:
    lines = ("\t".join(" ".join(cell.split()) for cell in line.split("\t")) for line in text.split("\n"))
    return "\n".join(filter(None, (line.strip() for line in lines)))


_ENCODING = re.compile(rb"\\usepackage\s*\[([a-z0-9]{2,20})\]\s*\{inputenc\}")
_INPUT_ENCODINGS = {b"ansinew": "cp1252", b"latin9": "iso-8859-15", b"applemac": "macintosh"}


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The text of a LaTeX document."""
    reader = TexReader(decode_source(data, _declared(data), options.encoding))
    return reader.builder.extracted(reader.title)


def _declared(data: bytes) -> str | None:
    found = _ENCODING.search(data[:20_000])
    return _INPUT_ENCODINGS.get(found[1], found[1].decode("ascii")) if found else None


_MARK = re.compile(rb"\\document(?:class|style)\b")


def _is_document(data: bytes) -> bool:
    return _MARK.search(data[:4096]) is not None


FRONT_END = FrontEnd(
    "tex",
    1,
    extract,
    (b"\\documentclass", b"\\documentstyle", b"% "),
    _is_document,
    frozenset({".tex", ".latex", ".ltx"}),
    frozenset({"application/x-tex", "text/x-tex", "application/x-latex"}),
    is_text=True,
    most_bytes=100_000_000,
)
