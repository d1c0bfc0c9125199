import random

import docindex
from docindex.storage.postings import segment_writer, segments


def texts(count, words):
    rng = random.Random(count)
    return [" ".join(f"w{rng.randrange(5000)}" for _ in range(words)) for _ in range(count)]


def segments_of(index):
    """The segments that hold fingerprints."""
    with index._store.reading() as db:
        return segments.segments_of(db, segments.FINGERPRINTS)


def test_small_segments_are_merged_while_a_large_merge_is_under_way(monkeypatch):
    monkeypatch.setattr(segment_writer, "_LEAST", 64)
    with docindex.open(":memory:", recipe=docindex.Recipe(k=25, window=26)) as index:
        monkeypatch.setattr(segment_writer, "_MERGED_AT_LEAST", 0)
        monkeypatch.setattr(segment_writer, "_MERGED_PER_POSTING", 0)
        for number in range(4):
            index.add_many((f"bulk {number} {i}", text) for i, text in enumerate(texts(100 + number, 300)))
        assert len(segments_of(index)) == 4
        # Each commit merges so little that the large merge takes hundreds of commits.
        monkeypatch.setattr(segment_writer, "_MERGED_PER_POSTING", 3)
        most, commits_during_large_merge = 0, 0
        for number, text in enumerate(texts(200, 20)):
            index.add(f"small {number}", text)
            found = segments_of(index)
            most = max(most, len(found))
            commits_during_large_merge += any(
                segment.moved is not None and segment.postings > 20_000 for segment in found
            )
        assert commits_during_large_merge > 50
        assert most < 30
        assert index.check() == []
