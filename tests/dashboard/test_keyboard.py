"""What one does without a mouse, and on a phone."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.dashboard.browser import PHONE, Complaints
from tests.dashboard.pages import PAGES
from tests.dashboard.yard import Yard


def test_the_palette_finds_pages_tasks_and_actions(yard: Yard, watched_page: Page) -> None:
    page = watched_page
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
        page.keyboard.press("g")
        page.keyboard.press("o")
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")

    # An action
    page.keyboard.press("Control+k")
    page.keyboard.type("colours: dark")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_every_page_is_reached_and_left_by_keys_alone(yard: Yard, watched_page: Page) -> None:
    page = watched_page
    page.goto("/")
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(help_).to_contain_text("Dead letters")
    page.keyboard.press("Escape")
    expect(help_).to_have_count(0)
    for key, path in (("q", "/queue"), ("l", "/dead-letters"), ("w", "/workflows"), ("b", "/breakers"), ("o", "/")):
        page.keyboard.press("g")
        page.keyboard.press(key)
        expect(page).to_have_url(f"{yard.url}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()


def test_a_list_is_walked_and_a_row_opened_by_keys(yard: Yard, watched_page: Page) -> None:
    page = watched_page
    yard.until_status(yard.submit("First of the walk", script={}).id, "completed")
    yard.until_status(yard.submit("Second of the walk", script={}).id, "completed")
    page.goto("/queue")
    expect(page.get_by_role("row").filter(has_text="Second of the walk")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("First of the walk")


def test_the_first_tab_leads_past_the_navigation(yard: Yard, watched_page: Page) -> None:
    page = watched_page
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


def test_a_phone_has_every_page_and_none_is_wider_than_it(yard: Yard, phone: Page) -> None:
    complaints = Complaints(phone)
    yard.submit("A title that is much too long for any phone that was ever made " * 3, script={})
    for path in PAGES.values():
        phone.goto(path)
        phone.get_by_role("heading", level=1).first.wait_for()
        width = phone.evaluate("() => document.documentElement.scrollWidth")
        assert width <= PHONE["width"], f"{path} is {width} px wide"
    phone.get_by_role("navigation").get_by_role("button", name="More").click()
    phone.get_by_role("dialog").get_by_role("link", name="Breakers").click()
    expect(phone.get_by_role("heading", level=1)).to_have_text("Breakers")
    expect(phone.get_by_role("dialog")).to_have_count(0)
    assert complaints.heard == []


def test_times_are_shown_in_the_chosen_zone(yard: Yard, watched_page: Page) -> None:
    page = watched_page
    yard.submit("Look at the clock", script={})
    page.goto("/queue")
    page.get_by_role("button", name="Signed in as").click()
    page.get_by_role("menuitem", name="Time zone").click()
    page.get_by_label("Times are shown in").select_option("Asia/Tokyo")
    expect(page.get_by_role("dialog")).to_contain_text("GMT+9")
    page.keyboard.press("Escape")
    row = page.get_by_role("row").filter(has_text="Look at the clock")
    expect(row.locator("time").first).to_have_attribute("title", re.compile("GMT\\+9"))
