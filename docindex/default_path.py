"""Say where your own index is, if no other file is named. Must never make anything there."""

from pathlib import Path

import platformdirs


def default_path() -> Path:
    """The path of your default index, which is in your data folder.

    >>> default_path().name
    'index.docindex'
    """
    return platformdirs.user_data_path("docindex") / "index.docindex"
