"""``docindex config``: the settings of a person, and where they are."""

from pathlib import Path

import click

from docindex.cli.exit_codes import DONE
from docindex.cli.options import Command, form_options
from docindex.cli.output import show
from docindex.cli.settings import TEMPLATE, read_settings
from docindex.default_path import settings_name
from docindex.errors import UnreadableFile
from docindex.private_files import own_folder, private_opener
from docindex.shown.wording import one_line


@click.command("config", cls=Command)
@click.option("--edit", is_flag=True, help="Open the file in your editor ($VISUAL or $EDITOR).")
@form_options
def config_command(edit: bool, form: str | None) -> int:
    """Show or edit your settings.

    The settings are in a TOML file in your configuration folder: the folders that `docindex dups` searches if
    you name no folder, patterns to exclude, folders to prefer, reference folders, which copies to keep, and
    the index. --edit makes the file, with comments, if it does not exist.

    \b
    Examples:
      docindex config
      docindex config --edit
    """
    if edit:
        path = Path(settings_name())
        try:
            own_folder(path.parent)
            with open(path, "x", encoding="utf-8", opener=private_opener) as file:
                file.write(TEMPLATE)
        except FileExistsError:
            pass
        except OSError as error:
            raise UnreadableFile(f"{path} cannot be written: {error.strerror}", str(path)) from error
        try:
            click.edit(filename=str(path))
        except click.ClickException as error:
            raise UnreadableFile(
                f"the editor failed ({error.format_message()}); open {path} in another one, or set EDITOR",
                str(path),
            ) from error
    settings = read_settings()
    record = settings._asdict()

    def text() -> str:
        lines = [f"{settings.path}{'' if settings.exists else ' (not made yet; --edit makes it)'}"]
        for name, value in record.items():
            if name not in ("path", "exists") and value:
                listed = [value] if isinstance(value, str) else value
                lines.append(f"{name.removesuffix('_path'):9}  {', '.join(map(one_line, listed))}")
        return "\n".join(lines)

    show([record], form, text, record)
    return DONE
