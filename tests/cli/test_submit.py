import io
import json
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, a_task, problem

EVERY_OPTION = """
    --title t --goal g --constraint a --constraint b --context '{"a": 1}' --payload {} --metadata '{"b": 2}'
    --model m --queue q --project p --correlation-id c --parent T-1 --source proactive
    --priority 8 --sla 2026-01-31T09:00:00+01:00 --after T-1 --after T-2 --on-depends-fail skip --idempotency-key k
    --capability gpu --daemon d --not-daemon e --estimate 2m --memory-mb 512 --cpu-intensive
    --timeout 1h --max-attempts 5 --retry-delay 10 --retry-backoff linear --require-decision-report
    --on-lost fail --exclusive x
"""
TASK = "tasks/01900000-0000-7000-8000-000000000002"


def test_the_ref_goes_to_standard_output_and_the_rest_beside_it(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task(queue_position=3)))
    assert cli("submit", "hello", "--type", "echo") == (0, "T-002\n", "T-002 is queued, position 3.\n")
    (call,) = hub.asked("POST", "tasks")
    assert call.body == {"input": "hello", "type": "echo", "source": {"type": "user", "channel": "cli"}}


def test_a_task_that_was_there_already_is_said_so(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(body=a_task(deduplicated=True)))
    assert cli("submit", "x", "--idempotency-key", "k") == (
        0,
        "T-002\n",
        "T-002 is queued; it had been submitted before.\n",
    )


@pytest.mark.filterwarnings("always::taskyard.sdk.task.SubmittedBefore")
@pytest.mark.parametrize(
    ("status", "advice"),
    [
        ("cancelled", "use a new key for a new task"),
        ("skipped", "retry it, or use a new key for a new task"),
    ],
)
def test_a_key_whose_task_was_cancelled_or_skipped_is_said_to_make_nothing_new(
    hub: StubHub, cli: Cli, status: str, advice: str
) -> None:
    hub.on("POST", "tasks", Reply(body=a_task(deduplicated=True, status=status)))
    result = cli("submit", "x", "--idempotency-key", "k")
    assert (result.code, result.out) == (0, "T-002\n")
    said = f"T-002 was submitted before with this idempotency key, and has been {status}."
    assert f"taskyard: {said} Nothing new was made: {advice}.\n" in result.err


def test_every_option_has_its_place_on_the_wire(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    result = cli("submit", "hello", *shlex.split(EVERY_OPTION))
    assert result.code == 0, result.err
    (call,) = hub.asked("POST", "tasks")
    assert call.body == {
        "input": "hello",
        "title": "t",
        "goal": "g",
        "constraints": ["a", "b"],
        "context": {"a": 1},
        "payload": {},
        "metadata": {"b": 2},
        "model": "m",
        "queue": "q",
        "project_id": "p",
        "correlation_id": "c",
        "parent_task_id": "T-1",
        "priority": 8,
        "sla": "2026-01-31T08:00:00+00:00",
        "depends_on": ["T-1", "T-2"],
        "on_depends_fail": "skip",
        "idempotency_key": "k",
        "source": {"type": "proactive", "channel": "cli"},
        "requirements": {
            "capabilities": ["gpu"],
            "target_daemon": "d",
            "excluded_daemons": ["e"],
            "estimated_duration": 120,
            "memory_mb": 512,
            "cpu_intensive": True,
        },
        "execution": {
            "timeout": 3600,
            "max_attempts": 5,
            "retry_delay": 10,
            "retry_backoff": "linear",
            "require_decision_report": True,
            "on_lost": "fail",
            "exclusive": "x",
        },
    }


def test_times_may_be_counted_from_now(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    cli("submit", "x", "--at", "10m", "--deadline", "1h30m")
    body = hub.calls[0].body
    assert abs(datetime.fromisoformat(body["scheduled_for"]) - now() - timedelta(minutes=10)) < timedelta(minutes=1)
    assert abs(datetime.fromisoformat(body["deadline"]) - now() - timedelta(minutes=90)) < timedelta(minutes=1)
    assert datetime.fromisoformat(body["deadline"]).tzinfo == UTC


def test_the_input_can_come_from_a_pipe(hub: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    monkeypatch.setattr("sys.stdin", io.StringIO("line one\nline two\n"))
    assert cli("submit", "-").code == 0
    assert hub.calls[0].body["input"] == "line one\nline two\n"


# --- waiting -----------------------------------------------------------------------------------------------


def test_waiting_prints_the_answer_alone_on_standard_output(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    progress = {"percent": 40, "message": "reading"}
    hub.on(
        "GET",
        TASK,
        Reply(body=a_task(status="running", progress=progress)),
        Reply(body=a_task(status="completed", result="hello")),
    )
    assert cli("submit", "hello", "--type", "echo", "--wait") == (
        0,
        "hello\n",
        "T-002 queued; taskyard why T-002 says why\nT-002 running 40%: reading\n",
    )


def test_an_answer_that_is_no_text_is_json(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task(status="completed", result={"n": [1, None]})))
    code, out, err = cli("submit", "hello", "--wait")
    assert (code, json.loads(out), err) == (0, {"n": [1, None]}, "")


def test_waiting_for_a_task_that_failed_ends_with_1_and_says_why(hub: StubHub, cli: Cli) -> None:
    failed = a_task(status="permanently_failed", failure_reason="The model timed out.")
    hub.on("POST", "tasks", Reply(status=201, body=failed))
    assert cli("submit", "x", "--wait") == (1, "", "T-002 is permanently_failed: The model timed out.\n")
    code, out, _ = cli("submit", "x", "--wait", "--json")
    assert (code, json.loads(out)["failure_reason"]) == (1, "The model timed out.")


def test_a_wait_can_be_given_up(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    hub.on("GET", TASK, Reply(body=a_task(status="running")))
    assert cli("submit", "x", "--wait", "--wait-timeout", "0s") == (
        1,
        "",
        "T-002 queued; taskyard why T-002 says why\nT-002 running\ntaskyard: T-002 is still running.\n",
    )


def test_a_task_that_cannot_go_on_by_itself_is_not_waited_for(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task(status="blocked")))
    summary = "Blocked by a dependency: it depends on T-001 (failed), and will not run without."
    told = {"task": "T-002", "status": "blocked", "summary": summary, "reasons": []}
    hub.on("GET", "tasks/01900000-0000-7000-8000-000000000002/why", Reply(body=told))
    code, out, err = cli("submit", "x", "--wait")
    assert (code, out) == (1, "")
    assert f"T-002 cannot go on by itself. {summary}" in err


def test_json_has_the_whole_task_with_exact_times(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    code, out, err = cli("submit", "x", "--json")
    task = json.loads(out)
    assert (code, err) == (0, "")
    assert (task["ref"], task["status"], task["created_at"]) == ("T-002", "queued", "2026-01-01T00:00:00.125000Z")


# --- when nothing can run it -------------------------------------------------------------------------------

NOBODY = {
    "task": "T-002",
    "status": "queued",
    "summary": "No daemon can run it: none fits: mac (has no gpu).",
    "reasons": [{"code": "NO_ELIGIBLE_DAEMON"}],
    "daemons": [],
}
WARNING = (
    "T-002: No daemon can run it: none fits: mac (has no gpu). It waits until one comes that can; "
    "`taskyard daemon --help` says how to start one.\n"
)


def test_who_hands_in_what_no_daemon_can_run_is_told_so(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    hub.on("GET", f"{TASK}/why", Reply(body=NOBODY))
    assert cli("submit", "x") == (0, "T-002\n", f"T-002 is queued.\n{WARNING}")
    assert cli("submit", "x", "--json").err == ""


def test_who_waits_for_it_is_told_before(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    hub.on("GET", f"{TASK}/why", Reply(body=NOBODY))
    hub.on("GET", TASK, Reply(body=a_task(status="completed", result="done")))
    result = cli("submit", "x", "--wait")
    assert (result.code, result.out, result.err.startswith(WARNING)) == (0, "done\n", True)


@pytest.mark.parametrize(
    ("code", "lacks", "is_told"),
    [
        ("NO_DAEMON", [], True),
        ("NO_FREE_SLOT", [["DAEMON_OFFLINE"], ["TYPE_NOT_SERVED", "DAEMON_FULL"]], True),
        ("NO_FREE_SLOT", [["DAEMON_OFFLINE"], ["DAEMON_FULL"]], False),
        ("USER_CONCURRENCY", [[]], False),
    ],
)
def test_a_daemon_that_is_connected_and_busy_is_one(
    hub: StubHub, cli: Cli, code: str, lacks: list[list[str]], is_told: bool
) -> None:
    daemons = [
        {"id": "d", "name": "mac", "eligible": not codes, "lacks": [{"code": each} for each in codes]}
        for codes in lacks
    ]
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    hub.on("GET", f"{TASK}/why", Reply(body=NOBODY | {"reasons": [{"code": code}], "daemons": daemons}))
    assert (WARNING in cli("submit", "x").err) is is_told


def test_nothing_is_asked_about_a_task_that_has_a_start_or_is_under_way(hub: StubHub, cli: Cli) -> None:
    for fields in ({"estimated_start": "2026-01-01T00:00:00Z"}, {"status": "scheduled"}, {"waiting_for_daemon": "mac"}):
        hub.on("POST", "tasks", Reply(status=201, body=a_task(**fields)))
        assert cli("submit", "x").code == 0
    assert {call.method for call in hub.calls} == {"POST"}


def test_a_task_that_was_taken_in_is_even_if_nobody_says_what_it_waits_for(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    hub.on("GET", f"{TASK}/why", problem(503, "OVERLOADED", "Too much."))
    assert cli("submit", "x") == (0, "T-002\n", "T-002 is queued.\n")


def test_of_a_batch_each_kind_is_told_of_once(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    # Given a batch of three kinds, of which two are for nobody
    file = tmp_path / "tasks.json"
    file.write_text("[{}]")
    kinds = {"a": NOBODY, "b": NOBODY | {"reasons": [{"code": "QUEUE_FULL"}]}, "c": NOBODY}
    tasks = [a_task(id=f"{kind}-{number}", type=kind, ref=f"{kind}-{number}") for kind in kinds for number in (1, 2)]
    hub.on("POST", "tasks/batch", Reply(status=201, body={"tasks": tasks, "rejected": []}))
    for kind, told in kinds.items():
        hub.on("GET", f"tasks/{kind}-1/why", Reply(body=told))
    # Then the first of each of these two is named
    result = cli("submit", "--file", str(file))
    assert result.code == 0
    assert [line.partition(":")[0] for line in result.err.splitlines()] == ["a-1", "c-1"]
    assert len(hub.calls) == 1 + 3


# --- files -------------------------------------------------------------------------------------------------


def test_a_file_of_tasks_is_one_batch(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    tasks = [{"name": "a", "input": "one"}, {"input": "two", "depends_on": ["a"], "execution": {"timeout": 5}}]
    file.write_text(json.dumps({"tasks": tasks}))
    hub.on(
        "POST",
        "tasks/batch",
        Reply(status=201, body={"tasks": [a_task(created_at=None)], "rejected": []}),
    )
    assert cli("submit", "--file", str(file)) == (
        0,
        "REF    STATUS  PRIORITY  TYPE  QUEUE    CREATED  TITLE\n"
        "T-002  queued  normal    echo  default  -        hello\n",
        "",
    )
    assert hub.calls[0].body == {"tasks": tasks, "partial": False}


def test_a_batch_taken_in_part_ends_with_6(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    file.write_text('[{"input": "one"}, {"input": 7}]')
    rejected = {"index": 1, "status": 422, "code": "INVALID_INPUT", "detail": "input: expected text"}
    hub.on("POST", "tasks/batch", Reply(status=201, body={"tasks": [a_task()], "rejected": [rejected]}))
    result = cli("submit", "--file", str(file), "--partial", "--json")
    assert (result.code, result.err) == (6, "not taken: tasks[1]: input: expected text\n")
    assert json.loads(result.out)["rejected"] == [rejected]


def test_waiting_for_a_batch_waits_for_all_of_it(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    file.write_text('[{"input": "one"}, {"input": "two"}]')
    tasks = [a_task(status="completed"), a_task(status="cancelled")]
    hub.on("POST", "tasks/batch", Reply(status=201, body={"tasks": tasks, "rejected": []}))
    assert cli("submit", "--file", str(file), "--wait").code == 1


@pytest.mark.parametrize("content", ["not json", '"text"', "[1]", "{}"])
def test_a_file_that_holds_no_tasks_is_wrong_use(cli: Cli, tmp_path: Path, content: str) -> None:
    file = tmp_path / "tasks.json"
    file.write_text(content)
    result = cli("submit", "--file", str(file))
    assert result.code == 2
    assert "tasks.json" in result.err


def test_a_file_that_is_not_there_is_said_so(cli: Cli, tmp_path: Path) -> None:
    result = cli("submit", "--file", str(tmp_path / "none.json"))
    assert result == (1, "", f"taskyard: No such file or directory: {tmp_path}/none.json\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give the input of one task, its --template, or --file with many"),
        (["x", "--file", "y"], "give the input of one task, its --template, or --file with many"),
        (["x", "--deadline", "soon"], "'soon' is no time; write 10m, 2h or 1d for a time from now"),
        (["x", "--timeout", "long"], "'long' is no duration; write 90s, 10m, 1h30m or 2d"),
        (["x", "--context", "[1]"], "write a JSON object"),
        (["x", "--nonsense"], "--nonsense"),
    ],
)
def test_wrong_use_ends_with_2_and_sends_nothing(hub: StubHub, cli: Cli, arguments: list[str], said: str) -> None:
    result = cli("submit", *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert hub.calls == []
