"""The HTML of a report, without a browser: its contents, their order, and escaped characters."""

import json
import random
import re

import pytest

import docindex
from docindex.cli import main
from docindex.folders import Findings, LikeFile, LikenessGroup
from docindex.query.resolve import Key
from docindex.report import page
from docindex.report.groups import ReportFile, ReportGroup, report_groups
from docindex.report.page import ReportContents, count_documents, html
from tests.query.reworded import A, B
from tests.storage.texts import prose

HOSTILE = "/srv/texts/<script>alert(1)</script>"


@pytest.fixture
def index():
    rng = random.Random(6)
    first, second = prose(rng, 300), prose(rng, 300)
    with docindex.open(":memory:") as opened:
        opened.add("/srv/texts/first", first)
        opened.add("/srv/texts/copy", first)
        opened.add("/srv/texts/second", f"{second} {first[:900]}")
        opened.add(HOSTILE, f"</script><b>{first[:1200]}</b> \u2028 \r end")
        opened.add("/other", prose(rng, 50))
        yield opened


def report_of(index, **changes):
    pairs = list(index.pairs(min_resemblance=0.05))
    contents = {"title": "A & B", "documents": 5, "texts": 4, "groups": [], "pairs": pairs, **changes}
    return ReportContents(**contents)


def data_of(text):
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert "<" not in data
    return json.loads(data)


def test_names_and_texts_cannot_end_an_element(index):
    text = html(index, report_of(index))
    assert "<h1>A &amp; B</h1>" in text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert any("</script><b>" in text for text in data_of(text)["texts"])
    assert all("\r" not in text for text in data_of(text)["texts"])


def test_each_passage_is_the_same_in_both_texts(index):
    data = data_of(html(index, report_of(index)))
    assert len(data["texts"]) == 3  # the two copies have one text, and each text is included once
    assert any(pair["ranges"] for pair in data["passages"])
    for pair in data["passages"]:
        for start, end, other_start, other_end in pair["ranges"]:
            a, b = data["texts"][pair["a"]][start:end], data["texts"][pair["b"]][other_start:other_end]
            assert re.sub(r"\W", "", a).lower() == re.sub(r"\W", "", b).lower()


def test_passages_that_are_boilerplate_are_not_marked():
    rng = random.Random(7)
    copied, footer = prose(rng, 60), prose(rng, 60)
    with docindex.open(":memory:") as index:
        index.add("a", f"{copied} + {footer} + {prose(rng, 40)}")
        index.add("b", f"{prose(rng, 40)} + {footer} + {copied}")
        assert [len(pair["ranges"]) for pair in data_of(html(index, report_of(index)))["passages"]] == [2]
        index.boilerplate.add(footer)
        data = data_of(html(index, report_of(index)))
    ((start, end, *_),) = data["passages"][0]["ranges"]
    assert copied.startswith(data["texts"][data["passages"][0]["a"]][start:end])


def test_reworded_regions_come_with_their_score_and_shared_words(monkeypatch):
    with docindex.open(":memory:") as index:
        index.add("reworded", A)
        index.add("original", B)
        pairs = [pair_of(index, "original", "reworded")]
        contents = ReportContents("Two texts", 2, 2, [], pairs)
        (region,) = index.compare(Key("original"), Key("reworded")).regions
        shown = html(index, contents)
        (pair,) = data_of(shown)["passages"]
        ends = region.query_start, region.query_end, region.start, region.end
        assert pair["reworded"] == [
            [*ends, f"reworded, score {region.score:.2f}, {region.shared_words} shared words"]
        ]
        assert pair["ranges"] == []
        assert 'data-view="reworded"' in shown
        assert "1 stretch seems to be reworded." in shown
        assert "Reworded text was not looked for" not in shown
        monkeypatch.setattr(page, "_MOST_REWORDED", len(A) + len(B) - 1)
        shown = html(index, contents)
        assert data_of(shown)["passages"][0]["reworded"] == []
        assert "Reworded text was not looked for in this pair" in shown


def test_regions_that_passages_fill_are_shown_as_passages_only(index):
    data = data_of(html(index, report_of(index)))
    assert all(pair["reworded"] == [] for pair in data["passages"])


def test_reworded_regions_are_cut_where_the_shown_text_ends(monkeypatch):
    with docindex.open(":memory:") as index:
        index.add("reworded", A)
        index.add("original", B)
        (region,) = index.compare(Key("original"), Key("reworded")).regions
        monkeypatch.setattr(page, "LONGEST_TEXT_SHOWN", region.query_end - 9)
        shown = html(index, ReportContents("", 2, 2, [], [pair_of(index, "original", "reworded")]))
        ((_, query_end, *_),) = data_of(shown)["passages"][0]["reworded"]
    assert query_end == region.query_end - 9
    assert "there are more shared or reworded passages after that point" in shown


def pair_of(index, a, b):
    """A pair that no search would find, because it shares no shingle."""
    measures = {"containment": 0.0, "reverse_containment": 0.0, "resemblance": 0.0}
    ids = {"a_id": index[a].id, "b_id": index[b].id}
    return docindex.Pair(a=a, b=b, **ids, **measures, shared=0, basis="shingles")


def test_each_difference_says_where_the_texts_differ(index):
    data = data_of(html(index, report_of(index)))
    for pair in data["passages"]:
        a, b = data["texts"][pair["a"]], data["texts"][pair["b"]]
        assert bool(pair["changes"]) == (a != b)
        for start, end, other_start, other_end in pair["changes"]:
            assert a[start:end] != b[other_start:other_end]


def test_the_page_says_what_is_kept_and_why_and_what_that_frees(index):
    kept = ReportFile("/home/a/x.jpg", 3000, "", 1_500_000_000 * 10**9, keep=True)
    copy = ReportFile("/home/a/backup/x.jpg", 3000, "", 1_500_000_000 * 10**9, False, 3000)
    group = ReportGroup("exact copies", [kept, copy], 3000, "Two files", ["kept: not in backup"])
    text = html(index, report_of(index, groups=[group], pairs=[]))
    assert "<strong>3.0 kB</strong> freed if 1 copy goes" in text
    assert '<span class="state stay">keep</span> <bdi class="name">x.jpg</bdi>' in text
    assert '<span class="state go">could go</span> <bdi class="name">backup/x.jpg</bdi>' in text
    assert "3.0 kB &middot; 2017-07-14" in text
    assert '<div class="aside">kept: not in backup</div>' in text
    assert "By the time since the last change" in text
    assert re.search(r'<details class="curious">.*</figure>\s*</div>\s*</details>', text, re.DOTALL)


def test_pairs_that_repeat_another_come_after_it_and_copies_come_last(index):
    shown = re.findall(r'<bdi class="name">(.*?)</bdi>', html(index, report_of(index)))
    pairs = [frozenset(shown[at : at + 2]) for at in range(0, len(shown), 2)]
    texts = [frozenset(name.replace("copy", "first") for name in pair) for pair in pairs]
    assert pairs[-1] == {"copy", "first"}
    new = len(set(texts)) - 1
    assert len(set(texts[:new])) == new
    assert set(texts[new:-1]) <= set(texts[:new])


def test_no_more_pairs_than_the_limit_are_shown(index):
    report = report_of(index, limit=1)
    text = html(index, report)
    assert f"1 of {len(report.pairs)} pairs are shown." in text
    assert text.count('<details class="pair"') == 1
    assert len(data_of(text)["texts"]) == 2


def test_long_texts_are_cut(index, monkeypatch):
    monkeypatch.setattr(page, "LONGEST_TEXT_SHOWN", 100)
    text = html(index, report_of(index))
    data = data_of(text)
    assert max(map(len, data["texts"])) == 100
    assert all(max(place) <= 100 for pair in data["passages"] for place in pair["ranges"])
    assert "Only the first 100 characters of each text are shown" in text


def test_groups_and_pairs_are_worded_as_the_command_words_them(index):
    files = (LikeFile("k1", 0.8, "k2", 7), LikeFile("k2", 1.0, None, 7))
    groups = report_groups(Findings((), (LikenessGroup("near", files),), ()))
    text = html(index, report_of(index, groups=groups))
    assert "<h3>Near copies (1)</h3>" in text
    assert '<bdi class="name">k1 <span class="aside">80% like another file here</span></bdi>' in text
    assert "2 files; removing all but the largest frees 7 B" in text
    assert (
        "100% of the first text is in the second text; 100% of the second text is in the first text; " in text
    )


def test_a_document_that_is_gone_has_no_text_to_show(index):
    report = report_of(index)
    index.remove("/srv/texts/second")
    text = html(index, report)
    assert "The texts cannot be shown because the index does not have them." in text
    assert {"a": None, "b": None, "ranges": [], "changes": [], "reworded": []} in data_of(text)["passages"]


def test_documents_are_counted_under_roots(index):
    assert count_documents(index, ["/srv/texts"]) == (4, 3)
    assert count_documents(index, ["/"]) == (5, 4)
    assert count_documents(index, ["/nowhere"]) == (0, 0)
    index.add("not a path", "a text that no other document has")
    assert count_documents(index, ["/"]) == (5, 4)
    assert count_documents(index, []) == (6, 5)


def test_a_report_keeps_the_files_that_the_settings_prefer(tmp_path, monkeypatch, capsys):
    for name in ("DOCINDEX", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    for folder in ("one", "two"):
        (tmp_path / "home" / folder).mkdir(parents=True)
        (tmp_path / "home" / folder / "x.bin").write_bytes(bytes(5000))
        (tmp_path / "home" / folder / f"{folder}.txt").write_text(f"only {folder}")
    settings = tmp_path / "XDG_CONFIG_HOME" / "docindex" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'prefer = ["{tmp_path}/home/two"]\n')
    assert main(["scan", "-q", str(tmp_path / "home")]) == 0
    assert main(["report", "-o", "-"]) == 0
    text = capsys.readouterr().out
    assert '<span class="state stay">keep</span> <bdi class="name">two/x.bin</bdi>' in text


def test_no_text_or_name_on_a_page_reorders_its_lines_or_hides():
    codes = "\x1b]0;t\x07 \x9b31m \u202egpj \u2066 \x7f"
    text = f"A letter with enough words to be found again {codes}, and some more to be sure.\n\tEnd\r\n"
    with docindex.open(":memory:") as index:
        index.add("/one", text)
        index.add("/two", text)
        group = ReportGroup("exact copies", [ReportFile("/one", 3), ReportFile("/two", 3)], 3, "Two", [codes])
        page = html(index, report_of(index, groups=[group]))
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    (data,) = re.findall(r'id="data">(.*?)</script>', page)
    (shown,) = json.loads(data)["texts"]
    assert shown == text.translate(
        {0x1B: "␛", 7: "␇", 0x9B: "\ufffd", 0x202E: "\ufffd", 0x2066: "\ufffd", 0x7F: "\ufffd"}
    )
    assert page.count("<bdi") >= 5
