"""No small source makes docindex work for long: it is read or refused within a budget by its size."""

import contextlib
import sys

import pytest

from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.frontends.isolated import child, work_budget
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from docindex.frontends.isolated.work_budget import WorkBudget
from docindex.frontends.source_documents import read_source
from tests.frontends.amplifiers import amplifiers
from tests.frontends.samples import samples
from tests.frontends.test_archives import zip_of

OPTIONS = ExtractionOptions(archives=True)
AMPLIFIERS = amplifiers()
ONLY_BY_BUDGET = {"pdf: forms in forms", "tar.gz: keywords of pax in each other"}
"""A library does the work in one call, which only the end of the process interrupts."""

needs_timer = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timer of processor time")


@pytest.fixture(scope="module")
def extractor():
    with Extractor(OPTIONS) as made:
        yield made


def outcome(source, extractor):
    try:
        return read_source(source, extractor)
    except NotExtracted as error:
        return error.reason


@needs_timer
@pytest.mark.parametrize("name", AMPLIFIERS)
def test_a_small_source_is_read_or_refused_within_the_budget_of_its_size(name, extractor):
    """The timer of the process counts, and not a clock, so a busy machine changes nothing."""
    format_, data = AMPLIFIERS[name]
    assert len(data) < 800_000
    found = outcome(Source(data, f"x.{format_}", format=format_, options=OPTIONS), extractor)
    assert found != "too slow"
    if name in ONLY_BY_BUDGET:
        assert found in ("too much work", "damaged")
    elif not isinstance(found, str):
        texts = [found.main, *found.parts.values()] if found.main else [*found.parts.values()]
        characters = sum(len(getattr(text, "text", text)) for text in texts)
        assert characters <= 60_000_000 + WorkBudget.of_size(len(data)).characters


@needs_timer
@pytest.mark.parametrize("name", sorted(AMPLIFIERS.keys() - ONLY_BY_BUDGET))
def test_the_work_for_a_small_source_is_little_without_a_budget_too(name, extractor):
    format_, data = AMPLIFIERS[name]
    budget = WorkBudget(10.0, 10**9, 10**6)
    with contextlib.suppress(NotExtracted):
        extractor.extract(Source(data, f"x.{format_}", format=format_, options=OPTIONS), budget)
    assert 10.0 - budget.seconds < 1.0 + 2.0 * len(data) / 1e6


@needs_timer
def test_after_a_source_that_spent_its_budget_the_next_one_is_read(extractor):
    format_, data = AMPLIFIERS["pdf: forms in forms"]
    healthy = samples()["docx"][0]
    assert extractor.extract(Source(healthy, "x.docx")).text.startswith("Dear Ada")
    with pytest.raises(NotExtracted, match="it takes too much work for its size") as raised:
        extractor.extract(Source(data, "x.pdf", format=format_, options=OPTIONS))
    assert raised.value.reason == "too much work"
    assert extractor.extract(Source(healthy, "x.docx")).text.startswith("Dear Ada")


@needs_timer
def test_documents_inside_a_source_share_its_budget(extractor):
    _, bomb = AMPLIFIERS["pdf: forms in forms"]
    box = zip_of({f"{number}.pdf": bomb for number in range(50)} | {"a.txt": b"Dear Ada"})
    found = read_source(Source(box, "x.zip", options=OPTIONS), extractor)
    assert found.problems == ("51 documents inside it were not read. It takes too much work for its size.",)


def test_a_text_far_larger_than_its_source_is_refused(extractor, monkeypatch):
    monkeypatch.setattr(work_budget, "_START_CHARACTERS", 10)
    monkeypatch.setattr(work_budget, "_CHARACTERS_PER_BYTE", 0)
    with pytest.raises(NotExtracted, match="too much work for its size"):
        read_source(Source(b"<p>Dear Ada, and Bob", "x.html"), extractor)


@pytest.mark.parametrize("format_", sorted(samples()))
def test_honest_sources_need_a_small_share_of_their_budget(format_, extractor):
    for data in samples()[format_]:
        budget = WorkBudget.of_size(len(data))
        given = budget.seconds
        extractor.extract(Source(data, format=format_, options=OPTIONS), budget)
        assert given - budget.seconds < given / 2


def test_a_slow_machine_gets_more_time(monkeypatch):
    for started_s, slowness in ((0.05, 1.0), (0.15, 1.0), (1.5, 10.0)):
        monkeypatch.setattr(child.time, "process_time", lambda started_s=started_s: started_s)
        assert child._slowness() == pytest.approx(slowness)
