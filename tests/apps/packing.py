"""Pack docindex as applications ship it: in a zip file, or frozen by PyInstaller."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def zipped(path):
    """Write the package, as a wheel has it, into a zip file, and return its path."""
    with zipfile.ZipFile(path, "w") as archive:
        for source in sorted((ROOT / "docindex").rglob("*")):
            if source.is_file() and "__pycache__" not in source.parts:
                archive.write(source, source.relative_to(ROOT))
        for source in sorted((ROOT / "schema").iterdir()):
            archive.write(source, "docindex" / source.relative_to(ROOT))
    return path


def frozen(program, folder, *options):
    """Build an application with PyInstaller, and return the path of its executable.

    PyInstaller finds docindex's hooks by the entry point in pyproject.toml, also if an older docindex is
    installed. To take half the time, it compresses little, and leaves out large packages that are optional.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    metadata = folder / "metadata" / "docindex-0.1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: docindex\nVersion: 0.1.0\n", "utf-8")
    ((name, value),) = project["entry-points"]["pyinstaller40"].items()
    (metadata / "entry_points.txt").write_text(f"[pyinstaller40]\n{name} = {value}\n", "utf-8")
    build = [sys.executable, "-m", "PyInstaller", "--log-level=WARN", "--noconfirm", "--name=app", *options]
    build += [f"--exclude-module={name}" for name in ("PIL", "pypdfium2", "pypdfium2_raw", "setuptools")]
    folders = [f"--{kind}path={folder / kind}" for kind in ("dist", "work", "spec")]
    done = subprocess.run(
        [*build, *folders, str(program)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(metadata.parent), str(ROOT)]),
            "PYINSTALLER_CONFIG_DIR": str(folder / "settings"),
            "PYINSTALLER_ZLIB_COMPRESSION_LEVEL": "1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    app = folder / "dist" / "app"
    return app / "app" if app.is_dir() else app
