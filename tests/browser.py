"""A real browser without a window, for tests of pages."""

import contextlib
import os
import shutil

import pytest

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = [
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-dev-shm-usage"),
    *("disable-background-networking", "disable-component-update", "disable-sync", "window-size=1000,1400"),
]


@contextlib.contextmanager
def chromium(folder):
    """A running Chromium. Without Chromium the test is skipped, but in CI it fails."""
    if not (CHROMIUM and DRIVER):
        assert not os.environ.get("CI"), "chromium and chromedriver are missing"
        pytest.skip("chromium and chromedriver are missing")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={folder}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()
