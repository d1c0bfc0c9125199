"""Several files answer as one index with all their documents would, bit for bit."""

import random

import pytest

import docindex
from docindex import Key, Recipe, Text

WORDS = [f"word{number}" for number in range(400)]


def texts():
    """Sixty texts, many of which share sentences, and some of which are the same."""
    chance = random.Random(20)
    sentences = [" ".join(chance.choices(WORDS, k=12)) for _ in range(40)]
    found = {f"t{number:02}": ". ".join(chance.sample(sentences, 6)) for number in range(54)}
    for number in range(5):  # copies in other files
        found[f"z{number}"] = found[f"t{number:02}"]
    found["empty"] = ""
    return found


TEXTS = texts()
SUSPECT = ". ".join([TEXTS["t03"][:200], TEXTS["t20"][50:300], TEXTS["t41"][:150], "nothing like it"])


@pytest.fixture
def one():
    with docindex.open(":memory:") as index:
        index.add_many([(key, text, {"is": key}) for key, text in TEXTS.items()])
        yield index


@pytest.fixture
def paths(tmp_path):
    items, made = list(TEXTS.items()), []
    for number in range(3):
        made.append(tmp_path / f"shard {number}")
        with docindex.open(made[-1]) as index:
            index.add_many([(key, text, {"is": key}) for key, text in items[number::3]])
    return made


@pytest.fixture
def files(paths):
    with docindex.open_many(paths) as files:
        yield files


def plain(matches):
    fields = ("key", "score", "containment", "reverse_containment", "resemblance", "shared", "basis")
    return [tuple(getattr(match, field) for field in fields) for match in matches]


OPTIONS = {
    "default": {},
    "all": {"limit": None},
    "three": {"limit": 3},
    "excerpt": {"rank": "excerpt"},
    "exact": {"exact": True, "min_resemblance": 0.1},
    "minimums": {"min_containment": 0.2, "min_shared": 3},
    "window": {"window": 100},
    "budget": {"budget": 5},
    "common": {"ignore_above": 6},
    "common excerpt": {"ignore_above": 8, "rank": "excerpt", "limit": None},
    "where": {"where": ("key > ?", ["t30"])},
    "all boilerplate": {"boilerplate": False},
}
QUERIES = {
    "text": SUSPECT,
    "key": "t07",
    "wrapped key": Key("z2"),
    "wrapped text": Text("t07"),
    "copy": TEXTS["t01"],
    "short": "words",
    "empty": Text(""),
    "key of an empty text": "empty",
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_search_gives_the_answers_and_scores_of_one_index(one, files, query, options):
    found = plain(files.search(query, **options))
    assert found == plain(one.search(query, **options))
    assert found or options or query in ("words", "t07", "")


@pytest.mark.parametrize("seed", range(8))
def test_any_excerpts_have_the_same_answers_however_the_documents_are_split(one, tmp_path, seed):
    chance = random.Random(seed)
    paths = [tmp_path / f"{number}" for number in range(chance.randint(1, 6))]
    for path in paths:
        docindex.open(path).close()
    for key, text in TEXTS.items():
        with docindex.open(chance.choice(paths)) as index:
            index.add(key, text)
    with docindex.open_many(paths) as files:
        for _ in range(10):
            begin = chance.randrange(len(SUSPECT))
            asked = Text(SUSPECT[begin : begin + chance.randrange(20, 400)])
            limit = chance.choice([1, 5, None])
            assert plain(files.search(asked, limit=limit)) == plain(one.search(asked, limit=limit))


def test_boilerplate_of_any_file_holds_for_all_of_them(one, paths):
    template = TEXTS["t03"][:200]
    with docindex.open(paths[2]) as last:
        last.boilerplate.add(template, name="begin")
    one.boilerplate.add(template, name="begin")
    with docindex.open_many(paths) as files:
        for choice in (True, False, ["begin"], []):
            asked = {"boilerplate": choice, "limit": None}
            assert plain(files.search(SUSPECT, **asked)) == plain(one.search(SUSPECT, **asked))
        for match, expected in zip(files.search(SUSPECT), one.search(SUSPECT), strict=True):
            assert match.passages() == expected.passages()
        with pytest.raises(KeyError, match="no template 'end' in any of the files"):
            files.search(SUSPECT, boilerplate=["end"])


def test_similar_and_near_give_the_answers_of_one_index(one, files):
    for query in ("t01", TEXTS["t01"], "empty", Text("other words")):
        for least in (0.3, 0.8):
            found = plain(files.similar(query, least))
            assert found == plain(one.similar(query, least))
        assert plain(files.similar(query, 0.2, limit=2)) == plain(one.similar(query, 0.2, limit=2))
        for distance in (0, 20):
            near, expected = files.near(query, distance), one.near(query, distance)
            assert [(n.key, n.distance) for n in near] == [(n.key, n.distance) for n in expected]
    assert [n.key for n in files.near(one["t05"].simhash, 0)] == ["t05"]


def test_pairs_and_clusters_and_sources_see_documents_of_different_files(one, files):
    def rows(pairs):
        return [(pair.a, pair.b, pair.resemblance, pair.basis) for pair in pairs]

    assert rows(files.pairs(min_resemblance=0.2)) == rows(one.pairs(min_resemblance=0.2))
    assert rows(files.containments(0.3)) == rows(one.containments(0.3))
    assert [c.keys for c in files.clusters(0.8)] == [c.keys for c in one.clusters(0.8)]
    expected, found = one.sources(SUSPECT), files.sources(SUSPECT)
    assert [(s.key, s.added) for s in found] == [(s.key, s.added) for s in expected]
    assert len(list(found)) >= 2


def test_documents_are_those_of_all_files(one, files, paths):
    assert len(files) == len(one)
    assert list(files) == list(one)
    assert list(files.keys(prefix="z")) == list(one.keys(prefix="z"))
    assert {files.path_of(key) for key in files} == {str(path) for path in paths} == set(files.paths)
    for key in ("t00", "z4", "empty"):
        assert (files.text(key), files.meta(key)) == (one.text(key), one.meta(key))
        assert (files[key].simhash, files[key].text) == (one[key].simhash, one[key].text)
        assert key in files
    assert "gone" not in files
    assert files.recipe == one.recipe


def test_an_unknown_key_and_an_id_are_refused(files):
    for call in (files.__getitem__, files.text, files.meta, files.path_of):
        with pytest.raises(docindex.UnknownKey, match="no document 'gone' in any of the files"):
            call("gone")
    for call in (files.search, files.near, files.similar, files.sources, files.text):
        with pytest.raises(TypeError, match="an id names a document of one file only"):
            call(docindex.Id(1))
    with pytest.raises(docindex.UnknownKey):
        files.search(Key("gone"))
    with pytest.raises(docindex.UnknownKey):
        files.near(Key("gone"))


def test_two_documents_with_one_key_are_an_error_that_names_both_files(paths):
    with docindex.open(paths[1]) as index:
        index.add("t00", "another text")
    with pytest.raises(ValueError, match=r"shard [01] and .*shard [01] both have a document 't00'"):
        docindex.open_many(paths)


def test_a_path_that_is_given_twice_is_named(paths, tmp_path):
    with pytest.raises(ValueError, match=rf"paths has {paths[0]} twice; name each file once"):
        docindex.open_many([paths[0], paths[0]])
    link = tmp_path / "link"
    link.symlink_to(paths[0])
    with pytest.raises(ValueError, match=rf"paths has one file as {paths[0]} and as {link};"):
        docindex.open_many([paths[0], link])


def test_files_of_different_recipes_are_refused(paths, tmp_path):
    docindex.open(tmp_path / "other", recipe=Recipe(k=20)).close()
    with pytest.raises(docindex.RecipeMismatch, match="other has the recipe"):
        docindex.open_many([*paths, tmp_path / "other"])


def test_a_document_whose_text_is_not_kept_can_be_found_but_not_asked_about(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        with docindex.open(path) as index:
            index.add(path.name, TEXTS["t01"], store_text=False)
    with docindex.open_many(paths) as files:
        assert [match.key for match in files.search(TEXTS["t01"])] == ["a", "b"]
        assert [near.key for near in files.near("a")] == ["a", "b"]
        assert [(pair.a, pair.b) for pair in files.pairs()] == [("a", "b")]
        with pytest.raises(docindex.TextNotKept, match="the text of 'a' is not kept"):
            files.search("a")


def test_nothing_is_changed_and_nothing_is_left(paths, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = {path: path.read_bytes() for path in paths}
    with docindex.open_many(paths) as files:
        assert files.search(SUSPECT)
        assert files.pairs()
        assert len(list(temporary.iterdir())) == 1
    files.close()
    assert list(temporary.iterdir()) == []
    assert {path: path.read_bytes() for path in paths} == before
    with pytest.raises(ValueError, match="closed"):
        files.search(SUSPECT)


@pytest.mark.parametrize("wrong", ["path", [], [7]])
def test_paths_must_be_a_list_of_paths(wrong):
    with pytest.raises((TypeError, ValueError), match="path"):
        docindex.open_many(wrong)


def test_a_missing_file_is_named_and_the_others_are_closed(paths, tmp_path):
    with pytest.raises(FileNotFoundError, match="gone"):
        docindex.open_many([*paths, tmp_path / "gone"])
