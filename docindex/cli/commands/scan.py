"""``docindex scan PATH...``: bring an index up to date with folders."""

import click

from docindex.cli.file_selection import selection_options
from docindex.cli.options import (
    Command,
    encoding_option,
    form_options,
    index_option,
    is_quiet,
    verbose_option,
)
from docindex.cli.output import show
from docindex.cli.scan_summary import existing_roots, missing_code, scan_record, scan_text, scan_with_progress
from docindex.cli.typed_paths import typed_path
from docindex.folders import WalkOptions
from docindex.opening import open as open_index


@click.command("scan", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@selection_options
@encoding_option
@click.option(
    "--retry",
    is_flag=True,
    help="Read again the files that could not be read, or only in part. Without it, they are read again only "
    "when they change, or when docindex can read more. A file that takes too long may cost ten minutes.",
)
@verbose_option(
    "List the files that could not be read, or only in part, with the reasons, and guessed or unknown "
    "encodings. The guess for a file is listed only when the file is read."
)
@index_option
@form_options
def scan_command(
    paths: tuple[str, ...],
    encoding: str | None,
    verbose: bool,
    index_path: str | None,
    form: str | None,
    selection: WalkOptions,
    retry: bool,
) -> int:
    """Bring the index up to date with the files under PATH.

    Adds the texts of files, records all other files, and removes the entries of files that no longer exist.
    Reads plain text, office files, PDFs, web pages, books, mail, notebooks and tables. A document inside a
    file has a key such as 'mail.mbox!/message 2'. Hidden files, files that a .gitignore excludes, and program
    folders such as node_modules are left out unless an option includes them.

    A file that has not changed is not read again, and its documents stay, even with --plain or without
    --archives. Three kinds of these files are read again: those whose format docindex can now read, with
    --retry those that could not be read, and with --encoding those that are text. Files on unmounted disks
    stay indexed.

    A file is not read if it is larger than 256 MB (web pages, XML, JSON, TeX, RTF, tables and notebooks:
    100 MB; Markdown and subtitles: 50 MB), if its text is longer than 100 million characters, or if reading
    takes more than 60 seconds, 2 GB of memory, or far more work than other files of its size. The limit for
    the documents inside a file is ten minutes and 256 million characters together. The report counts these
    files, and --verbose names them.

    \b
    Examples:
      docindex scan ~/Documents
      docindex scan --exclude '*.bak' --max-size 10M ~/Documents ~/Projects
    """
    options = selection._replace(retry=retry)
    roots, code = existing_roots(typed_path(path) for path in paths)
    with open_index(index_path) as index:
        result = scan_with_progress(index, roots, options, encoding, verbose=verbose)
    record = scan_record(result)
    if form or not is_quiet():  # with --quiet there is no output, so that cron sends no mail
        plain = options.formats == "plain"
        show([record], form, lambda: scan_text(result, verbose=verbose, plain=plain), record)
    return missing_code(result.missing) or code
