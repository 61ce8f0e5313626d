"""axe on every page, in light and dark, at a desk and on a phone: nothing keeps anybody from reading or using it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, TimeoutError, ViewportSize

from tests.dashboard.browser import DESKTOP, PHONE, Complaints
from tests.dashboard.demo import Demo
from tests.dashboard.pages import PAGES, settle, visit

pytestmark = pytest.mark.takes(43)

AXE: Final = Path(__file__).resolve().parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
LOOK: Final = """async () => {
  const { violations } = await axe.run(document, { resultTypes: ["violations"] });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary}`));
}"""
AT_ONCE: Final = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, ::before, ::after { transition-property: none !important; }");
  document.adoptedStyleSheets.push(sheet);
}"""
"""Colours that change take a moment, and one more for each element within another; axe would look too soon."""
IS_WIDER: Final = "() => document.documentElement.scrollWidth > innerWidth"
CHANGED_MS: Final = 60
"""A window of another size or in other colours fetches nothing; it only draws what it has."""


class Look(NamedTuple):
    """How a page is looked at."""

    name: str
    scheme: Literal["light", "dark"]
    size: ViewportSize


# Each differs from the one before it by one thing only; the first is that of a page as it is loaded.
LOOKS: Final = (
    Look("at a desk", "light", DESKTOP),
    Look("at a desk in the dark", "dark", DESKTOP),
    Look("on a phone in the dark", "dark", PHONE),
    Look("on a phone", "light", PHONE),
)


@pytest.fixture(scope="module")
def page(demo: Demo, browser: Browser) -> Iterator[Page]:
    """One window for every page: they are looked at, and left as they were."""
    context = browser.new_context(base_url=demo.yard.url, reduced_motion="reduce")
    demo.yard.sign_in(context)
    complaints = Complaints(context)
    yield context.new_page()
    context.close()
    assert complaints.heard == []


def put_on(page: Page, look: Look) -> None:
    page.emulate_media(color_scheme=look.scheme)
    page.set_viewport_size(look.size)


def wrong_with(page: Page, path: str) -> Iterator[str]:
    """What is, in any of the looks."""
    put_on(page, LOOKS[0])
    visit(page, path)
    page.evaluate(AT_ONCE)
    # Not by a script element: the pages' policy would refuse it, and rightly.
    page.evaluate(AXE.read_text())
    for look in LOOKS:
        put_on(page, look)
        settle(page, CHANGED_MS)
        yield from (f"{look.name}: {violation}" for violation in page.evaluate(LOOK))
        if is_wider(page):
            yield f"{look.name}: it can be scrolled sideways"


def is_wider(page: Page) -> bool:
    """A page is laid out anew a moment after its window has another size; how long that is, the machine decides."""
    try:
        page.wait_for_function(f"() => !({IS_WIDER})()")
    except TimeoutError:
        return True
    return False


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_violation(page: Page, name: str) -> None:
    assert list(wrong_with(page, PAGES[name])) == []


@pytest.mark.parametrize("status", ["running", "permanently_failed", "blocked", "completed"])
def test_a_tasks_page_has_no_serious_violation(page: Page, demo: Demo, status: str) -> None:
    assert list(wrong_with(page, demo.path_of(status))) == []


@pytest.mark.refused("401")
def test_the_sign_in_has_no_serious_violation(demo: Demo, open_window: Callable[..., BrowserContext]) -> None:
    page = open_window(base_url=demo.yard.url, reduced_motion="reduce").new_page()
    assert list(wrong_with(page, "/")) == []


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_chart_keeps_its_colours_where_motion_is_reduced(page: Page, scheme: Literal["light", "dark"]) -> None:
    put_on(page, Look("at a desk", scheme, DESKTOP))
    visit(page, PAGES["overview"])
    page.get_by_text("24 h", exact=True).first.click()
    page.wait_for_function(f"() => ({ACCENTED})() > 200")
