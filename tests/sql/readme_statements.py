"""Find the SQL that the README shows, and say it without virtual tables, as sqlite3 has to.

A call of a table function becomes the call of its JSON function. That has no conditions of the statement: so
thresholds and named parameters become its options.
"""

import json
import re
from pathlib import Path

from docindex.sql.table_functions import TABLES

README = (Path(__file__).parent.parent.parent / "README.md").read_text("utf-8")

_BY_EXECUTE = re.compile(r"index\.execute\('''\n(.*?)'''", re.DOTALL)
_BY_COMMAND = re.compile(r'^    docindex sql \S+ "(.*)"$', re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_STATEMENT = re.compile(r"(select|with|insert|update|delete)\s|from doc_", re.IGNORECASE)
_TABLE = re.compile(r"\b(from|join)\s+(doc_\w+)(?:\(([^()]*)\))?")
_CONDITION = re.compile(r"""(?:\w+\.)?"?(\w+)"?\s*(>=|<=|=)\s*('[^']*'|[\d.]+)""")
_THRESHOLDS = {
    ("resemblance", ">="): "min_resemblance",
    ("containment", ">="): "min_containment",
    ("distance", "<="): "max_distance",
}
_BY_NAME = {table.name: table for table in TABLES}


def shown():
    """Every statement of the README; one that it shows from `from` on gets all columns of its table."""
    inline = re.findall("`([^`]+)`", _BLOCK.sub("", README))
    statements = [sql.replace("...     ", "") for sql in _BY_EXECUTE.findall(README)]
    statements += _BY_COMMAND.findall(README)
    for sql in statements + [code for code in inline if _STATEMENT.match(code)]:
        if sql.startswith("from "):
            columns = _BY_NAME[_TABLE.match(sql)[2]].columns
            yield f"select {', '.join(map(_quoted, columns))} {sql}"
        else:
            yield sql


def without_tables(sql):
    """The same question, with JSON functions in place of the tables."""
    table = _BY_NAME[_TABLE.search(sql)[2]]
    options = {}

    def noted(found):
        name, sign, value = found.groups()
        option = _THRESHOLDS.get((name, sign), name)
        if option in table.hidden:
            options[option] = value.strip("'") if value.startswith("'") else json.loads(value)
        return "true" if name in table.hidden else found[0]

    def as_json(found):
        columns = ", ".join(f"value ->> '{column}' as {_quoted(column)}" for column in table.columns)
        arguments = [found[3]] if found[3] else []
        if options:
            arguments.append(_literal(json.dumps(options)))
        return f"{found[1]} (select {columns} from json_each({table.name}_json({', '.join(arguments)})))"

    return _TABLE.sub(as_json, _CONDITION.sub(noted, sql))


def _quoted(name):
    return f'"{name}"'


def _literal(text):
    quotes = text.replace("'", "''")
    return f"'{quotes}'"
