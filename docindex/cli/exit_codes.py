"""The exit codes of the command: one for each kind of error, and what each code means.

Two errors share a code only if a script would treat them alike. Released codes must never change.
"""

from docindex import errors

DONE = 0
NOTHING_FOUND = 1
USAGE = 2
DAMAGED = 6
INTERNAL = 70
INTERRUPTED = 130

EXIT_CODES: dict[type[Exception], int] = {
    errors.UnreadableFile: 3,
    errors.NotAnIndex: 4,
    errors.SchemaTooNew: 5,
    errors.CorruptIndex: DAMAGED,
    errors.TextNotKept: 7,
    errors.Busy: 8,
    errors.ReadOnly: 9,
    errors.Refused: 10,
    errors.DiskFull: 11,
    errors.Cancelled: 12,
    errors.RecipeError: 13,
    errors.RecipeMismatch: 14,
    errors.UnsupportedPlatform: 15,
    errors.SchemaTooOld: 16,
    errors.FileReplaced: 17,
    errors.Forked: 18,
    errors.DiskError: 19,
    errors.OutOfDate: 20,
    errors.UnknownKey: NOTHING_FOUND,
    OSError: 3,
    KeyError: NOTHING_FOUND,
    ValueError: USAGE,
    TypeError: USAGE,
}
"""The exit code of each error class. A class without a code has that of its nearest base class."""

MEANINGS = {
    DONE: "found or done",
    NOTHING_FOUND: "nothing found",
    USAGE: "the command was used wrongly",
    3: "a file cannot be read or written",
    4: "the file is not an index",
    5: "the index was made by a newer docindex",
    DAMAGED: "the index is damaged",
    7: "the command needs a text that the index does not store",
    8: "somebody else is writing to the file, has been reading for too long, or uses it otherwise",
    9: "the file is open for reading only",
    10: "a trigger or constraint of your own tables in the file forbids the change",
    11: "the disk is full",
    12: "the work was cancelled",
    13: "the recipe of the index cannot be read",
    14: "the index was built with another recipe",
    15: "not implemented on this operating system",
    16: "the index was made by an older docindex: open it for writing once, which upgrades it",
    17: "the file of the index was replaced, moved or removed while it was open",
    18: "the file was open when this process was forked",
    19: "the disk or its file system failed",
    20: "the index does not have the latest changes of an app's table",
    INTERNAL: "internal error",
    INTERRUPTED: "interrupted",
}


def exit_code_of(error: Exception) -> int:
    """The exit code for an error; `INTERNAL` for an error that should not happen.

    >>> exit_code_of(errors.DiskFull("the disk is full", "a.docindex")), exit_code_of(ZeroDivisionError())
    (11, 70)
    """
    if isinstance(error, OSError) and errors.is_no_room(error):
        error = errors.DiskFull("", "")
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), INTERNAL)
