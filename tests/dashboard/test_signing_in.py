"""Who gets in, how, as whom, and for how long."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.dashboard.yard import Yard

Open = Callable[..., BrowserContext]


@pytest.fixture(scope="module")
def yard(bare: Yard) -> Yard:
    return bare


@pytest.fixture
def strangers_page(yard: Yard, open_window: Open) -> Page:
    return open_window(base_url=yard.url).new_page()


def heading(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()


def sign_in_by_form(page: Page, key: str) -> None:
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()


@pytest.mark.refused("401")
def test_the_printed_link_signs_in_once(yard: Yard, open_window: Open) -> None:
    link = yard.link()
    first = open_window().new_page()
    first.goto(link)
    heading(first, "Overview")
    assert "ticket" not in first.url, "a link that works once should not stay in the address"

    second = open_window().new_page()
    second.goto(link)
    expect(second.get_by_role("heading", name="This link has been used, or is too old.")).to_be_visible()


@pytest.mark.refused("401")
def test_a_key_signs_in_and_leads_to_what_was_asked_for(yard: Yard, strangers_page: Page) -> None:
    # Given somebody who follows a link to a page and is not signed in
    strangers_page.goto("/daemons")
    heading(strangers_page, "Sign in")

    # When they show a key
    sign_in_by_form(strangers_page, yard.hub.key)

    # Then the page is there, and the browser has not kept the key where a script could find it
    heading(strangers_page, "Daemons")
    kept = strangers_page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert "tyk_" not in kept
    assert "taskyard_session" not in kept, "the cookie is for the hub alone"


@pytest.mark.refused("401")
def test_a_wrong_key_is_refused_with_what_to_do(yard: Yard, strangers_page: Page) -> None:
    strangers_page.goto("/")
    sign_in_by_form(strangers_page, "tyk_wrong")
    expect(strangers_page.get_by_text(re.compile("This key is not known here"))).to_be_visible()
    heading(strangers_page, "Sign in")


@pytest.mark.refused("401")
def test_signing_out_ends_it(yard: Yard, page: Page) -> None:
    page.goto("/queue")
    heading(page, "Queue")
    page.get_by_role("button", name="Signed in as local").click()
    page.get_by_role("menuitem", name="Sign out").click()
    heading(page, "Sign in")

    page.goto("/queue")
    heading(page, "Sign in")


@pytest.mark.refused("401")
def test_a_session_ends_with_its_key(yard: Yard, open_window: Open) -> None:
    # Given a page that was opened with a key
    context = open_window(base_url=yard.url)
    yard.sign_in(context, yard.person("eve"))
    page = context.new_page()
    page.goto("/queue")
    heading(page, "Queue")

    # When the key is revoked and the page asks for anything, if it has not asked by itself already
    [key] = yard.client.keys("eve")
    yard.client.revoke_key(key.id)
    page.evaluate("() => document.querySelector('a[href=\"/workflows\"]')?.click()")

    # Then it shows the way back in
    heading(page, "Sign in")
