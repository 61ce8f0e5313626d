"""`taskyard notify`."""

import io
import json
from datetime import timedelta

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, problem

MADE = {
    "id": "n_1",
    "url": "https://a.example/",
    "events": ["task_completed", "breaker_open"],
    "hub": False,
    "pending": 2,
    "dead": 1,
    "dropped": 0,
}


def test_notifications_are_listed_with_what_waits(hub: StubHub, cli: Cli) -> None:
    made = {**MADE, "created_at": (now() - timedelta(minutes=3, seconds=5)).isoformat()}
    hub.on("GET", "notifications", Reply(body=[made, {**made, "id": "n_2", "dropped": 7}]))
    assert cli("notify") == (
        0,
        "ID   WAITING  DEAD            MADE       EVENTS                       ADDRESS\n"
        "n_1  2        1               3 min ago  task_completed,breaker_open  https://a.example/\n"
        "n_2  2        1 (+7 dropped)  3 min ago  task_completed,breaker_open  https://a.example/\n",
        "",
    )
    assert [one["id"] for one in json.loads(cli("notify", "ls", "--json").out)] == ["n_1", "n_2"]


def test_where_nothing_is_told_it_says_how_to_change_that(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "notifications", Reply(body=[]))
    said = "Nothing is told to anybody. Change that with: taskyard notify add URL task_completed\n"
    assert cli("notify") == (0, "", said)


def test_one_is_made_and_its_secret_shown_once(hub: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.on("POST", "notifications", Reply(status=201, body={**MADE, "secret": "whsec_x"}))
    made = cli("notify", "add", "https://a.example/", "task_completed", "breaker_open", "--of-hub")
    assert made == (
        0,
        "Notification: n_1\nSecret:       whsec_x\n",
        "The secret is not shown again; a receiver checks deliveries with it.\n",
    )
    assert hub.calls[-1].body == {
        "url": "https://a.example/",
        "events": ["task_completed", "breaker_open"],
        "hub": True,
    }
    monkeypatch.setattr("sys.stdin", io.StringIO("whsec_mine\n"))
    assert json.loads(cli("notify", "add", "https://a.example/", "backpressure", "--secret", "-", "--json").out)["id"]
    assert hub.calls[-1].body["secret"] == "whsec_mine"
    monkeypatch.setattr("sys.stdin", io.StringIO("whsec_mine\n"))
    given = cli("notify", "add", "https://a.example/", "backpressure", "--secret", "-")
    assert given == (0, "Notification: n_1\nThe secret that you gave is in use.\n", "")


def test_an_address_that_is_refused_is_told_with_what_to_do(hub: StubHub, cli: Cli) -> None:
    detail = "Only https:// is sent to, unless `notifications.allow` lists the host."
    hub.on("POST", "notifications", problem(422, "INVALID_INPUT", detail))
    refused = cli("notify", "add", "http://a.example/", "task_completed")
    assert (refused.code, refused.err) == (2, f"taskyard: {detail}\n")


def test_one_is_changed_and_removed(hub: StubHub, cli: Cli) -> None:
    hub.on("PATCH", "notifications/n_1", Reply(body={**MADE, "events": ["task_queued"]}))
    hub.on("DELETE", "notifications/n_1", Reply(body={"ok": True}))
    changed = cli("notify", "set", "n_1", "--event", "task_queued", "--url", "https://a.example/")
    assert changed == (0, "n_1 tells task_queued to https://a.example/\n", "")
    assert hub.calls[-1].body == {"url": "https://a.example/", "events": ["task_queued"]}
    assert cli("notify", "set", "n_1", "--url", "https://a.example/", "--json").code == 0
    assert cli("notify", "set", "n_1").code == 2
    assert cli("notify", "rm", "n_1") == (0, "n_1 is gone.\n", "")
    assert json.loads(cli("notify", "rm", "n_1", "--json").out) == {"ok": True}


def test_deliveries_are_listed_and_sent_again(hub: StubHub, cli: Cli) -> None:
    at, due = (now() - timedelta(hours=1, seconds=5)).isoformat(), (now() + timedelta(hours=2.5)).isoformat()
    waits = {
        "id": "d_2",
        "type": "task_completed",
        "ref": "T-002",
        "status": "pending",
        "attempts": 3,
        "created_at": at,
        "next_at": due,
        "answered": 500,
        "error": "It answered 500.",
    }
    taken = {
        "id": "d_1",
        "type": "breaker_open",
        "status": "delivered",
        "attempts": 1,
        "created_at": at,
        "answered": 204,
    }
    held = {**waits, "id": "d_3", "host_rests_until": due}
    hub.on("GET", "notifications/n_1/deliveries", Reply(body=[{**waits, "id": "d_4", "under_way": True}, held]))
    assert cli("notify", "deliveries", "n_1").out == (
        "DELIVERY  EVENT           TASK   STATUS   TRIES  HAPPENED  NEXT                            LAST ANSWER\n"
        "d_4       task_completed  T-002  pending  3      1 h ago   under way                       It answered 500.\n"
        "d_3       task_completed  T-002  pending  3      1 h ago   in 2 h: its host is left alone  It answered 500.\n"
    )
    hub.on("GET", "notifications/n_1/deliveries", Reply(body=[waits, taken]))
    hub.on("POST", "notifications/n_1/deliveries/d_2/resend", Reply(body=waits))
    assert cli("notify", "deliveries", "n_1") == (
        0,
        "DELIVERY  EVENT           TASK   STATUS     TRIES  HAPPENED  NEXT    LAST ANSWER\n"
        "d_2       task_completed  T-002  pending    3      1 h ago   in 2 h  It answered 500.\n"
        "d_1       breaker_open    -      delivered  1      1 h ago   -       204\n",
        "",
    )
    assert [one["id"] for one in json.loads(cli("notify", "deliveries", "n_1", "-n", "1", "--json").out)] == ["d_2"]
    assert cli("notify", "resend", "n_1", "d_2") == (0, "d_2 is sent again.\n", "")
    assert json.loads(cli("notify", "resend", "n_1", "d_2", "--json").out)["attempts"] == 3


def test_where_there_are_no_deliveries_that_is_said(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "notifications/n_1/deliveries", Reply(body=[]))
    assert cli("notify", "deliveries", "n_1").err == "Nothing was to be told so far.\n"
    assert cli("notify", "deliveries", "n_1", "--status", "dead").err == "There is no such delivery.\n"
    assert hub.calls[-1].query["status"] == "dead"
