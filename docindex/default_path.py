"""Say where your own index and your settings are. Must never make anything there."""

from pathlib import Path

import platformdirs

from docindex.errors import UnreadableFile


def default_path() -> Path:
    """The path of your default index, which is in your data folder.

    >>> default_path().name
    'index.docindex'
    """
    try:
        return platformdirs.user_data_path("docindex") / "index.docindex"
    except RuntimeError as error:
        raise UnreadableFile(
            "your home folder is not known, so neither is your default index; set the environment variable "
            "HOME, or name an index with --index",
            "",
        ) from error


def settings_name() -> str:
    """The path of your settings file, which is in your configuration folder.

    >>> settings_name().endswith("config.toml")
    True
    """
    return str(platformdirs.user_config_path("docindex") / "config.toml")
