"""Debian's Chromium, and what it complains of."""

import contextlib
import os
import re
import shutil
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Playwright, Route, ViewportSize
from playwright.sync_api import Error as PlaywrightError

DESKTOP: Final[ViewportSize] = {"width": 1440, "height": 900}
TABLET: Final[ViewportSize] = {"width": 768, "height": 1024}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}

PROGRAMS: Final = ("chromium-headless-shell", "chromium")
"""The first draws the same pages for two thirds of the time: it has no windows, menus and address bar to look after."""

STEP_MS: Final = 20
ASKED_MS_MAX: Final = 30_000
"""Far more than any page takes to ask for something."""

# Nothing that a browser does for a person's comfort, least of all asking its maker for news.
ARGUMENTS: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Every page that a window shows is of one hub, and processes take longer to start than pages to draw.
ONE_PROCESS: Final = ("--disable-site-isolation-trials", "--renderer-process-limit=1")
PRECISE: Final = ("--enable-precise-memory-info", "--js-flags=--expose-gc")
"""So that a page's memory can be measured."""


def launch(playwright: Playwright, *, fonts: Path | None = None) -> Browser:
    """`fonts` is a configuration of fontconfig in place of the machine's."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    assert found is not None, "the browser tests need Debian's chromium-headless-shell: make chromium"
    # Root has no sandbox to give itself; in a container there is often nobody else.
    arguments = [*ARGUMENTS, *ONE_PROCESS, *PRECISE, *(("--no-sandbox",) if os.geteuid() == 0 else ())]
    env: dict[str, str | float | bool] = {**os.environ, **({"FONTCONFIG_FILE": str(fonts)} if fonts else {})}
    return playwright.chromium.launch(executable_path=found, args=arguments, headless=True, env=env)


class Complaints:
    """What pages' consoles said in earnest, what their scripts threw, and what they asked in a dialog."""

    def __init__(self, watched: Page | BrowserContext) -> None:
        self.heard: list[str] = []
        watched.on("console", self._said)  # type: ignore[call-overload]
        watched.on("dialog", self._asked)  # type: ignore[call-overload]
        if isinstance(watched, Page):
            watched.on("pageerror", lambda error: self.heard.append(f"thrown: {error}"))
        else:
            watched.on("weberror", lambda thrown: self.heard.append(f"thrown: {thrown.error}"))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.heard.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def _asked(self, dialog: Dialog) -> None:
        self.heard.append(f"dialog: {dialog.message}")
        # Whoever else watches the same page may have been quicker.
        with contextlib.suppress(PlaywrightError):
            dialog.dismiss()


class HeldAnswers:
    """What the hub answers to a search for this word comes only when a test lets it go: no answer is slower."""

    def __init__(self, page: Page, word: str) -> None:
        self._page = page
        self._held: list[Route] = []
        page.route(re.compile(rf"/api/v1/tasks\?(.*&)?q={word}(&|$)"), self._hold)

    def _hold(self, route: Route) -> None:
        self._held.append(route)

    def await_asked(self, times: int = 1) -> None:
        for _ in range(ASKED_MS_MAX // STEP_MS):
            if len(self._held) >= times:
                return
            self._page.wait_for_timeout(STEP_MS)
        raise AssertionError(f"the page asked {len(self._held)} times, {times} were awaited")

    def let_go(self) -> None:
        """What the page no longer waits for goes nowhere."""
        for route in self._held:
            route.continue_()
