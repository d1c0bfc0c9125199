"""The text of LaTeX is its prose, as pandoc gives it."""

import pytest

from tests.frontends.markup import containment, extracted, places, saved


def text_of(source):
    return extracted(source, "a.tex").text


def test_the_latex_of_pandoc_gives_the_words_of_the_page():
    page, found = saved("pandoc.html"), saved("pandoc.tex")
    assert containment(page.text, found.text) == containment(found.text, page.text) == 1
    assert found.title == "A letter to Ada"
    assert found.reading == "tex-1"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            r"M\"uller, \'{E}va, \c{c}a, \L{}\'od\'z, Stra\ss e, \v{S}koda, na\"{\i}ve",
            "Müller, Éva, ça, Łódź, Straße, Škoda, naïve",
        ),
        ("50\\% of % a comment\n   it, a--b---c ``x'' d~e", "50% of it, a–b—c “x” d e"),
        (r"un\emph{believ}ably \textbf{b} \LaTeX\ is", "unbelievably b LaTeX is"),
        (
            r"See~\cite[p.~3]{knuth} and \ref{fig:a}, \href{http://a.b/c%20}{here} or \url{http://a.b/c%20_d}.",
            "See and , here or http://a.b/c%20_d.",
        ),
        (r"$x^2 + \alpha_1$ and \[ y_i \le 3 \psi x^{2n} \]", "x² + α₁ and y i ≤ 3 ψ x 2n"),
        (r"\verb|a_b%c| left\hfill right", "a_b%c left right"),
        (r"\newcommand{\x}[1]{no {text}} \vspace{2cm}yes\\[2pt] line", "yes\nline"),
    ],
)
def test_commands_give_their_text(source, text):
    assert text_of(source).strip().replace("\u00a0", " ") == text


def test_the_preamble_is_left_out_but_for_the_title():
    source = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\title{On \emph{Tea}\thanks{Paid by the shop}}
\author{Ada} \newcommand{\tea}{no}
\begin{document}
\maketitle
\section[Short]{Prices}\label{sec:a}
Tea\footnote{Dear.} costs.

\begin{tabular}{|l|r|} \hline a & b \\ \hline c & d \\ \end{tabular}
\begin{verbatim}
x_1 % kept
\end{verbatim}
\begin{itemize}\item one \item two\end{itemize}
\end{document}"""
    found = extracted(source, "a.tex")
    assert found.title == "On Tea"
    assert found.text.split("\n\n") == [
        *("On Tea", "Ada", "Prices", "Tea costs.", "a\tb", "c\td", "x_1 % kept", "one", "two"),
        *("Paid by the shop", "Dear.", ""),
    ]
    assert ("line 8", "Tea costs.\n\n") in places(found)
    assert places(found)[-1][0] == "note 2"


def test_a_chapter_without_a_preamble_is_read():
    assert text_of("\\chapter{Tea}\nIt is \\textit{good}.\n\n% no\nMilk") == "Tea\n\nIt is good.\n\nMilk\n\n"


def test_an_old_encoding_is_read():
    for label, encoding in (("latin1", "latin-1"), ("ansinew", "cp1252"), ("applemac", "mac-roman")):
        source = (
            f"\\documentclass{{a}}\\usepackage[{label}]{{inputenc}}\\begin{{document}}Größe\\end{{document}}"
        )
        assert extracted(source.encode(encoding), "a.tex").text == "Größe\n\n"
