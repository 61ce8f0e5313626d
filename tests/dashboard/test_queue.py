"""The queue's page: many tasks, found, watched and acted upon, one or many at a time."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from taskyard.sdk.client import Client
from tests.dashboard.browser import PHONE
from tests.dashboard.yard import Yard

pytestmark = pytest.mark.takes(22)

NOBODY = ["nobody-has-this"]
BY_HAND = ["by-hand"]
IS_WIDER = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
MANY = 240


def row_of(page: Page, title: str) -> Locator:
    return page.get_by_role("row").filter(has_text=title)


def waiting(yard: Yard, *titles: str, **options: Any) -> list[Any]:
    """Tasks that no daemon takes."""
    return [yard.submit(title, capabilities=NOBODY, **options) for title in titles]


def choose(page: Page, title: str, item: str) -> None:
    """From the menu of a row."""
    row_of(page, title).hover()
    row_of(page, title).get_by_role("button", name="Actions for").click()
    page.get_by_role("menuitem", name=item).click()


def until_live(page: Page) -> None:
    """What happens from now on is told to the page."""
    expect(page.get_by_test_id("connection")).to_have_text("Live")


def away(page: Page) -> None:
    """The pointer leaves the list."""
    page.get_by_role("heading", level=1).hover()


def test_a_person_watches_a_task_run_in_the_list(yard: Yard, page: Page) -> None:
    # Given the list, and nobody's pointer in it
    page.goto("/queue")
    until_live(page)

    # When a task comes in and is taken, then it is there, runs, says how far it is, and is done
    task = yard.submit("Count the lines", capabilities=BY_HAND)
    row = row_of(page, "Count the lines")
    expect(row).to_contain_text("Queued")
    expect(row).to_contain_text(task.ref)
    claimed = yard.client.claim("scribe", capabilities=BY_HAND, wait_s=10)
    assert claimed is not None
    worker = Client(yard.url, claimed.token)
    expect(row).to_contain_text("Running")
    worker.progress(task.id, percent=70, message="checking it")
    expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "70")
    expect(row).to_contain_text("checking it")
    worker.complete(task.id, status="completed", result="42")
    expect(row).to_contain_text("Completed")


def test_tabs_count_and_list_what_stands_so(yard: Yard, page: Page) -> None:
    first, _ = waiting(yard, "Waits for a machine", "Another of them", type="tabs")
    yard.submit("Waits for the first", depends_on=[first.id], type="tabs")
    page.goto("/queue?type=tabs")
    tabs = page.get_by_role("tablist")
    expect(tabs.get_by_role("tab", name=re.compile("^Waiting"))).to_contain_text("1")
    tabs.get_by_role("tab", name=re.compile("^Waiting")).click()
    expect(page).to_have_url(re.compile("status=waiting"))
    expect(row_of(page, "Waits for the first")).to_contain_text("for 1 task")
    expect(row_of(page, "Another of them")).to_have_count(0)
    # With the arrows too, and the list says by itself why they wait
    page.keyboard.press("ArrowLeft")
    expect(row_of(page, "Another of them")).to_contain_text("nobody-has-this")
    yard.client.cancel(first.id)
    expect(row_of(page, "Waits for a machine")).to_have_count(0)


def test_a_link_shows_what_was_searched_and_filtered(yard: Yard, page: Page) -> None:
    # Given tasks of two kinds
    waiting(yard, "Paint the fence", type="paint", priority="high")
    waiting(yard, "Paint the gate", type="paint", priority="low")
    waiting(yard, "Mend the gate", type="mend")
    page.goto("/queue")
    expect(row_of(page, "Paint the fence")).to_be_visible()

    # When somebody searches and filters
    page.get_by_role("searchbox", name="Search tasks").fill("gate")
    expect(row_of(page, "Paint the fence")).to_have_count(0)
    expect(row_of(page, "Mend the gate")).to_be_visible()
    page.get_by_role("combobox", name="Priority").select_option("low")
    expect(row_of(page, "Mend the gate")).to_have_count(0)
    expect(row_of(page, "Paint the gate")).to_be_visible()

    # Then the address has it, and shows the same again
    expect(page).to_have_url(re.compile(r"/queue\?priority=low&q=gate$"))
    page.reload()
    expect(page.get_by_role("searchbox", name="Search tasks")).to_have_value("gate")
    expect(row_of(page, "Paint the gate")).to_be_visible()
    expect(row_of(page, "Mend the gate")).to_have_count(0)
    page.get_by_role("searchbox", name="Search tasks").fill("nothing is called that")
    expect(page.get_by_text("No task fits")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(row_of(page, "Mend the gate")).to_be_visible()


def test_a_search_is_done_at_enter_and_the_keys_are_the_lists_then(yard: Yard, page: Page) -> None:
    waiting(yard, "Prune the roses", "Prune the hedge", type="prune")
    page.goto("/queue?type=prune")
    expect(row_of(page, "Prune the hedge")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("roses")
    page.keyboard.press("Enter")
    expect(row_of(page, "Prune the hedge")).to_have_count(0)
    expect(row_of(page, "Prune the roses")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Prune the roses")


def test_many_are_cancelled_after_it_was_said_what_that_means(yard: Yard, page: Page) -> None:
    # Given three that wait, one that depends on them, and one that is done
    one, _, three = waiting(yard, "Cancel one", "Cancel two", "Cancel three", type="many")
    heir = yard.submit("Depends on one", depends_on=[one.id], capabilities=NOBODY, type="other")
    done = yard.submit("Is done already", type="many")
    yard.until_status(done.id, "completed")
    page.goto("/queue?type=many")

    # When all four are selected, from the first to the last
    row_of(page, "Is done already").get_by_role("checkbox").click()
    row_of(page, "Cancel one").get_by_role("checkbox").click(modifiers=["Shift"])
    expect(page.get_by_role("status").filter(has_text="4 tasks selected")).to_be_visible()
    page.get_by_role("toolbar").get_by_role("button", name="Cancel").click()

    # Then it is said what will happen, to which and why not to the fourth
    dialog = page.get_by_role("dialog", name="Cancel 4 tasks")
    expect(dialog).to_contain_text("3 tasks will be cancelled.")
    expect(dialog).to_contain_text("1 more task depends on one of them and is cancelled too.")
    expect(dialog).to_contain_text(f"completed already: {done.ref}")
    dialog.get_by_label("Reason").fill("not wanted any more")
    dialog.get_by_role("button", name="Cancel 3 tasks").click()

    # And it does
    expect(page.get_by_label("Messages")).to_contain_text("3 tasks cancelled")
    for title in ("Cancel one", "Cancel two", "Cancel three"):
        expect(row_of(page, title)).to_contain_text("Cancelled")
    assert yard.client.task(three.id).status == "cancelled"
    assert yard.client.task(heir.id).status == "cancelled"


def test_a_failed_one_is_retried_from_its_row(yard: Yard, page: Page) -> None:
    fail = {"code": "NO_LUCK", "message": "it did not work"}
    task = yard.submit("Try this", script={"fail": fail}, max_attempts=1)
    yard.until_status(task.id, "permanently_failed")
    page.goto("/queue?status=failed&q=Try this")
    expect(row_of(page, "Try this")).to_contain_text("it did not work")
    choose(page, "Try this", "Retry")
    expect(page.get_by_label("Messages")).to_contain_text(f"{task.ref} is tried again.")
    yard.until(lambda: len(yard.client.task(task.id).attempts) == 2, "a second attempt")


def test_a_priority_is_changed_and_brought_back(yard: Yard, page: Page) -> None:
    # Given two of different priority
    low, high = (waiting(yard, f"Was {level}", type="prio", priority=level)[0] for level in ("low", "high"))
    page.goto("/queue?type=prio")

    # When one is made critical, and that is taken back
    choose(page, "Was low", "Make it critical")
    # Whoever is about to press it keeps it there
    page.get_by_role("button", name="Undo").hover()
    expect(row_of(page, "Was low")).to_contain_text("Critical")
    page.get_by_role("button", name="Undo").click()
    expect(row_of(page, "Was low")).to_contain_text("Low")

    # And when both are, and that is
    away(page)
    page.get_by_role("checkbox", name="Select all that match").click()
    page.get_by_role("button", name="Change the priority").click()
    page.get_by_role("menuitem", name="Critical").click()
    dialog = page.get_by_role("dialog", name="Change the priority of 2 tasks")
    expect(dialog).to_contain_text("2 tasks will be given another priority.")
    dialog.get_by_role("button", name="Make 2 tasks critical").click()
    page.get_by_role("button", name="Undo").last.hover()
    for title in ("Was low", "Was high"):
        expect(row_of(page, title)).to_contain_text("Critical")
    page.get_by_role("button", name="Undo").last.click()

    # Then each has what it had
    expect(page.get_by_label("Messages")).to_contain_text("The priority is as it was.")
    expect(row_of(page, "Was low")).to_contain_text("Low")
    expect(row_of(page, "Was high")).to_contain_text("High")
    assert [yard.client.task(one.id).priority for one in (low, high)] == ["low", "high"]


def test_nothing_moves_under_the_pointer(yard: Yard, page: Page) -> None:
    # Given a list with somebody's pointer in it
    first, second = waiting(yard, "Stays first", "Stays second", type="still")
    page.goto("/queue?type=still&status=pending")
    until_live(page)
    row_of(page, "Stays second").hover()
    before = row_of(page, "Stays first").bounding_box()

    # When others come, and one leaves
    waiting(yard, "Comes later", "Comes last", type="still")
    yard.client.cancel(second.id)

    # Then what is new is offered, and what left says so where it was
    expect(page.get_by_role("button", name="2 new")).to_be_visible()
    expect(row_of(page, "Stays second")).to_contain_text("Cancelled")
    expect(row_of(page, "Comes last")).to_have_count(0)
    assert row_of(page, "Stays first").bounding_box() == before

    # And when the pointer leaves, the list is put right
    away(page)
    expect(row_of(page, "Comes last")).to_be_visible()
    expect(row_of(page, "Stays second")).to_have_count(0)
    expect(page.get_by_role("button", name="2 new")).to_have_count(0)
    yard.client.cancel(first.id)


def test_what_offers_new_rows_may_come_to_lie_under_the_pointer(yard: Yard, page: Page) -> None:
    # Given a list with somebody's pointer in it, and what is new is offered right there
    waiting(yard, "Stays put", type="pill")
    page.goto("/queue?type=pill&status=pending")
    until_live(page)
    row_of(page, "Stays put").hover()
    waiting(yard, "Comes later", type="pill")
    page.get_by_role("button", name="1 new").hover()

    # When more comes, then that is offered too, and nothing moves
    waiting(yard, "Comes last", type="pill")
    expect(page.get_by_role("button", name="2 new")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="Comes")).to_have_count(0)
    expect(row_of(page, "Stays put")).to_be_visible()


def test_a_long_list_is_walked_to_its_end_and_chosen_whole(yard: Yard, page: Page) -> None:
    tasks = [{"input": f"Number {n:03}", "type": "long", "capabilities": NOBODY} for n in range(MANY)]
    yard.client.submit_batch(tasks)
    page.goto("/queue?type=long")
    expect(row_of(page, f"Number {MANY - 1}")).to_be_visible()
    # Only what is in sight is in the page
    assert page.get_by_role("row").count() < 60
    area = page.get_by_role("region", name="Tasks")

    def is_at_its_end() -> bool:
        area.evaluate("area => area.scrollTo({ top: area.scrollHeight })")
        page.wait_for_function("() => true")
        return row_of(page, "Number 000").count() == 1

    yard.until(is_at_its_end, "the end of the list")
    expect(page.get_by_text(f"{MANY} tasks, and no more.")).to_be_visible()
    # Whoever looks at one and comes back is where they were
    row_of(page, "Number 000").get_by_role("link").click()
    expect(page).to_have_url(re.compile("/tasks/"))
    page.go_back()
    expect(row_of(page, "Number 000")).to_be_in_viewport()
    page.get_by_role("checkbox", name="Select all that match").click()
    expect(page.get_by_role("status").filter(has_text=f"{MANY} tasks selected")).to_be_visible()
    page.get_by_role("toolbar").get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name=f"Cancel {MANY} tasks").click()
    expect(page.get_by_label("Messages")).to_contain_text(f"{MANY} tasks cancelled")


def test_the_list_is_used_by_keys_alone(yard: Yard, page: Page) -> None:
    # Given three tasks and another, and no mouse
    tasks = waiting(yard, "Key one", "Key two", "Key three", type="keys")
    waiting(yard, "A lock", type="keys")
    page.goto("/queue?type=keys")
    expect(row_of(page, "A lock")).to_be_visible()

    # When they are searched, walked and two selected
    page.keyboard.press("/")
    page.keyboard.type("Key")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=Key"))
    expect(row_of(page, "A lock")).to_have_count(0)
    expect(row_of(page, "Key three")).to_be_visible()
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    expect(page.get_by_role("status").filter(has_text="2 tasks selected")).to_be_visible()

    # And skipped
    page.keyboard.press("s")
    expect(page.get_by_role("dialog", name="Skip 2 tasks")).to_contain_text("2 tasks will be skipped.")
    button = page.get_by_role("button", name="Skip 2 tasks")
    expect(button).to_be_enabled()
    for _ in range(10):
        if button.evaluate("button => button === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(row_of(page, "Key three")).to_contain_text("Skipped")
    expect(row_of(page, "Key two")).to_contain_text("Skipped")
    expect(page.get_by_role("dialog")).to_have_count(0)

    # Then they can be retried, and one can be opened
    page.keyboard.press("r")
    expect(row_of(page, "Key two")).to_contain_text("Queued")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/tasks/{tasks[0].id}"))


def test_the_list_is_cards_on_a_phone(yard: Yard, open_window: Callable[..., BrowserContext]) -> None:
    context = open_window(base_url=yard.url, viewport=PHONE, has_touch=True)
    yard.sign_in(context)
    page = context.new_page()
    waiting(yard, "Small but " + "long " * 30, type="phone")
    waiting(yard, "Not for a phone", type="desk")
    page.goto("/queue")
    expect(row_of(page, "Not for a phone")).to_be_visible()
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("combobox", name="Type").fill("phone")
    expect(row_of(page, "Not for a phone")).to_have_count(0)
    row = row_of(page, "Small but long")
    expect(row).to_contain_text("Queued")
    expect(page.get_by_role("row").filter(has_text="phone")).to_have_count(1)
    assert not page.evaluate(IS_WIDER)
    row.get_by_role("button", name="Actions for").tap()
    page.get_by_role("menuitem", name="Cancel").tap()
    page.get_by_role("dialog").get_by_role("button", name="Cancel 1 task").tap()
    expect(row).to_contain_text("Cancelled")


def test_other_people_see_their_own(yard: Yard, open_window: Callable[..., BrowserContext]) -> None:
    waiting(yard, "The owner's")
    context = open_window(base_url=yard.url)
    yard.sign_in(context, yard.person("mallory"))
    page = context.new_page()
    page.goto("/queue")
    expect(page.get_by_text("No tasks yet")).to_be_visible()
    expect(page.get_by_role("combobox", name="User")).to_have_count(0)
