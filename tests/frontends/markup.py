"""What the tests of text formats share: extraction in this process, and how much two texts have in common."""

from pathlib import Path

from docindex.frontends.front_end import DEFAULT_OPTIONS
from docindex.frontends.isolated.child import extracted_from
from docindex.frontends.isolated.messages import Source
from docindex.reading.plain_text import canonical

LETTER = Path(__file__).parent / "letter"


def extracted(data, name, options=DEFAULT_OPTIONS, media_type=None):
    data = data.encode() if isinstance(data, str) else data
    return extracted_from(Source(data, name, media_type, options=options))


def saved(name):
    """The letter as another program saved it."""
    return extracted((LETTER / name).read_bytes(), name)


def grams(text, length=5):
    words = canonical(text).split()
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def containment(one, other):
    """The share of the 5-grams of words of one text that another text has."""
    return len(grams(one) & grams(other)) / len(grams(one))


def places(found):
    """The text of each place: a list of names and texts."""
    starts = [*found.places.starts, len(found.text)]
    return [
        (place.name, found.text[start:end])
        for place, start, end in zip(found.places.places, starts, starts[1:], strict=False)
    ]
