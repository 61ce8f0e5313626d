"""One browser for the whole section, one yard for each module, one fresh window for each test.

`page` is signed in as the yard's owner; `watched_page` is too. Whatever the browser complains of, on any page of any
window, fails the test. What it says of requests that failed is the one thing that a test may expect: it names the
statuses, or the errors of the network, by `@pytest.mark.refused("409")`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.dashboard.browser import DESKTOP, Complaints, launch
from tests.dashboard.demo import Demo, demo_yard
from tests.dashboard.yard import Yard
from tests.support.live import live_yard

PATIENCE_MS = 30_000
"""Far more than any of it takes: only a machine with much else to do comes near it."""

REFUSED_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "test_add": ("422", "ERR_FAILED"),
    "test_admin": ("409",),
    "test_signing_in": ("401", "404"),
    "test_task": ("404",),
    "test_workflows": ("409", "422"),
    "test_yard_pages": ("422",),
}
"""What any test of a module may expect, where it does not use `watched_page`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="N/OF", help="only one of so many parts of about the same size")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "refused(*words): statuses or errors of requests that this test wants refused")
    config.addinivalue_line("markers", "measured: holds a clock to what it looks at, so nothing may run beside it")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps whole modules together, and those that look at the demonstration too: each of them takes a yard to make."""
    asked = config.getoption("--part", None)
    if asked is None:
        return
    number, of = map(int, asked.split("/"))
    together: dict[str, list[pytest.Item]] = {}
    for item in items:
        together.setdefault("demo" if "demo" in getattr(item, "fixturenames", ()) else str(item.path), []).append(item)
    parts: list[list[pytest.Item]] = [[] for _ in range(of)]
    for module in sorted(together.values(), key=len, reverse=True):
        min(parts, key=len).extend(module)
    left_out = [item for part in parts if part is not parts[number - 1] for item in part]
    config.hook.pytest_deselected(items=left_out)
    items[:] = parts[number - 1]


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
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A yard in the middle of a working day, to be looked at only."""
    with demo_yard(tmp_path_factory.mktemp("demo")) as demo:
        yield demo


@pytest.fixture
def refused(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """What this test may hear of requests that failed: a part of what the browser says."""
    named = request.node.get_closest_marker("refused")
    found = named.args if named else REFUSED_IN.get(request.path.stem, ())
    return tuple(f"net::{word}" if word.startswith("ERR_") else f"a status of {word} " for word in found)


@pytest.fixture
def open_window(browser: Browser, refused: tuple[str, ...]) -> Iterator[Callable[..., BrowserContext]]:
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
    heard = [complaint for _, complaints in opened for complaint in complaints.heard]
    assert [complaint for complaint in heard if not any(word in complaint for word in refused)] == []


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
    """Nothing at all may be refused here, whatever the test's module expects elsewhere."""
    complaints = Complaints(page)
    yield page
    assert complaints.heard == []
