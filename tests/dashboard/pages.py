"""The dashboard's pages, by name, and when one of them has finished drawing itself."""

from collections.abc import Mapping
from typing import Final

from playwright.sync_api import Page

PAGES: Final[Mapping[str, str]] = {
    "overview": "/",
    "queue": "/queue",
    "workflows": "/workflows",
    "dead-letters": "/dead-letters",
    "daemons": "/daemons",
    "queues": "/queues",
    "breakers": "/breakers",
    "add": "/add",
    "users": "/admin/users",
    "plans": "/admin/plans",
    "keys": "/admin/keys",
    "audit": "/admin/audit",
}

SETTLED: Final = """(stillMs) => new Promise((settle) => {
  const isBusy = () => document.querySelector("main [aria-busy=true], main .animate-pulse") !== null;
  let stillSince = performance.now();
  const watch = new MutationObserver(() => { stillSince = performance.now(); });
  watch.observe(document.body, { childList: true, subtree: true });
  const began = performance.now();
  const look = () => {
    const isStill = performance.now() - stillSince > stillMs && !isBusy();
    // What is still to be fetched may take a busy machine longer than what only goes on moving.
    const enoughMs = isBusy() ? 30000 : 5000;
    if (isStill || performance.now() - began > enoughMs) { watch.disconnect(); settle(isStill); }
    else setTimeout(look, 25);
  };
  look();
})"""
"""Nothing has been added or removed for so long, and nothing is still to be fetched."""
STILL_MS: Final = 250


def visit(page: Page, path: str) -> None:
    """Until it shows what it has to show. A page with a running clock never rests; five seconds are enough for any."""
    page.goto(path)
    page.get_by_role("heading", level=1).first.wait_for()
    settle(page)


def settle(page: Page, still_ms: int = STILL_MS) -> None:
    page.evaluate(SETTLED, still_ms)
