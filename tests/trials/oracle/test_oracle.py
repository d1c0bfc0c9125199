"""Python, SQL on both libraries, JSON and the command give the answers that the plain definitions give."""

import docindex
from tests.trials.oracle import definitions
from tests.trials.oracle.run import run
from tests.trials.oracle.tally import WITHIN, Tally


def test_every_answer_about_random_corpora_is_exact_or_within_its_errors():
    tally = run(range(25))
    assert tally.differences == []
    counted = tally.promised()
    assert sum(count for count, _ in counted.values()) > 500
    assert all(share >= WITHIN for _, share in counted.values()), counted


def test_the_definition_counts_words_as_a_reader_does():
    recipe = docindex.Recipe(shingle=2)
    a, b = "One two, THREE; four", "two three five"
    assert definitions.Truth({}, recipe).measures(a, b)[:3] == (1 / 3, 1 / 2, 1 / 4)
    assert definitions.words_of("Éa b") == definitions.words_of("e\u0301A-B") != definitions.words_of("ea c")


def test_an_answer_that_is_wrong_is_noted():
    tally = Tally()
    tally.same("pairs", [("a", "b", 0.5)], [("a", "b", 0.25)], "question")
    assert len(tally.differences) == 1
