"""Choose the command that starts a worker process, in any kind of application.

In: the function that the worker runs, and how this process was started. Out: a command for
`subprocess`, or why workers cannot start. A worker
must import the same docindex as its host, wherever that lies: in a folder, in a zip file, or in a frozen
application. Must never start an application a second time in the place of a worker.
"""

import dataclasses
import sys
from pathlib import Path

WORKER_OPTION = "--docindex-worker"
"""With this argument and the name of a function, a frozen application is started to be a worker."""

# A worker loads docindex from the folder, or the zip file, of this package. With that on the search path,
# other modules there could hide modules of Python itself. The search path of the host comes last: it leads to
# numpy in an application that brings its packages along.
_PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)  # the host handles Ctrl-C
import sys
service = sys.argv.pop(1)
from importlib import util
from importlib.machinery import PathFinder
spec = PathFinder.find_spec("docindex", sys.argv[1:2])
sys.modules["docindex"] = module = util.module_from_spec(spec)
spec.loader.exec_module(module)
sys.path.extend(path for path in sys.argv[2:] if path not in sys.path)
from importlib import import_module
module, _, function = service.partition(":")
getattr(import_module(module), function)()
"""

_NO_HOOK = "this application is frozen, and PyInstaller did not find docindex's hook"
_NO_PYTHON = "{!r} is not called python, so it is probably not Python"


@dataclasses.dataclass(frozen=True, slots=True)
class WorkerCommand:
    """How to start a worker, or why that is impossible."""

    arguments: list[str]
    """The program and its arguments; an empty list if there can be no worker."""
    reason: str = ""
    """Why there can be no worker."""
    frozen: bool = False
    """Whether the worker is this application itself, started once more."""


class _FrozenApplication:
    """What the start of a frozen application has told this module."""

    becomes_worker = False


def frozen_application_becomes_worker() -> None:
    """Remember that this frozen application, started with `WORKER_OPTION`, is a worker.

    The hook that PyInstaller runs before the application calls this function.
    """
    _FrozenApplication.becomes_worker = True


def worker_command(service: str) -> WorkerCommand:
    """The command that starts a worker of this process, which runs a function, given as "module:function".

    >>> worker_command("docindex.sketching.worker_process:serve").reason
    ''
    """
    if getattr(sys, "frozen", False):
        if not _FrozenApplication.becomes_worker:
            return WorkerCommand([], _NO_HOOK)
        return WorkerCommand([sys.executable, WORKER_OPTION, service], frozen=True)
    if not Path(sys.executable or "").name.lower().startswith(("python", "pypy")):
        return WorkerCommand([], _NO_PYTHON.format(sys.executable))
    # -P: a docindex in the working folder is another one.
    start = [sys.executable, "-P", "-c", _PROGRAM, service, str(Path(__file__).parents[1])]
    return WorkerCommand([*start, *(str(Path(path).absolute()) for path in sys.path if path)])
