"""What a browser gets before anybody is signed in: small, soon usable, and from nobody but the hub."""

import gzip
import re
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Response

from tests.dashboard.yard import Yard

pytestmark = pytest.mark.takes(2)

SCRIPT_BYTES_MAX: Final = 250_000
INTERACTIVE_MS_MAX: Final = 1500

USABLE: Final = """() => {
  const [navigation] = performance.getEntriesByType("navigation");
  const tasks = window.longTasks ?? [];
  const ends = tasks.map((task) => task.startTime + task.duration);
  return Math.max(navigation.domContentLoadedEventEnd, ...ends, window.shownAt);
}"""
"""When the page showed its first heading and no task of the main thread stood in a person's way any more."""
WATCH: Final = """
  window.longTasks = [];
  const watch = new PerformanceObserver((list) => window.longTasks.push(...list.getEntries()));
  watch.observe({ type: "longtask", buffered: true });
  const seen = new MutationObserver(() => {
    if (document.querySelector("h1, form")) { window.shownAt = performance.now(); seen.disconnect(); }
  });
  seen.observe(document, { childList: true, subtree: true });
"""


@pytest.fixture(scope="module")
def yard(bare: Yard) -> Yard:
    return bare


def test_the_page_holds_no_script_and_no_style_of_its_own(yard: Yard) -> None:
    _, _, body = yard.get("/")
    html = body.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)", html) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=", html) == []
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//""", html) == []


def test_the_first_view_needs_little_script(yard: Yard, context: BrowserContext) -> None:
    # Given a signed-in person who opens the yard
    page = context.new_page()
    answers: list[Response] = []
    page.on("response", lambda answer: answer.request.resource_type == "script" and answers.append(answer))

    # When everything that this takes has come
    page.goto("/")
    page.get_by_role("heading", level=1).first.wait_for()
    page.wait_for_load_state("load")

    # Then it is within the budget
    scripts = {answer.url: len(gzip.compress(answer.body(), 9)) for answer in answers}
    assert scripts
    assert sum(scripts.values()) <= SCRIPT_BYTES_MAX, scripts


@pytest.mark.soak
def test_a_cold_first_view_is_soon_usable(yard: Yard, context: BrowserContext) -> None:
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto("/")
    page.get_by_role("heading", level=1).first.wait_for()
    assert page.evaluate(USABLE) < INTERACTIVE_MS_MAX


def test_nothing_is_asked_of_anybody_but_the_hub(yard: Yard, context: BrowserContext) -> None:
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto("/")
    page.get_by_role("heading", level=1).first.wait_for()
    assert [url for url in asked if not url.startswith((f"{yard.url}/", "data:"))] == []
