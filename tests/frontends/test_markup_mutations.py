"""A damaged file of a text format gives a text or a reason, in bounded time."""

import random
import time

import pytest

from docindex.frontends.failures import NotExtracted
from tests.frontends.markup import LETTER, extracted
from tests.frontends.test_subtitles import SRT, VTT
from tests.frontends.test_values import ROWS, VALUES, csv_of, json

SOURCES = {path.name: path.read_bytes() for path in LETTER.iterdir() if path.suffix != ".txt"} | {
    "a.srt": SRT.encode(),
    "a.vtt": VTT.encode(),
    "a.csv": csv_of(ROWS * 20).encode(),
    "a.tsv": csv_of(ROWS * 20, dialect="excel-tab").encode(),
    "a.json": json.dumps([VALUES] * 20).encode(),
    "a.jsonl": "\n".join([json.dumps(VALUES)] * 20).encode(),
}


def mutated(data, random_):
    """Some bytes flipped, cut out, repeated, or moved, one to four times."""
    for _ in range(random_.randint(1, 4)):
        start = random_.randrange(len(data) + 1)
        end = min(len(data), start + random_.choice((1, 3, 30, 300)))
        piece = data[start:end]
        flipped = bytes(byte ^ random_.choice((1, 4, 32, 128)) for byte in piece[:3])
        to = random_.randrange(len(data) + 1)
        data = random_.choice(
            (
                data[:start] + flipped + data[start + len(flipped) :],
                data[:start] + data[end:],
                data[:start] + piece * random_.choice((2, 50)) + data[end:],
                data[:to] + piece + data[to:],
            )
        )
    return data


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_a_damaged_file_gives_a_text_or_a_reason(name):
    random_ = random.Random(name)  # seeded by the name, the same in every run
    texts, reasons = 0, set()
    for _ in range(300):
        data = mutated(SOURCES[name], random_)
        begun = time.process_time()
        try:
            found = extracted(data, name)
        except NotExtracted as error:
            reasons.add(str(error))
        else:
            texts += 1
            assert list(found.places.starts) == sorted(set(found.places.starts))
            assert all(start <= len(found.text) for start in found.places.starts)
        assert time.process_time() - begun < 1
    assert not [reason for reason in reasons if reason.startswith("it cannot be read")]  # not foreseen
    assert texts > 10  # most damaged .ipynb files are no JSON
