"""Say where your own index and your settings are. Must never make anything there."""

import os
import sys
from typing import TYPE_CHECKING

from docindex.errors import UnreadableFile

if TYPE_CHECKING:
    from pathlib import Path


def default_path() -> "Path":
    """The path of your default index, which is in your data folder.

    >>> default_path().name
    'index.docindex'
    """
    import platformdirs

    try:
        return platformdirs.user_data_path("docindex") / "index.docindex"
    except RuntimeError as error:
        raise UnreadableFile(
            "your home folder is not known, so neither is your default index; set the environment variable "
            "HOME, or name an index with --index",
            "",
        ) from error


def default_name() -> str:
    """The path of your default index as text, on Linux usually found without platformdirs.

    To import that and pathlib takes 6 ms, a tenth of a search for exact copies.

    >>> default_name() == str(default_path())
    True
    """
    folder = _linux_folder("XDG_DATA_HOME", ".local/share")
    return f"{folder}/docindex/index.docindex" if folder else str(default_path())


def settings_name() -> str:
    """The path of your settings file, which is in your configuration folder; on Linux without platformdirs.

    >>> settings_name().endswith("config.toml")
    True
    """
    if folder := _linux_folder("XDG_CONFIG_HOME", ".config"):
        return f"{folder}/docindex/config.toml"
    import platformdirs

    return str(platformdirs.user_config_path("docindex") / "config.toml")


def _linux_folder(variable: str, default: str) -> str:
    """The folder that an environment variable names, or the default below the home folder; "" elsewhere."""
    if sys.platform != "linux" or "ANDROID_ROOT" in os.environ:
        return ""
    home = os.environ.get("HOME", "")
    folder = os.environ.get(variable) or f"{home.rstrip('/')}/{default}"
    return folder if home.startswith("/") and folder.startswith("/") else ""
