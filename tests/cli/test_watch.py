import json

from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, Stream, StubHub, a_task, an_event, problem

TASK = "tasks/T-002"
QUEUED = {"id": "1-1-0", "event": "task.queued", "ref": "T-002", "to": "queued"}


def test_one_task_is_watched_from_its_beginning_to_its_end(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", f"{TASK}/events", Reply(body=[QUEUED]))
    hub.on("GET", TASK, Reply(body=a_task(status="completed")))
    started = an_event("1-2-0", "task.started", at=None, attempt=1, **{"from": "scheduled", "to": "running"})
    told = an_event(None, "task.progress", at=None, data={"percent": 40, "message": "reading"})
    ended = an_event("1-3-0", "task.completed", at=None, **{"from": "running", "to": "completed"})
    hub.on("GET", "events", Stream([started, told, ended]))

    assert cli("watch", "T-002") == (
        0,
        "--:--:--  T-002  task.queued  queued\n"
        "--:--:--  T-002  task.started  scheduled → running  attempt 1\n"
        "--:--:--  T-002  task.progress  percent=40  message=reading\n"
        "--:--:--  T-002  task.completed  running → completed\n",
        "",
    )
    (stream,) = hub.asked("GET", "events")
    assert stream.headers["last-event-id"] == "1-1-0"


def test_watching_a_task_that_has_failed_ends_with_1_at_once(hub: StubHub, cli: Cli) -> None:
    failed = {**QUEUED, "event": "task.permanently_failed", "to": "permanently_failed"}
    hub.on("GET", f"{TASK}/events", Reply(body=[QUEUED, failed]))
    hub.on("GET", TASK, Reply(body=a_task(status="permanently_failed")))
    code, out, _ = cli("watch", "T-002", "--types", "task.permanently_failed", "--json")
    assert (code, [json.loads(line)["event"] for line in out.splitlines()]) == (1, ["task.permanently_failed"])


def test_a_task_whose_events_are_no_longer_kept_is_not_waited_for(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", f"{TASK}/events", Reply(body=[]))
    hub.on("GET", TASK, Reply(body=a_task(status="completed")))
    assert cli("watch", "T-002") == (0, "", "")


def test_everything_is_watched_until_the_stream_cannot_be_had(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "events", Stream([an_event("1-1-0", "daemon.connected", ref=None, at=None)]),
           problem(403, "FORBIDDEN", "This key may not watch."))  # fmt: skip
    assert cli("watch", "--types", "daemon.connected, task.created") == (
        4,
        "--:--:--  -  daemon.connected\n",
        "taskyard: This key may not watch.\n",
    )
    assert hub.calls[0].query == {"types": "daemon.connected,task.created"}


def test_the_log_is_printed_as_it_was_written(hub: StubHub, cli: Cli) -> None:
    pieces = [
        {"attempt": 1, "at": None, "text": "one\ntwo\n", "cursor": "MS0x"},
        {"attempt": 2, "at": None, "text": "three", "cursor": "Mi0x"},
    ]
    hub.on("GET", f"{TASK}/log", Reply(body=pieces))
    hub.on("GET", TASK, Reply(body=a_task(status="completed")))
    assert cli("log", "T-002", "--attempt", "2") == (0, "one\ntwo\nthree\n", "")
    assert hub.calls[0].query == {"attempt": "2"}
    assert [json.loads(line) for line in cli("log", "T-002", "--json").out.splitlines()] == pieces


def test_beside_the_log_of_a_cancelled_task_it_is_said_why(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", f"{TASK}/log", Reply(body=[{"attempt": 1, "text": "half", "cursor": "MS0x"}]))
    hub.on("GET", TASK, Reply(body=a_task(status="cancelled", cancel_reason="the wrong branch")))
    assert cli("log", "T-002") == (0, "half\n", "T-002 is cancelled: the wrong branch\n")
    assert cli("log", "T-002", "--json").err == ""


def test_a_log_is_followed_to_the_end_without_a_gap(hub: StubHub, cli: Cli) -> None:
    pieces = [{"attempt": 1, "text": f"line {number}", "cursor": f"after-{number}"} for number in range(5)]
    hub.on("GET", f"{TASK}/log", Reply(body=pieces[:1]), Reply(body=pieces[1:4]), Reply(body=pieces[4:]))
    hub.on("GET", f"{TASK}/events", Reply(body=[QUEUED]))
    ended = an_event("1-3-0", "task.completed", to="completed")
    hub.on("GET", "events", Stream([an_event(None, "task.log"), an_event(None, "task.progress"), ended]))
    hub.on("GET", TASK, Reply(body=a_task(status="completed")))
    assert cli("log", "T-002", "--follow") == (0, "line 0\nline 1\nline 2\nline 3\nline 4\n", "")
    # What was printed is not fetched again
    asked = [call.query for call in hub.calls if call.path.endswith("/log")]
    assert asked == [{}, {"cursor": "after-0"}, {"cursor": "after-3"}]
