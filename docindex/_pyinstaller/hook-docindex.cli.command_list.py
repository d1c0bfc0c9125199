"""The modules of the command `docindex`, which are imported by name when a command is called."""

from docindex.cli.command_list import COMMANDS

hiddenimports = [f"docindex.cli.{command.module}" for command in COMMANDS.values()]
