"""The hub goes away under an open page, and comes back with other news."""

import pytest
from playwright.sync_api import Page, expect

from tests.dashboard.yard import Yard

pytestmark = pytest.mark.hub_away


def test_a_page_says_that_the_hub_is_away_and_shows_the_truth_when_it_is_back(yard: Yard, page: Page) -> None:
    # Given a page that is live, with a task that waits
    waiting = yard.submit("Waits for a machine", capabilities=["nobody-has-this"])
    page.goto("/queue")
    page.evaluate("() => { window.isTheSamePage = true; }")
    connection = page.get_by_test_id("connection")
    expect(connection).to_have_text("Live")
    row = page.get_by_role("row").filter(has_text="Waits for a machine")
    expect(row).to_contain_text("Queued")

    # When the hub is killed
    yard.hub.kill()

    # Then the page says so, and still shows what it knew
    expect(connection).to_have_text("Reconnecting")
    expect(page.get_by_role("alert").filter(has_text="The hub does not answer")).to_be_visible()
    expect(row).to_be_visible()

    # And when it is back, and has already taken news that no event will tell again
    yard.hub.start()
    yard.client.cancel(waiting.id)
    after = yard.submit("Came while the page was away", script={"result": "done"})
    yard.until_status(after.id, "completed")

    # Then the page is live again, and right, without having been loaded anew
    expect(connection).to_have_text("Live")
    expect(page.get_by_role("alert").filter(has_text="The hub does not answer")).to_have_count(0)
    expect(row).to_contain_text("Cancelled")
    expect(page.get_by_role("row").filter(has_text="Came while the page was away")).to_contain_text("Completed")
    assert page.evaluate("() => window.isTheSamePage === true")


def test_an_open_overview_comes_back_by_itself(yard: Yard, page: Page) -> None:
    page.goto("/")
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    yard.hub.restart()
    expect(page.get_by_test_id("connection")).to_have_text("Live")
    late = yard.submit("After the restart", capabilities=["nobody-has-this-either"])
    page.get_by_role("link", name="Queue", exact=True).first.click()
    expect(page.get_by_role("row").filter(has_text="After the restart")).to_be_visible()
    yard.client.cancel(late.id)
