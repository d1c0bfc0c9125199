"""A file of every released schema opens, reads and has no damage, in every later version of docindex."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest

import docindex
from docindex import Recipe
from docindex.frontends import Extracted, Place, Places
from docindex.storage.rows import contents
from docindex.storage.tracked_files import Tracked
from tests.storage.answers import looked_up

GOLDEN = Path(__file__).parents[1] / "golden" / "schema-1.docindex"
RECIPE = Recipe(k=8, window=6, shingle=3, slots=16, features=(4, 4, 2), min_s=8, mod_m=3, level=8)
TEXTS = {
    "Größe 漢字": ("Größe 漢字, in two scripts", {"ü": [1, None]}),
    "ada": (" ".join(f"The Analytical Engine weaves pattern {n}," for n in range(80)), {"author": "Ada"}),
    "copy": (" ".join(f"The Analytical Engine weaves pattern {n}," for n in range(80)), None),
    "empty": ("", None),
    "excerpt": (
        "It begins otherwise. "
        + " ".join(f"The Analytical Engine weaves pattern {n}," for n in range(20, 40)),
        1,
    ),
    "not kept": (None, None),
    "raw": ("short", "x"),
    # An emoji that Python 3.11 does not know, and an unassigned code point: the Unicode tables of Python must
    # not matter.
    "🫨.txt": ("a shaking face 🫨 \u0378", {"🫨": "\u0378"}),
    "letter.docx": ("Dear Ada, a text that was extracted from a letter", None),
    "note/1": ("a text that is in a table of an app 🫨", None),
}


def make(path):
    """The file as it was made when the schema was new; a new schema gets a function and a file of its own.

    Until schema 1 is released: ``rm tests/golden/schema-1.docindex``, then ``make(GOLDEN)``.
    """
    with docindex.open(path, recipe=RECIPE) as index:
        index.add("gone", "what was here before it was removed " * 20)
        index.add("ada", "what was here before it was replaced " * 20)
        for key, (text, meta) in TEXTS.items():
            if text is None:
                index.add(key, "a text of which the index knows the fingerprints only", store_text=False)
            elif key == "letter.docx":
                places = Places((0, 9), (Place("page 1"), Place("page 2 🫨", (1.0, 2.5, 3.0, 4.0))))
                index.add(key, Extracted(text, places, "a title 🫨", reading="docx-1"))
            elif not key.startswith("note/"):
                index.add(key, text, meta=meta)
        index.remove("gone")
        index.boilerplate.add("text that everybody has 🫨", name="🫨")
        index.files.put(
            [Tracked("/home/🫨.txt", 10, 20, 30, 1 << 63, 40, "text", "docx-1", 2, "page 2 🫨", b"\xff" * 16)]
        )
    with contextlib.closing(sqlite3.connect(path)) as app:
        app.execute("create table note (id integer primary key, body text)")
        app.execute("insert into note (body) values ('a text that is in a table of an app 🫨')")
        app.commit()
    with docindex.open(path) as index:
        index.follow("note", key="id", text="body", prefix="note/")
        assert index.text("note/1") == TEXTS["note/1"][0]


@pytest.fixture(params=[True, False])
def index(request, tmp_path):
    """A copy of the file, open for reading or for writing."""
    shutil.copy(GOLDEN, tmp_path / "index")
    with docindex.open(tmp_path / "index", readonly=request.param) as opened:
        yield opened


def test_a_file_of_schema_1_opens_without_damage(index):
    assert index.recipe == RECIPE
    assert index.check() == []


def test_a_file_of_schema_1_holds_what_was_stored(index):
    assert list(index) == sorted(TEXTS)
    assert {key: (index.text(key), index.meta(key)) for key in index} == TEXTS
    stats = index.stats()
    assert (stats.documents, stats.contents, stats.dead > 0) == (10, 9, True)


def test_the_sketches_in_a_file_of_schema_1_are_those_that_its_texts_give_now(index):
    with docindex.open(":memory:", recipe=RECIPE) as fresh:
        fresh.add_many([(key, text, meta) for key, (text, meta) in TEXTS.items() if text is not None])
        for key in fresh:
            old, new = index[key], fresh[key]
            assert (old.symbols, old.fingerprints, old.shingles, old.simhash) == (
                *(new.symbols, new.fingerprints, new.shingles, new.simhash),
            )
            rows = []
            for opened, document in ((index, old), (fresh, new)):
                with opened._store.reading() as db:
                    hashes, positions = contents.fingerprints_of(db, document.content, RECIPE.window)
                    hits = looked_up(db, np.unique(hashes))
                    rows.append(
                        (
                            *(hashes.tolist(), positions.tolist(), int((hits[1] == document.content).sum())),
                            db.execute(
                                "select hash, words_hash, slots from docindex_content where id = ?",
                                (document.content,),
                            ).fetchone(),
                            db.execute(
                                "select min_s, mod_m, level from docindex_sample where content = ?",
                                (document.content,),
                            ).fetchone(),
                        )
                    )
            assert rows[0] == rows[1]


def test_a_file_of_schema_1_knows_the_places_of_an_extracted_text(index):
    (passage,) = index.compare("to Ada, a text that was extracted from a letter", "letter.docx").passages
    assert (passage.query_place, passage.place) == ("", "page 1 to page 2 🫨")


def test_a_file_of_schema_1_can_be_changed(tmp_path):
    shutil.copy(GOLDEN, tmp_path / "index")
    with docindex.open(tmp_path / "index") as index:
        index.add("new", "a new text")
        index.remove("ada")
        index.optimize()
        assert index.check() == []
        assert index.text("copy") == TEXTS["copy"][0]
