"""Nothing is lost in a storm. For longer: ``python -m tests.trials.crash.act_storm``."""

import pytest

from tests.trials.crash import act_storm


@pytest.mark.parametrize(
    ("name", "count", "must_meet"),
    [
        ("replacements", 75, "hardlink: done"),
        ("kills", 5, "kills of act"),
        ("writers", 40, "during writings: done"),
        ("pairs", 15, "pairs: both ran"),
        ("links", 6, "links: left through a link"),
        ("disks", 3, "disks: went away"),
    ],
)
def test_nothing_is_lost_and_everything_is_undone(monkeypatch, tmp_path, name, count, must_meet):
    for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME"):  # so that the environment is restored
        monkeypatch.setenv(variable, str(tmp_path))
    met = act_storm.storm(name, count, seed=3)
    if "disks: skipped, because no file system can be mounted here" in met:
        pytest.skip("no file system can be mounted here")
    assert met[must_meet] > 0
