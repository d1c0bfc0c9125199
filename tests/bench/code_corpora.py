"""Read collections of programs whose copies are known, for ``python -m tests.bench quality code``.

They lie beside those of `tests.bench.corpora`. Each loader gives texts by key, and what is known about pairs.

- conplag/versions: ConPlag, answers to contests, as they are and without the code that was given
- soco14/train: SOCO of 2014, re-used code in C and Java
- progpedia/datasets: answers in Java, and copies that programs disguised
- irplag/IR-Plag-Dataset: seven tasks in Java, and copies by people, on six levels of disguise
"""

import csv
import functools
import re

from tests.bench.corpora import ROOT, text_of


@functools.cache
def conplag(version):
    """(texts, pairs of keys that were judged, with True for copies). Version 2 has no template code."""
    folder = ROOT / "conplag/versions"
    chosen = {
        frozenset(re.findall(r"[0-9a-f]{8}", line)[:2])
        for line in (folder / "train_pairs.csv").read_text().splitlines()
    }
    texts, pairs = {}, []
    with (folder / "labels.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            names = row["sub1"], row["sub2"]
            pair = next(folder.glob(f"version_{version}/{names[0]}_{names[1]}"), None) or next(
                folder.glob(f"version_{version}/{names[1]}_{names[0]}"), None
            )
            if frozenset(names) not in chosen or pair is None:
                continue
            keys = [f"{pair.name}/{name}" for name in names]
            texts |= {key: text_of(pair / f"{name}.java") for key, name in zip(keys, names, strict=True)}
            pairs.append((*keys, row["veredict"] == "1"))
    return texts, pairs


@functools.cache
def soco(language):
    """(texts, the set of pairs that were re-used)."""
    folder = ROOT / "soco14/train"
    texts = {path.name: text_of(path) for path in sorted((folder / language).glob(f"*.{language}"))}
    lines = (folder / f"SOCO14-{language}.qrel").read_text().splitlines()
    return texts, {frozenset(line.split()) for line in lines if len(line.split()) == 2}


@functools.cache
def progpedia(number):
    """(texts, pairs of an original and a copy by kind: insert, refactor or gptobf)."""
    folder = ROOT / f"progpedia/datasets/Progpedia{number}"
    texts = {}
    for kind in ("human", "insert", "refactor", "gptobf"):
        for path in sorted((folder / kind).glob("*/")):
            files = sorted(path.rglob("*.java"))
            if files:
                texts[f"{kind}/{path.name}"] = "\n".join(map(text_of, files))
    copies = {}
    for key in texts:
        kind, name = key.split("/")
        original = re.search(r"subm\d+$", name)
        if kind != "human" and original and f"human/{original[0]}" in texts:
            copies.setdefault(kind, []).append((f"human/{original[0]}", key))
    return texts, copies


@functools.cache
def irplag():
    """(texts, pairs of an original and another answer by level: L1 to L6, or "non" for no copy)."""
    folder = ROOT / "irplag/IR-Plag-Dataset"
    texts, pairs = {}, {}
    for path in sorted(folder.glob("case-*/**/")):
        files = sorted(path.glob("*.java"))
        if files:
            texts[path.relative_to(folder).as_posix()] = "\n".join(map(text_of, files))
    for key in texts:
        case, kind, *level = key.split("/")
        if kind != "original":
            name = level[0] if kind == "plagiarized" else "non"
            pairs.setdefault(name, []).append((f"{case}/original", key))
    return texts, pairs
