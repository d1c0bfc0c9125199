"""A scan reads files in other formats than plain text, and copies are found across formats."""

import functools
import os
import random
import shutil
import signal
import threading
import zipfile

import pytest

import docindex
from docindex import folders
from docindex.cli import text_input
from docindex.folders.scanning import root_scan
from docindex.frontends import (
    Extracted,
    FrontEnd,
    NotExtracted,
    SourcePart,
    TextBuilder,
    recognition,
    source_documents,
)
from docindex.frontends.isolated import extractor, work_budget
from docindex.index import adding
from tests.frontends.offered import offer
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

    def open_box(data, _):
        parts = [SourcePart(f"part {n}", line) for n, line in enumerate(data.splitlines(), 1)]
        return Extracted("", parts=tuple(parts))

    def refuse(*_):
        raise NotExtracted("encrypted", "it needs a password")

    box = FrontEnd("box", 1, open_box, extensions=frozenset({".box"}), is_text=True)
    offer(monkeypatch, box, FrontEnd("safe", 1, refuse, extensions=frozenset({".safe"}), is_text=True))


def test_files_without_words_are_no_group(index, home):
    (home / "empty.docx").write_bytes(b"")
    (home / "line.txt").write_bytes(b"---\n")
    (home / "blank.txt").write_bytes(b" \n")
    folders.scan(index, [home])
    findings = folders.find(index, [home])
    assert [len(group.files) for group in findings.groups] == [2]  # the letters


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
    offer(monkeypatch, newer)
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
    inside = [f"{box}!/part {n}" for n in (1, 2, 3)]
    assert [key for key in index if "!" in key] == inside
    assert index.text(inside[1]) == LETTER[1]
    box.write_text(f"{LETTER[0]}\n{LETTER[5]}\n")
    settle(home)
    folders.scan(index, [home])
    assert [key for key in index if "!" in key] == inside[:2]
    assert index.text(inside[1]) == LETTER[5]
    os.rename(box, home / "old.box")
    assert folders.scan(index, [home]).moved == 1
    assert [key for key in index if "!" in key] == [f"{home / 'old.box'}!/part {n}" for n in (1, 2)]
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
    assert {os.path.relpath(file.key, home) for file in group.files} == {
        *("letter.docx", "letter.txt", "mail.box!/part 1"),
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
    assert str(home / "mail.box!/part 1") not in index


@pytest.mark.parametrize("name", ["a.zip!x.txt", "a.zip!/x.txt", "a.zip!", "!", "a.zip!!/x.txt"])
def test_a_file_that_is_named_like_a_document_in_an_archive_is_never_taken_for_it(tmp_path, index, name):
    home = tmp_path / "home"
    file = home / name
    file.parent.mkdir(parents=True)
    file.write_text(OTHER[0])
    (home / "kept").mkdir()
    (home / "kept/copy.txt").write_text(OTHER[0])
    with zipfile.ZipFile(home / "a.zip", "w") as archive:
        for member in ("x.txt", "/x.txt", "!/x.txt"):
            archive.writestr(member, LETTER[0] + member)
    settle(home)
    archives = folders.WalkOptions(formats="archives")
    seen = folders.scan(index, [home], options=archives)
    key = folders.key_of(os.fsencode(file))
    inside = {f"{home}/a.zip!/{member}" for member in ("x.txt", "/x.txt", "!/x.txt")}
    assert set(index) == {key, f"{home}/kept/copy.txt", *inside}
    assert index.text(key) == OTHER[0]
    findings = folders.find(index, [home], scan=seen, reference=[home / "kept"])
    outcome = folders.act(findings.plan(), "trash")
    assert not file.exists()
    folders.scan(index, [home], options=archives)
    assert set(index) == {f"{home}/kept/copy.txt", *inside}
    folders.undo(outcome)
    assert file.read_text() == OTHER[0]
    folders.scan(index, [home], options=archives)
    assert index.text(key) == OTHER[0]
    (home / "a.zip").unlink()
    folders.scan(index, [home], options=archives)
    assert set(index) == {key, f"{home}/kept/copy.txt"}
    assert index.check() == []


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
    with pytest.raises(docindex.UnreadableFile, match="not in a format that docindex reads"):
        docindex.extract(b"\x89PNG\0", name="picture.png")


@pytest.mark.usefixtures("own")
def test_a_file_can_be_added_with_the_documents_inside_it(tmp_path, home, index):
    box = tmp_path / "mail.box"
    box.write_text(f"{LETTER[0]}\n{LETTER[1]}\n")
    assert index.add_file(box, key="mail", meta=1) == ["mail!/part 1", "mail!/part 2"]
    assert (index.text("mail!/part 2"), index.meta("mail!/part 2")) == (LETTER[1], 1)
    box.write_text(f"{LETTER[2]}\n")
    assert index.add_file(box, key="mail") == ["mail!/part 1"] == list(index)
    assert index.add_file(home / "letter.docx") == [str(home / "letter.docx")]
    with pytest.raises(
        docindex.UnreadableFile, match=r"no text of its own; index\.add_file .* inside it: 1$"
    ):
        docindex.extract(box)
    with pytest.raises(docindex.UnreadableFile, match="No such file"):
        index.add_file(home / "gone.docx")


def box_of(count, changed=()):
    """The bytes of a box with short documents; some are changed."""
    return b"".join(b"document number %d %s\n" % (n, b"anew" * (n in changed)) for n in range(count))


@pytest.fixture
def small_commits(monkeypatch):
    monkeypatch.setattr(adding, "_COMMITTED_DOCUMENTS", 10)


class Killed(BaseException):
    pass


def scan_and_stop(index, folder, monkeypatch, *, killed):
    """Scan until the second commit of documents; a scan that is killed notes nothing after that."""
    commits = []
    commit = adding.Target.commit

    def stop(target, group):
        if commits:
            raise Killed
        commits.append(group)
        commit(target, group)

    with monkeypatch.context() as patch:
        patch.setattr(adding.Target, "commit", stop)
        if killed:
            patch.setattr(root_scan.RootScan, "_note_stored", lambda _: None)
        with pytest.raises(Killed):
            folders.scan(index, [folder])


@pytest.mark.usefixtures("own", "small_commits")
@pytest.mark.parametrize("killed", [False, True])
def test_a_scan_that_stops_in_the_middle_of_a_file_is_finished_by_the_next(
    tmp_path, index, monkeypatch, killed
):
    box = tmp_path / "mail.box"
    box.write_bytes(box_of(50))
    folders.scan(index, [tmp_path])
    box.write_bytes(box_of(50, changed=(1, 40)))  # the last document stays the same
    settle(tmp_path)
    scan_and_stop(index, tmp_path, monkeypatch, killed=killed)
    folders.scan(index, [tmp_path])
    assert "anew" in index.text(f"{box}!/part 41")
    assert folders.scan(index, [tmp_path]).bytes_read == 0
    assert index.check() == []


@pytest.mark.usefixtures("own", "small_commits")
@pytest.mark.parametrize("before", ["nothing", "a text"])
@pytest.mark.parametrize("after", ["gone", "smaller", "a text"])
def test_a_scan_that_is_killed_in_the_middle_of_a_file_leaves_no_orphans(
    tmp_path, index, monkeypatch, before, after
):
    box = tmp_path / "mail.box"
    (tmp_path / "other.txt").write_text("another one")
    if before == "a text":
        box.write_text("one text")
        folders.scan(index, [tmp_path], options=folders.WalkOptions(formats="plain"))
    box.write_bytes(box_of(50))
    scan_and_stop(index, tmp_path, monkeypatch, killed=True)
    assert len(index) > 9
    if after == "gone":
        os.unlink(box)
    else:
        box.write_bytes(box_of(2) if after == "smaller" else b"")
    folders.scan(index, [tmp_path])
    assert len(index) == {"gone": 1, "smaller": 3, "a text": 2}[after]
    assert index.check() == []


@pytest.mark.usefixtures("own")
def test_a_commit_in_the_middle_of_a_file_still_notes_the_file(tmp_path, index, monkeypatch):
    monkeypatch.setattr(root_scan, "_COMMIT_AFTER_S", 0.0)
    (tmp_path / "mail.box").write_bytes(box_of(5))
    settle(tmp_path)
    folders.scan(index, [tmp_path])
    assert folders.scan(index, [tmp_path]).unchanged == 1
    assert [file.parts for file in index.files.under(str(tmp_path))] == [5]


def test_names_of_parts_may_be_strange_and_equal(tmp_path, index, monkeypatch):
    def open_odd(*_):
        names = ["caf\udce9", "a\0b", *["same"] * 3, "same (2)"]
        return Extracted("", parts=tuple(SourcePart(name, b"%d" % n) for n, name in enumerate(names)))

    offer(monkeypatch, FrontEnd("odd", 1, open_odd, extensions=frozenset({".odd"}), is_text=True))
    (tmp_path / "x.odd").write_text("x")
    folders.scan(index, [tmp_path])
    assert [key.rpartition("!/")[2] for key in index] == sorted(
        ["a\\x00b", "caf\\udce9", "same", "same (2)", "same (2) (2)", "same (3)"]
    )


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Extracted(b"bytes"),
        Extracted("x", places=((0,), ("a",))),
        Extracted("x", parts=(SourcePart("a", "text"),)),
    ],
)
def test_what_a_wrong_front_end_returns_does_not_stop_a_scan(tmp_path, index, answer, monkeypatch):
    front_end = FrontEnd("own", 1, lambda *_: answer, extensions=frozenset({".own"}), is_text=True)
    offer(monkeypatch, front_end)
    (tmp_path / "a.own").write_text("x")
    (tmp_path / "b.txt").write_text("plain")
    seen = folders.scan(index, [tmp_path])
    assert [file.reason for file in seen.unread] == ["damaged"]
    assert len(index) == 1
    assert "its front end returned a" in str(seen.problems)


def test_plain_text_with_the_name_of_another_format_is_read_once(tmp_path, index):
    for name in ("letter.docx", "letter.eml", "letter.md", "letter.json", "letter.pdf"):
        (tmp_path / name).write_text("just plain words")
    settle(tmp_path)
    for options in (folders.WalkOptions(formats="plain"), folders.WalkOptions()):
        folders.scan(index, [tmp_path], options=options)
        assert index.check() == []
    assert folders.scan(index, [tmp_path]).bytes_read == 0
    assert len(index) == 5


def test_a_newer_front_end_gives_new_places_to_the_same_text(tmp_path, index, monkeypatch):
    (tmp_path / "a.own").write_text("x")
    settle(tmp_path)
    text = " ".join(LETTER)
    for version, place in ((1, "old"), (2, "new")):
        found = TextBuilder().begin(place).add(text).extracted()
        extension = frozenset({".own"})
        offer(
            monkeypatch, FrontEnd("own", version, lambda *_, x=found: x, extensions=extension, is_text=True)
        )
        folders.scan(index, [tmp_path])
        (match,) = index.search(text)
        assert [passage.place for passage in match.passages()] == [place]


@pytest.mark.parametrize("how", ["cancel", "interrupt"])
def test_a_scan_that_is_stopped_leaves_no_process(tmp_path, index, how):
    one = docx_of(LETTER * 20)
    for number in range(3):
        with zipfile.ZipFile(tmp_path / f"{number}.zip", "w") as archive:
            for member in range(2000):
                archive.writestr(f"{member}.docx", one)
    stop = index.cancel if how == "cancel" else functools.partial(os.kill, os.getpid(), signal.SIGINT)
    made = []
    first = iter([threading.Timer(0.5, stop)])

    def watched(*given):
        for timer in first:  # a busy machine may take seconds until it starts the first process
            timer.start()
        made.append(start(*given))
        return made[-1]

    start = extractor._started
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extractor, "_started", watched)
        with pytest.raises(docindex.Cancelled if how == "cancel" else KeyboardInterrupt):
            folders.scan(index, [tmp_path], options=folders.WalkOptions(formats="archives"))
    assert made
    assert all(process.poll() is not None for process in made)


@pytest.mark.usefixtures("own")
def test_a_moved_file_whose_new_parts_have_keys_in_use_is_read_again(tmp_path, index):
    (tmp_path / "old.box").write_text(f"{LETTER[0]}\n")
    settle(tmp_path)
    folders.scan(index, [tmp_path])
    index.add(f"{tmp_path / 'new.box'}!/part 1", "by hand")
    os.rename(tmp_path / "old.box", tmp_path / "new.box")
    folders.scan(index, [tmp_path])
    assert [(key, index.text(key)) for key in index] == [(f"{tmp_path / 'new.box'}!/part 1", LETTER[0])]
    assert index.check() == []


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_text_that_is_added_by_hand_for_a_file_is_no_damage(home, index, is_removed):
    folders.scan(index, [home])
    key = str(home / "letter.docx")
    if is_removed:
        index.remove(key)
    index.add(key, "by hand: " + LETTER[0])
    assert index.check() == []
    (match, *_) = [match for match in index.search(LETTER[0]) if match.key == key]
    assert [passage.place for passage in match.passages()] == [""]


def test_a_mailbox_named_on_the_command_line_is_refused_for_what_it_is(tmp_path):
    box = tmp_path / "m.mbox"
    box.write_bytes(b"From a@b Thu Jan  1 00:00:00 2015\nFrom: a@b\nSubject: tea\n\nDear Ada\n\n" * 2)
    with pytest.raises(docindex.UnreadableFile, match="no text of its own, but 2 documents inside it"):
        text_input.read_text(str(box), None, verbose=False)


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize(
    ("module", "limit", "value"),
    [
        (work_budget, "MOST_CHARACTERS", 40),
        (work_budget, "MOST_DOCUMENTS", 2),
        (source_documents, "LIMIT_S", -1.0),
    ],
)
def test_the_documents_inside_a_file_are_bounded_together(tmp_path, index, monkeypatch, module, limit, value):
    monkeypatch.setattr(module, limit, value)
    (tmp_path / "mail.box").write_bytes(box_of(9))
    seen = folders.scan(index, [tmp_path])
    assert len(index) < 4
    (problem,) = seen.problems.values()
    assert "documents inside it were not read." in problem
    assert ("too much work" in problem) == (module is work_budget)


def test_sql_gives_the_places_of_passages(home, index):
    folders.scan(index, [home])
    sql = "select query_place, place from doc_passages(doc_key(?), doc_key(?))"
    found = index.execute(sql, [str(home / "letter.txt"), str(home / "letter.docx")])
    assert set(found) == {("", "paragraph 1 to paragraph 6")}


def test_a_file_that_only_its_content_shows_to_be_a_letter_is_read_after_a_plain_scan(home, index):
    os.rename(home / "letter.docx", home / "letter.bin")
    assert folders.scan(index, [home], options=folders.WalkOptions(formats="plain")).texts == 1
    assert folders.scan(index, [home]).texts == 3
    assert index.text(str(home / "letter.bin")).startswith(LETTER[0])
    assert folders.scan(index, [home]).bytes_read == 0
