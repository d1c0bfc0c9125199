"""Tell PyInstaller what docindex needs in a frozen application.

PyInstaller finds this package by its entry point. ``hook-docindex.py`` names the files to collect. The hook
in ``rthooks`` runs when the application starts, so that it can be its own worker process.
"""

from pathlib import Path


def hook_folders() -> list[str]:
    """The folders with hooks, as PyInstaller asks for them.

    >>> [Path(folder).name for folder in hook_folders()]
    ['_pyinstaller']
    """
    return [str(Path(__file__).parent)]
