"""Find the kind of file system that a file is on, and say what cannot be done safely there.

Reads Linux's table of mounts; a system without one has no restrictions. Must never touch the file system in
question.
"""

import os
import re
from pathlib import Path

_TABLE = "/proc/self/mountinfo"

_NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs"}
    | {"nfs4", "ocfs2", "orangefs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
"""File systems that another computer, or the host of a virtual machine, may change at the same time."""

_LOCAL_FUSE = frozenset(
    {"fuse.encfs", "fuse.exfat", "fuse.exfat-fuse", "fuse.fuse2fs", "fuse.gocryptfs", "fuse.lowntfs-3g"}
    | {"fuse.ntfs", "fuse.ntfs-3g", "fuse.securefs"}
)
"""Programs that provide a local file system. Any other such program may fetch its files from a network."""

_WITHOUT_LINKS = frozenset({"vfat", "msdos", "exfat", "fuse.exfat", "fuse.exfat-fuse"})


class Mounts:
    """The mounted file systems, as they were when this was made."""

    def __init__(self) -> None:
        try:
            lines = Path(_TABLE).read_bytes().splitlines()
        except OSError:
            lines = []
        # The last mount at a point hides those before it.
        self._kinds = dict(map(_mount, lines))

    def kind(self, path: bytes) -> str:
        """The kind of the file system that a path without links is on, such as "ext4"; "" if not known."""
        point = os.path.dirname(path)
        while point not in self._kinds:
            above = os.path.dirname(point)
            if above == point:
                return ""
            point = above
        return self._kinds[point]

    def obstacle(self, path: bytes, how: str) -> str | None:
        """Why copies at a path cannot be removed in this way without a risk; None if they can."""
        kind = self.kind(path)
        if how == "hardlink" and kind in _WITHOUT_LINKS:
            return f"its file system ({kind}) has no hard links"
        if how in ("hardlink", "delete") and _is_remote(kind):
            return (
                f"it is on a file system ({kind}) where others may be writing to it unseen; the trash would "
                "keep what they write"
            )
        return None


def _is_remote(kind: str) -> bool:
    return kind in _NETWORK or kind == "fuse" or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)


def _mount(line: bytes) -> tuple[bytes, str]:
    """The point and the kind of a mount; see proc_pid_mountinfo(5)."""
    fields, _, rest = line.partition(b" - ")
    point = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), fields.split()[4])
    return point, rest.split(maxsplit=1)[0].decode("ascii", "replace")
