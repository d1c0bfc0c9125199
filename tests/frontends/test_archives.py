"""The files in an archive are parts, within limits, and only if archives are asked for."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib

import pytest

from docindex.frontends import part_list, tar_archive, zip_archive
from docindex.frontends.failures import NotExtracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.frontends.isolated.child import extracted_from
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.messages import Source
from docindex.frontends.recognition import front_ends, may_need_front_end, recognise
from tests.frontends.mutations import outcomes_of_mutations
from tests.frontends.office import docx_of

MEMBERS = {"letters/ada.txt": b"Dear Ada", "../bob.txt": b"Dear Bob", "c.docx": docx_of(["Dear Cleo"])}
PACKERS = {"": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def zip_of(members, method=zipfile.ZIP_DEFLATED):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", method) as archive:
        archive.mkdir("empty")
        for name, data in members.items():
            archive.writestr(name, data)
    return written.getvalue()


def tar_of(members, format_=tarfile.PAX_FORMAT):
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=format_) as archive:
        for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.CHRTYPE):
            other = tarfile.TarInfo(f"other{kind.decode()}")
            other.type, other.linkname = kind, "/etc/passwd"
            archive.addfile(other)
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return written.getvalue()


def overlapping(count):
    """An archive that lists one member of a megabyte many times."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"x" * 1_000_000)
        archive.filelist += archive.filelist * (count - 1)
    return written.getvalue()


def header(size, pax=None):
    info = tarfile.TarInfo("a")
    info.size, info.pax_headers = size, pax or {}
    return info.tobuf(tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT)


def blocks(data, fill=b"\0"):
    return data.ljust(-(-len(data) // 512) * 512, fill)


def sparse(pieces, size):
    """A sparse member of one byte in each of some pieces."""
    step = size // pieces
    places = blocks(b"%d\n" % pieces + b"".join(b"%d\n1\n" % (n * step) for n in range(pieces)))
    kind = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(size)}
    head = header(len(places) + pieces, kind | {"GNU.sparse.name": "b"})
    return head + places + blocks(b"x" * pieces) + bytes(1024)


def read(data, name="x"):
    return extracted_from(Source(data, name, options=ExtractionOptions(archives=True)))


def refusal(data):
    with pytest.raises(NotExtracted) as raised:
        read(data)
    return raised.value.reason


def parts_of(found):
    return {part.name: part.data for part in found.parts}


def archives():
    yield zip_of(MEMBERS)
    yield zip_of(MEMBERS, zipfile.ZIP_LZMA)
    for pack in PACKERS.values():
        yield pack(tar_of(MEMBERS))
    yield tar_of(MEMBERS, tarfile.GNU_FORMAT)
    yield tar_of(MEMBERS, tarfile.USTAR_FORMAT)


def test_each_file_in_an_archive_is_a_part_with_its_path_as_its_name():
    for data in archives():
        found = read(data)
        assert parts_of(found) == MEMBERS
        assert (found.text, found.warnings) == ("", ())


def test_archives_are_read_only_on_demand():
    for data in archives():
        assert recognise(data, "x.zip") is None
        assert recognise(data, "x.tar", archives=True).name in ("zip", "tar")
        assert may_need_front_end(data[:1000], "x", archives=True)
        with pytest.raises(NotExtracted, match="no front end"):
            extracted_from(Source(data, "x.tar.gz"))
    assert not {"zip", "tar"} & {front_end.name for front_end in front_ends()}
    assert not may_need_front_end(b"Dear Ada", "x.txt", archives=True)


def test_an_office_file_is_no_archive():
    assert recognise(MEMBERS["c.docx"], "c.docx", archives=True).name == "docx"
    assert read(zip_of({"c.docx": MEMBERS["c.docx"]})).parts[0].data == MEMBERS["c.docx"]


def test_compressed_files_that_are_no_tar_are_no_archives():
    for pack in PACKERS.values():
        assert recognise(pack(b"Dear Ada" * 1000), "x.gz", archives=True) is None
        assert recognise(pack(b""), "x.gz", archives=True) is None


def test_an_archive_in_an_archive_is_a_part():
    inner = read(zip_of({"inner.tar": tar_of(MEMBERS)})).parts[0]
    assert parts_of(read(inner.data, inner.name)) == MEMBERS


def test_encrypted_members_are_counted():
    data = bytearray(zip_of({"a.txt": b"Dear Ada", "b.txt": b"Dear Bob"}))
    places = [at for at in range(len(data)) if data.startswith((b"PK\x01\x02", b"PK\x03\x04"), at)]
    for at in places:
        if b"a.txt" in data[at : at + 60]:
            data[at + (8 if data.startswith(b"PK\x01\x02", at) else 6)] |= 1
    found = read(bytes(data))
    assert (list(parts_of(found)), found.warnings) == (["b.txt"], ("1 members need a password.",))
    for at in places:
        data[at + (8 if data.startswith(b"PK\x01\x02", at) else 6)] |= 1
    assert refusal(bytes(data)) == "encrypted"


@pytest.fixture
def small_limits(monkeypatch):
    def limits(self, most_bytes=1000, most_parts=10):
        original(self, most_bytes, most_parts)

    original = part_list.PartList.__init__
    monkeypatch.setattr(part_list.PartList, "__init__", limits)
    monkeypatch.setattr(zip_archive, "_MOST_WORK", 100_000)
    monkeypatch.setattr(tar_archive, "_MOST_WORK", 100_000)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("make", [zip_of, tar_of])
def test_what_exceeds_the_limits_is_left_out_and_said(make):
    found = read(make({"a": b"a" * 900, "b": b"b" * 200, "c": b"c" * 100}))
    assert list(parts_of(found)) == ["a", "c"]
    assert any("left out" in warning for warning in found.warnings)
    many = read(make({str(number): b"x" for number in range(50)}))
    assert len(many.parts) == 10
    assert any("left out" in warning for warning in many.warnings)


def test_bombs_end_within_the_limits_of_the_process():
    packer = zlib.compressobj(9, wbits=31)
    header = tarfile.TarInfo("zeros")
    header.size = 5_000_000_000
    pieces = [packer.compress(header.tobuf(tarfile.GNU_FORMAT))]
    pieces += [packer.compress(bytes(1 << 24)) for _ in range(60)]
    with Extractor(limit_s=30) as extractor:
        options = ExtractionOptions(archives=True)
        with pytest.raises(NotExtracted) as raised:
            extractor.extract(Source(b"".join([*pieces, packer.flush()]), "x.tgz", options=options))
        assert raised.value.reason == "too large"
        bombs = zip_of({str(number): bytes(60_000_000) for number in range(6)})
        found = extractor.extract(Source(bombs, "x.zip", options=options))
        assert len(found.parts) == 4
        assert found.warnings[0].startswith("2 of 6 parts were left out")


def test_an_archive_that_is_cut_off_gives_what_is_whole():
    data = tar_of({"a.txt": b"Dear Ada", "b.txt": bytes(5000)})
    found = read(data[:4000])
    assert "a.txt" in parts_of(found)
    assert found.warnings == ("The archive is damaged after the file number 1.",)
    assert refusal(zip_of(MEMBERS)[:-100]) == "damaged"


@pytest.mark.parametrize("format_", ["zip", "tar"])
def test_mutated_archives_have_parts_or_a_reason(format_):
    sources = [zip_of(MEMBERS)] if format_ == "zip" else [tar_of(MEMBERS), gzip.compress(tar_of(MEMBERS))]
    found = outcomes_of_mutations(sources, format_)
    assert set(found) <= {"text", "damaged", "encrypted", "too large"}
    assert found["text"] > 50


def test_a_member_that_claims_more_than_there_is_ends_the_archive_at_once():
    begin = tar_of({"a.txt": b"Dear Ada"})[: 5 * 512]
    claims = tarfile.TarInfo("b.txt")
    for claims.size in (513, 100_000_000, 1 << 40):
        for pack in PACKERS.values():
            found = read(pack(begin + claims.tobuf(tarfile.GNU_FORMAT) + bytes(512)))
            assert parts_of(found)["a.txt"] == b"Dear Ada"
            assert "The archive is damaged after the file number 1." in found.warnings


def test_a_sparse_member_is_left_out():
    found = read(sparse(1, 250_000_000)[:-1024] + tar_of({"a.txt": b"Dear Ada"}))
    assert parts_of(found) == {"a.txt": b"Dear Ada"}
    assert found.warnings[0].startswith("1 of 2 parts were left out")


def test_a_zip_file_whose_members_overlap_is_refused():
    assert refusal(overlapping(100)) == "damaged"
    assert len(read(overlapping(1)).parts) == 1
