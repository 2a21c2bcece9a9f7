"""The explorer on the sample corpus with the packaged model: a walk through all views."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browsers
import pytest
from bank_factory import BankFactory

pytestmark = pytest.mark.slow
REQUEST = "pattern { V -[obj]-> O }"


@pytest.fixture(scope="module")
def bank(bank_of: BankFactory, control_bank: Path) -> Path:
    """The sample in single sentences, beside a control, in documents and in pairs of tokens.

    Everything that can be computed is kept.
    """
    documents = bank_of("sample", "minilm", after=control_bank, context="document")
    computed = tuple(f"compute {name} -q" for name in ("head_distance", "head_embedding", "--all"))
    pairs: dict[str, Any] = {"context": "pair", "unit": "token"}
    return bank_of("sample", "minilm", after=documents, then=computed, **pairs)


@pytest.fixture(scope="module")
def address(bank: Path) -> Iterator[str]:
    """The address that the command prints, while it runs."""
    with browsers.explored(bank) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser of the system, without a window."""
    with browsers.launched() as made:
        yield made


@pytest.mark.soak
@pytest.mark.parametrize(
    ("width", "scheme", "looks_for_faults"),
    [
        (360, "dark", False),
        pytest.param(1400, "light", False, marks=pytest.mark.soak),
        pytest.param(1000, "dark", True, marks=pytest.mark.soak),
    ],
)
def test_a_walk_through_every_view(
    browser: Any, address: str, width: int, scheme: str, looks_for_faults: bool
) -> None:
    """Each page is whole, and axe finds no serious fault in it; it needs the policy set aside."""
    visitor = browsers.Visitor(browser, address, width, scheme, bypass_csp=looks_for_faults)
    page = visitor.page
    seen: list[str] = []

    def check(heading: str, *, may_lack: bool = False) -> None:
        """The open page has this heading and no fault; some may ask for what the bank lacks."""
        browsers.filled(page)
        assert page.locator("h1").inner_text().startswith(heading), page.url
        if not may_lack:
            assert page.locator('[role="alert"]').count() == 0, page.url
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, page.url
        assert browsers.broken_images(page) == 0, page.url
        if looks_for_faults:
            assert browsers.faults(page) == [], page.url
        seen.append(heading)

    def go(name: str) -> None:
        page.get_by_role("navigation", name="Views").get_by_role(
            "link", name=name, exact=True
        ).click()

    def press(name: str) -> None:
        page.get_by_role("button", name=name).click()

    check("Atlas of heads")
    for measure in ("previous", "entropy", "coreference", "relation"):
        page.locator("select[name=measure]").select_option(measure)
        page.wait_for_selector("#atlas[data-settled]")
        check("Atlas of heads")
    page.locator("select[name=relation]").select_option("obj")
    page.wait_for_selector("#atlas[data-settled]")
    page.get_by_role("link", name="All about head").click()
    check("Head 3-1")
    assert page.locator("mark").count() == 0 and page.get_by_text("Nearest heads").count() == 1
    page.locator(".examples a").first.click()
    check("Sentence")
    assert page.locator("mark").count() == 2
    page.get_by_text("Options", exact=True).click()
    page.locator("input[name=tree]").check()
    page.wait_for_url("**tree=1**")
    page.locator("input[name=coreference]").check()
    page.wait_for_url("**coreference=1**")
    check("Sentence")
    assert page.locator(".tree-arc").count() > 1 and page.locator("mark").count() == 2
    page.get_by_role("link", name="next sentence").click()
    browsers.filled(page)
    assert page.locator("mark").count() == 0
    go("Map")  # of the run that the sentence named, whose heads have no places
    check("Map of the heads", may_lack=True)
    page.get_by_role("link", name="The map of the default run").click()
    check("Map of the heads")
    page.locator(".map a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/head/**")
    check("Head ")
    go("Sentences")
    check("Sentences")
    page.locator("textarea").fill(REQUEST)
    page.locator("input[name=limit]").fill("10")  # the options are still unfolded
    press("Search")
    check("Sentences")
    page.get_by_role("link", name="next").click()
    check("Sentences")
    page.locator(".concordance a").first.click()
    check("Sentence")
    assert page.locator("mark").count() >= 2
    page.locator(".hint a", has=page.locator("code")).click()
    check("Sentences")
    page.locator("input[name=by]").fill("V.lemma, O.upos")
    press("Search")
    check("Sentences")
    assert page.locator("thead th").last.inner_text() == "n"
    go("Compare")
    page.locator("select[name=run_b]").select_option(index=2)
    page.wait_for_url("**run_b=**")
    check("Compare two runs")
    assert page.locator(".grid").count() == 3
    go("Tables and figures")
    check("Tables and figures")
    links = [str(each.get_attribute("href")) for each in page.locator("main a").all()]
    for link in links:
        page.goto(f"{visitor.home}{link}")
        check("", may_lack=True)
        assert page.locator("h1 code").inner_text() == link.split("/")[-1].split("?")[0]
    go("SQL")
    check("SQL")
    page.locator("textarea").fill("select form from word order by id")
    press("Run")
    check("SQL")
    page.get_by_role("link", name="next").click()
    check("SQL")
    go("Bank")
    check("Contents of the bank")
    assert len(links) > 30 and len(seen) > len(links) + 20
    usual = [said for said in visitor.said if "status of 400" not in said]  # a table that it lacks
    assert usual == []
    assert all(url.startswith(visitor.home) for url in visitor.asked)
    visitor.context.close()
