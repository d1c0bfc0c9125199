"""``docindex add``, ``remove`` and ``boilerplate``: what is in an index, by hand."""

import click

from docindex.cli.compare_command import text_of_file
from docindex.cli.options import Command, CommandGroup, form_options, index_option
from docindex.cli.output import NOTHING_FOUND, existing, progress, show
from docindex.cli.wording import given, one_line, several
from docindex.folders.path_keys import key_of
from docindex.opening import open as open_index


@click.command(cls=Command)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--key", help="the key of the document; without it the path of the file")
@index_option
@form_options
def add(files: tuple[str, ...], key: str | None, index_path: str | None, form: str | None) -> int:
    """Add text files as documents.

    They must be in UTF-8, and replace the documents that have their keys.

    \b
    Examples:
      docindex add essay.txt
      docindex add --key https://example.org/essay essay.txt
    """
    if key is not None and len(files) > 1:
        raise click.UsageError("one --key is for one FILE")
    with open_index(index_path) as index:
        texts = ((key or key_of(given(file)), text_of_file(file)) for file in files)
        with progress("adding") as check_cancelled:
            record = {
                "added": index.add_many(texts, progress=lambda count, _: check_cancelled(count, len(files)))
            }
    return show([record], form, lambda: f"added: {several(record['added'], 'document')}", record)


@click.command(cls=Command)
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@index_option
@form_options
def remove(keys: tuple[str, ...], index_path: str | None, form: str | None) -> int:
    """Forget documents; files are not touched.

    A KEY is that of a document, or the path of its file.

    \b
    Example:
      docindex remove essay.txt
    """
    missing = []
    with existing(index_path, readonly=False) as index:
        for key in keys:
            found = next((one for one in (key, key_of(given(key))) if one in index), None)
            if found is None:
                missing.append(key)
            else:
                index.remove(found)
    record = {"removed": len(keys) - len(missing), "missing": missing}

    def text() -> str:
        removed = f"removed: {several(len(keys) - len(missing), 'document')}"
        return "\n".join([*(f"no document: {one_line(key)}" for key in missing), removed])

    show([record], form, text, record)
    return NOTHING_FOUND if missing else 0


@click.group(cls=CommandGroup)
def boilerplate() -> None:
    """Let texts that everybody has not count.

    Licence headers, signatures, assignment sheets: what two documents share of them makes them no more alike.

    \b
    Examples:
      docindex boilerplate add --name licence LICENSE
      docindex boilerplate list
      docindex boilerplate remove licence
    """


@boilerplate.command("add")
@click.argument("file", metavar="FILE", type=click.Path())
@click.option("--name", help="what to remove it by; without it the path of the file")
@index_option
@form_options
def add_boilerplate(file: str, name: str | None, index_path: str | None, form: str | None) -> int:
    """Let the text of FILE not count.

    \b
    Example:
      docindex boilerplate add --name licence LICENSE
    """
    with open_index(index_path) as index:
        added = index.boilerplate.add(text_of_file(file), name=name or key_of(given(file)))
    return show([{"added": added}], form, lambda: f"added: {one_line(added)}", {"added": added})


@boilerplate.command("remove")
@click.argument("name", metavar="NAME")
@index_option
@form_options
def remove_boilerplate(name: str, index_path: str | None, form: str | None) -> int:
    """Let a text count again.

    \b
    Example:
      docindex boilerplate remove licence
    """
    with existing(index_path, readonly=False) as index:
        there = name in [template.name for template in index.boilerplate]
        if there:
            index.boilerplate.remove(name)
    removed = [{"removed": name}] if there else []
    return show(
        removed, form, lambda: f"removed: {one_line(name)}" if there else f"no boilerplate: {one_line(name)}"
    )


@boilerplate.command("list")
@index_option
@form_options
def list_boilerplate(index_path: str | None, form: str | None) -> int:
    """List what does not count.

    \b
    Example:
      docindex boilerplate list
    """
    with existing(index_path) as index:
        templates = list(index.boilerplate)
    records = [{"name": template.name, "characters": len(template.text)} for template in templates]
    lines = [f"{one_line(template.name)}  ({len(template.text):,} characters)" for template in templates]
    return show(records, form, lambda: "\n".join(lines) or "everything counts")
