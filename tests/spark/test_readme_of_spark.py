"""The lines of the README about Spark run, and give a folder without near-duplicates."""

import json
import re
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from docindex.spark import command

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SECTION = README.partition("\n## More text than one machine holds\n")[2].partition("\n## ")[0]
ROWS = [
    {"key": "a", "text": "The Analytical Engine weaves algebraical patterns as looms weave leaves."},
    {"key": "b", "text": "THE ANALYTICAL ENGINE weaves algebraical patterns, as looms weave leaves!"},
    {"key": "c", "text": "Other words."},
]


@pytest.fixture
def inside(tmp_path):
    """Puts the folders of the README into a temporary folder: Spark has a working folder of its own."""
    (tmp_path / "texts").mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (tmp_path / "texts" / "part.jsonl").write_text(lines, "utf-8")

    def put(text):
        return re.sub(r'(?<=["` ])(texts|sketches|deduplicated)(?=["` ])', rf"{tmp_path}/\1", text)

    return put


def test_the_lines_in_python_deduplicate_a_folder(session, tmp_path, inside):
    assert session
    (code,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    exec(inside(code), {})
    table = pq.read_table(tmp_path / "deduplicated")
    assert sorted(table["key"].to_pylist()) == ["b", "c"]
    assert table.column_names == ["key", "text"]


def test_the_command_deduplicates_a_folder(session, tmp_path, inside, monkeypatch, capfd):
    monkeypatch.setattr(command, "_session", lambda: session)
    (line,) = re.findall(r"`python -m docindex.spark (.*?)`", SECTION)
    assert command.run_spark_command(shlex.split(inside(f" {line} "))) == 0
    assert re.search(r"removed +1\n", capfd.readouterr().out)
    assert sorted(pq.read_table(tmp_path / "deduplicated")["key"].to_pylist()) == ["b", "c"]
