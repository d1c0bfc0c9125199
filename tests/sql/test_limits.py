"""A question stops soon after its time limit, or after `Index.cancel`, whatever it is busy with.

No test measures a time: the tests count how often a question asks whether it must stop.
"""

import contextlib
import itertools
import json
import random
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

import docindex
from docindex import cancellation
from docindex.reading import slicing
from docindex.sql import register
from docindex.storage.hosts.connections import Sqlite3Host
from tests.storage.texts import prose

LONG = slicing.PIECE_CHARACTERS * 3


@pytest.fixture(scope="module")
def long_texts():
    rng = random.Random(3)
    some = prose(rng, LONG // 6)[:LONG]
    return some, f"{some[LONG // 2 :]} é {prose(rng, LONG // 12)}"


@pytest.fixture
def asked(monkeypatch):
    """The times at which a question asked the clock, for which time is never up."""
    times = []

    monkeypatch.setattr(Sqlite3Host, "refuse_late", lambda _: times.append(time.monotonic()))
    return times


@pytest.fixture(autouse=True)
def _no_tracebacks():
    sqlite3.enable_callback_tracebacks(False)  # another library in the process may have asked for them


def connected(path=":memory:", limit_s=1):
    connection = sqlite3.connect(path)
    docindex.register(connection, limit_s=limit_s)
    return contextlib.closing(connection)


QUESTIONS = [
    "doc_sketch(?1)",
    "doc_simhash(?1)",
    "doc_features(?1)",
    "doc_canonical(?1)",
    "doc_canonical(?2)",
    "doc_resemblance(?1, ?2)",
    "doc_containment(?1, ?2)",
    "doc_common(?1)",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_function_of_a_long_text_asks_the_clock_in_each_slice(question, long_texts, asked):
    with connected() as connection:
        connection.execute(f"select {question}", long_texts[: 1 + ("?2" in question)]).fetchone()
    assert len(asked) >= 3


@pytest.mark.parametrize(
    "question",
    [
        *QUESTIONS,
        "doc_passages_json(?1, ?2)",
        "doc_regions_json(?1, ?2)",
        "doc_fingerprints_json(?1)",
        "doc_search_json(?1)",
        "doc_near_json(?1)",
    ],
)
def test_a_question_about_a_long_text_stops_when_its_time_is_up(question, long_texts, tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add("ada", "The Analytical Engine weaves algebraical patterns")
    with connected(tmp_path / "index", limit_s=0) as connection:
        with pytest.raises(sqlite3.OperationalError):
            connection.execute(f"select {question}", long_texts[: 1 + ("?2" in question)]).fetchone()
        (message,) = connection.execute("select doc_error()").fetchone()
    assert "the question was not answered within 0 s, and was cancelled; " in message


def test_all_values_of_an_aggregate_have_one_time_limit(monkeypatch):
    starts = []
    monkeypatch.setattr(Sqlite3Host, "start_clock", lambda _: starts.append(1) or 0.0)
    monkeypatch.setattr(Sqlite3Host, "refuse_late", lambda _: None)
    with connected() as connection:
        for _ in range(2):
            connection.execute(
                'select doc_common(value) from json_each(\'["a b", "a c", "a d"]\')'
            ).fetchone()
    assert len(starts) == 2


def test_functions_that_give_the_values_do_not_start_the_limit_of_an_aggregate_again(monkeypatch):
    numbers, continued = itertools.count(), []
    monkeypatch.setattr(Sqlite3Host, "start_clock", lambda _: next(numbers))
    monkeypatch.setattr(Sqlite3Host, "continue_clock", lambda _, deadline: continued.append(deadline))
    monkeypatch.setattr(Sqlite3Host, "refuse_late", lambda _: None)
    with connected() as connection:
        connection.execute(
            """select doc_common(doc_canonical(value)) from json_each('["a b", "a c", "a d"]')"""
        ).fetchone()
    assert next(numbers) == 3 + 1  # each function, and the aggregate
    assert continued == [1, 1, 1]  # for the other two values and the result; the first value started it


@pytest.mark.parametrize(
    "question", ["doc_pairs_json(0.3)", "doc_clusters_json(0.3)", "doc_containments_json(0.3)"]
)
def test_a_question_about_all_documents_asks_the_clock_while_it_writes_its_rows(
    question, tmp_path, asked, monkeypatch
):
    monkeypatch.setattr("docindex.sql.table_functions._ROWS_AT_A_TIME", 10)
    with docindex.open(tmp_path / "index") as index:
        index.add_many([(f"{n}", f"one header that all of the documents have, and {n}") for n in range(60)])
    with connected(tmp_path / "index") as connection:
        connection.execute(f"select {question}").fetchone()
        asked_of_few = len(asked)
        monkeypatch.setattr("docindex.sql.table_functions._ROWS_AT_A_TIME", 1)
        connection.execute(f"select {question}").fetchone()
    assert len(asked) - asked_of_few > asked_of_few + 30


@pytest.mark.parametrize(
    ("made", "size"),
    [
        ("hex(zeroblob(2500001))", "5,000,002 bytes"),
        ("zeroblob(5000001)", "5,000,001 bytes"),
        ("replace(hex(zeroblob(833334)), '0', '漢')", "5,000,004 bytes"),
        ("replace(hex(zeroblob(2500001)), '0', '漢')", "5,000,002 characters"),
    ],
)
@pytest.mark.parametrize(
    "function",
    [
        "doc_canonical({})",
        "doc_search_json({})",
        "doc_resemblance('a', {})",
        "doc_common({})",
        "doc_group({}, 'x')",
    ],
)
def test_an_argument_under_a_limit_of_time_has_a_limit_of_bytes(function, made, size):
    with connected() as connection:
        with pytest.raises(sqlite3.OperationalError):
            connection.execute(f"select {function.format(made)}").fetchone()
        assert connection.execute("select doc_error()").fetchone()[0] == (
            f"an argument has {size}, and at most 5,000,000 bytes are allowed; shorten it, or raise "
            "most_text_bytes of docindex.register"
        )


def test_the_limit_of_bytes_can_be_chosen_and_is_not_there_without_a_limit_of_time():
    connection = sqlite3.connect(":memory:")
    with contextlib.closing(connection):
        docindex.register(connection)
        text = "a" * 5_000_001
        assert connection.execute("select doc_resemblance(?1, ?1)", [text]).fetchone() == (1.0,)
        docindex.register(connection, most_text_bytes=6)
        assert connection.execute("select doc_canonical('A b c')").fetchone() == ("a b c",)
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("select doc_canonical('1234567')")
        for wrong, error in ((0, ValueError), (1.5, TypeError)):
            with pytest.raises(error, match="most_text_bytes must be a whole number"):
                docindex.register(connection, most_text_bytes=wrong)


def test_the_values_of_an_aggregate_have_a_limit_of_bytes_together(monkeypatch):
    monkeypatch.setattr(register, "_TEXTS_OF_AGGREGATE", 3)
    connection = sqlite3.connect(":memory:")
    with contextlib.closing(connection):
        docindex.register(connection, most_text_bytes=10)
        grouped = "select doc_group(value, 'text') from json_each(?)"
        connection.execute(grouped, [json.dumps(["key " + "k" * 4] * 2)]).fetchone()
        with pytest.raises(sqlite3.OperationalError):
            connection.execute(grouped, [json.dumps(["key " + "k" * 4] * 3)]).fetchone()
        (message,) = connection.execute("select doc_error()").fetchone()
        assert message.startswith("doc_group: the values together are longer than 3 times most_text_bytes")


GREEDY = """
import resource, sqlite3, docindex
sqlite3.enable_callback_tracebacks(False)
connection = sqlite3.connect(":memory:")
docindex.register(connection, limit_s=1)
functions = [
    "doc_canonical({})", "doc_sketch({})", "doc_resemblance({0}, {0})", "doc_common({})", "doc_group(1, {})",
    "doc_features({})",
]
texts = [
    "hex(zeroblob(2499999))", "replace(hex(randomblob(2499999)), '0', ' ')",
    "replace(hex(zeroblob(800000)), '0', '漢')",
]
def asked(text):
    for function in functions:
        try:
            connection.execute(f"select length({function.format(text)})").fetchone()
        except sqlite3.OperationalError as error:
            assert "user-defined" in str(error), error
asked("'a short text'")
idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for text in texts:
    asked(text)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle) // 1024)
"""


def test_texts_that_sql_makes_take_a_bounded_memory():
    done = subprocess.run([sys.executable, "-c", GREEDY], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 300


def test_a_condition_full_of_quotes_without_an_end_is_read_once(tmp_path):
    with docindex.open(tmp_path / "index") as index:
        index.add("ada", "The Analytical Engine weaves algebraical patterns")
        for quotes in ("[" * 1_000_000, "`[" * 500_000):
            with pytest.raises(ValueError, match="a quote is not closed"):
                index.search("patterns", where=quotes)
        assert (
            len(
                index.search(
                    docindex.Key("ada"), where="key in ('ada') and key not in ('[', '`', 'it''s') -- '"
                )
            )
            == 1
        )


@pytest.mark.parametrize("options", ['{"a":' * 100_000, "{" + "9" * 10_000])
def test_options_that_are_no_json_are_refused_with_a_short_sentence(options, tmp_path):
    docindex.open(tmp_path / "index").close()
    with connected(tmp_path / "index") as connection:
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("select doc_search_json('a text', ?)", [options]).fetchone()
        (message,) = connection.execute("select doc_error()").fetchone()
    assert message.startswith("doc_search_json: expected a JSON object of parameters, not '{")
    assert len(message) < 300


def stopped_at_every_checkpoint(ask):
    """Run some work again and again, and stop it at its first, second, third ... checkpoint."""
    for steps in range(10_000):
        left = iter(range(steps))

        def stop(left=left):
            if next(left, None) is None:
                raise KeyboardInterrupt

        try:
            with cancellation.stopped_by(stop):
                ask()
        except KeyboardInterrupt:
            continue
        return steps
    raise AssertionError("it never ended")


def test_an_alignment_can_be_stopped_at_every_step():
    rng = random.Random(5)
    a = prose(rng, 300)
    b = f"{a[500:1500]} ありがとう {a[:400]} {'word ' * 500}"
    with docindex.open(":memory:") as index:
        expected = index.compare(a, b)
        assert stopped_at_every_checkpoint(lambda: index.compare(a, b)) > 5
        assert index.compare(a, b) == expected


def cancelled(index, work, ready):
    """The error of some work in another thread that is cancelled when `ready` says so."""
    errors = []

    def run():
        try:
            work()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(60)
    while thread.is_alive():
        index.cancel()
        thread.join(0.02)
    return errors


@pytest.mark.parametrize(
    "work",
    [
        lambda index, text: index.add("long", text * 20),
        lambda index, text: index.search(docindex.Text(text * 20), exact=True),
        lambda index, text: index.compare(text * 20, text * 20 + "and more"),
        lambda index, text: index.similar(docindex.Text(text * 20), 0.1),
        lambda index, text: index.near(docindex.Text(text * 20)),
        lambda index, text: index.measures(text * 20, text * 20),
    ],
    ids=["add", "search", "compare", "similar", "near", "measures"],
)
def test_cancel_ends_work_on_a_long_text_between_two_slices(work, long_texts, monkeypatch):
    ready = threading.Event()
    with docindex.open(":memory:") as index:
        index.add("ada", "The Analytical Engine weaves algebraical patterns")
        real = cancellation.checkpoint

        def noted():
            ready.set()
            time.sleep(0.001)
            real()

        for module in ("reading.slicing", "reading.plain_text", "query.regions.passages"):
            monkeypatch.setattr(f"docindex.{module}.checkpoint", noted)
        errors = cancelled(index, lambda: work(index, long_texts[1]), ready)
        monkeypatch.undo()
        assert [type(error) for error in errors] == [docindex.Cancelled]
        assert (list(index), index.check()) == (["ada"], [])
