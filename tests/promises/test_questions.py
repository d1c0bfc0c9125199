"""The source of a copy is found among very many documents, with the exact passage."""

import random

import docindex
from tests.storage.texts import prose


def test_one_document_in_100_000_that_contains_a_sentence_is_found():
    rng = random.Random(1)
    sentence = "The one sentence that nobody else has ever written down, in exactly these words."
    with docindex.open(":memory:") as index:
        # Each text has twelve words in common with many others, so that the documents are not all unrelated.
        common = [prose(rng, 12) for _ in range(50)]
        items = (
            (f"{number:06}", f"{rng.choice(common)} {rng.random()} {number}") for number in range(100_000)
        )
        index.add_many(items, store_text=False)
        index.add("077777", f"{common[7]} {sentence} {common[9]}")
        for query in (sentence, f"{common[1]} -- {sentence.upper()}\r\n{common[2]}"):
            first = index.search(query)[0]
            assert first.key == "077777"
            (passage,) = (p for p in first.passages() if p.length > 60)
            assert query[passage.query_start : passage.query_end].lower() == sentence[:-1].lower()
            assert len(index) == 100_000


def test_the_source_of_an_excerpt_is_among_the_first_ten_and_its_passage_is_exact():
    rng = random.Random(2)
    texts = {f"{number:04}": prose(rng, 600) for number in range(300)}
    with docindex.open(":memory:") as index:
        index.add_many(texts.items(), workers=1)
        for key in rng.sample(sorted(texts), 20):
            begin = texts[key].index(" ", rng.randrange(len(texts[key]) - 550)) + 1
            excerpt = texts[key][begin : texts[key].index(" ", begin + 450)]
            host = prose(rng, 1500)
            query = f"{host[:4000]}. {excerpt} .{host[4000:]}"
            source = next(match for match in index.search(query, limit=10) if match.key == key)
            longest = max(source.passages(), key=lambda passage: passage.length)
            inside = [4002 + place for place, char in enumerate(excerpt) if char.isalnum()]
            assert longest.query_start <= inside[0]
            assert longest.query_end >= inside[-1] + 1
            assert longest.start <= begin + inside[0] - 4002
            assert longest.end >= begin + inside[-1] - 4001
