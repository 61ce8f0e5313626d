"""Users, plans, keys and the audit, as an admin looks at them and acts on them."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.dashboard.browser import PHONE
from tests.dashboard.pages import visit
from tests.dashboard.yard import Yard

Open = Callable[..., BrowserContext]


@pytest.fixture(scope="module")
def yard(bare: Yard) -> Yard:
    return bare


def plan_of(yard: Yard, name: str) -> str | None:
    return next(user.plan for user in yard.client.users() if user.name == name)


def test_a_plan_is_changed_and_that_is_taken_back(yard: Yard, page: Page) -> None:
    yard.person("ann", plan="free")
    visit(page, "/admin/users")
    page.get_by_label("Plan of ann").select_option("pro")
    # Whoever is about to press it keeps it there
    page.get_by_role("button", name="Undo").hover()
    expect(page.get_by_text("ann is on the plan pro.")).to_be_visible()
    assert plan_of(yard, "ann") == "pro"

    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Plan of ann")).to_have_value("free")
    assert plan_of(yard, "ann") == "free"


def test_a_user_is_added_and_given_limits_of_their_own(yard: Yard, page: Page) -> None:
    visit(page, "/admin/users")
    page.get_by_role("button", name="New user").click()
    page.get_by_label("Name").fill("ben")
    page.get_by_role("dialog").get_by_label("Plan").select_option("free")
    page.get_by_role("button", name="Add", exact=True).click()

    page.get_by_role("button", name="Limits of ben").click()
    page.get_by_label("Tasks at a time").fill("7")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name=re.compile("ben"))).to_contain_text("0 of 7 running")


@pytest.mark.refused("409")
def test_a_name_that_is_taken_is_refused_in_words(yard: Yard, page: Page) -> None:
    visit(page, "/admin/users")
    page.get_by_role("button", name="New user").click()
    page.get_by_label("Name").fill("local")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("local")


def test_a_key_is_shown_once_opens_the_door_and_is_revoked(yard: Yard, open_window: Open, page: Page) -> None:
    # Given a key that was made for somebody
    yard.client.add_user("cleo")
    visit(page, "/admin/keys")
    page.get_by_label("Whose keys").select_option(label="cleo")
    expect(page.get_by_text("cleo cannot get in until you make one.")).to_be_visible()
    page.get_by_role("button", name="New key").click()
    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Make the key").click()
    key = page.get_by_text(re.compile(r"^tyk_")).first.inner_text()

    # When its dialog is closed, then it is shown nowhere, and opens the door
    page.get_by_role("button", name="I have saved it").click()
    expect(page.get_by_text(key)).to_have_count(0)
    yard.sign_in(open_window(base_url=yard.url), key)

    # When it is revoked, then it does no longer
    page.get_by_role("button", name="Revoke laptop").click()
    page.get_by_role("button", name="Revoke the key").click()
    expect(page.get_by_role("row", name=re.compile("laptop"))).to_contain_text("Revoked")
    answer = open_window().request.post(
        f"{yard.url}/api/v1/session", data={"key": key}, headers={"X-Taskyard-Request": "1"}
    )
    assert answer.status == 401


def test_plans_are_compared_side_by_side(yard: Yard, page: Page) -> None:
    visit(page, "/admin/plans")
    for plan in yard.client.plans():
        expect(page.get_by_role("columnheader", name=re.compile(plan.name))).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Agent hours a month"))).to_be_visible()


def test_the_audit_says_who_did_what_by_name(yard: Yard, page: Page) -> None:
    yard.client.pause_queue("default")
    yard.client.resume_queue("default")
    visit(page, "/admin/audit?q=paused")
    rows = page.get_by_role("region", name="Audit").get_by_role("row")
    expect(rows).to_have_count(2)
    found = rows.last
    expect(found).to_contain_text("local")
    expect(found).to_contain_text("paused a queue")
    expect(found).to_contain_text("default")


def test_a_phone_changes_a_plan(yard: Yard, open_window: Open) -> None:
    yard.person("dan", plan="free")
    context = open_window(base_url=yard.url, viewport=PHONE)
    yard.sign_in(context)
    page = context.new_page()
    visit(page, "/admin/users")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_label("Plan of dan").select_option("team")
    expect(page.get_by_text("dan is on the plan team.")).to_be_visible()
