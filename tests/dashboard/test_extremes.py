"""What nobody meant to happen: endless names, blank ones, somebody else's pages, a second tab."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.dashboard.browser import PHONE
from tests.dashboard.pages import visit
from tests.dashboard.yard import Yard

Open = Callable[..., BrowserContext]
ENDLESS = "W" * 10_000


@pytest.fixture(scope="module")
def yard(bare: Yard) -> Yard:
    return bare


def test_a_yard_without_daemons_says_what_to_do(yard: Yard, page: Page) -> None:
    visit(page, "/")
    page.get_by_role("link", name="No daemon is connected").click()
    expect(page.get_by_role("heading", level=1, name="Daemons")).to_be_visible()


def test_an_endless_name_leaves_room_for_the_rest(yard: Yard, page: Page) -> None:
    task = yard.client.submit(ENDLESS)
    visit(page, f"/tasks/{task.id}")
    expect(page.get_by_role("heading", name="Why it is not running")).to_be_in_viewport()


def test_a_blank_name_can_be_seen_and_pressed(yard: Yard, page: Page) -> None:
    task = yard.client.submit("Count the chairs.", title=" \u200b ")
    visit(page, "/queue")
    page.get_by_role("link", name="Count the chairs.").click()
    expect(page).to_have_url(f"{yard.url}/tasks/{task.id}")
    expect(page.get_by_role("heading", level=1, name="Count the chairs.")).to_be_visible()


def test_long_names_do_not_widen_a_phones_pages(yard: Yard, context: BrowserContext) -> None:
    name = "q" * 60
    yard.client.put_queue(name, models=["m" * 100], max_concurrent=100_000)
    yard.person("u" * 100)
    page = context.new_page()
    page.set_viewport_size(PHONE)
    for path in ("/admin/users", "/admin/keys", "/queues", "/queue"):
        visit(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
        if path == "/queues":
            expect(page.get_by_role("button", name=f"Pause {name}")).to_be_in_viewport()


def test_a_page_for_admins_says_so_to_others(yard: Yard, open_window: Open) -> None:
    context = open_window(base_url=yard.url)
    yard.sign_in(context, yard.person("vera"))
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in ("/admin/users", "/admin/plans", "/admin/keys", "/admin/audit"):
        visit(page, path)
        expect(page.get_by_text("This page is for admins")).to_be_visible()
        expect(page.get_by_role("main").get_by_role("button", name="New")).to_have_count(0)
        expect(page.get_by_role("table")).to_have_count(0)
    assert not [url for url in asked if url.endswith("/api/v1/users")], "it asked for what can only be refused"


@pytest.mark.refused("401")
def test_signing_out_in_one_tab_signs_the_others_out(yard: Yard, context: BrowserContext) -> None:
    # Given two tabs of one browser
    first, second = context.new_page(), context.new_page()
    visit(first, "/queue")
    visit(second, "/")

    # When one of them signs out
    second.get_by_role("button", name="Signed in as").click()
    second.get_by_role("menuitem", name="Sign out").click()

    # Then the other shows nothing any more
    expect(first.get_by_role("heading", name="Sign in")).to_be_visible()

    # When somebody else signs in there
    second.get_by_label("Key").fill(yard.person("olga"))
    second.get_by_role("button", name="Sign in").click()

    # Then both are theirs
    for page in (first, second):
        expect(page.get_by_role("button", name="Signed in as olga")).to_be_visible()


def test_a_priority_that_was_not_granted_is_not_claimed(yard: Yard, open_window: Open) -> None:
    # Given a key for nothing above normal
    yard.client.add_user("nils")
    key = yard.client.add_key("nils", name="modest", scopes=["tasks"], max_priority="normal").key
    task = yard.hub.client(key=key).submit("Wait.", title="Wait")
    context = open_window(base_url=yard.url)
    yard.sign_in(context, key)
    page = context.new_page()
    visit(page, f"/tasks/{task.id}")

    # When its owner asks for more
    page.get_by_role("button", name="Change the priority").click()
    page.get_by_role("menuitem", name="Critical").click()

    # Then the page tells what came of it
    expect(page.get_by_text(f"{task.ref} is normal: your key or plan allows no more.")).to_be_visible()


@pytest.mark.refused("403")
def test_a_programs_key_is_told_apart_from_a_fault(yard: Yard, open_window: Open) -> None:
    context = open_window(base_url=yard.url)
    yard.sign_in(context, yard.person("robot", scopes=("daemon",)))
    page = context.new_page()
    visit(page, "/")
    expect(page.get_by_text("This key is for a program")).to_be_visible()
