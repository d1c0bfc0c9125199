"""What a file has beside its bytes, as facts for a journal, and back: owner, permissions, time, attributes.

Works on open files alone: what a path names may be another file by then. Must never give more rights than
there were.
"""

import base64
import contextlib
import os
import stat
from typing import Any


def facts_of(descriptor: int) -> dict[str, Any]:
    """Facts that JSON can say."""
    status = os.fstat(descriptor)
    return {
        "mtime_ns": status.st_mtime_ns,
        "mode": stat.S_IMODE(status.st_mode),
        "owner": [status.st_uid, status.st_gid],
        "attributes": {
            name: base64.b64encode(value).decode() for name, value in attributes_of(descriptor).items()
        },
    }


def attributes_of(descriptor: int) -> dict[str, bytes]:
    """The extended attributes of a file, access control lists among them; none where there are no such."""
    try:
        return {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
    except (OSError, AttributeError):
        return {}


def give(descriptor: int, facts: dict[str, Any]) -> None:
    """Give a new file what another one had, as far as the person who runs this may."""
    mode, owner, status = facts["mode"], tuple(facts["owner"]), os.fstat(descriptor)
    if owner != (status.st_uid, status.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, *owner)
    for name, value in facts["attributes"].items():
        with contextlib.suppress(OSError):  # as those that the system keeps to itself
            os.setxattr(descriptor, name, base64.b64decode(value))
    status = os.fstat(descriptor)
    if owner != (status.st_uid, status.st_gid):
        mode &= 0o777  # nobody's program becomes one that runs as whoever undoes
    os.fchmod(descriptor, mode)
    os.utime(descriptor, ns=(facts["mtime_ns"], facts["mtime_ns"]))
