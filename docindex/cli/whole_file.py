"""Write a file whole or not at all.

An existing file stays until the new one is complete. A link stays a link, and the permissions stay.
"""

import secrets
from pathlib import Path


def write_whole(name: str, text: str) -> None:
    """Write a text to a file in UTF-8; `OSError` if that fails, and then an existing file is as before.

    A name that exists and is not a regular file, such as /dev/stdout, is written to directly.

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
    try:
        with part.open("x", encoding="utf-8", errors="backslashreplace") as file:
            if target.exists():
                part.chmod(target.stat().st_mode)  # before the text: nobody else may read it
            file.write(text)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
