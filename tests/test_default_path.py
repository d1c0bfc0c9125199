"""The default index is in the data folder of the user, also where that is found without platformdirs."""

import sys
from pathlib import Path

import pytest

from docindex.default_path import default_name, default_path


@pytest.mark.skipif(sys.platform != "linux", reason="only on Linux is it found without platformdirs")
@pytest.mark.parametrize("data", [None, "", "relative", "/data", "/data/"])
@pytest.mark.parametrize("home", [None, "", "relative", "/home/ada", "/"])
def test_the_default_path_is_that_of_platformdirs(home, data, monkeypatch):
    for name, value in ("HOME", home), ("XDG_DATA_HOME", data):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert Path(default_name()) == default_path()
