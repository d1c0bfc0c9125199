"""Migrations: an older file is upgraded, gives the same answers as before, and has no damage."""

import inspect
import json
import random
import shutil
import signal
import sqlite3
from contextlib import closing

import pytest

import docindex
from docindex import Recipe
from tests.storage import future
from tests.storage.test_schema_file import GOLDEN
from tests.storage.texts import noise, prose

CONTENTS = 60


def answers(index):
    keys = list(index)
    return {
        "keys": keys,
        "texts": [index.text(key) for key in keys],
        "facts": [[index[key].meta, index[key].added_at, index[key].simhash] for key in keys],
        "search": [[(m.key, m.shared, m.score) for m in index.search(docindex.Key(key))] for key in keys],
        "similar": [[(m.key, m.resemblance) for m in index.similar(docindex.Key(key), 0.1)] for key in keys],
        "near": [[(n.key, n.distance) for n in index.near(key, 12)] for key in keys],
        "pairs": [(p.a, p.b, p.resemblance) for p in index.pairs(min_resemblance=0.1)],
        "id": index.recipe.id,
    }


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    """The folder of the docindex from the future."""
    folder = tmp_path_factory.mktemp("future")
    future.make(folder)
    return folder


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A file of the present schema with some dozen contents."""
    rng = random.Random(12)
    path = tmp_path_factory.mktemp("old") / "index"
    with docindex.open(path, recipe=Recipe(k=8, window=6, shingle=2)) as index:
        texts = [prose(rng, 60) for _ in range(CONTENTS // 2)]
        texts += [text[:200] + noise(rng, 50) for text in texts]
        index.add_many([(f"text {n}", text, n) for n, text in enumerate(texts)])
        index.add("a copy", texts[0])
        index.remove("text 7")
    return path


@pytest.fixture(params=["old", "golden"])
def file(request, old, tmp_path):
    """A copy of the file, or of the golden one."""
    path = tmp_path / "index"
    shutil.copy(old if request.param == "old" else GOLDEN, path)
    return path


def answered_now(path):
    """The answers by the present docindex, in this process."""
    with docindex.open(path) as index:
        assert index.check() == []
        return json.loads(json.dumps(answers(index)))


def answered(later, path, statements="", mode=""):
    """The answers after some statements, by the docindex from the future."""
    program = (
        f"import json, sys, docindex\n{inspect.getsource(answers)}\n"
        f"with docindex.open(sys.argv[1]{mode}) as index:\n"
        f"    {statements or 'pass'}\n"
        "    assert index.check() == [], index.check()\n"
        "    print(json.dumps(answers(index)))\n"
    )
    done = future.run(later, program, path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def facts(path):
    """The schema number of a file, and whether contents have the new column."""
    with closing(sqlite3.connect(path)) as db:
        (version,) = db.execute("select schema from docindex_recipe").fetchone()
        columns = [name for _, name, *_ in db.execute("pragma table_info(docindex_content)")]
    return version, "language" in columns


def test_an_older_file_is_migrated_and_gives_the_same_answers_without_damage(later, file):
    before = answered_now(file)
    assert facts(file) == (1, False)
    assert answered(later, file) == before
    assert facts(file) == (2, True)
    assert answered(later, file, mode=", readonly=True") == before


def test_a_migrated_file_can_be_changed(later, file):
    changes = (
        "index.add('new', 'a new text with some words in it'); index.add('a copy', 'now another text'); "
        "index.boilerplate.add('some words in it'); index.rename('new', 'newer'); index.optimize()"
    )
    found = answered(later, file, changes)
    assert {"newer", "a copy"} <= set(found["keys"])
    assert answered(later, file) == found


def test_a_recipe_field_that_a_file_lacks_has_its_former_default_and_keeps_the_id(later, file, tmp_path):
    present = answered_now(file)["id"]
    program = (
        "import sys, docindex\n"
        "for path in sys.argv[1:]:\n"
        "    with docindex.open(path) as index:\n"
        "        print(index.recipe.dialect, index.recipe.id)\n"
    )
    done = future.run(later, program, file, tmp_path / "new")
    (dialect, old_id), (new_dialect, new_id) = map(str.split, done.stdout.splitlines())
    assert (dialect, old_id) == ("none", present)
    assert new_dialect == "british"
    assert new_id not in {present, Recipe().id}


def test_an_older_file_opened_for_reading_only_is_too_old_and_is_not_changed(later, file):
    before = file.read_bytes()
    program = (
        "import sys, apsw, docindex\n"
        "try:\n"
        "    docindex.open(sys.argv[1], readonly=True)\n"
        "except docindex.SchemaTooOld as error:\n"
        "    print(error)\n"
        "db = apsw.Connection(':memory:')\ndocindex.register(db)\n"
        "db.execute('attach ? as old', (sys.argv[1],))\n"
        "try:\n"
        "    db.execute(\"select * from doc_search('some words') where schema = 'old'\").fetchall()\n"
        "except docindex.SchemaTooOld as error:\n"
        "    print(error)\n"
    )
    done = future.run(later, program, file)
    first, second = done.stdout.splitlines()
    for message in (first, second):
        assert message.startswith(f"{file} has schema 1, and this docindex reads schema 2; open it"), done
        assert message.endswith(
            "open it for writing once, which upgrades it (docindex info --optimize does that)"
        )
    assert file.read_bytes() == before


def test_the_command_upgrades_an_older_file_when_it_opens_it_for_writing(later, file):
    program = (
        "import sys\n"
        "from docindex.cli import main\n"
        "for option in ([], ['--optimize'], []):\n"
        "    print('code', main(['info', *option, '--index', sys.argv[1]]))\n"
    )
    done = future.run(later, program, file)
    codes = [line for line in done.stdout.splitlines() if line.startswith("code")]
    assert codes == ["code 16", "code 0", "code 0"]


def test_a_migrated_file_is_too_new_for_the_older_docindex(later, file):
    answered(later, file)
    with pytest.raises(docindex.SchemaTooNew, match="schema 2"):
        docindex.open(file)


@pytest.mark.parametrize("readonly", [False, True])
def test_a_file_that_is_open_during_its_migration_is_too_new_afterwards(readonly, later, file):
    with docindex.open(file, readonly=readonly) as index:
        key = next(iter(index))
        assert index[key].key == key
        after = answered(later, file)
        calls = [lambda: index[key], lambda: index.search(docindex.Key(key)), index.check]
        if not readonly:  # rows without the new column would look damaged
            calls += [
                lambda: index.add("new", "a new text"),
                lambda: index.rename(key, "new"),
                index.optimize,
            ]
        for call in calls:
            with pytest.raises(docindex.SchemaTooNew, match="schema 2"):
                call()
    assert answered(later, file) == after


def test_a_file_that_is_not_trusted_is_checked_migrated_and_checked_again(later, file):
    before = answered_now(file)
    assert answered(later, file, mode=", trusted=False") == before
    assert answered(later, file, mode=", trusted=False") == before


def test_an_altered_file_that_is_not_trusted_is_refused_before_it_is_migrated(later, old, tmp_path):
    path = tmp_path / "index"
    shutil.copy(old, path)
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "create trigger spy after update on docindex_content begin delete from docindex_document; end"
        )
        db.commit()
    done = future.run(later, "import sys, docindex; docindex.open(sys.argv[1], trusted=False)", path)
    assert "CorruptIndex" in done.stderr.splitlines()[-1]
    assert facts(path) == (1, False)


def test_damage_from_before_a_migration_is_still_found_after_it(later, old, tmp_path):
    path = tmp_path / "index"
    shutil.copy(old, path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("update docindex_content set characters = characters + 1 where id = 3")
        db.commit()
    done = future.run(
        later,
        "import sys, docindex\nwith docindex.open(sys.argv[1]) as index: print(index.check())",
        path,
    )
    assert "'content 3 was changed'" in done.stdout


@pytest.mark.parametrize("rows", [0, 1, 30, CONTENTS - 2, CONTENTS + 5])
def test_a_killed_migration_is_done_completely_or_not_at_all(rows, later, old, tmp_path):
    path = tmp_path / "index"
    shutil.copy(old, path)
    before = answered_now(path)
    program = (
        "import os, signal, sys, docindex\ndocindex.open(sys.argv[1])\nos.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = future.run(later, program, path, KILL_AFTER=str(rows))
    assert killed.returncode == -signal.SIGKILL
    finished = rows > CONTENTS
    assert facts(path) == ((2, True) if finished else (1, False))
    if not finished:
        assert answered_now(path) == before
    assert answered(later, path) == before
