"""Find copies across formats among real texts, and compare each format's speed with that of its parser.

2,000 documents are made from books, manual pages and Django's documentation (`tests.bench.corpora`): 1,600
texts that share little, and 400 copies of them in other formats, so that every two formats occur. Misses and
false groups are printed with what their texts have in common.
"""

import itertools
import os
import random
import re
import tempfile
import time
from pathlib import Path

import docindex
from docindex import folders
from tests.bench import corpora, format_speeds
from tests.frontends.writers import CONTAINERS, WRITERS

TEXTS, COPIES = 1600, 400
WORDS = range(150, 1500)
_IN_CONTAINER = 10
_MOST_SHARED = 0.1
OLD = 10**18


def run(options):
    texts = distinct_texts(TEXTS)
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(Path(folder, "tree"))
        tree.plant(texts)
        tree.write()
        _find(tree, Path(folder, "index"))
    format_speeds.run(texts, options.rounds)


def distinct_texts(count):
    """Texts as lists of paragraphs, of which no two share more than a tenth of their 5-grams of words."""
    rng, seen, found = random.Random(17), set(), []
    candidates = list(_candidates())
    rng.shuffle(candidates)
    for text in candidates:
        paragraphs = [" ".join(each.split()) for each in re.split(r"\n\s*\n", text)]
        paragraphs = [each for each in paragraphs if each]
        words = re.findall(r"\w+", " ".join(paragraphs).lower())
        if len(words) not in WORDS or not _is_latin(text):
            continue
        grams = set(itertools.pairwise(itertools.pairwise(itertools.pairwise(words))))
        if len(grams & seen) > _MOST_SHARED * len(grams):
            continue
        seen |= grams
        found.append(paragraphs)
        if len(found) == count:
            return found
    raise SystemExit(f"only {len(found):,} distinct texts in {corpora.ROOT}")


def _candidates():
    """Pieces of books of some hundred words, and whole pages."""
    for text in (*corpora.manpages()[0].items(), *corpora.pyrev()[0].items()):
        yield text[1]
    for text in corpora.books()[0].values():
        paragraphs = re.split(r"\n\s*\n", text.replace("\r", ""))
        for at in range(0, len(paragraphs), 12):
            yield "\n\n".join(paragraphs[at : at + 12])


def _is_latin(text):
    """Whether the fonts of reportlab and the code page of RTF have its characters, and XML allows them."""
    try:
        text.encode("cp1252")
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return not re.search("[\0-\x08\x0b-\x1f\x7f-\xa0\xad]", text.replace("\r", ""))


class Tree:
    """A folder of documents, and which text each of them has."""

    def __init__(self, folder):
        self.folder = folder
        self.text_of = {}
        self.texts = []
        self._places = {extension: [] for extension in (*WRITERS, *CONTAINERS)}

    def plant(self, texts):
        """Choose a format for each text, and another one for each copy."""
        self.texts = texts
        formats = list(self._places)
        both = list(itertools.combinations(formats, 2))
        random.Random(17).shuffle(both)
        for number in range(len(texts)):
            chosen = both[number % len(both)] if number < COPIES else (formats[number % len(formats)],)
            for extension in chosen:
                self._places[extension].append(number)

    def write(self):
        for extension, writer in WRITERS.items():
            for number in self._places[extension]:
                path = self._written(f"{number:04}.{extension}", writer(self.texts[number]))
                self.text_of[path] = number
        for extension, (writer, name) in CONTAINERS.items():
            numbers = self._places[extension]
            for at in range(0, len(numbers), _IN_CONTAINER):
                inside = numbers[at : at + _IN_CONTAINER]
                data = writer([self.texts[number] for number in inside])
                path = self._written(f"{at:04}.{extension}", data)
                self.text_of |= {f"{path}!/{name.format(n)}": number for n, number in enumerate(inside, 1)}

    def _written(self, name, data):
        path = self.folder / name[-8:-6] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, ns=(OLD, OLD))
        return str(path)


def _find(tree, path):
    with docindex.open(path) as index:
        begun = time.perf_counter()
        options = folders.WalkOptions(formats="archives")
        seen = folders.scan(index, [tree.folder], options=options)
        took = time.perf_counter() - begun
        findings = folders.find(index, [tree.folder], scan=seen)
        _show(tree, index, seen, findings, took)


def _show(tree, index, seen, findings, took):
    together, false = set(), []
    for group in findings.groups:
        keys = [file.key for file in group.files]
        numbers = {tree.text_of.get(key, key) for key in keys}
        if len(numbers) > 1:
            false.append(keys)
        together |= set(itertools.permutations(keys, 2))
    of_text = {}
    for key, number in tree.text_of.items():
        of_text.setdefault(number, []).append(key)
    planned = [keys for keys in of_text.values() if len(keys) == 2]
    missed = [pair for pair in planned if tuple(pair) not in together]
    recall = 1 - len(missed) / len(planned)
    print(f"{len(tree.text_of):,} documents scanned in {took:.1f} s; {len(seen.problems)} problems")
    print(f"copies across formats: recall {recall:.4f} of {len(planned)} (target 1.0), "
          f"{len(false)} false groups (target 0)")  # fmt: skip
    for problem in (*seen.unread, *seen.problems, *seen.failed):
        print(f"  problem: {problem}")
    for what, keys in (*(("missed", pair) for pair in missed), *(("false group", keys) for keys in false)):
        print(f"  {what}: {' '.join(key.removeprefix(str(tree.folder)) for key in keys)}")
        print(f"    {index.measures(*keys[:2])}" if all(key in index for key in keys) else "    not read")
