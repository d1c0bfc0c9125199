"""The text of a notebook is the sources of its cells."""

import json

import pytest

from docindex.frontends.failures import NotExtracted
from tests.frontends.markup import containment, extracted, places, saved


def notebook(*cells, **fields):
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | fields)


def test_the_notebook_of_pandoc_has_the_words_of_the_page():
    page, found = saved("pandoc.html"), saved("pandoc.ipynb")
    assert containment(page.text, found.text) >= 0.93  # the title is not in the cells
    assert containment(found.text, page.text) >= 0.93


def test_a_place_is_a_cell_and_outputs_are_left_out():
    output = {"output_type": "stream", "name": "stdout", "text": ["secret"]}
    found = extracted(
        notebook(
            {"cell_type": "markdown", "source": ["# Tea\n", "[milk](http://x)"]},
            {"cell_type": "code", "source": "x = [1](2)\n", "outputs": [output]},
            metadata={"title": "Prices"},
        ),
        "a.ipynb",
    )
    assert places(found) == [("cell 1", "# Tea\nmilk\n\n"), ("cell 2", "x = [1](2)\n\n")]
    assert found.title == "Prices"


def test_an_old_notebook_is_read_and_recognised_by_its_content():
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1"]}]}]}
    assert extracted(json.dumps(old), "a.txt").text == "a = 1\n\n"


def test_json_that_is_no_notebook_is_said_to_be_damaged():
    for data in ('{"nbformat": 4, "cells": 3}', '{"nbformat": 4, "cells": [', "{" + '"a":[' * 100_000):
        with pytest.raises(NotExtracted) as raised:
            extracted(data, "a.ipynb")
        assert raised.value.reason == "damaged"
