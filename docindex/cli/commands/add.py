"""``docindex add``, ``remove`` and ``boilerplate``: change the contents of an index by hand."""

from collections.abc import Iterator

import click

from docindex.cli.existing_index import open_existing
from docindex.cli.exit_codes import DONE, NOTHING_FOUND
from docindex.cli.options import (
    Command,
    archives_option,
    encoding_option,
    form_options,
    index_option,
    verbose_option,
)
from docindex.cli.output import progress, show
from docindex.cli.text_input import read_documents, read_text
from docindex.cli.typed_paths import known_name, typed_key
from docindex.errors import UnknownKey
from docindex.frontends.extracted import PART_MARK, Extracted
from docindex.index.index import Index
from docindex.opening import open as open_index
from docindex.shown.paths import display_path
from docindex.shown.wording import one_line, several
from docindex.spelling import most_alike


@click.command("add", cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--key", help="The key of the document. Default: the path of the file.")
@archives_option
@encoding_option
@verbose_option("List guessed encodings, and what could not be read.")
@index_option
@form_options
def add_command(
    files: tuple[str, ...],
    key: str | None,
    archives: bool,
    encoding: str | None,
    verbose: bool,
    index_path: str | None,
    form: str | None,
) -> int:
    """Add files to the index as documents.

    Reads the formats that `docindex scan` reads. A document that already has the same key is replaced. A
    document inside FILE has a key such as 'mail.mbox!/message 2'. It is removed when it is not in FILE any
    more.

    \b
    Examples:
      docindex add essay.txt
      docindex add --key https://example.org/essay essay.txt
    """
    if key is not None and len(files) > 1:
        raise click.UsageError("--key is the key of one document; give only one FILE with it")
    with open_index(index_path) as index, progress("adding") as advance:
        gone: list[str] = []

        def texts() -> Iterator[tuple[str, str | Extracted]]:
            for number, file in enumerate(files):
                advance(number, len(files))
                own = typed_key(file) if key is None else key
                found = read_documents(file, encoding, verbose=verbose, archives=archives)
                gone.extend(part for part in index.files.parts_of(own) if part[len(own) :] not in found)
                for end, text in found.items():
                    yield f"{own}{end}", text

        added = index.add_many(texts())
        index.remove_many(gone)
    record = {"added": added}
    return show([record], form, lambda: f"added: {several(added, 'document')}", record)


@click.command("remove", cls=Command)
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@index_option
@form_options
def remove_command(keys: tuple[str, ...], index_path: str | None, form: str | None) -> int:
    """Remove documents from the index, but not their files.

    KEY is the key of a document, or the path of its file. A document inside a file has a key of its own, such
    as 'mail.mbox!/message 2', and is removed by that key only. A scan adds the document of a file again when
    the file has changed.

    \b
    Example:
      docindex remove essay.txt
    """
    removed, missing = 0, dict[str, str]()
    with open_existing(index_path, readonly=False) as index:
        for key in keys:
            known = known_name(key, index)
            if known is None:
                missing[key] = _hint(index, key)
            else:
                index.remove(known)
                removed += 1
    record = {"removed": removed, "missing": list(missing)}

    def text() -> str:
        lines = [f"no such document: {one_line(key)}{hint}" for key, hint in missing.items()]
        return "\n".join([*lines, f"removed: {several(removed, 'document')}"])

    show([record], form, text, record)
    return NOTHING_FOUND if missing else DONE


def _hint(index: Index, name: str) -> str:
    """The end of a sentence about an unknown name, with a key that a person may have meant."""
    keys = [name, typed_key(name)] if name else [name]
    inside = next(iter(index.keys(prefix=f"{keys[-1]}{PART_MARK}")), None)
    if inside is not None:
        return f"; name each document inside it, such as '{display_path(inside)}'"
    for key in keys:
        try:
            index[key]
        except UnknownKey as error:
            if error.similar is not None:
                return f"; did you mean {display_path(error.similar)}?"
    return ""


@click.command("boilerplate", cls=Command)
@click.option("--add", "file", metavar="FILE", type=click.Path(), help="Ignore the text of FILE.")
@click.option("--remove", "name", metavar="NAME", help="Stop ignoring a text. NAME is the path of its file.")
@encoding_option
@verbose_option("Say if the encoding was guessed, or if a part of FILE could not be read.")
@index_option
@form_options
def boilerplate_command(
    file: str | None,
    name: str | None,
    encoding: str | None,
    verbose: bool,
    index_path: str | None,
    form: str | None,
) -> int:
    """List or change the boilerplate: text that comparisons ignore.

    Use it for licence headers, signatures or assignment sheets: documents that have only such text in common
    do not count as similar.

    \b
    Examples:
      docindex boilerplate
      docindex boilerplate --add LICENSE
      docindex boilerplate --remove LICENSE
    """
    if file is not None and name is not None:
        raise click.UsageError("--add and --remove cannot be used together; give only one of them")
    if file is not None:
        text = read_text(file, encoding, verbose=verbose)
        with open_index(index_path) as index:
            added = index.boilerplate.add(text, name=typed_key(file))
        return show([{"added": added}], form, lambda: f"added: {one_line(added)}", {"added": added})
    if name is not None:
        return _remove_boilerplate(index_path, name, form)
    with open_existing(index_path) as index:
        templates = list(index.boilerplate)
    records = [{"name": template.name, "characters": len(template.text)} for template in templates]
    lines = [f"{one_line(template.name)}  ({len(template.text):,} characters)" for template in templates]
    return show(records, form, lambda: "\n".join(lines) or "no boilerplate")


def _remove_boilerplate(index_path: str | None, name: str, form: str | None) -> int:
    with open_existing(index_path, readonly=False) as index:
        names = [template.name for template in index.boilerplate]
        known = known_name(name, names)
        if known is not None:
            index.boilerplate.remove(known)
    if known is None:
        near = most_alike(name, names) or (most_alike(typed_key(name), names) if name else None)
        hint = "docindex boilerplate lists all names" if near is None else f"did you mean {one_line(near)}?"
        missing = f"no such boilerplate: {one_line(name)}; {hint}"
        return show([], form, lambda: missing)
    return show([{"removed": known}], form, lambda: f"removed: {one_line(known)}")
