"""What PyInstaller must collect for docindex, and does not find by itself.

`docindex` imports its modules when their names are used; the statements that PyInstaller reads are there for
type checkers only.
"""

from pathlib import Path

import docindex
from docindex.frontends.recognition import BUILT_IN

_PACKAGE = Path(__file__).parents[1]
_INSTALLED = _PACKAGE / "schema"
_SCHEMA = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent / "schema"  # in a checkout

datas = [
    (str(_SCHEMA / "[0-9]*"), "docindex/schema"),
    (str(_PACKAGE / "reading" / "*.table"), "docindex/reading"),
    (str(_PACKAGE / "report" / "templates"), "docindex/report/templates"),
]
hiddenimports = [
    *docindex._HOMES,  # noqa: SLF001 - the hook is part of docindex
    "docindex.sketching.worker_process",
    "docindex.sketching.sketch_tables",
    "docindex.sketching.sketch_checks",
    "docindex.frontends.isolated.child",
    *(f"docindex.frontends.{name}" for name in BUILT_IN),
]
# Only an app that imports pyarrow itself can use tables of sketches, and gets this large package.
excludedimports = ["pyarrow"]
