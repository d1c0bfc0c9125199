"""A disk without room is `DiskFull`: nothing lost, nothing half done, and work goes on when there is room."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash import full_disk

ROOT = Path(__file__).parents[2]


def small_disk():
    """A command that runs another with an own disk of 24 MB at a path; None where the system refuses it."""
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
# A limit for the size of files can be had everywhere, a disk of our own only as root of something.
WAYS = ["limit"] if SMALL_DISK is None else ["limit", "disk"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [*full_disk.OPENINGS, *full_disk.OPERATIONS])
def test_a_full_disk_is_said_to_be_full_and_harms_nothing(tmp_path, name, way):
    command = [sys.executable, "-m", "tests.crash.full_disk", way, name, str(tmp_path)]
    if way == "disk":
        command = [*SMALL_DISK, str(tmp_path), *command]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
