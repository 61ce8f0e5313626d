"""What failed for good: seen by how it failed, and decided about, one or all that are alike."""

import re
from collections.abc import Callable
from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.dashboard.browser import PHONE
from tests.dashboard.yard import Yard

IS_WIDER = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


def failed(yard: Yard, message: str, *titles: str) -> list[Any]:
    """Dead letters with that message."""
    script = {"fail": {"code": "BROKEN", "message": message}}
    tasks = [yard.submit(title, script=script, max_attempts=1, type=title.replace(" ", "-")) for title in titles]
    return [yard.until_status(task.id, "permanently_failed") for task in tasks]


def pattern_of(page: Page, message: str) -> Locator:
    return page.get_by_role("button", name=re.compile(message))


def letter_of(page: Page, title: str) -> Locator:
    return page.get_by_role("list", name="Dead letters of this kind").get_by_role("listitem").filter(has_text=title)


def test_alike_failures_are_one_pattern_and_tried_again_together(yard: Yard, page: Page) -> None:
    # Given two that failed alike but for a number, and one that failed otherwise
    pair = [*failed(yard, "The tap 17 drips", "first tap"), *failed(yard, "The tap 23 drips", "second tap")]
    failed(yard, "The roof leaks", "roof")
    page.goto("/dead-letters")
    tap = pattern_of(page, "The tap")
    expect(tap).to_have_count(1)
    expect(tap.get_by_role("img", name="2 tasks")).to_be_visible()
    expect(pattern_of(page, "The roof leaks")).to_contain_text("BROKEN")

    # When somebody opens the pattern and has all of it tried again
    tap.click()
    expect(letter_of(page, "first tap")).to_be_visible()
    expect(letter_of(page, "second tap")).to_be_visible()
    page.get_by_role("group", name="all of this kind").get_by_role("button", name="Retry", exact=True).click()
    dialog = page.get_by_role("dialog", name="Retry 2 tasks")
    expect(dialog).to_contain_text("a new series of attempts")
    dialog.get_by_label("Reason").fill("the plumber was there")
    dialog.get_by_role("button", name="Retry 2 tasks").click()

    # Then both are
    expect(page.get_by_label("Messages")).to_contain_text("2 tasks tried again.")
    for task in pair:
        yard.until(lambda task=task: len(yard.client.task(task.id).attempts) == 2, "a second attempt")
    expect(page.get_by_role("region", name="Decided lately")).to_contain_text("the plumber was there")


def test_one_is_escalated_and_then_discarded_with_a_reason(yard: Yard, page: Page) -> None:
    # Given a dead letter among others, that another task waits for
    task, other = failed(yard, "The door is stuck", "front door", "back door")
    heir = yard.submit("Paint the door", depends_on=[task.id])
    page.goto("/dead-letters")
    pattern_of(page, "The door is stuck").click()

    # When it is escalated, then it stays, and its history says to whom and why
    letter = letter_of(page, "front door")
    letter.get_by_role("button", name=f"Decide about {task.ref}").click()
    page.get_by_role("menuitem", name="Escalate").click()
    dialog = page.get_by_role("dialog", name="Escalate 1 task")
    expect(dialog.get_by_role("button", name="Escalate 1 task")).to_be_disabled()
    dialog.get_by_label("To whom").fill("the carpenter")
    dialog.get_by_label("Reason").fill("needs a plane")
    dialog.get_by_role("button", name="Escalate 1 task").click()
    expect(letter).to_contain_text("escalated to the carpenter")
    letter.get_by_role("button", name="Show what happened").click()
    expect(letter).to_contain_text("to the carpenter: needs a plane")

    # And when it is discarded, it is said what goes with it, and both are gone
    letter.get_by_role("checkbox").check()
    page.get_by_role("group", name="what is selected").get_by_role("button", name="Discard").click()
    dialog = page.get_by_role("dialog", name="Discard 1 task")
    expect(dialog).to_contain_text("This cannot be undone.")
    expect(dialog).to_contain_text("1 more task depends on them and is cancelled too.")
    dialog.get_by_label("Reason").fill("a new door is cheaper")
    dialog.get_by_role("button", name="Discard 1 task").click()
    expect(letter).to_have_count(0)
    expect(letter_of(page, "back door")).to_be_visible()
    assert yard.client.task(task.id).status == "cancelled"
    assert yard.client.task(heir.id).status == "cancelled"
    assert yard.client.task(other.id).status == "permanently_failed"


def test_one_is_put_off_by_keys_alone(yard: Yard, page: Page) -> None:
    (task,) = failed(yard, "The shop is closed", "shop")
    page.goto("/dead-letters")
    expect(pattern_of(page, "The shop is closed")).to_be_visible()
    at_cursor = page.locator("[data-cursor]")
    for _ in range(10):
        page.keyboard.press("j")
        if "The shop is closed" in at_cursor.inner_text():
            break
    expect(at_cursor).to_contain_text("The shop is closed")
    page.keyboard.press("Enter")
    expect(letter_of(page, "shop")).to_be_visible()
    expect(page).to_have_url(re.compile("pattern="))
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_text("1 task selected")).to_be_visible()
    page.keyboard.press("w")
    dialog = page.get_by_role("dialog", name="Retry 1 task later")
    button = dialog.get_by_role("button", name="Retry 1 task later")
    expect(button).to_be_disabled()
    for _ in range(10):
        if dialog.get_by_label("Reason").evaluate("field => field === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.type("it opens tomorrow")
    expect(button).to_be_enabled()
    for _ in range(10):
        if button.evaluate("button => button === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(pattern_of(page, "The shop is closed")).to_have_count(0)
    assert yard.until_status(task.id, "pending").not_before is not None


def test_it_fits_a_phone(yard: Yard, open_window: Callable[..., BrowserContext]) -> None:
    failed(yard, "The letter box is " + "very " * 40 + "full", "letter box with a name that is long")
    context = open_window(base_url=yard.url, viewport=PHONE, has_touch=True)
    yard.sign_in(context)
    page = context.new_page()
    page.goto("/dead-letters")
    pattern_of(page, "The letter box").tap()
    letter_of(page, "letter box").get_by_role("button", name="Show what happened").tap()
    expect(page.get_by_text("Nobody has decided about it yet.")).to_be_visible()
    assert not page.evaluate(IS_WIDER)


def test_somebody_without_any_is_told_that_this_is_well(yard: Yard, open_window: Callable[..., BrowserContext]) -> None:
    failed(yard, "Not theirs to see", "private")
    context = open_window(base_url=yard.url)
    yard.sign_in(context, yard.person("trent"))
    page = context.new_page()
    page.goto("/dead-letters")
    expect(page.get_by_text("No dead letters")).to_be_visible()
    expect(page.get_by_text("Not theirs to see")).to_have_count(0)
