"""Make a folder with odd names, links, special files and paths that are too long for one call."""

import os
import socket
from pathlib import Path

TEXT = "This text is long enough to have a few fingerprints, and it says nothing else of any interest. "


def make(root):
    """Make the folder. Return the kind of each file to be found, and the counts of skipped ones by reason."""
    root = os.fsencode(root)
    wanted, skipped = {}, {}

    def put(name, data=None):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(TEXT.encode() + name if data is None else data)
        wanted[path] = {b"\x7fELF": "binary", b"\xe4\xf6": "undetected"}.get((data or b"")[:4], "text")
        return path

    def skip(reason, count=1):
        skipped[reason] = skipped.get(reason, 0) + count

    put(b"plain.txt")
    put(b"empty.txt", b"")
    put(b"not \xff\xfe utf-8 \x80", TEXT.encode())
    put(b"cyrillic or thai", b"\xe4\xf6")
    put(rb"looks \x41 escaped")
    put(b"new\nline and 'quotes\" and \xe2\x80\xae turned")
    put(b"n" * 255)
    put(b"<script>alert(1)</script>")
    put(b"latin.txt", "Größe".encode("latin-1") * 9)
    put(b"wide.txt", "Größe".encode("utf-16"))
    put(b"program", b"\x7fELF\0\0\0" + bytes(1000))
    put(b"-rf")
    put(b"copy of plain.txt", Path(os.fsdecode(os.path.join(root, b"plain.txt"))).read_bytes())
    linked = put(b"linked/one")
    os.link(linked, os.path.join(root, b"linked", b"two"))
    wanted[os.path.join(root, b"linked", b"two")] = "text"

    os.symlink(b"plain.txt", os.path.join(root, b"to a file"))
    os.symlink(b"nowhere", os.path.join(root, b"to nothing"))
    os.symlink(b"..", os.path.join(root, b"linked", b"to its parent"))
    skip("symlink", 3)
    os.mkfifo(os.path.join(root, b"pipe"))
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(root, os.O_RDONLY)
        server.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
    skip("special", 2)
    for name in (b".hidden", b".config/inside"):
        del wanted[put(name)]
        skip("hidden")
    put(b"project/kept.py")
    del wanted[put(b"project/.gitignore", b"*.log\nbuild/\n!important.log\n")]
    skip("hidden")
    put(b"project/important.log")
    put(b"project/sub/kept.txt")
    del wanted[put(b"project/noise.log")]
    del wanted[put(b"project/sub/more.log")]
    del wanted[put(b"project/build/made.o")]
    skip("ignored", 3)

    at = os.open(root, os.O_RDONLY)
    deep = root
    for _ in range(40):  # together longer than a path may be in one call
        name = b"d" * 200
        os.mkdir(name, dir_fd=at)
        below = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at, deep = below, os.path.join(deep, name)
    handle = os.open(b"bottom.txt", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=at)
    os.write(handle, TEXT.encode())
    os.close(handle)
    os.close(at)
    wanted[os.path.join(deep, b"bottom.txt")] = "text"
    return wanted, skipped


def lock(root):
    """Remove the permission to read a file and a folder, and return their paths."""
    root = os.fsencode(root)
    paths = [os.path.join(root, b"linked"), os.path.join(root, b"project", b"kept.py")]
    for path in paths:
        os.chmod(path, 0)
    return paths
