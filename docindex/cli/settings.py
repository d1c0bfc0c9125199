"""Read the settings file of a person: folders, patterns, preferences, the index.

Takes a TOML file, and returns `Settings`. A mistake in the file is one sentence with the line. Must never
change the file, nor ignore a setting that it does not know: a mistyped "reference" would protect nothing.
"""

import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from docindex.cli.typed_paths import typed_path
from docindex.default_path import settings_name
from docindex.errors import UnreadableFile
from docindex.spelling import most_alike

TEMPLATE = """\
# The settings of docindex. A line that begins with # is a comment: remove the # to use the setting.
# Paths are absolute, or begin with ~ for your home folder.

# The folders that `docindex dups` searches if you name no folder.
# folders = ["~/Documents", "~/Pictures", "~/Downloads"]

# Files and folders to leave out, by name or by path below the folder that is searched.
# exclude = ["*.bak", "old mail"]

# Keep exact copies in these folders rather than others; the first folder counts most.
# prefer = ["~/Documents"]

# Folders whose files are compared with the others, and always kept.
# reference = ["~/Archive"]

# Which of several copies to keep: "original", "newest", "oldest", "shortest-path" or "first".
# keep = "original"

# The index. The option --index and the environment variable DOCINDEX override this.
# index = "~/.local/share/docindex/index.docindex"
"""
"""The file that `docindex config --edit` makes."""

_RULES = ("original", "newest", "oldest", "shortest-path", "first")
_LISTS = ("folders", "exclude", "prefer", "reference")
_NAMES = (*_LISTS, "keep", "index")
_FIELDS = {"index": "index_path"}  # a named tuple has a method `index`


class Settings(NamedTuple):
    """The settings of a person. Paths are absolute."""

    path: str
    """The path of the settings file."""
    exists: bool = False
    """Whether the file exists."""
    folders: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    reference: tuple[str, ...] = ()
    keep: str | None = None
    index_path: str | None = None

    def policy(
        self,
        keep: str | None = None,
        reference: Iterable[str] = (),
        prefer: Iterable[str] = (),
        **others: bool,
    ) -> dict[str, Any]:
        """Which files are kept, as `folders.find` takes it: by the options given, then by these settings."""
        return {
            "keep": keep or self.keep or "original",
            "reference": [typed_path(folder) for folder in (*reference, *self.reference)],
            "prefer": [typed_path(folder) for folder in (*prefer, *self.prefer)],
            **others,
        }


def read_settings() -> Settings:
    """The settings of the person who runs this; without a settings file, all are empty.

    `ValueError` with the line of a mistake; `UnreadableFile` if the file cannot be read.
    """
    path = settings_name()
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            data = file.read()
    except FileNotFoundError:
        return Settings(path)
    except OSError as error:
        raise UnreadableFile(f"the settings {path} cannot be read: {error.strerror}", path) from error
    return settings_in(data, path)


def settings_in(data: bytes, path: str) -> Settings:
    """The settings in the bytes of a file; `ValueError` with the line of a mistake.

    >>> settings_in(b'exclude = ["*.bak"]', "config.toml").exclude
    ('*.bak',)
    """
    import tomllib  # only if there is a file

    try:
        text = data.decode("utf-8")
        found = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: it is not UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        what, line = _place_in(str(error), text)
        raise ValueError(f"{path}, line {line}: {what}") from error
    except (ValueError, RecursionError) as error:  # a number with too many digits, too many brackets
        raise ValueError(f"{path}: a value is too long or too deeply nested; make it simpler") from error
    values = {name: _checked(name, value, path, text) for name, value in found.items()}
    values = {_FIELDS.get(name, name): value for name, value in values.items()}
    return Settings(path, True, **values)


def _place_in(message: str, text: str) -> tuple[str, int]:
    """The message of a TOML error without its place, and the line."""
    what, _, place = message.partition(" (at ")
    found = re.search(r"line (\d+)", place)
    return what[:1].lower() + what[1:], int(found[1]) if found else text.rstrip("\n").count("\n") + 1


def _checked(name: str, value: Any, path: str, text: str) -> Any:
    """The value of a setting; `ValueError` if there is no such setting, or the value is wrong."""
    if name not in _NAMES:
        similar = most_alike(name, _NAMES)
        advice = f"did you mean {similar!r}?" if similar else f"the settings are {', '.join(_NAMES)}"
        raise _mistake(name, f"there is no setting {name!r}; {advice}", path, text)
    if name in _LISTS:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _mistake(name, f'{name} must be a list of strings, such as ["a", "b"]', path, text)
        return tuple(value if name == "exclude" else (_path(name, each, path, text) for each in value))
    if not isinstance(value, str):
        raise _mistake(name, f'{name} must be a string, such as "a"', path, text)
    if name == "keep" and value not in _RULES:
        raise _mistake(name, f"keep must be one of {', '.join(_RULES)}, not {value!r}", path, text)
    return value if name == "keep" else _path(name, value, path, text)


def _path(name: str, value: str, path: str, text: str) -> str:
    found = os.path.expanduser(value)  # noqa: PTH111 - as above
    if not found.startswith("/") and not os.path.isabs(found):  # noqa: PTH117
        raise _mistake(name, f"the path {value!r} of {name} must be absolute, or begin with ~", path, text)
    return found


def _mistake(name: str, what: str, path: str, text: str) -> ValueError:
    lines = enumerate(text.splitlines(), 1)
    pattern = re.compile(rf"""\s*(\[\s*)?["']?{re.escape(name)}["']?\s*[=.\]]""")
    line = next((number for number, line in lines if pattern.match(line)), 1)
    return ValueError(f"{path}, line {line}: {what}")
