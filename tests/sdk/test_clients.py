"""Both clients, through real sockets, against a hub that says what it is told to."""

import warnings
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from taskyard.sdk.errors import (
    WaitTimeout,
)
from taskyard.sdk.task import SubmittedBefore
from taskyard.vocabulary import Status
from tests.sdk.conftest import Driver
from tests.support.http_stub import KEY, Reply, Reset, StubHub, a_task, problem

# --- submitting --------------------------------------------------------------------------------------------


def test_a_submission_carries_the_key_and_its_options_in_the_shape_of_the_wire(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    deadline = datetime(2026, 1, 2, tzinfo=UTC)

    task = driver.do(
        driver.client.submit(
            "hello",
            type="echo",
            priority="high",
            timeout=60,
            capabilities=["gpu"],
            deadline=deadline,
            title=None,
        )
    )

    assert (task.ref, task.status, task.type) == ("T-002", Status.QUEUED, "echo")
    assert task.created_at == datetime(2026, 1, 1, 0, 0, 0, 125_000, tzinfo=UTC)
    (call,) = hub.calls
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.body == {
        "input": "hello",
        "type": "echo",
        "priority": "high",
        "deadline": "2026-01-02T00:00:00Z",
        "requirements": {"capabilities": ["gpu"]},
        "execution": {"timeout": 60},
    }


def test_a_submission_that_met_faults_is_repeated_under_one_key(hub: StubHub, driver: Driver) -> None:
    unavailable = problem(503, "OVERLOADED", "The hub is full.", retry_after=0)
    hub.on("POST", "tasks", Reset(), unavailable, Reply(status=201, body=a_task()))

    assert driver.do(driver.client.submit("hello")).ref == "T-002"

    keys = {call.headers["idempotency-key"] for call in hub.asked("POST", "tasks")}
    assert (len(hub.calls), len(keys)) == (3, 1)


@pytest.mark.parametrize("status", ["cancelled", "skipped"])
def test_a_key_whose_task_was_cancelled_or_skipped_is_warned_of(hub: StubHub, driver: Driver, status: str) -> None:
    known = a_task(deduplicated=True, status=status)
    hub.on("POST", "tasks", Reply(body=known))
    hub.on("POST", "tasks/batch", Reply(body={"tasks": [known, a_task(status=status)]}))
    told = rf"T-002 was submitted before .* has been {status}\. Nothing new was made: .*use a new key"
    with pytest.warns(SubmittedBefore, match=told):
        task = driver.do(driver.client.submit("hello", idempotency_key="k"))
    assert (task.status, task.deduplicated) == (status, True)
    with pytest.warns(SubmittedBefore, match=told) as warned:
        driver.do(driver.client.submit_batch([{"input": "hello", "idempotency_key": "k"}, {"input": "other"}]))
    assert len(warned) == 1


def test_what_was_submitted_before_and_goes_on_needs_no_warning(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "tasks", Reply(body=a_task(deduplicated=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert driver.do(driver.client.submit("hello", idempotency_key="k")).deduplicated


def test_two_submissions_have_two_keys(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    driver.do(driver.client.submit("hello"))
    driver.do(driver.client.submit("hello"))
    assert len({call.headers["idempotency-key"] for call in hub.calls}) == 2


@pytest.mark.parametrize("named", [{"idempotency_key": "mine"}, {"dedupe": "content"}])
def test_the_callers_own_way_to_recognise_a_task_is_left_alone(
    hub: StubHub, driver: Driver, named: dict[str, str]
) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    driver.do(driver.client.submit("hello", **named))
    (call,) = hub.calls
    assert "idempotency-key" not in call.headers
    assert call.body == {"input": "hello", **named}


def test_a_batch_names_its_tasks_and_depends_on_handles(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    earlier = driver.do(driver.client.submit("earlier"))
    rejected = {"index": 1, "status": 422, "code": "DEPENDENCY_NOT_FOUND", "detail": "no"}
    hub.on("POST", "tasks/batch", Reply(status=201, body={"tasks": [a_task()], "rejected": [rejected]}))

    batch = driver.do(
        driver.client.submit_batch(
            [{"name": "a", "input": "one"}, {"input": "two", "depends_on": ["a", earlier]}], partial=True
        )
    )

    assert [task.ref for task in batch.tasks] == ["T-002"]
    assert batch.tasks[0].client is driver.client
    assert batch.rejected[0].code == "DEPENDENCY_NOT_FOUND"
    (call,) = hub.asked("POST", "tasks/batch")
    assert call.body == {
        "tasks": [
            {"name": "a", "input": "one"},
            {"input": "two", "depends_on": ["a", "01900000-0000-7000-8000-000000000002"]},
        ],
        "partial": True,
    }
    assert "idempotency-key" in call.headers


def test_a_batch_in_which_some_have_keys_gives_the_others_theirs(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "tasks/batch", Reply(status=201, body={"tasks": [], "rejected": []}))
    driver.do(driver.client.submit_batch([{"input": "a", "idempotency_key": "mine"}, {"input": "b"}]))
    (call,) = hub.calls
    first, second = call.body["tasks"]
    assert "idempotency-key" not in call.headers
    assert first["idempotency_key"] == "mine"
    assert second["idempotency_key"].endswith("#1")


def test_a_time_without_a_zone_is_refused_before_anything_is_sent(hub: StubHub, driver: Driver) -> None:
    with pytest.raises(ValueError, match="deadline needs a time zone"):
        driver.do(driver.client.submit("hello", deadline=datetime(2026, 1, 1)))  # noqa: DTZ001
    assert hub.calls == []


# --- waiting -----------------------------------------------------------------------------------------------


def test_waiting_polls_until_the_task_has_ended(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    path = "tasks/01900000-0000-7000-8000-000000000002"
    hub.on(
        "GET",
        path,
        Reply(body=a_task(status="running")),
        Reset(),
        Reply(body=a_task(status="completed", result={"echo": "hello"})),
    )

    task = driver.do(driver.client.submit("hello"))
    ended = driver.do(task.wait())

    assert ended is task
    assert (task.ended, task.succeeded, task.result) == (True, True, {"echo": "hello"})
    assert [call.query for call in hub.asked("GET", path)] == [{"wait_s": "20.0"}] * 3


def test_progress_is_told_once_per_change(hub: StubHub, driver: Driver) -> None:
    running = Reply(body=a_task(status="running", progress={"percent": 40, "message": "reading"}))
    hub.on("GET", "tasks/T-002", Reply(body=a_task()))
    hub.on(
        "GET",
        "tasks/01900000-0000-7000-8000-000000000002",
        running,
        running,
        Reply(body=a_task(status="permanently_failed")),
    )
    told: list[Any] = []

    task = driver.do(driver.client.task("T-002"))
    driver.do(task.wait(on_progress=lambda task: told.append((task.status, task.progress))))

    assert [status for status, _ in told] == ["queued", "running", "permanently_failed"]
    assert told[1][1].percent == 40
    polls = [float(call.query["wait_s"]) for call in hub.calls[1:]]
    assert polls == [0.1, 0.2, 0.4]
    assert not task.succeeded


def test_a_wait_that_takes_too_long_says_how_the_task_stands(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "tasks/T-002", Reply(body=a_task()))
    hub.on("GET", "tasks/01900000-0000-7000-8000-000000000002", Reply(body=a_task(status="running")))
    task = driver.do(driver.client.task("T-002"))
    with pytest.raises(WaitTimeout, match=r"T-002 is still running\."):
        driver.do(task.wait(timeout=0))
    assert issubclass(WaitTimeout, TimeoutError)


def test_a_handle_can_be_refreshed_cancelled_skipped_and_retried(hub: StubHub, driver: Driver) -> None:
    path = "tasks/01900000-0000-7000-8000-000000000002"
    hub.on("GET", "tasks/T-002", Reply(body=a_task()))
    hub.on("GET", path, Reply(body=a_task(queue_position=3)))
    hub.on("DELETE", path, Reply(body={"cancelled": True, "also_cancelled": ["T-003"]}))
    hub.on("POST", f"{path}/skip", Reply(body=a_task(status="skipped")))
    hub.on("POST", f"{path}/retry", Reply(body=a_task(status="pending")))
    task = driver.do(driver.client.task("T-002"))

    assert driver.do(task.refresh()).queue_position == 3
    assert driver.do(task.cancel("no need")).also_cancelled == ["T-003"]
    assert driver.do(task.skip()).status == "skipped"
    assert driver.do(task.retry()) is task
    assert task.status == "pending"
    assert hub.asked("DELETE", path)[0].query == {"reason": "no need"}


# --- every other call --------------------------------------------------------------------------------------

OK = {"ok": True}
DAEMON = {"id": "d_1", "name": "mac-1", "status": "online"}
BREAKER = {"type": "eng", "state": "open", "failures": 5, "failure_threshold": 5, "cooldown": 300.0}
USER = {"id": "u_1", "name": "ann", "plan": "pro", "overrides": {}, "created_at": "2026-01-01T00:00:00Z"}


class Case(NamedTuple):
    """A call, its arguments, where it goes, what it sends and what comes back."""

    call: str
    positional: tuple[Any, ...]
    named: dict[str, Any]
    route: str
    sent: Any
    answer: Any


UNTIL = "2026-01-01T00:00:00Z"
CASES = [
    Case("change", ("T-1",), {"deadline": None}, "PATCH tasks/T-1", {"deadline": None}, a_task()),
    Case(
        "complete",
        ("T-1",),
        {"result": [1], "attempt": 2},
        "POST tasks/T-1/complete",
        {"status": "completed", "result": [1], "attempt": 2},
        OK,
    ),
    Case("progress", ("T-1",), {"percent": 5.0}, "POST tasks/T-1/progress", {"percent": 5.0}, OK),
    Case("checkpoint", ("T-1", None), {}, "POST tasks/T-1/checkpoint", {"data": None}, OK),
    Case("heartbeat", ("T-1",), {"attempt": 1}, "POST tasks/T-1/heartbeat", {"attempt": 1}, OK),
    Case("log", ("T-1",), {}, "GET tasks/T-1/log", None, [{"attempt": 1, "text": "x"}]),
    Case("task_events", ("T/1",), {}, "GET tasks/T%2F1/events", None, [{"id": "1-2-3", "event": "a"}]),
    Case(
        "review",
        ("T-1", "wait"),
        {"until": UNTIL, "reason": "busy"},
        "POST dead-letters/T-1/review",
        {"verdict": "wait", "until": UNTIL, "reason": "busy"},
        a_task(),
    ),
    Case(
        "review_pattern",
        ("f1", "discard"),
        {"reason": "old"},
        "POST dead-letters/review",
        {"fingerprint": "f1", "verdict": "discard", "reason": "old"},
        {"reviewed": ["a"], "rejected": []},
    ),
    Case("daemons", (), {}, "GET daemons", None, [DAEMON]),
    Case("daemon", ("mac-1",), {}, "GET daemons/mac-1", None, DAEMON),
    Case("drain", ("mac-1",), {}, "POST daemons/mac-1/drain", None, OK),
    Case("resume_daemon", ("mac-1",), {}, "POST daemons/mac-1/resume", None, OK),
    Case("forget_daemon", ("mac-1",), {}, "DELETE daemons/mac-1", None, OK),
    Case("breakers", (), {}, "GET breakers", None, [BREAKER]),
    Case("reset_breaker", ("eng",), {}, "POST breakers/eng/reset", None, BREAKER),
    Case("open_breaker", ("eng",), {}, "POST breakers/eng/open", None, BREAKER),
    Case("queues", (), {}, "GET queues", None, [{"name": "q"}]),
    Case(
        "put_queue",
        ("a/b",),
        {"models": ("m",), "max_concurrent": 2},
        "PUT queues/a%2Fb",
        {"models": ["m"], "max_concurrent": 2},
        {"name": "a/b"},
    ),
    Case("delete_queue", ("q",), {}, "DELETE queues/q", None, OK),
    Case("pause_queue", ("q",), {}, "POST queues/q/pause", None, {"name": "q", "state": "paused"}),
    Case("resume_queue", ("q",), {}, "POST queues/q/resume", None, {"name": "q"}),
    Case("say", ("hi",), {}, "POST intake", {"text": "hi"}, {"reply": "…", "understood": False}),
    Case(
        "say",
        ("fix it",),
        {"channel": "slack", "dry_run": True},
        "POST intake",
        {"text": "fix it", "channel": "slack", "dry_run": True},
        {"reply": "…", "parsed": [{"input": "fix it"}]},
    ),
    Case("me", (), {}, "GET users/me", None, USER),
    Case("users", (), {}, "GET users", None, [USER]),
    Case("held", (), {}, "GET why/everybody", None, [{"code": "QUEUE_PAUSED", "tasks": 2, "user_id": "u_1"}]),
    Case("add_user", ("ann",), {"plan": "pro"}, "POST users", {"name": "ann", "plan": "pro"}, USER),
    Case("change_user", ("u_1",), {"plan": None}, "PATCH users/u_1", {"plan": None}, USER),
    Case("plans", (), {}, "GET plans", None, [{"name": "pro"}]),
    Case("plan", ("pro",), {}, "GET plans/pro", None, {"name": "pro"}),
    Case("limits", (), {}, "GET users/me/limits", None, {"plan": "pro"}),
    Case("counts", (), {}, "GET tasks/counts", None, {"total": 7, "by_status": {"queued": 7}}),
    Case(
        "act_on_many",
        ("cancel", ["T-1", "T-2"]),
        {"reason": "late", "preview": True},
        "POST tasks/bulk",
        {"action": "cancel", "ids": ["T-1", "T-2"], "reason": "late", "preview": True},
        {"preview": True, "also": ["x"], "counts": {"ok": 0}},
    ),
    Case("queue_status", (), {}, "GET tasks/queue-status", None, {"pending": 7}),
    Case("keys", ("u_1",), {}, "GET users/u_1/keys", None, [{"id": "k_1"}]),
    Case("add_key", ("u_1",), {"name": "ci"}, "POST users/u_1/keys", {"name": "ci"}, {"id": "k_1"}),
    Case("hubs", (), {}, "GET hubs", None, [{"id": "h_1"}]),
    Case("metrics", (), {}, "GET metrics", None, {"tasks_running": 3}),
]


@pytest.mark.parametrize("case", CASES, ids=[case.call for case in CASES])
def test_each_call_has_its_route_and_body(hub: StubHub, driver: Driver, case: Case) -> None:
    method, path = case.route.split()
    hub.on(method, path, Reply(body=case.answer))
    answered = driver.do(getattr(driver.client, case.call)(*case.positional, **case.named))
    (asked,) = hub.calls
    assert asked.body == case.sent
    expected = case.answer[0] if isinstance(case.answer, list) else case.answer
    one = answered[0] if isinstance(answered, list) else answered
    for name in ("id", "ok", "ref", "text", "event", "reviewed", "plan", "pending", "tasks_running", "reply"):
        if name in expected:
            assert getattr(one, name) == expected[name]


def test_an_answer_without_a_body_is_taken_for_done(hub: StubHub, driver: Driver) -> None:
    hub.on("DELETE", "keys/k_1", Reply(status=204))
    assert driver.do(driver.client.revoke_key("k_1")).ok


def test_health_is_asked_outside_the_interface(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "/healthz", Reply(body={"status": "ok"}))
    assert driver.do(driver.client.healthz()) == {"status": "ok"}


# --- pages -------------------------------------------------------------------------------------------------


def test_pages_are_fetched_as_one_goes(hub: StubHub, driver: Driver) -> None:
    link = {"Link": '<http://elsewhere.example/api/v1/tasks?limit=200&cursor=a%2Fb>; rel="next"'}
    hub.on("GET", "tasks", Reply(body=[a_task(ref="T-3")], headers=link), Reply(body=[a_task(ref="T-2")]))

    (first,) = driver.take(driver.client.tasks(status="queued"), 1)
    assert (first.ref, len(hub.calls)) == ("T-3", 1)

    hub.on("GET", "tasks", Reply(body=[a_task(ref="T-3")], headers=link), Reply(body=[a_task(ref="T-2")]))
    refs = [task.ref for task in driver.take(driver.client.tasks(status="queued"))]
    assert refs == ["T-3", "T-2"]
    assert hub.calls[-1].query == {"status": "queued", "limit": "200", "cursor": "a/b"}


def test_dead_letters_and_the_audit_are_pages_too(hub: StubHub, driver: Driver) -> None:
    pattern = {"fingerprint": "f1", "same_error": 12}
    hub.on("GET", "dead-letters", Reply(body=[a_task(pattern=pattern)]))
    entry = {"at": "2026-01-01T00:00:00Z", "actor": "local", "action": "user.add", "subject": "u_1"}
    hub.on("GET", "audit", Reply(body=[entry]))
    (letter,) = driver.take(driver.client.dead_letters(fingerprint="f1"))
    assert letter.pattern.same_error == 12
    assert driver.take(driver.client.audit())[0].action == "user.add"


def test_an_admin_may_mean_another_users_things(hub: StubHub, driver: Driver) -> None:
    client = type(driver.client)(hub.url, KEY, user="ann")
    hub.on("GET", "tasks/T-1", Reply(body=a_task()))
    hub.on("GET", "users", Reply(body=[]))
    driver.do(client.task("T-1", wait_s=1))
    driver.do(client.users())
    hub.on("GET", "users/me/limits", Reply(body={}))
    driver.do(client.limits())
    hub.on("GET", "queues", Reply(body=[]))
    driver.do(client.queues())
    driver.do(client.close())
    assert [call.query for call in hub.calls] == [
        {"wait_s": "1", "user": "ann"},
        {},
        {"user": "ann"},
        {"user": "ann"},
    ]
