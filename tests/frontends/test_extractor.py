"""A source is read in a process of its own, within limits, whatever it does to that process."""

import dataclasses
import functools
import os
import signal
import subprocess
import sys
import threading
import time
import types

import pytest

import docindex.frontends
from docindex.frontends import extracted, recognition
from docindex.frontends.extracted import Extracted, Place, Places, SourcePart
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import DEFAULT_OPTIONS, FrontEnd
from docindex.frontends.isolated import child
from docindex.frontends.isolated.extractor import ClosedExtractor, Extractor
from docindex.frontends.isolated.messages import Source, receive_extracted, send_extracted
from docindex.frontends.isolated.work_budget import WorkBudget
from docindex.frontends.mail import body
from docindex.worker_command import worker_command
from tests.frontends.offered import offer
from tests.frontends.office import docx_of


@pytest.fixture
def extractor():
    with Extractor(limit_s=20) as found:
        yield found


def test_a_text_comes_back_as_the_front_end_gave_it(extractor):
    found = extractor.extract(Source(docx_of(["Dear Ada", "yours, \U0001f600"], title="A letter"), "x.docx"))
    assert found.reading == "docx-1"
    assert found.text.split("\n\n") == ["Dear Ada", "yours, \U0001f600", ""]
    assert found.title == "A letter"
    assert found.places.between(12, 14) == "paragraph 2"


def test_a_message_keeps_every_field(tmp_path):
    extracted = Extracted(
        "one \ud800 two",
        Places((0, 4), (Place("page 1"), Place("page 2", (0.0, 1.5, 2.0, 3.0)))),
        "title",
        ("one page is a picture",),
        (SourcePart("a.txt", b"\0a"), SourcePart("message 2", b"", "eml")),
        "x-1",
    )
    with (tmp_path / "message").open("w+b") as stream:
        send_extracted(stream, extracted, 0.25)
        stream.seek(0)
        budget = WorkBudget.of_size(1)
        assert receive_extracted(stream, budget) == extracted
        assert budget.seconds == 0.25


def test_plain_text_and_binary_data_have_no_front_end(extractor):
    for data, name in ((b"a letter", "ada.txt"), (b"\x89PNG\0", "ada.png"), (b"plain", "ada.docx")):
        with pytest.raises(NotExtracted) as raised:
            extractor.extract(Source(data, name))
        assert raised.value.reason == "unknown format"


def test_after_a_failure_the_next_source_is_read(extractor):
    whole = docx_of(["Dear Ada"])
    for data in (whole[: len(whole) // 2] + b"word/document.xml", whole.replace(b"document", b"decument")):
        with pytest.raises(NotExtracted) as raised:
            extractor.extract(Source(data, "x.docx"))
        assert raised.value.reason == "damaged"
    assert extractor.extract(Source(whole, "x.docx")).text == "Dear Ada\n\n"


def test_a_process_that_dies_is_started_again(extractor):
    whole = Source(docx_of(["Dear Ada"]), "x.docx")
    extractor.extract(whole)
    process = extractor._process
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert extractor.extract(whole).text == "Dear Ada\n\n"
    assert extractor._process.pid != process.pid


def test_a_source_that_takes_too_long_is_given_up():
    whole = Source(docx_of(["Dear Ada"]), "x.docx")
    with Extractor() as extractor:
        extractor.extract(whole)
        extractor._limit_s = 0.5  # to start the process may take longer
        os.kill(extractor._process.pid, signal.SIGSTOP)
        begun = time.monotonic()
        with pytest.raises(NotExtracted, match=r"more than 0\.5 seconds") as raised:
            extractor.extract(whole)
        assert raised.value.reason == "too slow"
        assert time.monotonic() - begun < 10
        extractor._limit_s = 60
        assert extractor.extract(whole).text == "Dear Ada\n\n"


def test_a_front_end_of_another_package_is_found_by_its_entry_point(tmp_path, monkeypatch):
    (tmp_path / "loud.py").write_text(
        "from docindex.frontends import Extracted, FrontEnd\n"
        "FRONT_END = FrontEnd('loud', 3, lambda data, options: Extracted(data.decode().lower()),"
        " extensions=frozenset({'.loud'}), is_text=True)\n"
    )
    (tmp_path / "loud-1.0.dist-info").mkdir()
    (tmp_path / "loud-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: loud\n")
    (tmp_path / "loud-1.0.dist-info" / "entry_points.txt").write_text(
        "[docindex.frontends]\nloud = loud:FRONT_END\nnothing = loud:no_front_end\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("_offered", "_usual"):
        monkeypatch.setattr(recognition, name, functools.cache(getattr(recognition, name).__wrapped__))
    with Extractor() as extractor:
        found = extractor.extract(Source(b"DEAR ADA", "x.loud"))
    assert (found.reading, found.text) == ("loud-3", "dear ada")
    assert recognition.by_extension("x.loud").name == "loud"
    assert recognition.may_need_front_end(b"DEAR ADA", "x.loud")


def test_an_error_of_a_front_end_counts_as_damage(monkeypatch):
    def extract(*_):
        raise ZeroDivisionError("no such page")

    offer(monkeypatch, FrontEnd("broken", 1, extract, extensions=frozenset({".bro"}), is_text=True))
    with pytest.raises(NotExtracted, match="it cannot be read: no such page") as raised:
        child.extracted_from(Source(b"x", "x.bro"))
    assert raised.value.reason == "damaged"


def test_a_process_that_is_killed_meanwhile_costs_no_source(extractor):
    whole = Source(docx_of(["Dear Ada"]), "x.docx")
    extractor.extract(whole)
    process = extractor._process
    os.kill(process.pid, signal.SIGSTOP)
    threading.Timer(0.2, process.kill).start()
    assert extractor.extract(whole).text == "Dear Ada\n\n"


def test_without_processes_a_source_is_refused(extractor, monkeypatch):
    def refuse(*_, **__):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(NotExtracted, match="no process can be started to read it: Resource") as raised:
        extractor.extract(Source(docx_of(["Dear Ada"]), "x.docx"))
    assert raised.value.reason == "not installed"


def test_one_thread_watches_all_sources_of_a_process(extractor, monkeypatch):
    started = []
    original = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread), original(thread)))
    for _ in range(20):
        extractor.extract(Source(b"<p>Dear Ada", "x.html"))
    assert len(started) == 1


def test_a_closed_extractor_starts_no_process():
    extractor = Extractor()
    extractor.close()
    with pytest.raises(ClosedExtractor):
        extractor.extract(Source(docx_of(["Dear Ada"]), "x.docx"))


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="Windows has no alarm")
def test_a_process_without_its_host_ends_by_itself():
    code = "from docindex.frontends.isolated import child; child._end_after(1); [0 for _ in iter(int, 1)]"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGALRM


def test_an_interrupt_does_not_end_the_process(extractor):
    whole = Source(docx_of(["Dear Ada"]), "x.docx")
    extractor.extract(whole)
    process = extractor._process
    process.send_signal(signal.SIGINT)
    assert extractor.extract(whole).text == "Dear Ada\n\n"
    assert process.poll() is None


def test_a_process_ignores_interrupts_before_it_imports_anything():
    program = worker_command("a:b").arguments[3]
    assert program.split()[:4] == ["import", "signal", "signal.signal(signal.SIGINT,", "signal.SIG_IGN)"]


def test_a_source_that_is_too_large_for_its_format_is_refused_before_it_is_read(monkeypatch):
    read = []
    extension = frozenset({".small"})
    small = FrontEnd("small", 1, read.append, extensions=extension, is_text=True, most_bytes=1_500_000)
    offer(monkeypatch, small)
    with pytest.raises(NotExtracted, match=r"^it has more than 1\.5 MB$") as raised:
        child.extracted_from(Source(b"x" * 1_500_001, "a.small"))
    assert (raised.value.reason, read) == ("too large", [])


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        *(("a.html", 100), ("a.xml", 100), ("a.json", 100), ("a.tex", 100), ("a.csv", 100), ("a.md", 50)),
        *(("a.srt", 50), ("a.rtf", 100), ("a.ipynb", 100), ("a.eml", 256), ("a.pdf", 256)),
    ],
)
def test_the_limits_of_formats_are_those_in_the_help(name, limit):
    front_end = recognition.by_extension(name)
    assert front_end.most_bytes == limit * 10**6
    help_ = " ".join(docindex.frontends.__doc__.split())
    assert front_end.most_bytes == 256 * 10**6 or f"{limit} MB" in help_


def test_a_large_page_in_a_mail_is_left_out_with_a_warning(monkeypatch):
    small = dataclasses.replace(recognition.named("html"), most_bytes=1_000)
    monkeypatch.setattr(body, "web_page", types.SimpleNamespace(FRONT_END=small))
    builder = extracted.TextBuilder()
    mail = body.MailText(builder, DEFAULT_OPTIONS)
    mail.add_page(b"<p>At four.")
    mail.add_page(b"<p>At five." * 100)
    found = builder.extracted()
    assert found.text == "At four.\n\n"
    assert found.warnings == ("A part of the message cannot be read: it has more than 0.001 MB.",)


def test_of_very_many_places_only_some_are_kept(monkeypatch):
    monkeypatch.setattr(extracted, "_MOST_PLACES", 100)
    builder = extracted.TextBuilder()
    for number in range(1, 1001):
        builder.begin(f"paragraph {number}").add("word ")
    places = builder.extracted().places
    assert 50 <= len(places.starts) == len(places.places) <= 100
    for number in range(20, 1001):
        assert 0 <= number - int(places.at(5 * number - 1).name.split()[1]) < 20


@pytest.mark.parametrize(
    ("name", "extension"),
    [
        ("a.TXT", ".txt"),
        ("below.d/a", ""),
        ("below.d\\a", ""),
        ("below.d/.profile", ""),
        ("below.d\\.profile", ""),
        ("below/.a.txt", ".txt"),
        (".profile", ""),
        ("..txt", ".txt"),
        ("a.", "."),
        ("a", ""),
        ("", ""),
    ],
)
def test_the_extension_of_a_name_is_not_that_of_a_folder(name, extension):
    assert recognition.extension_of(name) == extension
