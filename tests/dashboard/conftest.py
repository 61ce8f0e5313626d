"""One browser for the whole section, one yard for each module, one fresh window for each test.

`page` is signed in as the yard's owner. `watched_page` is too, and fails its test on whatever the browser complains of:
use it wherever no complaint is expected, which is nearly everywhere.
"""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.dashboard.browser import DESKTOP, Complaints, launch
from tests.dashboard.yard import Yard
from tests.support.live import live_yard

PATIENCE_MS = 10_000


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


@pytest.fixture
def open_window(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    """Makes windows that share nothing; takes what Playwright's `new_context` takes."""
    opened: list[BrowserContext] = []

    def open_one(**options: object) -> BrowserContext:
        context = browser.new_context(**{"viewport": DESKTOP, **options})  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        opened.append(context)
        return context

    yield open_one
    for context in opened:
        context.close()


@pytest.fixture
def context(yard: Yard, open_window: Callable[..., BrowserContext]) -> BrowserContext:
    """Signed in as the owner."""
    context = open_window(base_url=yard.url)
    yard.sign_in(context)
    return context


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def watched_page(page: Page) -> Iterator[Page]:
    complaints = Complaints(page)
    yield page
    assert complaints.heard == []
