"""Who gets in, how, as whom, and for how long."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.dashboard.yard import Yard
from tests.support.live import live_yard

Open = Callable[..., BrowserContext]


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    """Nothing here needs a daemon."""
    with live_yard(tmp_path_factory.mktemp("yard")) as live:
        yield Yard(live)


@pytest.fixture
def strangers_page(yard: Yard, open_window: Open) -> Page:
    return open_window(base_url=yard.url).new_page()


def heading(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", level=1, name=name)).to_be_visible()


def sign_in_by_form(page: Page, key: str) -> None:
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def as_person(yard: Yard, open_window: Open, name: str, **terms: object) -> tuple[Page, str]:
    """A page of a new user's, signed in, with the key it took."""
    key = yard.person(name, **terms)  # type: ignore[arg-type]
    context = open_window(base_url=yard.url)
    yard.sign_in(context, key)
    return context.new_page(), key


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
    page, _ = as_person(yard, open_window, "eve")
    page.goto("/queue")
    heading(page, "Queue")

    # When the key is revoked and the page asks for anything, if it has not asked by itself already
    [key] = yard.client.keys("eve")
    yard.client.revoke_key(key.id)
    page.evaluate("() => document.querySelector('a[href=\"/workflows\"]')?.click()")

    # Then it shows the way back in
    heading(page, "Sign in")


def test_somebody_without_the_scope_sees_nothing_of_the_admins(yard: Yard, open_window: Open) -> None:
    page, _ = as_person(yard, open_window, "bob")
    page.goto("/")
    heading(page, "Overview")
    navigation = page.get_by_role("navigation", name="Pages").first
    expect(navigation.get_by_role("link", name="Queue", exact=True)).to_be_visible()
    expect(navigation.get_by_role("link", name="Users")).to_have_count(0)
    expect(page.get_by_label("Whose tasks")).to_have_count(0)


@pytest.mark.parametrize("path", ["/admin/users", "/admin/plans", "/admin/keys", "/admin/audit"])
def test_an_admins_page_says_that_it_is_one(yard: Yard, open_window: Open, path: str) -> None:
    page, _ = as_person(yard, open_window, f"carl{path.replace('/', '-')}")
    page.goto(path)
    expect(page.get_by_text(re.compile(r"admin", re.IGNORECASE)).first).to_be_visible()
    expect(page.get_by_role("table")).to_have_count(0)


def test_people_see_their_own_tasks_and_an_admin_everybodys(yard: Yard, open_window: Open, page: Page) -> None:
    # Given two people with a task each
    for name in ("ann", "ben"):
        key = yard.person(name)
        yard.hub.client(key=key).submit("Do it.", title=f"Task of {name}")
    context = open_window(base_url=yard.url)
    ann = yard.client.add_key("ann", name="second", scopes=["tasks"])
    yard.sign_in(context, str(ann.key))

    # When one of them and the owner look at the queue
    anns_page = context.new_page()
    anns_page.goto("/queue")
    page.goto("/queue")

    # Then each sees what is theirs to see
    expect(anns_page.get_by_text("Task of ann")).to_be_visible()
    expect(anns_page.get_by_text("Task of ben")).to_have_count(0)
    expect(page.get_by_text("Task of ann")).to_be_visible()
    expect(page.get_by_text("Task of ben")).to_be_visible()


@pytest.mark.refused("404")
def test_a_foreign_tasks_page_is_that_of_an_unknown_one(yard: Yard, open_window: Open) -> None:
    foreign = yard.submit("A task of the owner's")
    page, _ = as_person(yard, open_window, "dora")
    page.goto(f"/tasks/{foreign.id}")
    shown = page.get_by_role("main")
    expect(shown.get_by_text(re.compile(r"no such task|not found|there is no", re.IGNORECASE)).first).to_be_visible()
    unknown_page = page.context.new_page()
    unknown_page.goto("/tasks/T-999999")
    expect(
        unknown_page.get_by_role("main")
        .get_by_text(re.compile(r"no such task|not found|there is no", re.IGNORECASE))
        .first
    ).to_be_visible()
    assert shown.inner_text().replace(foreign.id, "") == unknown_page.get_by_role("main").inner_text().replace(
        "T-999999", ""
    )
    expect(page.get_by_text("A task of the owner's")).to_have_count(0)
