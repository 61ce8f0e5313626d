"""Imports, exports and the report, by both clients."""

from taskyard.wire.imports import CarriedTask, Import
from tests.sdk.conftest import Driver
from tests.support.http_stub import Reply, StubHub, a_task


def test_a_piece_of_an_import_is_sent_as_it_is(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "import", Reply(body={"new": ["a"], "there": [], "rejected": []}))
    piece = Import(origin="o", tasks=[CarriedTask(id="a", input="do it")], dry_run=True)
    answer = driver.do(driver.client.import_piece(piece))
    assert answer.new == ["a"]
    (asked,) = hub.calls
    assert (asked.body["origin"], asked.body["dry_run"], asked.body["tasks"][0]["id"]) == ("o", True, "a")


def test_an_export_is_walked_page_by_page(hub: StubHub, driver: Driver) -> None:
    link = {"Link": '</api/v1/export?cursor=next>; rel="next"'}
    pages = [Reply(body=[a_task(id="b")], headers=link), Reply(body=[a_task(id="a")])]
    hub.on("GET", "export", *pages)
    assert [task.id for task in driver.take(driver.client.export(archived=True))] == ["b", "a"]
    assert [call.query.get("cursor") for call in hub.calls] == [None, "next"]
    assert hub.calls[0].query["archived"] == "true"


def test_a_report_is_asked_for_since_an_instant(hub: StubHub, driver: Driver) -> None:
    at = "2026-03-05T07:00:00Z"
    empty = {name: [] for name in ("done", "failed", "waiting", "needs_person")}
    counts = ("done_total", "failed_total", "cancelled", "skipped", "stale", "running", "waiting_total", "hours")
    numbers = dict.fromkeys((*counts, "month_hours"), 0)
    body = {"since": at, "until": at, "user": "ann", "month_hours_limit": None, "truncated": False, **empty, **numbers}
    hub.on("GET", "report", Reply(body=body))
    assert driver.do(driver.client.report(since=at)).user == "ann"
    assert hub.calls[0].query == {"since": at}
