"""The report in a real browser: whole at every size, on light and on dark ground."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browsers
import pytest

from attnbank.queries import open_bank

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser of the system, without a window."""
    with browsers.launched() as made:
        yield made


@pytest.fixture(scope="module")
def file(full_bank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on a bank that can answer all but one section."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    with open_bank(full_bank) as bank:
        bank.report(path)
    return path


@pytest.mark.few("light-1400")
@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_is_whole_at_every_size(
    browser: Any, file: Path, width: int, scheme: str
) -> None:
    """No style is refused, the page is no wider than the window, nothing is asked for elsewhere."""
    size = {"width": width, "height": 900}
    # The policy of the page would refuse the script of the tool that looks for faults.
    for bypasses in (False, True):
        context = browser.new_context(
            viewport=size, color_scheme=scheme, bypass_csp=bypasses, accept_downloads=True
        )
        page = context.new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(file.as_uri())
        if bypasses:
            assert browsers.faults(page) == []
        else:
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0
            turned = page.evaluate(
                "getComputedStyle(document.querySelector('.picture svg')).filter !== 'none'"
            )
            assert turned == (scheme == "dark")
            assert said == [] and asked == [file.as_uri()]
        context.close()
