"""axe on every page, in light and dark: nothing that keeps somebody from reading or using it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.dashboard.browser import PHONE
from tests.dashboard.demo import Demo, demo_yard
from tests.dashboard.pages import PAGES, visit

AXE: Final = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
LOOK: Final = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with demo_yard(tmp_path_factory.mktemp("demo")) as demo:
        yield demo


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, demo: Demo, open_window: Callable[..., BrowserContext]) -> Page:
    context = open_window(base_url=demo.yard.url, color_scheme=request.param, reduced_motion="reduce")
    demo.yard.sign_in(context)
    return context.new_page()


def serious(page: Page) -> Any:
    # Not by a script element: the pages' policy would refuse it, and rightly.
    page.evaluate(AXE.read_text())
    return page.evaluate(LOOK)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_violation(page: Page, name: str) -> None:
    visit(page, PAGES[name])
    assert serious(page) == []


@pytest.mark.parametrize("status", ["running", "permanently_failed", "blocked", "completed"])
def test_a_tasks_page_has_no_serious_violation(page: Page, demo: Demo, status: str) -> None:
    visit(page, demo.path_of(status))
    assert serious(page) == []


def test_the_sign_in_has_no_serious_violation(demo: Demo, open_window: Callable[..., BrowserContext]) -> None:
    page = open_window(base_url=demo.yard.url).new_page()
    visit(page, "/")
    assert serious(page) == []


@pytest.mark.parametrize("name", ["overview", "queue"])
def test_a_phone_has_no_serious_violation(demo: Demo, open_window: Callable[..., BrowserContext], name: str) -> None:
    context = open_window(base_url=demo.yard.url, viewport=PHONE, has_touch=True)
    demo.yard.sign_in(context)
    page = context.new_page()
    visit(page, PAGES[name])
    assert serious(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "nothing to scroll sideways to"


ACCENTED: Final = """() => {
  const canvas = document.querySelector("main [role=img] canvas");
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = "var(--color-accent)";
  const wanted = getComputedStyle(probe).color.match(/\\d+/g).map(Number);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let found = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] > 200 && wanted.every((value, part) => Math.abs(value - data[at + part]) < 12)) found += 1;
  }
  return found;
}"""
"""How many points of the first chart have the colour of its line."""


def test_a_chart_keeps_its_colours_where_motion_is_reduced(page: Page) -> None:
    visit(page, PAGES["overview"])
    page.get_by_text("24 h", exact=True).first.click()
    page.wait_for_function(f"() => ({ACCENTED})() > 200")
