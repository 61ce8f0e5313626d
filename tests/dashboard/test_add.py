"""A task from the browser: by the form, with what is wrong at its field, and by a message, read before it is sent."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from tests.dashboard.browser import PHONE, HeldAnswers
from tests.dashboard.yard import Yard


def titled(yard: Yard, title: str) -> int:
    """How many tasks there are of that title."""
    return sum(task.title == title for task in yard.client.tasks())


def proposed(page: Page) -> Locator:
    return page.get_by_role("list", name="What will be done").get_by_role("listitem")


def say(page: Page, text: str) -> None:
    page.goto("/add?by=chat")
    page.get_by_label("Message", exact=True).fill(text)


def test_a_task_is_added_by_the_form(yard: Yard, page: Page) -> None:
    # Given a task to wait for
    first = yard.submit("Collect the figures", script={"result": "collected"})

    # When somebody writes down another, with all that the form has
    page.goto("/add")
    page.get_by_label("What is to be done").fill("Draw a chart of them.")
    page.get_by_label("Title").fill("Draw the chart")
    page.get_by_label("Type").fill("report")
    page.get_by_label("Priority").select_option("High")
    page.get_by_role("combobox", name="After these tasks").fill("collect the")
    page.get_by_role("option", name=re.compile(first.ref)).click()
    page.get_by_label("If one of them fails").select_option("Skip this one too")
    page.get_by_label("Deadline").fill("2099-05-06T07:08")
    page.get_by_text("Queue, model, daemon and attempts").click()
    page.get_by_label("Attempts at most").fill("2")
    page.get_by_role("button", name="Add task").click()

    # Then its page is shown, and the hub has it as it was written
    expect(page.get_by_role("heading", level=1)).to_contain_text("Draw the chart")
    [made] = [task for task in yard.client.tasks() if task.title == "Draw the chart"]
    made = yard.client.task(made.id)
    assert (made.type, made.priority, list(made.depends_on)) == ("report", "high", [first.id])
    assert made.on_depends_fail == "skip"
    assert made.deadline is not None
    assert made.deadline.year == 2099
    assert made.execution.max_attempts == 2


def test_enter_takes_the_task_that_was_typed_and_not_one_that_was_shown_before(yard: Yard, page: Page) -> None:
    # Given a list of the latest tasks, and an answer that is slow to come
    wanted = yard.submit("Harvest the barley", script={})
    latest = yard.submit("Feed the geese", script={})
    slow = HeldAnswers(page, "barley")
    page.goto("/add")
    page.get_by_role("combobox", name="After these tasks").focus()
    expect(page.get_by_role("option", name=re.compile(latest.ref))).to_be_visible()

    # When somebody types and presses Enter at once
    page.keyboard.type("barley")
    page.keyboard.press("Enter")
    slow.await_asked()

    # Then nothing is taken until the answer is there
    chosen = page.get_by_role("list", name="It waits for")
    expect(chosen).to_have_count(0)
    slow.let_go()
    expect(chosen).to_contain_text(wanted.ref)
    expect(chosen.get_by_role("listitem")).to_have_count(1)


@pytest.mark.refused("422")
def test_what_is_wrong_is_said_at_its_field(yard: Yard, page: Page) -> None:
    # Given a draft that the hub will not have
    page.goto("/add")
    page.get_by_label("What is to be done").fill("Too late.")
    page.get_by_label("Title").fill("Too late")
    page.get_by_label("Deadline").fill("2001-01-01T00:00")
    page.get_by_role("button", name="Add task").click()

    # Then the field says why
    deadline = page.get_by_label("Deadline")
    expect(deadline).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_have_text("The deadline has passed already.")

    # And what is folded away opens when the fault is in it
    deadline.fill("")
    page.get_by_text("Queue, model, daemon and attempts").click()
    page.get_by_label("Attempts at most").fill("5000")
    page.get_by_text("Queue, model, daemon and attempts").click()
    page.get_by_role("button", name="Add task").click()
    expect(page.get_by_label("Attempts at most")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("The number of attempts should be at most")
    assert titled(yard, "Too late") == 0


@pytest.mark.refused("ERR_FAILED")
def test_a_lost_answer_and_a_second_press_make_one_task(yard: Yard, page: Page) -> None:
    # Given a hub whose first answer is lost on its way
    answers: list[int] = []

    def lose_the_first(route: Route) -> None:
        answer = route.fetch()
        answers.append(answer.status)
        if len(answers) == 1:
            route.abort()
        else:
            route.fulfill(response=answer)

    page.route(
        re.compile(r"/api/v1/tasks(\?|$)"), lambda route: lose_the_first(route) if is_post(route) else route.continue_()
    )
    page.goto("/add")
    page.get_by_label("What is to be done").fill("Pay the invoice.")
    page.get_by_label("Title").fill("Pay once")
    page.get_by_role("button", name="Add task").click()
    expect(page.get_by_role("alert")).to_contain_text("The hub does not answer")

    # When it is sent again as it is, then it is the same task
    page.get_by_role("button", name="Add task").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Pay once")
    assert answers == [201, 200]
    assert titled(yard, "Pay once") == 1


def is_post(route: Route) -> bool:
    return route.request.method == "POST"


def test_a_message_is_read_before_it_is_sent(yard: Yard, page: Page) -> None:
    # Given a message of two tasks and a command
    doomed = yard.submit("Never mind this", capabilities=["nobody-has-this"])
    say(page, f"Analyse the tides, then write a summary of them. Cancel {doomed.ref}")

    # Then it is shown what will be done, and nothing has been done
    expect(proposed(page)).to_have_count(3)
    expect(proposed(page).nth(0)).to_contain_text("Analyse the tides")
    expect(proposed(page).nth(1)).to_contain_text("after #1")
    expect(proposed(page).nth(2)).to_contain_text(f"Cancel {doomed.ref}")
    assert yard.client.task(doomed.id).status == "queued"

    # And when it is sent, by keyboard, then it is done and told
    page.get_by_label("Message", exact=True).press("Control+Enter")
    sent = page.get_by_role("list", name="Sent")
    expect(sent.get_by_role("link")).to_have_count(2)
    expect(page.get_by_label("Message", exact=True)).to_have_value("")
    yard.until_status(doomed.id, "cancelled")
    sent.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Analyse the tides")


def test_what_is_typed_while_a_message_is_on_its_way_stays(yard: Yard, page: Page) -> None:
    # Given a message that the hub is slow to answer
    say(page, "Write a postcard")
    expect(proposed(page)).to_have_count(1)
    held: list[Route] = []
    page.route(re.compile("/api/v1/intake"), lambda route: route.continue_() if held else held.append(route))
    message = page.get_by_label("Message", exact=True)
    message.press("Control+Enter")
    yard.until(lambda: page.wait_for_timeout(20) or held, "a message on its way")

    # When somebody writes on, then the answer takes none of that away
    message.press_sequentially(" to Ann")
    held[0].continue_()
    expect(page.get_by_role("list", name="Sent").get_by_role("link")).to_have_count(1)
    expect(message).to_have_value("Write a postcard to Ann")


def test_chinese_is_read_and_answered_in_chinese(yard: Yard, page: Page) -> None:
    say(page, "先分析潮汐，然后写报告")
    expect(proposed(page)).to_have_count(2)
    expect(proposed(page).nth(1)).to_contain_text("after #1")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("list", name="Sent")).to_contain_text("任务")


@pytest.mark.parametrize(
    ("text", "answer"),
    [("hello there", "neither a task nor a command"), ("cancel T-9999", "There is no such task of yours.")],
)
def test_what_cannot_be_done_says_so(yard: Yard, page: Page, text: str, answer: str) -> None:
    say(page, text)
    expect(page.get_by_role("region", name="What will be done")).to_contain_text(answer)
    expect(page.get_by_role("button", name="Send")).to_be_disabled()


def test_it_is_of_use_on_a_phone(yard: Yard, open_window: Callable[..., BrowserContext]) -> None:
    context = open_window(base_url=yard.url, viewport=PHONE, has_touch=True)
    yard.sign_in(context)
    page = context.new_page()
    page.goto("/add")
    page.get_by_label("What is to be done").fill("From the train.")
    page.get_by_role("button", name="Add task").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("From the train.")
    say(page, "Write a postcard")
    expect(proposed(page)).to_have_count(1)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "nothing to scroll sideways to"
