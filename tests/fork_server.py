"""Start functions in new processes quickly: a fork server has imported docindex, and never opened an index.

A new interpreter needs a third of a second to import everything; a fork of the server needs a few
milliseconds. The server opens no file, so its children inherit no state of SQLite. A started function gets a
file descriptor as its first argument. The lines that it writes there outlive the process.
"""

import multiprocessing

from docindex.cli.command_list import COMMANDS

_context = multiprocessing.get_context("forkserver")
# `docindex.opening` is otherwise imported by the first use of `docindex.open`.
_IMPORTED = ["docindex.opening", "tests.trials.crash.program", "tests.trials.stress.host_processes"]
_IMPORTED += [f"docindex.cli.{command.module}" for command in COMMANDS.values()]
_context.set_forkserver_preload(_IMPORTED)


def pipe():
    """Two connections: where the lines of processes are read, and where processes write them."""
    return _context.Pipe(duplex=False)


def start(function, connection, *arguments):
    """Start ``function(descriptor, *arguments)`` in a new process."""
    process = _context.Process(target=_run, args=(function, connection, arguments))
    process.start()
    return process


def _run(function, connection, arguments):
    function(connection.fileno(), *arguments)
