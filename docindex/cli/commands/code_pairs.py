"""``docindex pairs --code DIR``: the programs of a class, in an index of their own that is not kept.

Takes the values of the options; gives the index, its pairs and their passages, and the report. Must not write
to an index of the user.
"""

import contextlib
import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click

from docindex.cli.options import F
from docindex.cli.output import progress, remark
from docindex.cli.text_input import read_text
from docindex.cli.typed_paths import typed_key, typed_path
from docindex.cli.whole_file import write_whole
from docindex.errors import UnreadableFile
from docindex.folders.scanning.submissions import NO_SOURCE_CODE, submissions
from docindex.folders.walking.path_keys import key_of
from docindex.folders.walking.walk import Skipped
from docindex.index.index import Index
from docindex.opening import open as open_index
from docindex.query.pairs.pairs import Pair
from docindex.query.regions.passages import Passage
from docindex.query.resolve import Key
from docindex.recipe import Recipe
from docindex.report.page import ReportContents, count_documents, html
from docindex.shown.paths import display_path
from docindex.shown.stretches import own_passages
from docindex.shown.wording import one_line, several


@dataclasses.dataclass(frozen=True, slots=True)
class CodeOptions:
    """The values of the options for code."""

    folder: str | None
    between: tuple[str, str] | None
    boilerplate: tuple[str, ...]
    raw: bool
    report: str | None

    def check(self) -> None:
        """`click.UsageError` for options that need --code."""
        given = {"--boilerplate": self.boilerplate, "--raw": self.raw, "--report": self.report}
        for name, value in given.items():
            if value and self.folder is None:
                raise click.UsageError(f"{name} is only for programs; give their folder with --code DIR")
        if self.folder is not None and self.between is not None:
            one, other = (typed_key(name).rstrip("/") + "/" for name in self.between)
            if one.startswith(other) or other.startswith(one):
                named = " and ".join(self.between)
                raise click.UsageError(
                    f"of the folders of --between, {named}, one is the other or contains it; name two "
                    "separate folders of programs"
                )


def code_options(command: F) -> F:
    """The options of `docindex pairs` for programs."""
    folder = click.Path(exists=True, file_okay=False)
    for option in (
        click.option(
            "--report",
            "report",
            metavar="FILE",
            type=click.Path(dir_okay=False),
            help="With --code: also write a web page.",
        ),
        click.option(
            "--raw", is_flag=True, help="With --code: compare names, numbers and strings as they are."
        ),
        click.option(
            "--boilerplate",
            multiple=True,
            metavar="FILE",
            type=click.Path(),
            help="With --code: ignore the code in FILE, which everybody was given. May be repeated.",
        ),
        click.option(
            "--code",
            "code",
            metavar="DIR",
            type=folder,
            help="Compare the programs in DIR: each folder in it, and each source file, is one submission.",
        ),
    ):
        command = option(command)
    return command


@contextlib.contextmanager
def index_of_code(options: CodeOptions) -> Iterator[Index]:
    """An index in memory with the submissions and the boilerplate."""
    skipped = Skipped()
    names = [options.folder or "", *(options.between or ())]
    folders = list(dict.fromkeys(map(typed_path, names)))
    with open_index(":memory:", recipe=Recipe.code("raw" if options.raw else "names")) as index:
        with progress("reading") as advance:
            found = itertools.chain.from_iterable(submissions(folder, skipped) for folder in folders)
            index.add_many(
                ((key, extracted) for key, extracted in found), progress=lambda count, _: advance(count, None)
            )
        for file in options.boilerplate:
            index.boilerplate.add(read_text(file, None, verbose=False), typed_key(file))
        for path, reason in skipped.failed:
            remark(f"docindex: {display_path(key_of(path))} is left out: {reason}")
        if others := skipped.counts[NO_SOURCE_CODE]:
            remark(f"docindex: left out {several(others, 'file')} without a suffix of source code")
        if not len(index):
            raise UnreadableFile(
                f"{options.folder} has no source code; see docindex pairs --help", options.folder or ""
            )
        remark(f"docindex: {several(len(index), 'submission')}")
        yield index


def passages_of(index: Index, pair: Pair) -> list[dict[str, Any]]:
    """The passages of a pair, the longest first, with their files and lines.

    Boilerplate is left out, and so is what lies inside a longer passage of the first program: a loop may be
    like every other loop.
    """
    passages = own_passages(index.compare(Key(pair.a), Key(pair.b)).passages)
    shown: list[Passage] = []
    for each in sorted(passages, key=lambda each: -each.length):
        is_inside = any(
            other.query_start <= each.query_start and each.query_end <= other.query_end for other in shown
        )
        if not is_inside:
            shown.append(each)
    return [{"a": _lines(each.query_place), "b": _lines(each.place), "tokens": each.length} for each in shown]


def passage_lines(passages: Iterable[dict[str, Any]]) -> list[str]:
    """A line for each passage of `passages_of`."""
    return [
        f"      {one_line(each['a'])} | {one_line(each['b'])}: {several(each['tokens'], 'token')}"
        for each in passages
    ]


def _lines(place: str) -> str:
    """The place of a passage, with the name of its file only once.

    >>> _lines("src/Main.java line 4 to src/Main.java line 9")
    'src/Main.java lines 4 to 9'
    """
    return re.sub(r"^(.*) line (\d+) to \1 line (\d+)$", r"\1 lines \2 to \3", place, flags=re.DOTALL)


def write_code_report(index: Index, pairs: Sequence[Pair], options: CodeOptions) -> None:
    """Write the web page that --report asks for."""
    assert options.report is not None
    title = f"Programs in {display_path(typed_key(options.folder or ''))}"
    contents = ReportContents(title, *count_documents(index, []), [], pairs, len(pairs), programs=True)
    write_whole(options.report, html(index, contents))
