"""Write a file whole or not at all.

An existing file stays until the new one is complete. A link stays a link, and the permissions stay; only its
owner can read a new file.
"""

import secrets
from pathlib import Path

from docindex.errors import DiskFull, UnreadableFile, is_no_room
from docindex.private_files import private_opener


def write_whole(name: str, text: str) -> None:
    """Write a text to a file in UTF-8; if that fails, an existing file is as before.

    A name that exists and is not a regular file, such as /dev/stdout, is written to directly.
    `DiskFull`, `UnreadableFile` or `OSError` if the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/page.html", "<p>")
    ...     [path.name for path in Path(folder).iterdir()]
    ['page.html']
    """
    target = Path(name).resolve()
    if target.exists() and not target.is_file():
        target.write_text(text, "utf-8", "backslashreplace")
        return
    part = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}")
    if not target.parent.is_dir():
        raise UnreadableFile(
            f"{name} cannot be written: the folder {target.parent} does not exist; create it first", name
        )
    try:
        with open(part, "x", encoding="utf-8", errors="backslashreplace", opener=private_opener) as file:
            if target.exists():
                part.chmod(target.stat().st_mode)
            file.write(text)
        part.replace(target)
    except OSError as error:
        if error.filename not in (None, str(part)):
            raise
        # The caller does not know the name of the temporary file.
        if is_no_room(error):
            raise DiskFull(
                f"the disk is full: {name} cannot be written; free some space and try again", name
            ) from error
        raise UnreadableFile(f"{name} cannot be written: {error.strerror}", name) from error
    finally:
        part.unlink(missing_ok=True)
