"""A running Datasette finds the plugin by itself; tested over HTTP and in a real browser."""

import contextlib
import html
import http.client
import json
import os
import random
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

import docindex
from docindex.plugins.datasette import page_findings
from tests.browser import chromium
from tests.storage.texts import prose

HOSTILE = "<script>document.title = 'broken in'</script>"
LIMIT_MS = 1000


@pytest.fixture(scope="module")
def texts():
    rng = random.Random(4)
    return {"draft of the report": prose(rng, 120), "another one": prose(rng, 120), HOSTILE: prose(rng, 120)}


@pytest.fixture(scope="module")
def server(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("datasette")
    with docindex.open(folder / "essays.docindex") as index:
        index.add_many(list(texts.items()))
        index.add("not kept", texts["another one"] + " and more of it", store_text=False)
    with docindex.open(folder / "large.docindex") as index:
        rng = random.Random(5)
        common = prose(rng, 300)
        index.add_many([(f"{n}", common + prose(rng, 200)) for n in range(1500)])
    docindex.open(folder / "closed.docindex").close()
    (folder / "metadata.json").write_text(json.dumps({"databases": {"closed": {"allow": {"id": "root"}}}}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = shutil.which("datasette", path=f"{sys.prefix}/bin")
    files = [str(folder / f"{name}.docindex") for name in ("essays", "large", "closed")]
    options = ["--metadata", str(folder / "metadata.json"), "--setting", "sql_time_limit_ms", str(LIMIT_MS)]
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [command, *files, "--port", str(port), "--root", *options, "--secret", "x"], stdout=log, stderr=log
    )
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/-/versions.json", timeout=5).close()
            break
        except OSError:
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(20)
    log.close()


def fetched(url):
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def query(server, sql, database="essays", **bindings):
    parameters = urllib.parse.urlencode({"sql": sql, "_shape": "array", **bindings})
    status, body = fetched(f"{server}/{database}.json?{parameters}")
    return status, json.loads(body)


def test_datasette_finds_the_plugin(server):
    plugins = json.loads(fetched(f"{server}/-/plugins.json")[1])
    (ours,) = [plugin for plugin in plugins if plugin["name"] == "docindex"]
    assert set(ours["hooks"]) == {"database_actions", "prepare_connection", "register_routes"}


def test_the_functions_answer_over_http(server, texts):
    assert query(server, "select doc_version() as v") == (200, [{"v": docindex.__version__}])
    sql = (
        "select value ->> 'key' as key, value ->> 'containment' as share "
        "from json_each(doc_search_json(:text))"
    )
    status, rows = query(server, sql, text=texts["draft of the report"])
    assert (status, rows[0]) == (200, {"key": "draft of the report", "share": 1.0})
    status, rows = query(
        server, "select key, doc_resemblance(id, 1) as r from docindex_document order by r desc limit 1"
    )
    assert (status, rows) == (200, [{"key": "draft of the report", "r": 1.0}])


def test_datasette_interrupts_a_statement_with_many_rows(server):
    began = time.monotonic()
    status, answer = query(
        server,
        "with recursive n(x) as (select 1 union all select x + 1 from n) "
        "select count(doc_simhash('text ' || x)) from n",
    )
    # Inside one of our own statements, the interrupt ends the function first.
    assert status == 400
    assert answer.get("title") == "SQL Interrupted" or "user-defined function" in answer["error"]
    assert time.monotonic() - began < 5 * LIMIT_MS / 1000


def test_docindex_interrupts_one_call_that_takes_too_long(server):
    began = time.monotonic()
    status, answer = query(server, "select doc_pairs_json(0.01)", database="large")
    assert (status, answer["ok"]) == (400, False)
    assert time.monotonic() - began < 5 * LIMIT_MS / 1000


def test_doc_error_gives_the_message_after_a_request_whatever_connection_it_gets(server):
    status, answer = query(server, "select doc_simhash(1.5)")
    assert (status, answer["error"]) == (400, "user-defined function raised exception")
    message = "doc_simhash: expected TEXT, or the INTEGER id of a document, not REAL"
    for _ in range(8):
        assert query(server, "select 1, doc_version()")[0] == 200
        assert query(server, "select doc_error() as e") == (200, [{"e": message}])
    assert query(server, "select doc_error() as e", "large")[1] != [{"e": message}]


def test_only_those_who_may_run_sql_see_the_page(server):
    assert fetched(f"{server}/essays/-/docindex")[0] == 200
    assert fetched(f"{server}/closed/-/docindex")[0] == 403
    assert fetched(f"{server}/nothing/-/docindex")[0] == 404


def test_a_form_from_another_site_is_refused(server):
    host = urllib.parse.urlsplit(server).netloc
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request(
        "POST", "/essays/-/docindex", "text=x", {"Content-Type": "application/x-www-form-urlencoded",
                                                 "Cookie": "ds_actor=x", "Origin": "http://elsewhere"}
    )  # fmt: skip
    assert connection.getresponse().status == 403
    connection.close()


def posted(server, text):
    """The page as the form of the page gets it for a text."""
    with urllib.request.urlopen(f"{server}/essays/-/docindex", timeout=60) as answer:
        cookie = answer.headers["Set-Cookie"].partition(";")[0]
        token = re.search(r'name="csrftoken" value="([^"]+)"', answer.read().decode())[1]
    form = urllib.parse.urlencode({"text": text, "csrftoken": token}).encode()
    headers = {"Cookie": cookie, "Accept": "text/html"}
    return fetched(urllib.request.Request(f"{server}/essays/-/docindex", form, headers))


def whole_words(text):
    """A text without the parts of words at its ends, which no passage has."""
    return text.partition(" ")[2].rpartition(" ")[0]


def test_the_form_answers_with_matches_passages_and_marks(server, texts):
    stolen = whole_words(texts["draft of the report"][200:500])
    status, body = posted(server, f"My own words come first.\r\n\r\n{stolen}\r\n\r\nAnd mine come last.")
    assert status == 200
    assert re.search(r"<h2>\d documents? shares? text with yours</h2>", body)
    assert re.search(r'<h3>1\. <a href="/essays/document/1">draft of the report</a></h3>', body)
    assert re.search(r"\d+% of your text is in this document;\s+\d+% of this document is in your text", body)
    (marked,) = re.findall(
        r"<mark>([^<]{150,})<a href=\"#match-1\" title=\"draft of the report\">1</a>", body
    )
    assert html.unescape(marked).startswith(stolen[:100])
    quoted = re.search(r'<blockquote title="from character \d+, line \d+">([^<]+)</blockquote>', body)[1]
    assert html.unescape(quoted) in texts["draft of the report"]


def test_the_form_escapes_keys_and_texts(server, texts):
    _, body = posted(server, f"{HOSTILE} {texts[HOSTILE]} </textarea>{HOSTILE}")
    assert HOSTILE not in body
    assert body.count(html.escape(HOSTILE, quote=False).replace("'", "&#39;")) >= 4
    assert body.count("</textarea>") == 1


def test_the_form_says_why_there_are_no_matches_or_passages(server, texts):
    assert "No document shares text with yours." in posted(server, "nothing of the kind")[1]
    assert "The text has 300,000 characters; paste at most 200,000." in posted(server, "x " * 150_000)[1]
    assert "The passages are not shown: " in posted(server, texts["another one"])[1]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        yield driver


def pasted(browser, server, text):
    """Open the page, paste a text and press the button; returns a function that finds elements."""
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    browser.get(f"{server}/essays/-/docindex")
    area = browser.find_element(By.NAME, "text")
    browser.execute_script("arguments[0].value = arguments[1]; window.isOldPage = true", area, text)
    browser.find_element(By.CSS_SELECTOR, ".docindex input[type=submit]").click()
    # Between two pages the browser may refuse any command.
    WebDriverWait(browser, 30, ignored_exceptions=[WebDriverException]).until(
        lambda page: page.execute_script("return !window.isOldPage && document.readyState === 'complete'")
    )
    return lambda selector: browser.find_elements(By.CSS_SELECTOR, f".docindex {selector}")


def test_a_pasted_text_is_shown_with_its_matches_marked(browser, server, texts, tmp_path):
    stolen = whole_words(texts["draft of the report"][200:500])
    found = pasted(browser, server, f"My own words come first.\n\n{stolen.upper()}\n\nAnd mine come last.")
    assert browser.title == "Where is this text from?"
    (heading,) = [h.text for h in found("h3") if h.text.startswith("1.")]
    assert heading == "1. draft of the report"
    first = next(mark for mark in found("mark") if len(mark.text) > 150)
    assert first.text.startswith(stolen[:100].upper())
    assert "My own words" not in "".join(mark.text for mark in found("mark"))
    (quoted,) = found("#match-1 blockquote")
    assert quoted.text in texts["draft of the report"]  # as the document has it
    assert found("mark a")[0].get_attribute("href").endswith("#match-1")
    browser.save_screenshot(os.environ.get("DOCINDEX_SCREENSHOT", str(tmp_path / "page.png")))
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_keys_and_texts_cannot_break_into_the_page(browser, server, texts):
    found = pasted(browser, server, f"{HOSTILE} {texts[HOSTILE]} </textarea>{HOSTILE}")
    assert browser.title == "Where is this text from?"
    assert HOSTILE in found("h3")[0].text
    assert HOSTILE in found("textarea")[0].get_attribute("value")
    assert len(found("textarea")) == 1


def test_the_page_says_if_passages_are_missing_because_a_text_is_not_stored(browser, server, texts):
    found = pasted(browser, server, texts["another one"])
    notes = [section.text for section in found("section") if "not kept" in section.text]
    assert any("The passages are not shown" in note for note in notes)


def test_passages_that_are_boilerplate_are_not_marked(tmp_path, texts):
    footer, letter, story = texts.values()
    with docindex.open(tmp_path / "essays.docindex") as index:
        index.add("letter", f"{letter} {footer}")
        index.boilerplate.add(footer, name="footer")
    with contextlib.closing(sqlite3.connect(tmp_path / "essays.docindex")) as connection:
        docindex.register(connection)
        found = page_findings(connection, f"{letter} {story} {footer}", limit_s=10)
    (match,) = found.matches
    assert [letter[: passage["query_end"]] for passage in match["passages"]] == [letter]
    assert [stretch.text for stretch in found.stretches if stretch.matches] == [letter]


def test_the_page_says_when_nothing_was_found_and_when_the_text_is_too_long(browser, server):
    found = pasted(browser, server, "nothing of the kind")
    assert "No document shares text with yours." in found("p")[-1].text
    found = pasted(browser, server, "x " * 150_000)
    assert "paste at most 200,000" in found(".error")[0].text


MEASURED = """
import asyncio, resource, sys, urllib.parse
from datasette.app import Datasette

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

async def main(path, *statements):
    datasette = Datasette([path], settings={"sql_time_limit_ms": 1000})
    await datasette.invoke_startup()
    async def asked(sql):
        return await datasette.client.get(f"/index.json?sql={urllib.parse.quote(sql)}")
    await asked("select doc_canonical('a short text')")
    before = peak()
    for sql in statements:
        answer = await asked(sql)
        print(answer.status_code, peak() - before, sql)

asyncio.run(main(*sys.argv[1:]))
"""


def test_a_short_url_takes_no_gigabyte(tmp_path):
    with docindex.open(tmp_path / "index.db") as index:
        index.add("ada", "The Analytical Engine weaves algebraical patterns")
    statements = [
        "select doc_fingerprints_json(hex(zeroblob(150000000)))",
        "select doc_resemblance(x, x) from (select hex(zeroblob(19000000)) x)",
        "select doc_sketch_resemblance(zeroblob(39000000), zeroblob(39000000))",
    ]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path / "index.db"), *statements],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert [sql for _, _, sql in lines] == statements
    for status, megabytes, sql in lines:
        assert (status, int(megabytes) < 300) == ("400", True), (sql, megabytes)
