"""A full disk raises `DiskFull`. Nothing is lost or half done, and work continues once there is space."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.trials.crash import full_disk

ROOT = Path(__file__).parents[3]


def small_disk():
    """A command that mounts a disk of 24 MB at a path and runs another command; None without permission."""
    for options in ([], ["--map-root-user"]):
        command = [
            "unshare",
            "--mount",
            *options,
            "sh",
            "-c",
            'mount -t tmpfs -o size=24m none "$0" && exec "$@"',
        ]
        try:
            subprocess.run([*command, "/mnt", "true"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return command
    return None


SMALL_DISK = small_disk()
# Any process may limit the size of its files. Only root, or root of a user namespace, may mount a disk.
WAYS = ["limit"] if SMALL_DISK is None else ["limit", "disk"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*full_disk.OPENINGS, *full_disk.OPERATIONS])
def test_a_full_disk_is_reported_and_harms_nothing(tmp_path, name, way):
    command = [sys.executable, "-m", "tests.trials.crash.full_disk", way, name, str(tmp_path)]
    if way == "disk":
        command = [*SMALL_DISK, str(tmp_path), *command]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
