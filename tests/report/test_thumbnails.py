"""Small images of picture files: bounded, and harmless for any file."""

import base64
import io
import os
import random
import struct
import zlib

import pytest
from PIL import Image

from docindex.frontends.failures import NotExtracted
from docindex.frontends.isolated.extractor import Extractor
from docindex.frontends.isolated.work_budget import WorkBudget
from docindex.report import groups


def image_of(url):
    head, data = url.split(",")
    assert head.startswith("data:image/")
    return Image.open(io.BytesIO(base64.b64decode(data)))


@pytest.fixture(scope="module")
def extractor():
    with Extractor() as made:
        yield made


@pytest.fixture
def thumbnail(extractor):
    return lambda path: groups.thumbnail(path, extractor)


class WithoutPillow:
    """An extractor whose process has no Pillow."""

    def extract(self, _):
        raise NotExtracted("not installed", "reading it needs the package pillow")


@pytest.fixture
def without_pillow():
    return lambda path: groups.thumbnail(path, WithoutPillow())


def write(folder, name, data):
    (folder / name).write_bytes(data)
    return os.fsencode(folder / name)


def picture(kind, size=(900, 600), **options):
    found = io.BytesIO()
    Image.radial_gradient("L").resize(size).save(found, kind, **options)
    return found.getvalue()


@pytest.mark.parametrize("kind", ["jpeg", "png", "gif", "webp"])
def test_a_picture_is_made_small(kind, tmp_path, thumbnail):
    url = thumbnail(write(tmp_path, "x", picture(kind)))
    assert url.startswith("data:image/jpeg;base64,")
    assert image_of(url).size == (144, 96)
    assert len(url) < 34_000


@pytest.mark.parametrize("kind", ["jpeg", "png", "gif"])
def test_without_pillow_a_small_file_is_shown_as_it_is_and_a_large_one_is_not(kind, tmp_path, without_pillow):
    data = picture(kind, (90, 60))
    assert image_of(without_pillow(write(tmp_path, "small", data))).size == (90, 60)
    assert without_pillow(write(tmp_path, "large", data + bytes(24_000))) == ""


def png_of(width, height):
    """A PNG of a few bytes that claims a size."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))


def test_a_picture_that_would_fill_the_memory_is_not_shown(tmp_path, thumbnail, without_pillow):
    assert thumbnail(write(tmp_path, "bomb.png", png_of(60_000, 60_000))) == ""
    assert without_pillow(write(tmp_path, "bomb.png", png_of(60_000, 60_000))) == ""
    assert without_pillow(write(tmp_path, "small.png", png_of(60, 60))) != ""


def test_a_picture_is_decoded_in_another_process_and_may_end_it(tmp_path, thumbnail, monkeypatch):
    path = write(tmp_path, "x", picture("png"))
    monkeypatch.setattr(Image, "open", lambda *_: os.abort())
    assert thumbnail(path) != ""
    monkeypatch.setattr(WorkBudget, "of_size", lambda _: WorkBudget(1e-4, 1, 1))
    assert thumbnail(write(tmp_path, "large", picture("png", (6000, 6000)))) == ""
    monkeypatch.undo()
    assert thumbnail(path) != ""


def test_files_that_are_no_pictures_or_damaged_are_not_shown(tmp_path, thumbnail):
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    for name, data in (
        ("x.svg", svg),
        ("x.png", svg),
        ("x.jpg", b"\xff\xd8\xff"),
        ("x.gif", b""),
        ("x.txt", b"a"),
    ):
        assert thumbnail(write(tmp_path, name, data)) == ""
    assert thumbnail(os.fsencode(tmp_path / "missing.jpg")) == ""
    os.mkfifo(tmp_path / "pipe.jpg")
    assert thumbnail(os.fsencode(tmp_path / "pipe.jpg")) == ""


@pytest.mark.parametrize("with_pillow", [True, False])
def test_no_damaged_picture_makes_it_fail(with_pillow, tmp_path, thumbnail, without_pillow):
    rng = random.Random(9)
    for kind in ("jpeg", "png", "gif", "webp"):
        data = bytearray(picture(kind, (60, 40)))
        for _ in range(30):
            damaged = bytearray(data[: rng.randrange(4, len(data))])
            for _ in range(4):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            (thumbnail if with_pillow else without_pillow)(write(tmp_path, "x", bytes(damaged)))
