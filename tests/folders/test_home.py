"""In a home with office files, mail, notebooks and archives, the copies are found, and nothing else is."""

import json
import mailbox
import os
import random
import zipfile

import docindex
from docindex import folders
from tests.frontends.mails import mail_of
from tests.frontends.office import docx_of, odt_of, pptx_of, xlsx_of
from tests.frontends.prints import pdf_of
from tests.storage.texts import prose

LEAST = 0.9
"""The share of the planned copies that must be found."""


class Home:
    """Writes families of files: the members of a family are copies or versions of one text."""

    def __init__(self, folder, rng):
        self.folder = folder
        self.rng = rng
        self.family_of = {}

    def text(self, paragraphs=6):
        return [" ".join(prose(self.rng, 70).split()) for _ in range(paragraphs)]

    def edited(self, paragraphs):
        """A later version: one paragraph is new, and in each other one a few words are."""
        later = [" ".join(word for word in each.split() if self.rng.random() > 0.01) for each in paragraphs]
        return [*later[:3], " ".join(prose(self.rng, 30).split()), *later[3:]]

    def write(self, family, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        os.utime(path, (1e9, 1e9))
        self.family_of[str(path)] = family

    def holds(self, path, part, family):
        """Note that a file has a member of a family inside."""
        self.family_of[f"{self.folder / path}!/{part}"] = family


def made_home(folder):
    rng = random.Random(2017)
    home = Home(folder, rng)
    for n in range(30):
        draft = home.text()
        home.write(f"report {n}", f"work/report {n}.docx", docx_of(draft))
        home.write(f"report {n}", f"work/final/report {n} final.docx", docx_of(home.edited(draft)))
    for n in range(12):
        text = home.text()
        home.write(f"letter {n}", f"letters/letter {n}.odt", odt_of(text))
        home.write(f"letter {n}", f"letters/sent/letter {n}.pdf", pdf_of(text))
        home.write(f"letter {n}", f"old/letter {n}.txt", "\n\n".join(text).encode("utf-16"))
    for n in range(6):
        text = home.text()
        home.write(f"talk {n}", f"talks/talk {n}.pptx", pptx_of(text))
        home.write(f"talk {n}", f"talks/talk {n} notes.docx", docx_of(text))
        cells = home.text()
        home.write(f"table {n}", f"tables/{n}.xlsx", xlsx_of([[each, n] for each in cells]))
        home.write(f"table {n}", f"tables/{n}.csv", "\n".join(f'"{each}",{n}' for each in cells))
        code = home.text()
        sources = [{"cell_type": "markdown", "metadata": {}, "source": [each]} for each in code]
        notebook = {"cells": sources, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        home.write(f"notebook {n}", f"notebooks/{n}.ipynb", json.dumps(notebook))
        home.write(f"notebook {n}", f"notebooks/{n}.md", "\n\n".join(code))
    box = folder / "mail"
    box.mkdir()
    messages = mailbox.mbox(box / "all.mbox")
    for n in range(10):
        text = "\n\n".join(home.text())
        messages.add(mail_of(text, f"About {n}"))
        home.write(f"mail {n}", f"mail/saved/{n}.eml", mail_of(text, f"Fwd: About {n}"))
        home.holds("mail/all.mbox", f"message {n + 1}", f"mail {n}")
    messages.close()
    os.utime(box / "all.mbox", (1e9, 1e9))
    for n in range(5):
        with zipfile.ZipFile(folder / f"backup {n}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for m in range(5):
                text = home.text()
                data = docx_of(text) if m % 2 else "\n\n".join(text).encode()
                name = f"project {n}/part {m}.{'docx' if m % 2 else 'txt'}"
                archive.writestr(name, data)
                home.write(f"part {n} {m}", name, data)
                home.holds(f"backup {n}.zip", name, f"part {n} {m}")
        os.utime(folder / f"backup {n}.zip", (1e9, 1e9))
    for n in range(60):
        home.write(f"alone {n}", f"notes/{n}.txt", "\n\n".join(home.text(2)))
        home.write(f"alone {n} docx", f"notes/{n}.docx", docx_of(home.text(3)))
    return home


def test_at_least_nine_in_ten_planned_copies_are_found_and_no_false_group(tmp_path):
    home = made_home(tmp_path / "home")
    members = {}
    for key, family in home.family_of.items():
        members.setdefault(family, set()).add(key)
    planned = sum(len(family) - 1 for family in members.values())
    with docindex.open(tmp_path / "index") as index:
        options = folders.WalkOptions(formats="archives")
        seen = folders.scan(index, [home.folder], options=options)
        assert (seen.unread, seen.problems, seen.failed) == ((), {}, ())
        findings = folders.find(index, [home.folder], scan=seen)
        assert index.check() == []
    found = 0
    for group in findings.groups:
        families = {home.family_of[file.key] for file in group.files}
        assert len(families) == 1, group
        found += len({file.key for file in group.files}) - 1
    assert found >= LEAST * planned, (found, planned)
