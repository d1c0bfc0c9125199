"""``python -m docindex.spark dedup`` turns a folder of texts into a folder without near-duplicates."""

import json
import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from docindex.spark import command
from docindex.spark.command import run_spark_command
from tests.spark.copied_texts import copied_texts, index_of

TEXTS = copied_texts(count=60)


@pytest.fixture(autouse=True)
def of_the_tests(session, monkeypatch):
    """The command runs in the session of the tests."""
    monkeypatch.setattr(command, "_session", lambda: session)


@pytest.fixture
def parquet(tmp_path):
    """Two files with keys, in two folders that are a column."""
    items = sorted(TEXTS.items())
    for name, some in (("lang=de", items[:30]), ("lang=en", items[30:])):
        keys, texts = zip(*some, strict=True)
        table = pa.table({"id": keys, "body": texts, "size": [len(text) for text in texts]})
        (tmp_path / "in" / name).mkdir(parents=True)
        pq.write_table(table, tmp_path / "in" / name / "part-0.parquet")
    return tmp_path / "in"


@pytest.fixture
def lines(tmp_path):
    """JSON lines without keys, with equal rows, a row without a text, and a line that was cut off."""
    folder = tmp_path / "lines" / "deep"
    folder.mkdir(parents=True)
    rows = [{"text": text, "n": len(text)} for text in TEXTS.values()]
    rows += [rows[0], rows[0], {"text": None, "n": 7}]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "b.jsonl").write_text('{"n": 9, "text": "cut', "utf-8")
    return tmp_path / "lines"


def kept_keys(min_resemblance=0.8):
    with index_of(TEXTS) as index:
        clusters = [cluster.keys for cluster in index.clusters(min_resemblance)]
    removed = [sorted(keys, key=lambda key: (-len(TEXTS[key]), key))[1:] for keys in clusters]
    return TEXTS.keys() - {key for keys in removed for key in keys}, len(clusters)


def numbers(printed):
    return {line.split()[0]: int(line.split()[1].replace(",", "")) for line in printed.splitlines()}


def rows_of(folder):
    files = sorted(folder.glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def test_a_folder_of_parquet_becomes_one_without_near_duplicates(session, parquet, tmp_path, capfd):
    output, sketches = tmp_path / "out", tmp_path / "sketches"
    given = [str(parquet), str(output), "--text", "body", "--key", "id", "--sketches", str(sketches)]
    assert run_spark_command(["dedup", *given]) == 0
    kept, clusters = kept_keys()
    table = pq.read_table(output)
    assert table.column_names == ["id", "body", "size", "lang"]
    assert sorted(table["id"].to_pylist()) == sorted(kept)
    assert {row["id"]: row["body"] for row in table.to_pylist()} == {key: TEXTS[key] for key in kept}
    assert numbers(capfd.readouterr().out) == {
        "documents": len(TEXTS),
        "kept": len(kept),
        "removed": len(TEXTS) - len(kept),
        "clusters": clusters,
    }
    assert sorted(pq.read_table(sketches)["key"].to_pylist()) == sorted(TEXTS)
    assert session.sparkContext.statusTracker().getJobIdsForGroup("docindex dedup")


def test_json_lines_without_keys_keep_the_same_rows_in_each_run(lines, tmp_path, capfd):
    found = []
    for name in ("one", "two"):
        given = [str(lines), str(tmp_path / name), "--format", "json", "--min-resemblance", "0.6"]
        assert run_spark_command(["dedup", *given, "--keep", "min:n"]) == 0
        counted = numbers(capfd.readouterr().out.replace("left out", "left_out"))
        assert (counted["documents"], counted["left_out"]) == (len(TEXTS) + 2, 2)
        rows = rows_of(tmp_path / name)
        assert len(rows) == counted["kept"]
        found.append(sorted(map(json.dumps, rows)))
    assert found[0] == found[1]
    assert all(set(json.loads(row)) == {"text", "n"} for row in found[0])


def wrong(arguments, capfd):
    """The exit code and the only line that is printed."""
    code = run_spark_command(["dedup", *map(str, arguments)])
    printed = capfd.readouterr()
    assert printed.out == ""
    (line,) = [line for line in printed.err.splitlines() if line.startswith("docindex.spark: ")]
    assert "Traceback" not in printed.err
    return code, line


def test_a_missing_column_is_named_with_the_columns_found(parquet, tmp_path, capfd):
    code, line = wrong([parquet, tmp_path / "out"], capfd)
    assert (code, line) == (
        2,
        "docindex.spark: there is no column 'text'; the input has id, body, size, lang",
    )
    assert not (tmp_path / "out").exists()


def test_a_column_that_is_no_key_is_refused(lines, tmp_path, capfd):
    code, line = wrong([lines, tmp_path / "out", "--key", "n"], capfd)
    assert code == 2
    assert "the column 'n' cannot be the key, because " in line


def test_an_existing_output_is_replaced_only_with_overwrite(parquet, tmp_path, capfd):
    output = tmp_path / "out"
    output.mkdir()
    (output / "mine").write_text("precious", "utf-8")
    given = [parquet, output, "--text", "body", "--key", "id"]
    code, line = wrong(given, capfd)
    assert code == 3
    assert line.endswith("out exists; give another folder, or replace it with --overwrite")
    assert (output / "mine").read_text("utf-8") == "precious"
    assert run_spark_command(["dedup", *map(str, given), "--overwrite"]) == 0
    assert pq.read_table(output).num_rows > 0


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "found an empty folder"),
        ({"notes.txt": "words"}, "found only other files"),
        ({"a.json": '{"text": "a"}', "b.parquet": ""}, "found both"),
        ({"a.json": '{"text": null, "n": 1}'}, "there are no texts in "),
        ({"a.json": '{"text": "a'}, "there is no column 'text'"),
        ({"b.parquet": "not such a file"}, "Spark stopped: "),
        (None, "does not exist"),
    ],
)
def test_an_input_without_texts_is_one_sentence(tmp_path, capfd, files, said):
    folder = tmp_path / "in"
    if files is not None:
        folder.mkdir()
    for name, text in (files or {}).items():
        (folder / name).write_text(text, "utf-8")
    code, line = wrong([folder, tmp_path / "out"], capfd)
    assert (code, said in line) == (2 if "column" in line else 3, True), line


@pytest.mark.parametrize("output", ["in", "in/out", "in/../in", "."])
def test_an_output_inside_the_input_or_around_it_is_refused(parquet, tmp_path, capfd, output):
    given = [parquet, tmp_path / output, "--text", "body", "--key", "id", "--overwrite"]
    code, line = wrong(given, capfd)
    assert (code, "name folders apart from each other" in line) == (2, True)
    assert pq.read_table(parquet).num_rows == len(TEXTS)


def test_a_missing_column_of_the_rule_is_named_before_the_work(parquet, tmp_path, capfd):
    given = [parquet, tmp_path / "out", "--text", "body", "--sketches", tmp_path / "s", "--keep", "max:score"]
    code, line = wrong(given, capfd)
    assert code == 2
    assert line.endswith("--keep max:score: there is no column 'score'; the input has id, body, size, lang")
    assert not (tmp_path / "s").exists()


def test_wrong_arguments_are_one_sentence(tmp_path, capfd):
    assert wrong([tmp_path, tmp_path / "out", "--min-resemblance", "2"], capfd)[0] == 2
    code, line = wrong([tmp_path, tmp_path / "out", "--keep", "best"], capfd)
    assert code == 2
    assert "--keep must be one of longest, shortest, first, max:COLUMN, min:COLUMN, not 'best'" in line


def test_an_error_stands_alone_without_the_warnings_of_spark(java, tmp_path):
    assert java is None
    done = subprocess.run(
        [sys.executable, "-m", "docindex.spark", "dedup", str(tmp_path / "in"), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    # Java itself, not Spark, names the modules that Spark uses.
    own = [
        line for line in done.stderr.splitlines() if not line.startswith("WARNING: Using incubator modules")
    ]
    assert own == [f"docindex.spark: {tmp_path}/in does not exist"]


def test_the_log_that_somebody_has_configured_is_left_alone():
    assert "session_log.properties" in command.java_options({})
    assert command.java_options({"SPARK_SUBMIT_OPTS": "-Dlog4j2.level=info"}) == "-Dlog4j2.level=info"


def test_a_machine_without_java_is_told_what_to_install(tmp_path):
    own = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "docindex.spark", "dedup", str(tmp_path / "in"), str(tmp_path / "out")],
        env=own | {"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "no java was found; install it" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_help_explains_the_input_the_output_and_the_keys(capsys):
    with pytest.raises(SystemExit):
        run_spark_command(["dedup", "--help"])
    printed = capsys.readouterr().out
    for part in (
        "INPUT is a folder of Parquet files",
        "--min-resemblance",
        "--keep",
        "SHA-256",
        "spark-submit",
    ):
        assert part in printed
