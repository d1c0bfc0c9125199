import io

import pytest

from docindex import Recipe
from docindex.sketching.sketcher import sketch_batch
from docindex.sketching.text_parts import parts_of
from docindex.sketching.worker_process import (
    SketchedBatch,
    receive_batch,
    receive_texts,
    send_batch,
    send_texts,
)

TEXTS = ["one text", "", "lone \ud800", "word " * 50]
RECIPE = Recipe(slots=4, features=(2, 2, 1), min_s=2)


def reply():
    stream = io.BytesIO()
    parts = [list(parts_of(text)) for text in TEXTS]
    send_batch(stream, SketchedBatch(sketch_batch(TEXTS, RECIPE), parts))
    return stream.getvalue()


def received(data):
    stream = io.BytesIO(data)
    return receive_batch(stream, RECIPE), stream.read()


def test_texts_and_parts_arrive_as_they_were_sent():
    request = io.BytesIO()
    send_texts(request, TEXTS, keep=True)
    request.seek(0)
    assert receive_texts(request) == (TEXTS, True)
    batch, rest = received(reply())
    assert len(batch.sketches) == len(TEXTS)
    assert batch.parts == [list(parts_of(text)) for text in TEXTS]
    assert rest == b""


def test_a_message_that_ends_early_is_an_error_wherever_it_ends():
    request = io.BytesIO()
    send_texts(request, TEXTS, keep=False)
    for size in range(len(request.getvalue())):
        with pytest.raises(EOFError, match="the stream ended"):
            receive_texts(io.BytesIO(request.getvalue()[:size]))
    whole = reply()
    for size in range(len(whole)):
        with pytest.raises(EOFError, match="the stream ended"):
            received(whole[:size])
