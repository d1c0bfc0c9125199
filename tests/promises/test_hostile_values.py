"""Every method of an index answers a hostile value, or refuses it in a sentence that names the parameter."""

import contextlib
import decimal
import fractions
import functools
import inspect
import sqlite3

import numpy as np
import pytest

import docindex
from docindex import Key, Text

TEXT = (
    "The Analytical Engine weaves algebraical patterns just as the Jacquard loom weaves flowers and leaves."
)


class Lying(str):
    """A str whose own methods say something else, or fail."""

    __slots__ = ()

    def __len__(self):
        return 10**9

    def __eq__(self, other):
        raise RuntimeError("compared")

    def __hash__(self):
        raise RuntimeError("hashed")

    def __iter__(self):
        raise RuntimeError("iterated")

    def __contains__(self, _):
        raise RuntimeError("searched")

    def __getitem__(self, _):
        raise RuntimeError("indexed")

    def __str__(self):
        return "another"

    def __repr__(self):
        raise RuntimeError("shown")

    def __format__(self, _):
        raise RuntimeError("formatted")

    def encode(self, *_):
        raise RuntimeError("encoded")

    def isascii(self):
        raise RuntimeError("asked")

    strip = lower = translate = startswith = isascii


class Failing:
    """A number whose conversions fail."""

    def __index__(self):
        raise OverflowError("no number")

    def __float__(self):
        raise OverflowError("no number")

    def __repr__(self):
        raise RuntimeError("shown")


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def cyclic():
    value = []
    value.append(value)
    return value


VALUES = {
    "None": None,
    "True": True,
    "0": 0,
    "-1": -1,
    "2^63": 2**63,
    "10^30": 10**30,
    "10^400": 10**400,
    "10^5000": 10**5000,
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "1.5": 1.5,
    "a fraction": fractions.Fraction(10**400, 3),
    "a decimal": decimal.Decimal("sNaN"),
    "complex": 1j,
    "int64": np.int64(1),
    "uint8": np.uint8(1),
    "float32": np.float32(0.5),
    "a nan of numpy": np.float64("nan"),
    "a bool of numpy": np.bool_(True),
    "an array": np.array([1, 2]),
    "an array of one": np.array(1),
    "bytes": b"bytes",
    "a bytearray": bytearray(b"bytes"),
    "nothing": "",
    "NUL": "a\0b",
    "a surrogate": "\ud800",
    "a lying str": Lying("a"),
    "a lying text": Text(Lying("a")),
    "a lying key": Key(Lying("ada")),
    "an id": docindex.Id(10**400),
    "a str of numpy": np.str_("ada"),
    "a list": ["ada"],
    "a list of None": [None],
    "a list of lists": [[]],
    "a list of lying": [Lying("ada")],
    "a tuple": ("key", 5),
    "a mapping": {"a": float("nan")},
    "a nested list": nested(100_000),
    "a cyclic list": cyclic(),
    "an object": object(),
    "a failing number": Failing(),
}

# Methods that take no value, or whose values are functions, paths, tables and SQL (which other tests cover).
WITHOUT = {
    *("add_from", "backup", "cancel", "check", "close", "document_frequencies", "export", "flush", "follow"),
    *("optimize", "rebuild", "stats", "unfollow"),
}
REQUIRED = {
    "add": {"key": "new", "text": TEXT},
    "add_file": {"path": __file__},
    "add_many": {"items": [("new", TEXT)]},
    "compare": {"a": TEXT, "b": "ada"},
    "measures": {"a": TEXT, "b": "ada"},
    "execute": {"sql": "select key from docindex_document where key = ?", "bindings": ["ada"]},
    "remove_many": {"keys": ["ada"]},
    "load": {"lines": []},
    "load_sketches": {"batches": []},
    "near": {"query": TEXT},
    "near_many": {"queries": [TEXT]},
    "pairs": {"min_resemblance": 0.5},
    "rename": {"old": "ada", "new": "eda"},
    "rename_prefix": {"old": "a", "new": "e"},
    "search_many": {"queries": [TEXT]},
    "update": {"key": "ada", "meta": None},
    "search": {"query": TEXT},
    "similar": {"query": TEXT},
    "sources": {"query": TEXT},
    "remove": {"key": "ada"},
    "meta": {"key": "ada"},
    "text": {"key": "ada"},
}
# The words that an error may use for a parameter.
ALSO = {
    "a": "a text or a key",
    "b": "a text or a key",
    "query": "a text or a key",
    "queries": "a text or a key",
    "items": "item",
    "key": "key",
    "old": "key",
    "new": "key",
    "sql": "statement",
    "where": "condition",
    "lines": "line",
    "min_containment": "min_resemblance",
    "text": "a text",
    "x": "simhash",
    "y": "simhash",
    "features": "weight",
    "slots": "slots",
    "timeout_s": "seconds",
}


def calls():
    for name, method in inspect.getmembers(docindex.Index, inspect.isfunction):
        if not name.startswith("_") and name not in WITHOUT:
            for parameter in list(inspect.signature(method).parameters.values())[1:]:
                # Those of `search` are VAR_KEYWORD; other tests give paths of all kinds.
                if parameter.kind is not parameter.VAR_KEYWORD and parameter.name != "path":
                    yield name, parameter.name


@pytest.fixture(scope="module")
def index():
    with docindex.open(":memory:") as opened:
        yield opened


def wrong_answers(call, parameter):
    """The hostile values of a parameter that end in another error, or in one that does not name it."""
    wrong = []
    words = (parameter, ALSO.get(parameter, parameter), "does not work")
    for label, value in VALUES.items():
        try:
            call(**{parameter: value})
        except docindex.DocIndexError as error:
            said = str(error)
        except KeyError as error:
            said = f"{parameter} {error.args[0]!r}"
        except (TypeError, ValueError) as error:
            said = str(error)
            if not any(word in said for word in words):
                wrong.append((label, type(error).__name__, said[:200]))
        except Exception as error:
            wrong.append((label, type(error).__name__, str(error)[:200]))
        else:
            continue
        if len(said) > 500:
            wrong.append((label, f"a message of {len(said)} characters"))
    return wrong


@pytest.mark.parametrize(("name", "parameter"), list(calls()), ids=lambda name: name)
def test_a_method_answers_a_hostile_value_or_refuses_it_by_name(name, parameter):
    def call(**value):
        index.add("ada", TEXT)
        found = getattr(index, name)(**{**REQUIRED.get(name, {}), **value})
        if name in ("pairs", "containments"):
            list(found)

    with docindex.open(":memory:") as index:
        assert wrong_answers(call, parameter) == []


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (docindex.fingerprints, {"text": TEXT}),
        (docindex.sketch, {"text": TEXT}),
        (docindex.resemblance, {"a": TEXT, "b": TEXT}),
        (docindex.containment, {"a": TEXT, "b": TEXT}),
        (docindex.simhash, {"text": TEXT}),
        (docindex.simhash, {"features": {}}),
        (docindex.distance, {"x": 1, "y": 2}),
        (docindex.Recipe, {name: getattr(docindex.Recipe(), name) for name in docindex.Recipe.__slots__}),
    ],
    ids=lambda function: getattr(function, "__name__", ""),
)
def test_a_function_answers_a_hostile_value_or_refuses_it_by_name(function, given):
    for parameter in given:
        call = functools.partial(function, **given)
        assert wrong_answers(call, parameter) == [], parameter


@pytest.mark.parametrize("parameter", ["recipe", "readonly", "durability", "timeout_s", "trusted"])
def test_opening_answers_a_hostile_value_or_refuses_it_by_name(parameter, tmp_path):
    docindex.open(tmp_path / "index").close()
    assert wrong_answers(lambda **value: docindex.open(tmp_path / "index", **value).close(), parameter) == []


def test_a_path_is_answered_or_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert wrong_answers(lambda path: docindex.open(path).close(), "path") == []


def test_a_time_limit_is_accepted_or_refused_by_name():
    def call(limit_s):
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            docindex.register(connection, limit_s=limit_s)

    assert wrong_answers(call, "limit_s") == []


def test_a_number_of_numpy_is_as_good_as_one_of_python():
    with docindex.open(":memory:") as index:
        index.add("ada", TEXT)
        for one, other in ((1, np.uint8(1)), (2, np.int64(2)), (10**30, 2**62)):
            assert index.search(TEXT, limit=one) == index.search(TEXT, limit=other)
        assert index.similar(TEXT, np.float32(0.5)) == index.similar(TEXT, fractions.Fraction(1, 2))


def test_the_methods_of_a_subclass_of_str_are_never_called():
    with docindex.open(":memory:") as index:
        index.add(Lying("ada"), Lying(TEXT))
        assert (list(index), index.text(Lying("ada")), type(index.text("ada"))) == (["ada"], TEXT, str)
        assert index.search(Lying(TEXT), where=Lying("key = 'ada'"))[0].key == "ada"
        assert index.compare(Lying(TEXT), Lying("ada")).resemblance == 1.0
        assert Lying("ada") in index
        index.rename(Lying("ada"), Lying("eda"))
        index.remove(Lying("eda"))
        assert (len(index), index.check()) == (0, [])
