"""One browser for the whole section, one yard for each module, one fresh window for each test.

`page` is signed in as the yard's owner. Whatever the browser complains of, on any page of any window, fails the test.
What it says of requests that failed is the one thing that a test may expect, and then it must come: the mark
`@pytest.mark.refused("409")` names every status that the test wants to see, and `@pytest.mark.hub_away` is for one that
takes the hub away.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.dashboard.browser import DESKTOP, Complaints, launch
from tests.dashboard.demo import Demo, demo_yard
from tests.dashboard.yard import Yard
from tests.support.live import live_yard

PATIENCE_MS = 30_000
"""Far more than any of it takes: only a machine with much else to do comes near it."""

HUB_AWAY: Final = ("ERR_",)
"""How a browser says that nobody answers, in many words; which, and whether any, depends on the moment."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "refused(*words): every status, or error, that requests of this test fail with")
    config.addinivalue_line("markers", "hub_away: the hub does not answer for some time of this test")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever looks at the demonstration stays together: it takes a while to make."""
    for item in items:
        if "demo" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.together("demo"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """A hub, and a daemon with four slots that does what its tasks say."""
    with live_yard(tmp_path_factory.mktemp("yard")) as live:
        yard = Yard(live)
        try:
            yard.crew()
            yield yard
        finally:
            yard.end()


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """A hub alone, for all modules that need no daemon."""
    with live_yard(tmp_path_factory.mktemp("bare")) as live:
        yield Yard(live)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A yard in the middle of a working day, to be looked at only."""
    with demo_yard(tmp_path_factory.mktemp("demo")) as demo:
        yield demo


@pytest.fixture
def hears(request: pytest.FixtureRequest) -> Callable[[Sequence[str]], list[str]]:
    """What is wrong with what a browser complained of: more than this test expects, or less."""
    wanted = [word for mark in request.node.iter_markers("refused") for word in mark.args]
    allowed = [*wanted, *(HUB_AWAY if request.node.get_closest_marker("hub_away") else ())]

    def wrong_with(heard: Sequence[str]) -> list[str]:
        left_over = [one for one in heard if not any(is_about(one, word) for word in allowed)]
        not_heard = [word for word in wanted if not any(is_about(one, word) for one in heard)]
        return [*left_over, *(f"no request failed with {word}" for word in not_heard)]

    return wrong_with


def is_about(complaint: str, word: str) -> bool:
    """Whether it says that a request failed with this status, or for this reason."""
    return (f"net::{word}" if word.startswith("ERR_") else f"a status of {word} ") in complaint


@pytest.fixture
def open_window(
    browser: Browser, hears: Callable[[Sequence[str]], list[str]]
) -> Iterator[Callable[..., BrowserContext]]:
    """Makes windows that share nothing; takes what Playwright's `new_context` takes."""
    opened: list[tuple[BrowserContext, Complaints]] = []

    def open_one(**options: object) -> BrowserContext:
        context = browser.new_context(**{"viewport": DESKTOP, **options})  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        opened.append((context, Complaints(context)))
        return context

    yield open_one
    for context, _ in opened:
        context.close()
    assert hears([complaint for _, complaints in opened for complaint in complaints.heard]) == []


@pytest.fixture
def context(yard: Yard, open_window: Callable[..., BrowserContext]) -> BrowserContext:
    """Signed in as the owner."""
    context = open_window(base_url=yard.url)
    yard.sign_in(context)
    return context


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()
