"""Read collections of real texts whose copies are known, for ``python -m tests.bench quality``.

They lie in the folder that the environment variable CORPORA names, each in a folder of its own, and each may
be missing: ask `present` first. A loader gives texts by key, and what is known about them. Nothing is
downloaded.

- pan13/train: the training corpus of PAN 2013 "text alignment"
- licenses: ``scancode/licensedcode/data`` of ScanCode
- manpages/{bullseye,bookworm,trixie}, pyrev/{1.4,...}: releases of Debian's manual pages, and of Django
- vendored/{pip,upstream}: the packages inside pip, and the same packages from their authors
- bible/verses: seven English translations; books: many editions of twelve books of Project Gutenberg
- reuters: Reuters-21578; clough: Clough and Stevenson's short answers
"""

import csv
import functools
import os
import re
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(os.environ.get("CORPORA") or Path.home() / ".cache/docindex-corpora")

PAN13_KINDS = {
    "none": "01-no-plagiarism",
    "verbatim": "02-no-obfuscation",
    "random": "03-random-obfuscation",
    "translation": "04-translation-obfuscation",
    "summary": "05-summary-obfuscation",
}


class Pan13Pair(NamedTuple):
    """A suspicious text and a source, and which ranges of the first were made from which of the second."""

    suspicious: str
    source: str
    kind: str
    spans: list[tuple[int, int, int, int]]
    """(start, length in the suspicious text, start, length in the source), in characters."""


def present(name):
    """Whether a corpus is there: the name of its folder in CORPORA."""
    return (ROOT / name).is_dir()


def half(key):
    """0 or 1 for a key, the same in every run: choose with half 0, report half 1."""
    return zlib.crc32(key.encode()) & 1


def text_of(path):
    """The text of a file that is UTF-8, or else Windows-1252. Line ends stay, because spans count them."""
    data = path.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


@functools.cache
def pan13():
    """5,057 texts of students and the web, and 5,185 `Pan13Pair`s of five kinds: (texts, pairs).

    In "none" nothing was taken. "verbatim" is copied; "random" shuffles and replaces words; "translation"
    went through other languages and back; "summary" was written by people.
    """
    folder = ROOT / "pan13/train"
    files = [*folder.glob("src/*.txt"), *folder.glob("susp/*.txt")]
    texts = {path.relative_to(folder).as_posix(): text_of(path) for path in sorted(files)}
    pairs = [
        Pan13Pair(f"susp/{suspicious}", f"src/{source}", kind, _spans(folder / name, suspicious, source))
        for kind, name in PAN13_KINDS.items()
        for suspicious, source in map(str.split, (folder / name / "pairs").read_text().splitlines())
    ]
    return texts, pairs


def _spans(folder, suspicious, source):
    path = folder / f"{suspicious.removesuffix('.txt')}-{source.removesuffix('.txt')}.xml"
    if not path.exists():
        return []
    names = ("this_offset", "this_length", "source_offset", "source_length")
    features = ET.parse(path).getroot().iter("feature")
    return [
        tuple(int(feature.get(name)) for name in names)
        for feature in features
        if feature.get("name") == "plagiarism"
    ]


# Keys that name a kind of licence instead of a text: no search can be right about them.
_VAGUE = re.compile(
    r"other-|proprietary-license|commercial-license|public-domain|unknown|free-unknown|warranty-disclaimer|generic-"
)


@functools.cache
def licenses():
    """Texts of 2,289 licences by key, and texts that people found, as (name, text, key): (texts, queries).

    The queries are ScanCode's rules that are the whole text of one licence, of 300 characters or more.
    """
    folder = ROOT / "licenses/scancode/licensedcode/data"
    texts, queries = {}, []
    for path in sorted(folder.glob("licenses/*.LICENSE")):
        fields, body = _front_matter(text_of(path))
        if body.strip():
            texts[fields.get("key") or path.stem] = body
    clear = {key for key in texts if not _VAGUE.match(key)}
    for path in sorted(folder.glob("rules/*.RULE")):
        fields, body = _front_matter(text_of(path))
        key = fields.get("license_expression", "")
        if fields.get("is_license_text") == "yes" and key in clear and len(body) >= 300:
            queries.append((path.name, body, key))
    return texts, queries


def _front_matter(text):
    """The fields between two lines "---" at the beginning of a text, and the text behind them."""
    found = re.match(r"---\n(.*?)\n---[ \t]*(?:\n|$)", text, re.DOTALL)
    if not found:
        return {}, text
    return dict(re.findall(r"^(\w+): *(.*)$", found[1], re.MULTILINE)), text[found.end() :]


@functools.cache
def manpages():
    """3,460 manual pages in three releases: (texts, groups of the keys of one page)."""
    return _releases(ROOT / "manpages", ("bullseye", "bookworm", "trixie"), "")


@functools.cache
def pyrev(suffix=".txt"):
    """Django's documentation (".py": its sources) in seven releases: (texts, groups of one file's keys)."""
    return _releases(ROOT / "pyrev", ("1.4", "1.8", "1.11", "2.2", "3.2", "4.2", "5.2"), suffix)


def _releases(folder, names, suffix):
    texts, groups = {}, {}
    for name in names:
        for path in sorted((folder / name).rglob("*" + suffix)):
            if path.is_file() and path.stat().st_size >= 500:
                key = path.relative_to(folder).as_posix()
                texts[key] = text_of(path)
                groups.setdefault(path.relative_to(folder / name), []).append(key)
    return texts, [group for group in groups.values() if len(group) > 1]


@functools.cache
def vendored():
    """1,128 Python files inside pip and from their authors: (texts, pairs of a copy and its original)."""
    copies, originals = ROOT / "vendored/pip/pip/_vendor", ROOT / "vendored/upstream"
    texts, of_author, pairs = {}, {}, []
    for path in _python_files(originals):
        key = f"upstream/{path.relative_to(originals).as_posix()}"
        texts[key] = text_of(path)
        inside = path.relative_to(originals).as_posix().split("/", 1)[1]
        of_author[re.sub(r"^(?:[^/]+-\d[^/]*/)?(?:src/)?", "", inside)] = key
    for path in _python_files(copies):
        inside = path.relative_to(copies).as_posix()
        texts[f"pip/{inside}"] = text_of(path)
        if inside in of_author:
            pairs.append((f"pip/{inside}", of_author[inside]))
    return texts, pairs


def _python_files(folder):
    return [path for path in sorted(folder.rglob("*.py")) if path.stat().st_size >= 200]


@functools.cache
def bible(*, verses=False):
    """8,324 chapters, or their verses, in seven translations: (texts, groups of one passage's keys).

    A key is "kjv/1.3" or "kjv/1.3.16": translation, book, chapter, verse.
    """
    texts, groups = {}, {}
    for name in ("kjv", "akjv", "asv", "web", "nheb", "ylt", "bbe"):
        for line in (ROOT / f"bible/verses/{name}.tsv").read_text("utf-8").splitlines():
            number, text = line.split("\t")
            book, chapter, verse = int(number) // 1_000_000, int(number) // 1000 % 1000, int(number) % 1000
            passage = f"{book}.{chapter}.{verse}" if verses else f"{book}.{chapter}"
            key = f"{name}/{passage}"
            if key not in texts:
                groups.setdefault(passage, []).append(key)
            texts[key] = f"{texts[key]}\n{text}" if key in texts else text
    return texts, [group for group in groups.values() if len(group) > 1]


@functools.cache
def books():
    """73 files, editions of twelve works: (texts, groups of one work's keys, pairs of a part and its whole).

    Project Gutenberg's own words at both ends, which are the same in every book, are removed.
    """
    other_numbers = {"41445": "84", "42324": "84"}
    parts_of = {str(number): "76" for number in range(7100, 7107)}
    texts, groups, parts = {}, {}, []
    for path in sorted((ROOT / "books").glob("*/*.txt")):
        key, number = f"{path.parent.name}/{path.name}", path.parent.name
        texts[key] = _without_frame(text_of(path))
        if number in parts_of:
            parts.append((key, parts_of[number]))
        elif "pandp09" not in key:
            groups.setdefault(other_numbers.get(number, number), []).append(key)
    pairs = [(part, whole) for part, work in parts for whole in groups.get(work, [])]
    return texts, [group for group in groups.values() if len(group) > 1], pairs


def _without_frame(text):
    head = re.search(r"\*\*\* ?START OF [^\n]*\n|\*END\*? ?THE SMALL PRINT[^\n]*\n", text)
    tail = re.search(r"\*\*\* ?END OF [^\n]*|End of (?:the |The )?Project Gutenberg", text)
    end = tail.start() if tail and tail.start() > len(text) // 2 else len(text)
    return text[head.end() if head else 0 : end]


@functools.cache
def reuters():
    """21,578 news stories by number. Nobody labelled the copies; exact shingles tell them."""
    texts = {}
    for path in sorted((ROOT / "reuters").glob("reut2-*.sgm")):
        stories = re.finditer(
            r'<REUTERS[^>]*NEWID="(\d+)">(.*?)</REUTERS>', path.read_bytes().decode("latin-1"), re.DOTALL
        )
        for number, story in (found.groups() for found in stories):
            found = re.search(r"<TEXT.*?>(.*?)</TEXT>", story, re.DOTALL)
            text = re.sub(r"<[^>]+>", " ", found[1] if found else "")
            texts[number] = (
                text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").replace("&#3;", "")
            )
    return texts


@functools.cache
def clough():
    """100 short texts: (texts, [(answer, source, label)]); the label is non, heavy, light or cut."""
    folder = ROOT / "clough"
    texts = {path.name: text_of(path) for path in sorted(folder.glob("*_task?.txt"))}
    with (folder / "file_information.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    labels = [
        (row["File"], f"orig_task{row['Task']}.txt", row["Category"])
        for row in rows
        if row["Category"] != "orig"
    ]
    return texts, labels
