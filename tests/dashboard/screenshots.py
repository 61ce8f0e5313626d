"""Pictures of the main pages, from the demonstration: `python -m tests.dashboard.screenshots` writes `docs/images/`.

Light and dark as a desk shows them, and a phone. Where the machine has the fonts that a desktop of today has, they are
used; the picture of a page is also one of its letters.
"""

import argparse
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from tests.dashboard.browser import PHONE, launch
from tests.dashboard.demo import Demo, demo_yard
from tests.dashboard.pages import PAGES, settle, visit
from tests.dashboard.picture import made_small

IMAGES: Final = Path(__file__).resolve().parents[2] / "docs" / "images"
BYTES_MAX: Final = 200_000
DESK: Final[ViewportSize] = {"width": 1280, "height": 800}
HEIGHT_MIN: Final = 616
"""What the navigation takes."""
MARGIN: Final = 24
REASONS_STILL_MS: Final = 700

MESSAGE: Final = (
    "Analyse the October sales with claude-opus-4, then chart them by region"
    " and finally write a report for the board with gpt-5"
)
BOTTOM: Final = """() => Math.ceil(Math.max(
  ...[...document.querySelectorAll("main *")].map((one) => one.getBoundingClientRect().bottom)
))"""

FONTS: Final = """\
<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <match target="pattern">
    <test name="family"><string>sans-serif</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>Inter</string></edit>
  </match>
  <match target="pattern">
    <test name="family"><string>monospace</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>JetBrains Mono</string></edit>
  </match>
</fontconfig>
"""


class Look(NamedTuple):
    """How a page is looked at."""

    name: str
    scheme: str
    is_phone: bool = False


LOOKS: Final = (Look("light", "light"), Look("dark", "dark"), Look("phone", "light", is_phone=True))
SHOWN: Final = ("overview", "queue", "task", "workflows", "dead-letters", "daemons", "queues", "users", "add")
ON_A_PHONE: Final = ("overview", "queue", "task")


def pictures(demo: Demo, browser: Browser, directory: Path, looks: Sequence[Look] = LOOKS) -> Iterator[Path]:
    """Takes each, and tells where it is."""
    directory.mkdir(parents=True, exist_ok=True)
    # What waits, and for what, says more than a list of what is done.
    paths = {
        **PAGES,
        "queue": f"{PAGES['queue']}?status=pending",
        "task": demo.path_of("running", titled="Migrate the billing service"),
        "add": f"{PAGES['add']}?by=chat",
    }
    blank = browser.new_page()
    for look in looks:
        context = _window(demo, browser, look)
        page = context.new_page()
        for name in ON_A_PHONE if look.is_phone else SHOWN:
            visit(page, paths[name])
            if pose := POSES.get(name):
                pose(page)
            if not look.is_phone:
                _fit(page)
            picture = directory / f"{name}-{look.name}.png"
            picture.write_bytes(made_small(blank, page.screenshot(animations="disabled", caret="hide")))
            yield picture
        context.close()
    blank.close()


def _window(demo: Demo, browser: Browser, look: Look) -> BrowserContext:
    context = browser.new_context(
        base_url=demo.yard.url,
        viewport=PHONE if look.is_phone else DESK,
        device_scale_factor=2 if look.is_phone else 1,
        has_touch=look.is_phone,
        color_scheme=look.scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
        locale="en-GB",
    )
    demo.yard.sign_in(context)
    return context


def _fit(page: Page) -> None:
    """The window ends where the page does: half a picture of nothing says nothing."""
    page.set_viewport_size(DESK)
    bottom = page.evaluate(BOTTOM)
    page.set_viewport_size({**DESK, "height": max(HEIGHT_MIN, min(DESK["height"], bottom + MARGIN))})


def _pose_overview(page: Page) -> None:
    """A day says more than an hour."""
    page.get_by_text("24 h", exact=True).first.click()
    page.mouse.move(0, 0)
    settle(page)


def _pose_queue(page: Page) -> None:
    """Tasks say why they wait, soon after they are seen."""
    settle(page, still_ms=REASONS_STILL_MS)


def _pose_dead_letters(page: Page) -> None:
    page.get_by_role("button", name=re.compile("tests failed")).click()
    page.mouse.move(0, 0)
    settle(page)


def _pose_workflows(page: Page) -> None:
    page.get_by_text("Morning summary").first.click()
    page.mouse.move(0, 0)
    settle(page)


def _pose_add(page: Page) -> None:
    page.get_by_label("Message", exact=True).fill(MESSAGE)
    page.get_by_role("list", name="What will be done").wait_for()
    # No field looks as if somebody were in it.
    page.get_by_role("heading", level=1).click()


POSES: Final[Mapping[str, Callable[[Page], None]]] = {
    "overview": _pose_overview,
    "queue": _pose_queue,
    "dead-letters": _pose_dead_letters,
    "workflows": _pose_workflows,
    "add": _pose_add,
}
"""As somebody has it before them who works with it; the others as they are opened."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.dashboard.screenshots")
    parser.add_argument("--into", type=Path, default=IMAGES)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        fonts = Path(directory, "fonts.conf")
        fonts.write_text(FONTS)
        with demo_yard(Path(directory, "yard")) as demo, sync_playwright() as playwright:
            browser = launch(playwright, fonts=fonts)
            for picture in pictures(demo, browser, asked.into):
                size = picture.stat().st_size
                print(f"{picture.name}: {size:,} bytes{' (too large)' if size > BYTES_MAX else ''}")
            browser.close()


if __name__ == "__main__":
    main()
