"""The options that select which files a scan takes: sizes, patterns, hidden files, links.

Turns the values of these options into the `WalkOptions` of `docindex.folders`.
"""

import re
from collections.abc import Sequence
from typing import Any

import click

from docindex.cli.options import archives_option, as_value
from docindex.cli.settings import read_settings
from docindex.folders import WalkOptions

_SIZE = r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?"


class ByteSize(click.ParamType):  # type: ignore[type-arg]  # older versions of click take no argument
    """A number of bytes, written as 500, 10k or 2.5M."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        found = re.fullmatch(_SIZE, str(value), re.IGNORECASE)
        if found is None:
            self.fail(f"{value!r} is not a size; write it as 500, 10k or 2.5M", param, ctx)
        number, unit, binary = found.groups("")
        step = 1024 if binary.lower() == "ib" else 1000
        return int(float(number) * step ** " kmgt".index(unit.lower() or " "))


def _walk_options(*, everything: bool, exclude: Sequence[str], **values: Any) -> WalkOptions:
    """The values of these options. The patterns of the settings are excluded, too."""
    return WalkOptions(
        hidden=values["hidden"] or everything,
        ignore=not (values["no_ignore"] or everything),
        programs=everything,
        exclude=(*exclude, *read_settings().exclude),
        follow_symlinks=values["follow_symlinks"],
        one_file_system=values["one_file_system"],
        min_size=values["min_size"],
        max_size=values["max_size"],
        formats="archives" if values["archives"] else "plain" if values["plain"] else "documents",
    )


selection_options = as_value(
    "selection",
    _walk_options,
    click.option("--hidden", is_flag=True, help="Include files and folders whose names begin with a dot."),
    click.option(
        "--all",
        "everything",
        is_flag=True,
        help="Include all files: hidden ones, those that a .gitignore excludes, and those in program "
        "folders (installed packages, version control, build and cache folders, applications).",
    ),
    click.option("--no-ignore", is_flag=True, help="Include files and folders that a .gitignore excludes."),
    click.option(
        "--exclude",
        multiple=True,
        metavar="GLOB",
        help="Leave out files and folders whose name, or path below PATH, matches GLOB. May be repeated.",
    ),
    click.option("--follow-symlinks", is_flag=True, help="Follow symbolic links."),
    click.option(
        "--one-file-system",
        is_flag=True,
        help="Leave out folders on other file systems than that of PATH.",
    ),
    click.option("--min-size", type=ByteSize(), default=0, help="Leave out smaller files, for example 1k."),
    click.option("--max-size", type=ByteSize(), help="Leave out larger files, for example 10M."),
    archives_option,
    click.option(
        "--plain",
        is_flag=True,
        help="Read plain text only: no office files or PDFs, and web pages as plain text.",
    ),
)
"""The options that select files. A command receives them as `WalkOptions`."""
