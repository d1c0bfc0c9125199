"""The version of this package: not that of the files it writes."""

__version__ = "0.1.0"
