"""A scan reads files in other formats than plain text, and copies are found across formats."""

import os
import random
import shutil

import pytest

import docindex
from docindex import folders
from docindex.frontends import (
    Extracted,
    FrontEnd,
    NotExtracted,
    SourcePart,
    TextBuilder,
    recognition,
    register_front_end,
)
from tests.frontends.office import docx_of
from tests.storage.texts import prose

RNG = random.Random(17)
LETTER = [" ".join(prose(RNG, 60).split()) for _ in range(6)]
OTHER = [" ".join(prose(RNG, 60).split()) for _ in range(6)]


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "letter.docx").write_bytes(docx_of(LETTER))
    (folder / "letter.txt").write_text("\n\n".join(LETTER))
    (folder / "other.docx").write_bytes(docx_of(OTHER))
    settle(folder)
    return folder


def settle(folder):
    """Let the files be old enough for a scan to trust their times."""
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))


@pytest.fixture
def index(tmp_path):
    with docindex.open(tmp_path / "index") as opened:
        yield opened


@pytest.fixture
def own(monkeypatch):
    """Front ends of this test only. A box has lines with documents inside."""
    monkeypatch.setattr(recognition, "_registered", {})

    def open_box(data, _):
        parts = [SourcePart(f"part {n}", line) for n, line in enumerate(data.splitlines(), 1)]
        return Extracted("", parts=tuple(parts))

    def refuse(*_):
        raise NotExtracted("encrypted", "it needs a password")

    register_front_end(FrontEnd("box", 1, open_box, extensions=frozenset({".box"}), is_text=True))
    register_front_end(FrontEnd("safe", 1, refuse, extensions=frozenset({".safe"}), is_text=True))


def test_one_letter_in_two_formats_is_one_group(home, index):
    seen = folders.scan(index, [home])
    assert (seen.texts, seen.binaries, seen.unread) == (3, 0, ())
    (group,) = folders.find(index, [home], scan=seen).groups
    assert {os.path.basename(file.key) for file in group.files} == {"letter.docx", "letter.txt"}


def test_a_passage_says_where_it_lies_in_the_source(home, index):
    folders.scan(index, [home])
    (match,) = [match for match in index.search(LETTER[2]) if match.key.endswith("docx")]
    (passage,) = match.passages()
    assert (passage.query_place, passage.place) == ("", "paragraph 3")
    comparison = index.compare(str(home / "letter.docx"), str(home / "letter.txt"))
    assert {(p.query_place, p.place) for p in comparison.passages} == {("paragraph 1 to paragraph 6", "")}


def test_a_second_scan_reads_nothing_and_loses_nothing(home, index):
    folders.scan(index, [home])
    again = folders.scan(index, [home])
    assert (again.unchanged, again.changes, again.bytes_read) == (3, 0, 0)
    assert len(index) == 3
    assert index.check() == []


def test_a_newer_front_end_reads_its_files_again(home, index, monkeypatch):
    folders.scan(index, [home])
    newer = FrontEnd(
        "docx",
        2,
        lambda *_: TextBuilder().begin("top").add("what the newer one reads").extracted(),
        recognition.named("docx").signatures,
        extensions=frozenset({".docx"}),
    )
    monkeypatch.setattr(recognition, "_registered", {"docx": newer})
    folders.scan(index, [home])
    assert index.text(str(home / "other.docx")) == "what the newer one reads"
    assert folders.scan(index, [home]).bytes_read == 0


def test_without_formats_only_plain_text_is_read(home, index):
    seen = folders.scan(index, [home], options=folders.WalkOptions(formats="plain"))
    assert (seen.texts, seen.binaries) == (1, 2)


@pytest.mark.usefixtures("own")
def test_documents_inside_a_file_come_go_and_move_with_it(home, index):
    box = home / "mail.box"
    box.write_text(f"{LETTER[0]}\n{LETTER[1]}\n{OTHER[0]}\n")
    settle(home)
    folders.scan(index, [home])
    inside = [f"{box}!part {n}" for n in (1, 2, 3)]
    assert [key for key in index if "!" in key] == inside
    assert index.text(inside[1]) == LETTER[1]
    box.write_text(f"{LETTER[0]}\n{LETTER[5]}\n")
    settle(home)
    folders.scan(index, [home])
    assert [key for key in index if "!" in key] == inside[:2]
    assert index.text(inside[1]) == LETTER[5]
    os.rename(box, home / "old.box")
    assert folders.scan(index, [home]).moved == 1
    assert [key for key in index if "!" in key] == [f"{home / 'old.box'}!part {n}" for n in (1, 2)]
    os.unlink(home / "old.box")
    folders.scan(index, [home])
    assert [key for key in index if "!" in key] == []
    assert index.check() == []


@pytest.mark.usefixtures("own")
def test_a_document_inside_a_file_is_shown_beside_its_copy_but_never_planned(home, index):
    (home / "mail.box").write_text(f"{' '.join(LETTER)}\n{' '.join(prose(RNG, 99).split())}\n")
    seen = folders.scan(index, [home])
    findings = folders.find(index, [home], scan=seen)
    (group,) = findings.groups
    assert {os.path.basename(file.key) for file in group.files} == {
        *("letter.docx", "letter.txt", "mail.box!part 1"),
    }
    assert findings.plan().groups == ()


@pytest.mark.usefixtures("own")
def test_copies_inside_one_file_are_no_group(tmp_path, index):
    (tmp_path / "mail.box").write_text(f"{LETTER[0]}\n{LETTER[0]}\n")
    seen = folders.scan(index, [tmp_path / "mail.box"])
    assert folders.find(index, [tmp_path / "mail.box"], scan=seen).groups == []


@pytest.mark.usefixtures("own")
def test_a_file_whose_name_looks_like_that_of_a_part_stays_a_file(home, index):
    (home / "mail.box").write_text(f"{LETTER[0]}\n")
    (home / "mail.box!notes").write_text(OTHER[1])
    settle(home)
    folders.scan(index, [home])
    os.unlink(home / "mail.box")
    folders.scan(index, [home])
    assert index.text(str(home / "mail.box!notes")) == OTHER[1]
    assert str(home / "mail.box!part 1") not in index


@pytest.mark.usefixtures("own")
def test_files_that_cannot_be_read_are_named_with_the_reason_in_every_scan(home, index):
    (home / "secret.safe").write_text("x")
    (home / "broken.docx").write_bytes(docx_of(LETTER)[:2000])
    settle(home)
    for _ in range(2):
        seen = folders.scan(index, [home])
        assert [(os.path.basename(u.key), u.format, u.reason) for u in seen.unread] == [
            ("broken.docx", "docx", "damaged"),
            ("secret.safe", "safe", "encrypted"),
        ]
    assert seen.bytes_read == 0


def test_a_file_that_is_no_longer_readable_loses_its_document(home, index):
    folders.scan(index, [home])
    shutil.copy(home / "other.docx", home / "keep")
    (home / "other.docx").write_bytes((home / "keep").read_bytes()[:900])
    folders.scan(index, [home])
    assert str(home / "other.docx") not in index
    shutil.copy(home / "keep", home / "other.docx")
    folders.scan(index, [home])
    assert index.text(str(home / "other.docx")).startswith(OTHER[0])


def test_an_extracted_text_can_be_added_by_hand(home, index):
    index.add("by hand", docindex.extract(home / "letter.docx"), meta={"by": "hand"})
    index.add("as bytes", docindex.extract((home / "letter.docx").read_bytes()))
    assert index.text("by hand") == index.text("as bytes")
    (match, _) = index.search(LETTER[4])
    assert [passage.place for passage in match.passages()] == ["paragraph 5"]
    index.add("by hand", "plain text now")
    assert index.check() == []
    with pytest.raises(docindex.UnreadableFile, match="no front end reads this format"):
        docindex.extract(b"\x89PNG\0", name="picture.png")


@pytest.mark.usefixtures("own")
def test_a_file_can_be_added_with_the_documents_inside_it(tmp_path, home, index):
    box = tmp_path / "mail.box"
    box.write_text(f"{LETTER[0]}\n{LETTER[1]}\n")
    assert index.add_file(box, key="mail", meta=1) == ["mail!part 1", "mail!part 2"]
    assert (index.text("mail!part 2"), index.meta("mail!part 2")) == (LETTER[1], 1)
    box.write_text(f"{LETTER[2]}\n")
    assert index.add_file(box, key="mail") == ["mail!part 1"] == list(index)
    assert index.add_file(home / "letter.docx") == [str(home / "letter.docx")]
    with pytest.raises(docindex.UnreadableFile, match="no text of its own, but 1 documents inside it"):
        docindex.extract(box)
    with pytest.raises(docindex.UnreadableFile, match="No such file"):
        index.add_file(home / "gone.docx")
