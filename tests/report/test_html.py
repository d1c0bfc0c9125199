"""A report in a real browser: its contents, its marks, and hostile names and texts."""

import itertools
import os
import random
import re
from pathlib import Path

import pytest

import docindex
from docindex.cli import main
from docindex.report.page import ReportContents, html
from tests.browser import chromium
from tests.query.reworded import A, B
from tests.storage.texts import prose

HOSTILE = "<script>alert(1)</script>.txt"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The path of a report on copies, near copies and a hostile name; and the text of each file."""
    folder = tmp_path_factory.mktemp("report")
    rng = random.Random(6)
    first, second = prose(rng, 300), prose(rng, 300)
    texts = {
        "first.txt": first,
        "copy of first.txt": first,
        "second.txt": f"{second} {first[300:900]} 𝒜𝒷 😀 {second[::-1]}",
        HOSTILE: f"😀 </script><b>{first[:1500]}</b> \u2028 and </textarea>",
        "else.txt": prose(rng, 100),
    }
    (folder / "files").mkdir()
    for name, text in texts.items():
        (folder / "files" / name.replace("/", "∕")).write_text(text)
    index, output = str(folder / "own.docindex"), str(folder / "report.html")
    assert main(["scan", "-q", "--index", index, str(folder / "files")]) == 0
    assert main(["report", "--index", index, "-o", output, "--min-resemblance", "0.05"]) == 0
    return output, {name.replace("/", "∕"): text for name, text in texts.items()}


@pytest.fixture(scope="module")
def browser(tmp_path_factory, page):
    with chromium(tmp_path_factory.mktemp("chromium")) as driver:
        driver.get(f"file://{page[0]}")
        yield driver


def found(browser, selector):
    from selenium.webdriver.common.by import By

    return browser.find_elements(By.CSS_SELECTOR, selector)


def sides_of(browser, pair):
    """Open a pair, wait for its two texts, and return them."""
    from selenium.webdriver.support.wait import WebDriverWait

    pair.find_element("tag name", "summary").click()
    return WebDriverWait(browser, 20).until(lambda _: pair.find_elements("css selector", ".text"))


def test_the_overview_has_numbers_and_plots(browser):
    assert browser.title == "Copies and similar texts"
    numbers = [item.text for item in found(browser, ".numbers li")]
    assert numbers[0] == "5\ndocuments"
    assert numbers[1] == "4\ndifferent texts"
    assert [chart.text.split("\n")[0] for chart in found(browser, ".plots:not(details *) figure")] == [
        "By kind of file",
        "By folder",
        "By the time since the last change",
    ]
    kinds = [heading.text for heading in found(browser, "h3")]
    assert "Exact copies (1)" in kinds
    assert [state.text for state in found(browser, ".group .state")] == ["keep", "could go"]
    if os.environ.get("DOCINDEX_REPORT_SCREENSHOT"):
        browser.save_screenshot(os.environ["DOCINDEX_REPORT_SCREENSHOT"] + ".overview.png")


def test_the_plots_of_fingerprints_are_closed_until_they_are_opened(browser):
    assert len(found(browser, "figure svg")) == 3
    assert not any(plot.is_displayed() for plot in found(browser, "figure svg"))
    (curious,) = found(browser, ".curious")
    curious.find_element("tag name", "summary").click()
    assert all(plot.is_displayed() for plot in found(browser, "figure svg"))
    assert len(found(browser, "svg rect.bar")) > 20
    labels = [label.rect for label in found(browser, "figure:first-child svg text")]
    for one, other in itertools.combinations(labels, 2):
        apart = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
        assert apart or abs(one["y"] - other["y"]) > 8
    curious.find_element("tag name", "summary").click()


@pytest.mark.parametrize("width", [500, 800, 1200])
def test_the_page_is_never_wider_than_the_window(browser, width):
    browser.set_window_size(width, 1000)
    shown, window = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert shown <= window
    browser.set_window_size(1000, 1400)


def test_what_differs_is_marked_instead_of_what_is_shared(browser):
    (pair,) = [
        details
        for details in found(browser, "details.pair")
        if re.match(r"resemblance \d+%\s+copy of first\.txt — second\.txt", details.text)
        or re.match(r"resemblance \d+%\s+first\.txt — second\.txt", details.text)
    ][:1]
    sides_of(browser, pair)
    shared, differs, _ = pair.find_elements("css selector", ".tools button")
    differs.click()
    assert differs.get_attribute("aria-pressed") == "true"
    marks = pair.find_elements("css selector", "mark")
    assert marks
    assert {mark.get_attribute("class") for mark in marks} == {"changed"}
    shared.click()
    assert {mark.get_attribute("class") for mark in pair.find_elements("css selector", "mark")} == {""}
    pair.find_element("tag name", "summary").click()


def test_a_pair_is_shown_side_by_side_with_its_passages_marked(browser, page):
    (pair,) = [
        details
        for details in found(browser, "details.pair")
        if re.match(r"resemblance \d+%\s+first\.txt — second\.txt", details.text)
    ]
    sides = sides_of(browser, pair)
    assert len(sides) == 2
    with docindex.open(Path(page[0]).parent / "own.docindex", readonly=True) as index:
        keys = {Path(key).name: key for key in index}
        compared = index.compare(docindex.Key(keys["first.txt"]), docindex.Key(keys["second.txt"]))
        texts = [index.text(keys[name]) for name in ("first.txt", "second.txt")]
    for side, text, ranges in zip(
        sides,
        texts,
        [
            [(p.query_start, p.query_end) for p in compared.passages],
            [(p.start, p.end) for p in compared.passages],
        ],
        strict=True,
    ):
        assert browser.execute_script("return arguments[0].textContent", side) == text
        marked = [
            browser.execute_script("return arguments[0].textContent", mark)
            for mark in side.find_elements("css selector", "mark")
        ]
        cuts = sorted({place for range_ in ranges for place in range_})
        inside = [(a, b) for a, b in itertools.pairwise(cuts) if any(s <= a and b <= e for s, e in ranges)]
        assert marked == [text[a:b] for a, b in inside]
    mark = sides[0].find_elements("css selector", "mark")[0]
    mark.click()
    assert sides[1].find_elements("css selector", "mark.on")
    if os.environ.get("DOCINDEX_REPORT_SCREENSHOT"):
        browser.execute_script("arguments[0].scrollIntoView()", pair)
        browser.save_screenshot(os.environ["DOCINDEX_REPORT_SCREENSHOT"])


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1200), ("dark", 1200), ("light", 500), ("dark", 500)]
)
def test_reworded_regions_are_marked_in_both_columns(tmp_path, browser, scheme, width):
    with docindex.open(tmp_path / "own.docindex") as index:
        # A shared sentence makes them a pair.
        shared = "The harbour master keeps both copies of this ledger in an iron chest."
        index.add("reworded.txt", f"{A}\n\n{shared}")
        index.add("original.txt", f"{B}\n\n{shared}")
        (found_pair,) = pairs = list(index.pairs(min_resemblance=0.01))
        (region,) = index.compare(docindex.Key(found_pair.a), docindex.Key(found_pair.b)).regions
        texts = [index.text(found_pair.a), index.text(found_pair.b)]
        (tmp_path / "page.html").write_text(
            html(index, ReportContents("Two texts", 2, 2, [], pairs)), "utf-8"
        )
    before = browser.current_url
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.set_window_size(width, 1000)
    browser.get(f"file://{tmp_path / 'page.html'}")
    (pair,) = found(browser, "details.pair")
    sides_of(browser, pair)
    buttons = {button.text: button for button in pair.find_elements("css selector", ".tools button")}
    buttons["What seems reworded"].click()
    labels = []
    regions = texts[0][region.query_start : region.query_end], texts[1][region.start : region.end]
    for side, expected in zip(pair.find_elements("css selector", ".text"), regions, strict=True):
        (mark,) = side.find_elements("css selector", "mark.reworded")
        labels.append(mark.get_attribute("data-label"))
        assert browser.execute_script("return arguments[0].textContent", mark) == expected
        assert contrast(browser, mark) >= 4.5
    assert labels == 2 * [f"1: reworded, score {region.score:.2f}, {region.shared_words} shared words"]
    assert "copied" not in browser.find_element("css selector", ".tools").text
    shown, window = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert shown <= window
    if os.environ.get("DOCINDEX_REPORT_SCREENSHOT"):
        browser.execute_script("arguments[0].scrollIntoView()", pair)
        browser.save_screenshot(f"{os.environ['DOCINDEX_REPORT_SCREENSHOT']}.{scheme}.{width}.png")
    pair.find_elements("css selector", "mark.reworded")[0].click()
    assert len(pair.find_elements("css selector", "mark.on")) == 2
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.set_window_size(1000, 1400)
    browser.get(before)


def contrast(browser, element):
    """The contrast of the colour of an element against its background, as WCAG 2 defines it."""
    script = "const style = getComputedStyle(arguments[0]); return [style.color, style.backgroundColor]"
    both = []
    for colour in browser.execute_script(script, element):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        both.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(both) + 0.05) / (min(both) + 0.05)


def test_names_and_texts_cannot_inject_markup(browser):
    hostile = [details for details in found(browser, "details.pair") if "<script>alert(1)" in details.text]
    assert hostile
    assert any("</script><b>" in side.text for side in sides_of(browser, hostile[0]))
    assert len(found(browser, "script")) == 2
    assert found(browser, "b") == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


def test_pairs_can_be_found_by_name(browser):
    (box,) = found(browser, "#filter")
    everything = len(found(browser, "details.pair"))
    box.send_keys("first.txt")
    shown = [details for details in found(browser, "details.pair") if details.is_displayed()]
    assert 0 < len(shown) < everything
    assert all("first.txt" in details.text for details in shown)
    assert all("first.txt" in group.text for group in found(browser, ".group") if group.is_displayed())
    box.send_keys("nobody")
    assert "No name contains that." in browser.find_element("css selector", "body").text
    browser.execute_script("arguments[0].value = ''; arguments[0].dispatchEvent(new Event('input'))", box)


def test_a_long_text_is_cut_and_its_passages_too(tmp_path, browser):
    rng = random.Random(8)
    long = prose(rng, 60_000)
    assert len(long) > 250_000
    (tmp_path / "files").mkdir()
    for name, end in (("a.txt", "one end"), ("b.txt", "another")):
        (tmp_path / "files" / name).write_text(f"{long} {end}")
    own = ["--index", str(tmp_path / "own.docindex")]
    assert main(["scan", *own, str(tmp_path / "files")]) == 0
    assert main(["report", *own, "-o", str(tmp_path / "page.html")]) == 0
    before = browser.current_url
    browser.get(f"file://{tmp_path / 'page.html'}")
    (pair,) = found(browser, "details.pair")
    sides_of(browser, pair)
    pair.find_element("css selector", ".tools button").click()
    sides = pair.find_elements("css selector", ".text")
    for side in sides:
        (mark,) = side.find_elements("css selector", "mark")
        assert browser.execute_script("return arguments[0].textContent", mark) == long[:200_000]
    assert pair.text.startswith("resemblance 99%")
    assert "Only the first 200,000 characters of each text are shown" in pair.text
    browser.get(before)


def test_the_page_needs_no_network(page):
    source = Path(page[0]).read_text("utf-8")
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:|//)", source)
    assert "default-src 'none'" in source
