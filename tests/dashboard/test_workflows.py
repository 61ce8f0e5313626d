"""Schedules in the browser: made with the next runs in sight, turned on and off, run at once, changed and deleted."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.dashboard.browser import PHONE
from tests.dashboard.yard import Yard

pytestmark = pytest.mark.takes(15)


@pytest.fixture
def context(yard: Yard, open_window: Callable[..., BrowserContext]) -> BrowserContext:
    """Of somebody in London, so that times elsewhere are other times."""
    context = open_window(base_url=yard.url, timezone_id="Europe/London")
    yard.sign_in(context)
    return context


@pytest.fixture
def daily(yard: Yard) -> Iterator[Any]:
    """One that is due at nine in Berlin, and gone after the test.

    Asked for before any window, so that those are closed by then: one that is open would ask for what is gone.
    """
    made = yard.client.add_schedule(
        "Daily digest", {"input": "Sum up the day."}, cron="0 9 * * *", timezone="Europe/Berlin"
    )
    yield made
    for schedule in yard.client.schedules():
        yard.client.delete_schedule(schedule.id)


def form_of(page: Page) -> Locator:
    return page.get_by_role("dialog")


def begin_new(page: Page) -> None:
    """By its key."""
    page.goto("/workflows")
    page.get_by_role("button", name="New schedule").first.wait_for()
    page.keyboard.press("n")


def first_run(page: Page) -> Locator:
    return form_of(page).get_by_role("list", name="Next runs").get_by_role("listitem").first


def choose_zone(page: Page, typed: str, zone: str) -> None:
    page.get_by_role("combobox", name="Time zone").fill(typed)
    page.get_by_role("option", name=zone).first.click()


def test_a_schedule_is_made_with_its_next_runs_in_sight(yard: Yard, page: Page) -> None:
    # Given somebody who writes down a new one
    page.goto("/workflows")
    page.get_by_role("button", name="New schedule").first.click()
    form_of(page).get_by_label("Name", exact=True).fill("Standup notes")
    form_of(page).get_by_label("Cron expression").fill("30 8 * * 1-5")

    # Then the form says in words and as times what that means, also in another zone, and when clocks change there
    choose_zone(page, "new york", "America/New York")
    expect(form_of(page)).to_contain_text(re.compile("Clocks there go (forward|back) by 1 h on "))
    choose_zone(page, "london", "Europe/London")
    expect(form_of(page).get_by_text("Monday to Friday at 08:30.")).to_be_visible()
    expect(first_run(page)).to_contain_text("08:30")
    expect(first_run(page)).not_to_contain_text("for you")
    choose_zone(page, "tokyo", "Asia/Tokyo")
    expect(form_of(page).get_by_text("in Asia/Tokyo")).to_be_visible()
    expect(first_run(page)).to_contain_text(re.compile("08:30.*(23|00):30 for you"))

    # And when its task is said, it is made and shown
    form_of(page).get_by_label("What is to be done").fill("Gather the notes.")
    form_of(page).get_by_role("button", name="Make schedule").click()
    expect(page.get_by_text("Standup notes was made.")).to_be_visible()
    expect(page.get_by_role("region", name="Standup notes")).to_contain_text("Monday to Friday at 08:30")
    [made] = [one for one in yard.client.schedules() if one.name == "Standup notes"]
    assert (made.cron, made.timezone, made.task["input"]) == ("30 8 * * 1-5", "Asia/Tokyo", "Gather the notes.")
    page.goto("about:blank")
    yard.client.delete_schedule(made.id)


def test_a_preset_is_an_interval_or_a_time_of_the_calendar(yard: Yard, page: Page) -> None:
    begin_new(page)
    page.get_by_role("button", name="Every 5 minutes").click()
    expect(page.get_by_label("Every", exact=True)).to_have_value("5")
    expect(first_run(page)).to_contain_text(re.compile("in (4|5) min"))
    page.get_by_role("button", name="Weekly on Monday").click()
    expect(page.get_by_label("Cron expression")).to_have_value("0 0 * * 1")
    expect(first_run(page)).to_contain_text(re.compile(r"Mon .* 00:00"))
    page.get_by_label("Missed runs").select_option("Leave them out")
    expect(form_of(page)).to_contain_text("Runs that were missed while the hub was away are left out")


@pytest.mark.refused("422")
def test_a_bad_expression_says_why_at_its_field(yard: Yard, page: Page) -> None:
    begin_new(page)

    # When minutes are given that no hour has, then the field says which there are
    page.get_by_label("Cron expression").fill("61 * * * *")
    expect(form_of(page).get_by_role("alert")).to_contain_text("61 is no minute: possible are 0-59")

    # And when that is put right, the next runs are back
    page.get_by_label("Cron expression").fill("45 * * * *")
    expect(first_run(page)).to_contain_text(":45")


@pytest.mark.refused("409")
def test_a_name_that_is_taken_is_said_at_its_field(yard: Yard, daily: Any, page: Page) -> None:
    begin_new(page)
    form_of(page).get_by_label("Name", exact=True).fill(daily.name)
    form_of(page).get_by_label("What is to be done").fill("Again.")
    form_of(page).get_by_role("button", name="Make schedule").click()
    expect(form_of(page).get_by_role("alert")).to_contain_text("choose another name")


def test_a_schedule_is_turned_off_and_that_is_undone(yard: Yard, daily: Any, page: Page) -> None:
    page.goto("/workflows")
    switch = page.get_by_role("switch", name=f"{daily.name} is on")
    expect(switch).to_be_checked()
    switch.click()
    # Whoever is about to press it keeps it there
    page.get_by_role("button", name="Undo").hover()
    expect(page.get_by_text(f"{daily.name} is off.")).to_be_visible()
    expect(switch).not_to_be_checked()
    assert yard.client.schedule(daily.id).enabled is False
    page.get_by_role("button", name="Undo").click()
    expect(switch).to_be_checked()
    assert yard.client.schedule(daily.id).enabled is True


def test_it_runs_at_once_and_its_history_follows(yard: Yard, daily: Any, page: Page) -> None:
    # Given a schedule that has not run yet, opened by keyboard alone
    page.goto("/workflows")
    expect(page.get_by_role("link", name=daily.name)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    details = page.get_by_role("region", name=daily.name)
    expect(details).to_contain_text("It has not run yet.")

    # When it is run, then its task is told and followed to its end without a reload
    page.keyboard.press("r")
    expect(page.get_by_text(re.compile(f"{daily.name} runs now, as T-"))).to_be_visible()
    history = details.get_by_role("list", name="History")
    expect(history.get_by_role("listitem").first).to_contain_text(re.compile(r"Completed\s*T-\d+"))
    history.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Sum up the day.")


def test_a_run_that_fails_or_is_cancelled_is_told_as_it_ends(yard: Yard, page: Page) -> None:
    # Given a schedule whose task runs for long
    made = yard.client.add_schedule("Doomed", {"input": "Hold on.", "payload": {"hold_ms": 60_000}}, every="1h")
    page.goto(f"/workflows?schedule={made.id}")
    page.get_by_role("button", name="Run now").click()
    history = page.get_by_role("list", name="History")
    expect(history).to_contain_text("Running")

    # When it is cancelled elsewhere, then its history says so by itself
    running = yard.client.schedule(made.id).last_task_id
    assert running is not None
    yard.client.cancel(running)
    expect(history).to_contain_text("Cancelled")

    # And so it does of one that fails for good
    failure = {"fail": {"code": "BOOM", "message": "no", "retryable": False}, "ms": 300}
    yard.client.change_schedule(made.id, task={"input": "Fail.", "payload": failure})
    page.get_by_role("button", name="Run now").click()
    expect(history).to_contain_text("Failed for good")
    page.goto("about:blank")
    yard.client.delete_schedule(made.id)


def test_a_skip_is_told_with_its_reason(yard: Yard, page: Page) -> None:
    # Given one whose first run goes on for longer than until its next
    often = yard.client.add_schedule("Too often", {"input": "Linger.", "payload": {"hold_ms": 60_000}}, every="1s")
    running = yard.until(lambda: yard.client.schedule(often.id).last_task_id, "a first run")

    # When a person looks, then the history says what was skipped and why
    page.goto(f"/workflows?schedule={often.id}")
    history = page.get_by_role("list", name="History")
    expect(history).to_contain_text("The run before it was still going on.")
    expect(history).to_contain_text("Skipped")
    page.goto("about:blank")
    yard.client.delete_schedule(often.id)
    yard.client.cancel(running)


def test_a_schedule_is_changed_and_then_deleted(yard: Yard, daily: Any, page: Page) -> None:
    page.goto(f"/workflows?schedule={daily.id}")
    page.get_by_role("button", name="Edit", exact=True).click()
    expect(form_of(page).get_by_role("button", name="Save")).to_be_disabled()
    page.get_by_label("Cron expression").fill("0 10 * * *")
    form_of(page).get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name=daily.name)).to_contain_text("Every day at 10:00")
    changed = yard.client.schedule(daily.id)
    assert (changed.cron, changed.timezone) == ("0 10 * * *", "Europe/Berlin")

    page.get_by_role("button", name="Delete", exact=True).click()
    expect(form_of(page)).to_contain_text("Those that it has made stay")
    form_of(page).get_by_role("button", name="Delete schedule").click()
    expect(page.get_by_text("No schedules yet")).to_be_visible()
    assert [one.id for one in yard.client.schedules()] == []


def test_it_is_of_use_on_a_phone(yard: Yard, daily: Any, open_window: Callable[..., BrowserContext]) -> None:
    context = open_window(base_url=yard.url, viewport=PHONE, has_touch=True)
    yard.sign_in(context)
    page = context.new_page()
    page.goto("/workflows")
    page.get_by_role("link", name=daily.name).click()
    expect(form_of(page)).to_contain_text("Next runs")
    form_of(page).get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Cron expression")).to_have_value("0 9 * * *")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "nothing to scroll sideways to"
