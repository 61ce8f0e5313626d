"""The first page: whether the yard is well, what needs a person, and how the hub did."""

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.dashboard.yard import Yard

BROKEN = {"fail": {"code": "BOOM", "message": "the printer is on fire", "retryable": False}}


def test_the_verdict_follows_the_yard(yard: Yard, page: Page) -> None:
    # Given a yard with nothing to do
    page.goto("/")
    verdict = page.get_by_test_id("verdict")
    expect(verdict).to_contain_text("Nothing runs and nothing waits.")
    expect(page.get_by_test_id("connection")).to_have_text("Live")

    # When a task comes that no daemon can run
    stuck = yard.submit("Needs a robot arm", capabilities=["robot-arm"])

    # Then the page says so without being asked, and leads to the reason
    expect(verdict).to_contain_text(re.compile("(Held back|Mostly well).* 1 (task waits|queued)"))
    need = page.get_by_role("link", name=re.compile("1 task has no daemon that can run it"))
    need.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Needs a robot arm")

    # And when it is cancelled, all is quiet again
    yard.client.cancel(stuck.id)
    page.go_back()
    expect(verdict).to_contain_text("Nothing runs and nothing waits.")


def test_what_failed_for_good_is_one_click_from_its_verdict(yard: Yard, page: Page) -> None:
    page.goto("/")
    failed = yard.submit("Print the report", script=BROKEN)
    yard.until_status(failed.id, "permanently_failed")
    page.get_by_role("link", name=re.compile("1 task failed for good")).click()
    expect(page).to_have_url(re.compile("/dead-letters$"))
    yard.client.review(failed.id, "discard", reason="it was a test")


def test_the_past_is_shown_for_an_hour_a_day_or_a_week(yard: Yard, page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="7 d").click()
    page.get_by_role("tab", name="Run time").click()
    expect(page).to_have_url(re.compile("range=week&view="))
    # The address says what is shown, to whoever gets it.
    page.reload()
    expect(page.get_by_role("button", name="7 d")).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("tab", name="Run time")).to_have_attribute("aria-selected", "true")


def test_who_is_no_admin_sees_their_own_share(yard: Yard, open_window: Callable[..., BrowserContext]) -> None:
    # Given somebody on a plan, with a task that waits, and others' tasks
    context = open_window(base_url=yard.url)
    key = yard.person("ada", plan="free")
    yard.sign_in(context, key)
    yard.submit("Somebody else's", capabilities=["robot-arm"])
    yard.hub.client(key=key).submit("Mine.", title="Mine", capabilities=["robot-arm"])

    # When they look
    page = context.new_page()
    page.goto("/")

    # Then it is their task and their plan that they see, and nothing was asked that they may not know
    expect(page.get_by_test_id("verdict")).to_contain_text("1 task waits.")
    expect(page.get_by_role("meter", name="Running at a time")).to_be_visible()
    expect(page.get_by_role("link", name="Users")).to_have_count(0)
