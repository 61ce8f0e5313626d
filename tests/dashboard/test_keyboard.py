"""What one does without a mouse, and on a phone."""

import re
import time
from collections.abc import Callable
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.dashboard.browser import PHONE, TABLET, HeldAnswers
from tests.dashboard.pages import PAGES
from tests.dashboard.yard import Yard

SEQUENCE_S: Final = 1.2
"""Two keys after each other are one shortcut for so long."""
TRIES_MAX: Final = 20


def go_to(page: Page, key: str) -> None:
    """By its two keys; once more, as a person would, if a busy machine was so slow that they count as two."""
    for _ in range(TRIES_MAX):
        began_s = time.monotonic()
        page.keyboard.press("g")
        page.keyboard.press(key)
        if time.monotonic() - began_s < SEQUENCE_S:
            return


def test_the_palette_finds_pages_tasks_and_actions(yard: Yard, page: Page) -> None:
    task = yard.submit("Weigh the anchor", script={"result": "heavy"})
    page.goto("/")
    expect(page.get_by_test_id("connection")).to_have_text("Live")

    # A page, by its name
    page.keyboard.press("Control+k")
    page.keyboard.type("daem")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/daemons$"))

    # A task, by its words and by its ref
    for words in ("anchor", task.ref):
        page.keyboard.press("Control+k")
        page.keyboard.type(words)
        expect(page.get_by_role("option", name=re.compile("Weigh the anchor"))).to_be_visible()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_contain_text("Weigh the anchor")
        go_to(page, "o")
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")

    # An action
    page.keyboard.press("Control+k")
    page.keyboard.type("colours: dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_enter_in_the_palette_waits_for_the_answer_to_what_was_typed(yard: Yard, page: Page) -> None:
    # Given two tasks, of which only one has all the letters, and an answer that is slow to come
    yard.until_status(yard.submit("Drop the anvil", script={}).id, "completed")
    yard.until_status(yard.submit("Paint the anemometer", script={}).id, "completed")
    page.goto("/")
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    slow = HeldAnswers(page, "anvil")
    found = page.get_by_role("listbox", name="Found")

    # When somebody goes on typing before what they see is right
    page.keyboard.press("Control+k")
    page.keyboard.type("an")
    expect(found.get_by_role("option", name=re.compile("Paint the anemometer"))).to_be_visible()
    page.keyboard.insert_text("vil")
    slow.await_asked()

    # Then what was found before stays in sight, and Enter does not take it
    page.keyboard.press("Enter")
    expect(page.get_by_text("Looking for it…")).to_be_visible()
    expect(found.get_by_role("option", name=re.compile("Paint the anemometer"))).to_be_visible()

    # But what the answer brings
    slow.let_go()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Drop the anvil")


def test_more_letters_take_back_an_enter_that_waits(yard: Yard, page: Page) -> None:
    yard.until_status(yard.submit("Oil the pulley", script={}).id, "completed")
    page.goto("/")
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    slow = HeldAnswers(page, "pulley")
    found = page.get_by_role("listbox", name="Found")
    page.keyboard.press("Control+k")
    page.keyboard.type("pulley")
    slow.await_asked()
    page.keyboard.press("Enter")
    page.keyboard.type("x")
    expect(page.get_by_text("Nothing is called that.")).to_be_visible()

    # What was asked for at first is found in the end, and shown, but not run
    page.keyboard.press("Backspace")
    slow.await_asked(times=2)
    slow.let_go()
    expect(found.get_by_role("option", name=re.compile("Oil the pulley"))).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")

    # And a page that fits is gone to at once, whatever is still on its way
    slow = HeldAnswers(page, "workflows")
    page.keyboard.press("Control+a")
    page.keyboard.type("workflows")
    slow.await_asked()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Workflows")


def test_every_page_is_reached_and_left_by_keys_alone(yard: Yard, page: Page) -> None:
    page.goto("/")
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(help_).to_contain_text("Dead letters")
    page.keyboard.press("Escape")
    expect(help_).to_have_count(0)
    for key, path in (("q", "/queue"), ("l", "/dead-letters"), ("w", "/workflows"), ("b", "/breakers"), ("o", "/")):
        go_to(page, key)
        expect(page).to_have_url(f"{yard.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_the_first_tab_leads_past_the_navigation(yard: Yard, page: Page) -> None:
    page.goto("/queue")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the page")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#content")).to_be_focused()


@pytest.fixture
def phone(yard: Yard, open_window: Callable[..., BrowserContext]) -> Page:
    context = open_window(base_url=yard.url, viewport=PHONE, has_touch=True)
    yard.sign_in(context)
    return context.new_page()


def test_a_phone_has_every_page_and_none_is_wider_than_it_or_a_tablet(yard: Yard, phone: Page) -> None:
    yard.submit("A title that is much too long for any phone that was ever made " * 3, script={})
    for path in PAGES.values():
        phone.goto(path)
        phone.get_by_role("heading", level=1).first.wait_for()
        for size in (TABLET, PHONE):
            phone.set_viewport_size(size)
            # A page is laid out anew a moment after its window has another size.
            phone.wait_for_function("(width) => document.documentElement.scrollWidth <= width", arg=size["width"])
    phone.get_by_role("navigation").get_by_role("button", name="More").click()
    phone.get_by_role("dialog").get_by_role("link", name="Breakers").click()
    expect(phone.get_by_role("heading", level=1)).to_have_text("Breakers")
    expect(phone.get_by_role("dialog")).to_have_count(0)


def test_times_are_shown_in_the_chosen_zone(yard: Yard, page: Page) -> None:
    yard.submit("Look at the clock", script={})
    page.goto("/queue")
    page.get_by_role("button", name="Signed in as").click()
    page.get_by_role("menuitem", name="Time zone").click()
    page.get_by_label("Times are shown in").select_option("Asia/Tokyo")
    expect(page.get_by_role("dialog")).to_contain_text("GMT+9")
    page.keyboard.press("Escape")
    row = page.get_by_role("row").filter(has_text="Look at the clock")
    expect(row.locator("time").first).to_have_attribute("title", re.compile("GMT\\+9"))

    # Also within a sentence of the hub's, and where it is shown to whoever points at it
    yard.client.open_breaker("clockwork")
    yard.submit("Wind the clock", type="clockwork", script={})
    reason = page.get_by_role("row").filter(has_text="Wind the clock").get_by_text("opened the breaker")
    expect(reason).to_contain_text("GMT+9")
    expect(reason).to_have_attribute("title", re.compile(r"until [-0-9: ]+ GMT\+9\.$"))
