"""Write the letter of the tests in many formats, with pandoc and LibreOffice: ``python make_letter.py``.

The files are kept with the tests, because a test must not need these programs.
"""

import subprocess
import tempfile
from pathlib import Path

LETTER = Path(__file__).parent / "letter"
SOURCE = LETTER / "letter.md"


def pandoc(name, *options):
    command = ["pandoc", "--standalone", SOURCE, *options, "--output", LETTER / name]
    subprocess.run(command, check=True)


def libreoffice(source, extension):
    with tempfile.TemporaryDirectory() as folder:
        profile = f"-env:UserInstallation=file://{folder}/profile"
        command = ["soffice", profile, "--headless", "--convert-to", extension, "--outdir", folder, source]
        subprocess.run(command, check=True)
        Path(folder, f"{source.stem}.{extension}").rename(LETTER / f"libreoffice.{extension}")


def main():
    for name, *options in (
        ("pandoc.html",),
        ("pandoc.xhtml", "--to", "html4"),
        ("pandoc.rtf",),
        ("pandoc.tex",),
        ("pandoc.ipynb",),
        ("pandoc.xml", "--to", "docbook"),
        ("pandoc.txt", "--to", "plain"),
        ("pandoc.md", "--to", "gfm"),
    ):
        pandoc(name, *options)
    with tempfile.TemporaryDirectory() as folder:
        office = Path(folder, "letter.odt")
        subprocess.run(["pandoc", SOURCE, "--standalone", "--output", office], check=True)
        for extension in ("html", "rtf"):
            libreoffice(office, extension)


if __name__ == "__main__":
    main()
