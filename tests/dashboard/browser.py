"""Debian's Chromium, and what it complains of."""

import contextlib
import os
import shutil
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Playwright, ViewportSize
from playwright.sync_api import Error as PlaywrightError

DESKTOP: Final[ViewportSize] = {"width": 1440, "height": 900}
PHONE: Final[ViewportSize] = {"width": 390, "height": 844}

# Nothing that a browser does for a person's comfort, least of all asking its maker for news.
ARGUMENTS: Final = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PRECISE: Final = ("--enable-precise-memory-info", "--js-flags=--expose-gc")
"""So that a page's memory can be measured."""


def launch(playwright: Playwright, *, fonts: Path | None = None) -> Browser:
    """`fonts` is a configuration of fontconfig in place of the machine's."""
    found = shutil.which("chromium")
    assert found is not None, "the browser tests need Debian's chromium: make chromium"
    # Root has no sandbox to give itself; in a container there is often nobody else.
    arguments = [*ARGUMENTS, *PRECISE, *(("--no-sandbox",) if os.geteuid() == 0 else ())]
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
