"""The modules of the apps have no examples, and may need packages that are not installed."""

collect_ignore = ["notes", "frozen_program.py"]
