"""A browser of the system for slow tests; they are skipped where there is none."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@cache
def chromium() -> Any:
    """One browser for all tests of a process: Playwright cannot start twice in a thread."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium or Chrome is installed")
    playwright = api.sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
    atexit.register(playwright.stop)
    atexit.register(browser.close)
    return browser


@contextmanager
def launched() -> Iterator[Any]:
    """A Chromium or Chrome without a window."""
    browser = chromium()
    before = browser.contexts
    yield browser
    for context in browser.contexts:
        if context not in before:
            context.close()


@contextmanager
def explored(bank: Path, *more: str) -> Iterator[str]:
    """The address that `attnbank explore` prints for a bank, while it runs."""
    running = subprocess.Popen(
        [sys.executable, "-m", "attnbank", "-b", str(bank), "explore", "--port", "0", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / ".src")},
        # A shell without a terminal has its children ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert running.stdout is not None
    first = running.stdout.readline()
    assert first.startswith("The explorer is at http://127.0.0.1:"), first
    yield first.split()[-1]
    running.send_signal(signal.SIGINT)
    rest, _ = running.communicate(timeout=60)
    assert rest.splitlines()[-1] == "The explorer is closed."
    assert running.returncode == 0


class Visitor:
    """A page of the browser; `said` collects what its console and its scripts complain about."""

    def __init__(self, browser: Any, address: str, width: int, scheme: str, **more: Any) -> None:
        size = {"width": width, "height": 900}
        self.context = browser.new_context(viewport=size, color_scheme=scheme, **more)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.home = address.split("/?")[0]
        self.page.goto(address)

    def see(self, path: str, **values: object) -> Any:
        """Go to a page."""
        self.page.goto(f"{self.home}{path}" + (f"?{urlencode(values)}" if values else ""))
        return filled(self.page)


# A promise, and not `wait_for_function`, which the pages' own policy refuses.
_FILLED = """() => new Promise((done, fail) => {
  const last = performance.now() + 48000;
  const look = () => {
    const main = document.querySelector("main[data-address]:not([aria-busy])");
    if (main?.dataset.address === location.pathname + location.search) done();
    else if (performance.now() > last) fail(new Error("the page is not drawn after 48 seconds"));
    else setTimeout(look, 10);
  };
  look();
})"""


def filled(page: Any) -> Any:
    """A page of the explorer, once its view is drawn."""
    page.evaluate(_FILLED)
    return page


def broken_images(page: Any) -> int:
    """How many pictures do not load; those of a list load as they come into view, and may not."""
    broken: int = page.evaluate(
        "Promise.all([...document.images].filter(image => image.loading !== 'lazy')"
        ".map(image => image.decode().then(() => 0, () => 1)))"
        ".then(failures => failures.reduce((sum, one) => sum + one, 0))"
    )
    return broken


def faults(page: Any) -> list[tuple[str, str]]:
    """What axe finds to be a serious fault of accessibility: the rule, and where it is broken.

    The rows of a table are made alike, so only its first and last ones are looked at: axe takes ten
    seconds for a thousand. The other rows are gone from the page afterwards.
    """
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page.evaluate(
        "document.querySelectorAll('tbody').forEach("
        "body => [...body.rows].slice(20, -5).forEach(row => row.remove()))"
    )
    found = axe.Axe().run(page).response["violations"]
    serious = [each for each in found if each["impact"] in ("serious", "critical")]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in serious]
