"""Daemons, queues and breakers, as a person looks at them and acts on them."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.dashboard.pages import visit
from tests.dashboard.yard import Yard

pytestmark = pytest.mark.takes(18)

Open = Callable[..., BrowserContext]


def test_a_queue_is_paused_and_that_is_taken_back(yard: Yard, page: Page) -> None:
    yard.client.put_queue("cloud", models=["m1"], max_concurrent=2)
    visit(page, "/queues")
    page.get_by_role("button", name="Pause cloud").click()
    # Whoever is about to press it keeps it there
    page.get_by_role("button", name="Undo").hover()
    expect(page.get_by_role("row", name=re.compile("cloud")).get_by_text("Paused")).to_be_visible()
    assert {queue.name: queue.state for queue in yard.client.queues()}["cloud"] == "paused"

    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Pause cloud")).to_be_visible()
    assert {queue.name: queue.state for queue in yard.client.queues()}["cloud"] == "open"


def test_a_queue_that_somebody_else_pauses_is_seen_at_once(yard: Yard, page: Page) -> None:
    yard.client.put_queue("elsewhere", models=["m9"])
    visit(page, "/queues")
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    yard.client.pause_queue("elsewhere")
    expect(page.get_by_role("button", name="Resume elsewhere")).to_be_visible()


@pytest.mark.refused("422")
def test_a_queue_is_made_and_what_is_wrong_with_it_is_said(yard: Yard, page: Page) -> None:
    visit(page, "/queues")
    page.get_by_role("button", name="New queue").click()
    page.get_by_label("Name").fill("mine")
    page.get_by_label("Models").fill("m8")
    page.get_by_label("At a time, at most").fill("0")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog").get_by_role("alert").first).to_be_visible()
    assert "mine" not in {queue.name for queue in yard.client.queues()}

    page.get_by_label("At a time, at most").fill("3")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name=re.compile("mine"))).to_contain_text("0 of 3")


def test_a_daemon_is_drained_and_given_work_again(yard: Yard, page: Page) -> None:
    visit(page, "/daemons")
    page.get_by_role("cell", name=re.compile("d1")).first.click()
    dialog = page.get_by_role("dialog", name="d1")
    expect(dialog.get_by_text("0 of 4 in use")).to_be_visible()
    dialog.get_by_role("button", name="Drain…").click()
    asking = page.get_by_role("dialog", name="Drain d1")
    expect(asking.get_by_text("It runs nothing now, and is given nothing new.")).to_be_visible()
    asking.get_by_role("button", name="Drain").click()
    dialog.get_by_role("button", name="Undo").hover()
    expect(dialog.get_by_text("Draining", exact=True)).to_be_visible()

    dialog.get_by_role("button", name="Undo").click()
    expect(dialog.get_by_text("Online", exact=True)).to_be_visible()
    dialog.get_by_role("button", name="Drain…").click()
    asking.get_by_role("button", name="Drain").click()
    dialog.get_by_role("button", name="Give it work again").click()
    expect(dialog.get_by_text("Online", exact=True)).to_be_visible()


@pytest.mark.refused("409")
def test_a_daemon_that_does_not_come_back_is_forgotten_here_or_elsewhere(yard: Yard, page: Page) -> None:
    # Given two daemons that are away, of which a task that waits names one
    leavers = [yard.crew(name, wait=False) for name in ("leaver", "stranger")]
    yard.until(lambda: {"leaver", "stranger"} <= {daemon.name for daemon in yard.client.daemons()}, "both of them")
    for leaver in leavers:
        leaver.terminate()
    away = {"offline"}
    yard.until(
        lambda: {one.status for one in yard.client.daemons() if one.name in ("leaver", "stranger")} == away, "both away"
    )
    task = yard.submit("Wait for it", target_daemon="leaver")
    visit(page, "/daemons")
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    page.get_by_role("row", name=re.compile("^leaver")).click()
    page.get_by_role("dialog", name="leaver").get_by_role("button", name="Forget…").click()
    asking = page.get_by_role("dialog", name="Forget leaver")

    # Then the page says why it is not forgotten, and it is once nothing keeps it
    asking.get_by_role("button", name="Forget").click()
    expect(asking.get_by_role("alert")).to_contain_text("1 open task names it as the target")
    yard.client.cancel(task.id)
    asking.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("row", name=re.compile("^leaver"))).to_have_count(0)

    # And a daemon that is forgotten elsewhere disappears by itself
    yard.client.forget_daemon("stranger")
    expect(page.get_by_role("row", name=re.compile("^stranger"))).to_have_count(0)


def test_what_a_daemon_runs_is_one_press_away_whosever_it_is(yard: Yard, page: Page) -> None:
    person = yard.hub.client(key=yard.person("tess"))
    task = person.submit("Count to ten.", title="Count to ten", payload={"hold_ms": 60_000})
    yard.until(lambda: person.task(task.id).status == "running", "a task that runs")
    visit(page, "/daemons")
    page.get_by_role("cell", name=re.compile("d1")).first.click()
    page.get_by_role("dialog", name="d1").get_by_role("link", name=task.id[-8:]).click()
    expect(page.get_by_role("heading", level=1, name="Count to ten")).to_be_visible()
    person.cancel(task.id)
    yard.until(lambda: person.task(task.id).status == "cancelled", "a task that was cancelled")


def test_the_command_for_another_daemon_has_this_hubs_address(yard: Yard, page: Page) -> None:
    visit(page, "/daemons")
    page.get_by_role("button", name="Add a daemon").click()
    expect(page.get_by_text(f"taskyard daemon --run ./agent.sh --hub {yard.url}").first).to_be_visible()


def test_a_type_is_held_back_and_its_breaker_closed_again(yard: Yard, page: Page) -> None:
    visit(page, "/breakers")
    page.get_by_role("button", name="Hold a type back…").click()
    page.get_by_role("dialog").get_by_label("Type of task").fill("report")
    page.get_by_role("button", name="Hold it back").click()
    held = page.get_by_role("row", name=re.compile("report"))
    expect(held.get_by_text("Open", exact=True)).to_be_visible()

    page.get_by_role("button", name="Close the breaker of report").click()
    expect(held.get_by_text("Open", exact=True)).to_have_count(0)
    assert all(breaker.state == "closed" for breaker in yard.client.breakers())


def test_somebody_who_is_no_admin_changes_no_queue(yard: Yard, open_window: Open) -> None:
    context = open_window(base_url=yard.url)
    yard.sign_in(context, yard.person("carla"))
    page = context.new_page()
    visit(page, "/queues")
    expect(page.get_by_role("row", name=re.compile("default"))).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Pause|Edit|New queue"))).to_have_count(0)
