"""Print what the library logs as remarks of the command. Apart, because logging takes 2 ms to import."""

import contextlib
import logging
from collections.abc import Iterator

from docindex.cli.output import remark
from docindex.shown.wording import one_line


class _Remarks(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        remark(f"docindex: {one_line(record.getMessage())}")


@contextlib.contextmanager
def log_as_remarks() -> Iterator[None]:
    """A block whose log is printed as remarks."""
    logger, remarks = logging.getLogger("docindex"), _Remarks()
    logger.addHandler(remarks)
    try:
        yield
    finally:
        logger.removeHandler(remarks)
