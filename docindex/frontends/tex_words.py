"""Tables of the commands of LaTeX: letters, signs, and arguments that are not text."""


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
