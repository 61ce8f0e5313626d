"""A task's page: why it waits, how it runs, what it says, what it brought, and what a person can do about it."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import APIResponse, BrowserContext, Locator, Page, Route, expect

from taskyard.sdk.client import Client
from tests.dashboard.browser import PHONE
from tests.dashboard.yard import Yard

pytestmark = pytest.mark.takes(22)

BY_HAND = "by-hand"
LINES = 10_000
LINES_AT_ONCE = 2_500
JUMPS = 25
JUMP = """async (jumps) => {
  const log = document.querySelector("[role=log]");
  for (let jump = 1; jump <= jumps; jump += 1) {
    log.scrollTop = (jump / jumps) * log.scrollHeight;
    await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
  }
}"""
BUSY_MS_MAX = 50
"""A jump shows a whole screen of other lines; this is three frames of a screen."""
IS_WIDER = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


def status_of(page: Page) -> Locator:
    return page.get_by_role("status", name="Status")


def taken(yard: Yard, task: Any) -> Client:
    """A task of that capability, begun by the test itself, which then says in its name how it goes."""
    claimed = yard.client.claim("scribe", capabilities=[BY_HAND], wait_s=10)
    assert claimed is not None
    assert claimed.task["id"] == task.id
    return Client(yard.url, claimed.token)


def test_a_person_watches_a_task_run(yard: Yard, page: Page) -> None:
    # Given a task that waits for another
    first = yard.submit("Clear the way", capabilities=[BY_HAND])
    task = yard.submit("Count the words", capabilities=[BY_HAND], depends_on=[first.id])
    page.goto(f"/tasks/{task.id}?view=log")
    expect(status_of(page)).to_have_text("Waiting")
    page.evaluate("() => { window.isTheSamePage = true; }")

    # When its time has come, then its page tells how it goes
    taken(yard, first).complete(first.id, status="completed", result="done")
    expect(status_of(page)).to_have_text("Queued")
    worker = taken(yard, task)
    expect(status_of(page)).to_have_text("Running")
    worker.progress(task.id, percent=80, message="writing", log="reading <b>the</b> page\n\x1b[31mwriting\x1b[0m it up")
    expect(page.get_by_role("progressbar", name="Progress")).to_have_attribute("aria-valuenow", "80")
    log = page.get_by_role("log", name="Log")
    expect(log.get_by_text("reading <b>the</b> page")).to_be_visible()
    expect(log.get_by_text("writing it up")).to_be_visible()
    worker.progress(task.id, log="one more look")
    expect(log.get_by_text("one more look")).to_be_visible()

    # And how it ended, without having been loaded anew
    worker.complete(task.id, status="completed", result={"words": 3})
    expect(status_of(page)).to_have_text("Completed")
    timeline = page.get_by_role("list", name="Timeline")
    expect(timeline).to_contain_text("Attempt 1 on scribe")
    expect(timeline).to_contain_text("Succeeded")
    page.get_by_role("tab", name="Result").click()
    expect(page.get_by_role("region", name="Result")).to_contain_text('"words": 3')
    assert page.evaluate("() => window.isTheSamePage === true")


def test_a_person_asks_why_a_task_waits_and_sees_it_start_once_the_cause_is_gone(yard: Yard, page: Page) -> None:
    # Given a task in a queue that was paused
    yard.client.put_queue("resting", models=["resting-model"])
    yard.client.pause_queue("resting")
    task = yard.submit("Draft the changelog", queue="resting")

    # When a person looks at it, then the page says what holds it, what would help, and who could run it
    page.goto(f"/tasks/{task.ref}")
    why = page.get_by_role("region", name="Why it is not running")
    expect(why).to_contain_text("Its queue is paused: queue resting was paused")
    expect(why).to_contain_text("It would start now with resuming it")
    expect(why.get_by_role("list", name="Daemons considered")).to_contain_text("d1could run it")
    expect(page.get_by_role("list", name="Timeline")).to_contain_text("Waits in line")

    # And when the queue is resumed, the page says by itself that it ran
    yard.client.resume_queue("resting")
    expect(status_of(page)).to_have_text("Completed")
    expect(page.get_by_role("region", name="How it stands")).to_contain_text("Completed at")


def test_a_task_that_is_looked_at_again_is_shown_as_it_is_now(yard: Yard, page: Page) -> None:
    # Given somebody who has just looked at a task, and went back to the list
    task = yard.submit("Read the meter", capabilities=["nobody-has-this"])
    page.goto(f"/tasks/{task.id}")
    expect(status_of(page)).to_have_text("Queued")
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    page.get_by_role("link", name="Queue", exact=True).first.click()
    row = page.get_by_role("row").filter(has_text="Read the meter")
    expect(row).to_contain_text("Queued")

    # When it ends meanwhile and is opened again, then its page says so
    yard.client.cancel(task.id)
    expect(row).to_contain_text("Cancelled")
    row.get_by_role("link").first.click()
    expect(status_of(page)).to_have_text("Cancelled")


def test_what_happens_while_its_answer_is_on_its_way_is_not_missed(yard: Yard, page: Page) -> None:
    # Given a page that listens, and an answer about a task that was true when it was given
    task = yard.submit("Post the letter", capabilities=["nobody-has-this"])
    answers: list[tuple[Route, APIResponse]] = []

    def keep_the_first(route: Route) -> None:
        if answers:
            route.continue_()
        else:
            answers.append((route, route.fetch()))

    other = page.context.new_page()
    for one in (page, other):
        one.goto("/queue")
        expect(one.get_by_test_id("connection")).to_have_text("Live")
    page.route(re.compile(rf"/api/v1/tasks/{task.id}(\?|$)"), keep_the_first)
    page.get_by_role("row").filter(has_text="Post the letter").get_by_role("link").first.click()
    yard.until(lambda: page.wait_for_timeout(20) or answers, "an answer to keep")

    # When the task ends and the page is told so, as another one is, before it has the answer
    yard.client.cancel(task.id)
    expect(other.get_by_role("row").filter(has_text="Post the letter")).to_contain_text("Cancelled")
    [(route, answer)] = answers
    route.fulfill(response=answer)

    # Then it shows how the task stands
    expect(status_of(page)).to_have_text("Cancelled")


def test_a_person_retries_a_task_that_failed_for_good(yard: Yard, page: Page) -> None:
    # Given two tasks that failed alike
    fail = {"code": "HTTP_401", "message": "The CRM refused the token", "retryable": False}
    failed = [yard.submit(f"Sync {name}", script={"fail": fail}, max_attempts=1) for name in ("contacts", "renewals")]
    for one in failed:
        yard.until_status(one.id, "permanently_failed")

    # When a person opens one, then its page says what went wrong and who shares it
    page.goto(f"/tasks/{failed[0].id}")
    error = page.get_by_role("region", name="What went wrong")
    expect(error).to_contain_text("The CRM refused the token")
    expect(error).to_contain_text("HTTP_401")
    expect(error.get_by_role("link", name="1 other dead letter with the same error")).to_be_visible()

    # And when it is retried, a second attempt is made, and what was tried before stays told
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_text(f"{failed[0].ref} is tried again.")).to_be_visible()
    timeline = page.get_by_role("list", name="Timeline")
    expect(timeline).to_contain_text("Attempt 2 on d1")
    expect(timeline).to_contain_text("Attempt 1 on d1")
    expect(status_of(page)).to_have_text("Failed for good")


def test_a_person_cancels_a_running_task_by_keyboard_alone(yard: Yard, page: Page) -> None:
    # Given a task that runs, and one that depends on it
    task = yard.submit("Train for hours", script={"hold_ms": 60_000})
    heir = yard.submit("Use what was trained", depends_on=[task.id])
    yard.until_status(task.id, "running")
    page.goto(f"/tasks/{task.id}")
    expect(page.get_by_role("button", name="Cancel", exact=True)).to_be_enabled()

    # When it is to be cancelled, then the page says first what that means
    page.keyboard.press("c")
    dialog = page.get_by_role("dialog", name=f"Cancel {task.ref}")
    expect(dialog).to_contain_text("Its daemon is asked to stop it")
    expect(dialog).to_contain_text("1 task that depends on it is cancelled with it")
    dialog.get_by_role("textbox").focus()
    page.keyboard.type("no longer wanted")
    dialog.get_by_role("button", name="Cancel 2 tasks").focus()
    page.keyboard.press("Enter")

    # And then both are cancelled, with the reason kept
    expect(status_of(page)).to_have_text("Cancelled")
    yard.until_status(heir.id, "cancelled")
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_role("list", name="Events")).to_contain_text("no longer wanted")


def test_a_task_is_made_more_urgent_and_that_is_undone(yard: Yard, page: Page) -> None:
    task = yard.submit("Wait for a machine", capabilities=["nobody-has-this"])
    page.goto(f"/tasks/{task.id}")
    page.get_by_role("button", name="Change the priority").click()
    page.get_by_role("menuitem", name="Critical").click()
    # Whoever is about to press it keeps it there
    page.get_by_role("button", name="Undo").hover()
    expect(page.get_by_text(f"{task.ref} is critical now.")).to_be_visible()
    assert yard.client.task(task.id).priority == "critical"
    page.get_by_role("button", name="Undo").click()
    yard.until(lambda: yard.client.task(task.id).priority == "normal", "the old priority")

    # And it may be given a time, in the zone of whoever looks
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Change its times…").click()
    page.get_by_label("Not before").fill("2099-01-02T03:04")
    page.get_by_role("dialog").get_by_role("button", name="Change").click()
    expect(status_of(page)).to_have_text("Pending")
    expect(page.get_by_role("region", name="Why it is not running")).to_contain_text("2099-01-02")
    yard.client.cancel(task.id)


def test_a_task_is_copied_as_the_command_that_submits_it(yard: Yard, context: BrowserContext, page: Page) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    task = yard.submit("Don't stop", input="Don't stop", script={"result": "done"})
    page.goto(f"/tasks/{task.id}")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Copy as a command").click()
    expect(page.get_by_text("The command that submits the same again was copied.")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith("taskyard submit --type general --title 'Don'\\''t stop'")


def test_the_graph_of_a_diamond_is_drawn_lives_and_leads_on(yard: Yard, page: Page) -> None:
    # Given a diamond of tasks
    batch = yard.client.submit_batch(
        [
            {"name": "top", "title": "Fetch", "input": "Fetch.", "capabilities": [BY_HAND]},
            {"name": "left", "title": "Read", "input": "Read.", "depends_on": ["top"]},
            {"name": "right", "title": "Look", "input": "Look.", "depends_on": ["top"]},
            {"name": "end", "title": "Report", "input": "Report.", "depends_on": ["left", "right"]},
        ]
    )
    page.goto(f"/tasks/{batch.tasks[3].id}")
    graph = page.get_by_role("group", name="Dependency graph")
    expect(graph.get_by_role("link")).to_have_count(4)
    expect(graph.get_by_role("link", name="Report")).to_contain_text("Waiting")

    # When its first one runs and ends, then the statuses in it live
    worker = taken(yard, batch.tasks[0])
    expect(graph.get_by_role("link", name="Fetch")).to_contain_text("Running")
    worker.complete(batch.tasks[0].id, status="completed")
    expect(graph.get_by_role("link", name="Fetch")).to_contain_text("Completed")
    expect(graph.get_by_role("link", name="Report")).to_contain_text("Completed")

    # And the same can be had as a list, and each task gone to by keyboard
    page.get_by_role("button", name="List").click()
    expect(page.get_by_role("region", name="Depends on").get_by_role("link")).to_have_count(2)
    expect(page.get_by_role("region", name="Further away").get_by_role("link")).to_have_count(1)
    page.get_by_role("button", name="Graph", exact=True).click()
    graph.get_by_role("link", name="Look").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Look")).to_be_visible()


def write_log(yard: Yard, title: str, lines: int) -> tuple[Any, Client]:
    """A task that runs and has said so much; its claim is still open."""
    task = yard.submit(title, capabilities=[BY_HAND])
    own = taken(yard, task)
    for start in range(0, lines, LINES_AT_ONCE):
        numbers = range(start, min(start + LINES_AT_ONCE, lines))
        own.progress(task.id, log="\n".join(f"line {number} of it" for number in numbers))
    return task, own


def test_a_log_of_ten_thousand_lines_is_followed_searched_and_stays_smooth(yard: Yard, page: Page) -> None:
    # Given a task that has said much and goes on
    task, own = write_log(yard, "Talk a lot", LINES)
    page.goto(f"/tasks/{task.id}?view=log")
    log = page.get_by_role("log", name="Log")

    # Then its end is shown, little of it is in the page, and what it says next is followed
    expect(page.get_by_text("10,000 lines")).to_be_visible()
    expect(log.get_by_text("line 9999 of it")).to_be_visible()
    assert page.evaluate("() => document.querySelectorAll('[role=log] [data-index]').length") < 200
    own.progress(task.id, log="the newest line")
    expect(log.get_by_text("the newest line")).to_be_visible()

    # And any line is found; what is found stays in sight, whatever else is said
    page.keyboard.press("/")
    page.keyboard.type("line 4321 ")
    expect(page.get_by_text("1 of 1", exact=True)).to_be_visible()
    expect(log.get_by_text("line 4321 of it")).to_be_in_viewport()
    own.progress(task.id, log="said meanwhile")
    expect(page.get_by_text("10,002 lines")).to_be_visible()
    expect(log.get_by_text("line 4321 of it")).to_be_in_viewport()

    # And jumping through all of it keeps nobody waiting
    assert busy_ms_a_jump(page) < BUSY_MS_MAX
    own.complete(task.id, status="completed", result="done")
    expect(status_of(page)).to_have_text("Completed")


def busy_ms_a_jump(page: Page) -> float:
    """What the page's own thread works, on its own clock, for each of many jumps from a log's beginning to its end."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy_s() -> float:
        told = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in told if each["name"] == "TaskDuration"))

    before = busy_s()
    page.evaluate(JUMP, JUMPS)
    return (busy_s() - before) * 1000 / JUMPS


def test_a_log_that_is_turned_to_again_has_what_was_said_meanwhile(yard: Yard, page: Page) -> None:
    task, own = write_log(yard, "Talk behind its back", 1)
    page.goto(f"/tasks/{task.id}?view=log")
    log = page.get_by_role("log", name="Log")
    expect(log.get_by_text("line 0 of it")).to_be_visible()
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    page.get_by_role("tab", name="Events").click()
    expect(log).to_have_count(0)
    own.progress(task.id, percent=80, log="said meanwhile")
    expect(page.get_by_role("progressbar", name="Progress")).to_have_attribute("aria-valuenow", "80")
    page.get_by_role("tab", name="Log").click()
    expect(log.get_by_text("said meanwhile")).to_be_visible()
    own.complete(task.id, status="completed")


def test_each_attempt_has_its_own_log(yard: Yard, page: Page) -> None:
    fail = {"code": "PROVIDER", "message": "The model was away", "retryable": True}
    task = yard.submit("Try twice", script={"lines": ["this is said every time"], "fail": fail}, max_attempts=2)
    yard.until_status(task.id, "permanently_failed")
    page.goto(f"/tasks/{task.id}?view=log")
    log = page.get_by_role("log", name="Log")
    expect(log.get_by_text("this is said every time")).to_have_count(1)
    page.get_by_label("Attempt").select_option("Attempt 1: failed")
    expect(log.get_by_text("this is said every time")).to_have_count(1)
    expect(page.get_by_role("list", name="Timeline")).to_contain_text("The model was away")


@pytest.mark.refused("404")
def test_a_task_that_is_nobodys_or_somebody_elses_is_not_found(
    yard: Yard, page: Page, open_window: Callable[..., BrowserContext]
) -> None:
    task = yard.submit("The owner's secret", capabilities=["nobody-has-this"])
    page.goto("/tasks/T-99999")
    expect(page.get_by_role("heading", level=1, name="No such task")).to_be_visible()
    expect(page.get_by_role("link", name="Look through your tasks")).to_be_visible()

    other = open_window(base_url=yard.url)
    yard.sign_in(other, yard.person("stranger"))
    theirs = other.new_page()
    theirs.goto(f"/tasks/{task.id}")
    expect(theirs.get_by_role("heading", level=1, name="No such task")).to_be_visible()
    expect(theirs.get_by_text("The owner's secret")).to_have_count(0)
    yard.client.cancel(task.id)


def test_it_is_used_on_a_phone(yard: Yard, open_window: Callable[..., BrowserContext]) -> None:
    # Given a phone, and a task that waits for another with a name that is longer than any line
    window = open_window(base_url=yard.url, viewport=PHONE, has_touch=True)
    yard.sign_in(window)
    page = window.new_page()
    first = yard.submit("A" * 120, script={"hold_ms": 60_000, "lines": ["B" * 400]})
    then = yard.submit("Then this", depends_on=[first.id])
    yard.until_status(first.id, "running")

    # When it is opened, then the ties are a list, and nothing is wider than the phone
    page.goto(f"/tasks/{then.id}")
    expect(page.get_by_role("region", name="Depends on").get_by_role("link")).to_have_count(1)
    assert not page.evaluate(IS_WIDER)
    page.get_by_role("region", name="Depends on").get_by_role("link").tap()
    expect(page.get_by_role("log", name="Log").get_by_text("B" * 400)).to_be_visible()
    assert not page.evaluate(IS_WIDER)

    # And it can be cancelled from there
    page.get_by_role("button", name="Cancel", exact=True).tap()
    page.get_by_role("button", name="Cancel 2 tasks").tap()
    expect(status_of(page)).to_have_text("Cancelled")
