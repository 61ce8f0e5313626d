import json
from datetime import timedelta

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, a_task, problem


def ago(**span: float) -> str:
    return (now() - timedelta(**span)).isoformat()


def test_tasks_are_listed_in_a_table(hub: StubHub, cli: Cli) -> None:
    running = a_task(
        ref="T-003",
        status="running",
        progress={"percent": 40, "message": None},
        priority="critical",
        title="分析 sales",
        created_at=ago(minutes=5.5),
    )
    waiting = a_task(input="a line\nand another " + "x" * 80, created_at=ago(hours=2.5))
    stopping = a_task(ref="T-001", status="running", cancel_requested_at=ago(seconds=3), created_at=ago(days=3.5))
    hub.on("GET", "tasks", Reply(body=[running, waiting, stopping]))
    assert cli("ls") == (
        0,
        "REF    STATUS                PRIORITY  TYPE  QUEUE    CREATED    TITLE\n"
        "T-003  running 40%           critical  echo  default  5 min ago  分析 sales\n"
        f"T-002  queued                normal    echo  default  2 h ago    a line and another {'x' * 40}…\n"
        "T-001  running (cancelling)  normal    echo  default  3 d ago    hello\n",
        "",
    )


def test_filters_go_to_the_hub_and_the_limit_holds(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "tasks", Reply(body=[a_task(), a_task()]))
    result = cli(
        "ls", "-s", "in-progress", "-t", "echo", "--search", "a b", "--archived", "-n", "1", "--user", "ann", "--json"
    )
    assert (result.code, len(json.loads(result.out))) == (0, 1)
    assert hub.calls[0].query == {
        "status": "in-progress",
        "type": "echo",
        "q": "a b",
        "archived": "true",
        "limit": "1",
        "user": "ann",
    }


def test_nothing_to_list_is_said_beside_the_answer(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "tasks", Reply(body=[]))
    assert cli("ls") == (0, "", "No tasks.\n")
    assert cli("ls", "-s", "queued") == (0, "", "No such tasks.\n")
    assert cli("ls", "--json") == (0, "[]\n", "")


def test_a_cancelled_task_is_shown_with_the_reason(hub: StubHub, cli: Cli) -> None:
    stopping = {"status": "running", "cancel_requested_at": ago(seconds=2)}
    for fields, status in (({"status": "cancelled"}, "cancelled"), (stopping, "running (cancelling)")):
        hub.on("GET", "tasks/T-002", Reply(body=a_task(**fields, cancel_reason="the wrong branch")))
        shown = cli("show", "T-002").out
        assert f"status    {status}\nbecause   the wrong branch\n" in shown


def test_a_task_is_shown_with_everything_about_it(hub: StubHub, cli: Cli) -> None:
    began = now() - timedelta(minutes=10, seconds=30)
    attempts = [
        {
            "number": 1,
            "series": 1,
            "daemon_id": "d_1",
            "daemon_name": "mac-1",
            "status": "failed",
            "started_at": began.isoformat(),
            "ended_at": (began + timedelta(seconds=90)).isoformat(),
            "error": {"code": "NETWORK_DOWN", "message": "no route", "retryable": True},
            "late_result": 7,
            "usage": {"input_tokens": 3210, "output_tokens": 40, "cost_usd": 0.0125},
        },
        {
            "number": 2,
            "series": 1,
            "daemon_id": "d_2",
            "daemon_name": "mac-2",
            "status": "running",
            "started_at": ago(seconds=150),
        },
    ]
    task = a_task(
        title="Q1 sales",
        status="running",
        progress={"percent": 40, "message": "reading"},
        attempts=attempts,
        depends_on=["T-001"],
        assigned_daemon="d_2",
        requirements={"capabilities": ["gpu", "browser"]},
        created_at=ago(hours=1.5),
        deadline=(now() + timedelta(hours=2.5)).isoformat(),
        result={"so": "far"},
    )
    hub.on("GET", "tasks/T-002", Reply(body=task))
    assert cli("show", "T-002") == (
        0,
        "T-002  Q1 sales\n"
        "\n"
        "status      running 40%\n"
        "progress    reading\n"
        "type        echo\n"
        "priority    normal (5)\n"
        "queue       default\n"
        "daemon      mac-2\n"
        "depends on  T-001\n"
        "needs       gpu, browser\n"
        "source      user, api\n"
        "created     1 h ago\n"
        "deadline    in 2 h\n"
        "id          01900000-0000-7000-8000-000000000002\n"
        "\n"
        "attempts\n"
        "  1  failed  on mac-1  for 1 min  read 3210 tokens, wrote 40, $0.0125  NETWORK_DOWN: no route  "
        "(a late result is kept)\n"
        "  2  running  on mac-2  since 2 min ago\n"
        "\n"
        "input\n"
        "  hello\n"
        "\n"
        "result\n"
        "  {\n"
        '    "so": "far"\n'
        "  }\n",
        "",
    )
    assert json.loads(cli("show", "T-002", "--json").out)["attempts"][0]["late_result"] == 7


def test_a_priority_that_was_raised_is_shown_with_what_it_was(hub: StubHub, cli: Cli) -> None:
    raised, aged = a_task(raised_from="low"), a_task(priority="low", priority_value=2, aged=True)
    hub.on("GET", "tasks/T-002", Reply(body=raised))
    assert "\npriority  normal (5), raised from low\n" in cli("show", "T-002").out
    hub.on("GET", "tasks/T-002", Reply(body=aged))
    assert "\npriority  low (2), ordered as normal for waiting so long\n" in cli("show", "T-002").out
    hub.on("GET", "tasks", Reply(body=[raised, aged]))
    assert [line[15:31] for line in cli("ls").out.splitlines()] == [
        "PRIORITY        ",
        "normal (was low)",
        "low             ",
    ]


@pytest.mark.parametrize(
    ("usage", "shown"),
    [
        ({"output_tokens": 5}, "wrote 5 tokens"),
        ({"input_tokens": 5}, "read 5 tokens"),
        ({"cost_usd": 0.000088}, "$0.000088"),
        ({"cost_usd": 12}, "$12"),
        ({}, "on mac"),
        (None, "on mac"),
    ],
)
def test_what_an_attempt_used_is_told_as_far_as_it_is_known(
    hub: StubHub, cli: Cli, usage: dict[str, float] | None, shown: str
) -> None:
    attempts = [{"number": 1, "daemon_id": "d_2", "daemon_name": "mac", "status": "success", "usage": usage}]
    hub.on("GET", "tasks/T-002", Reply(body=a_task(attempts=attempts)))
    assert f"{shown}\n" in cli("show", "T-002").out


@pytest.mark.parametrize("command", [("show",), ("dlq", "show")])
def test_a_failure_is_shown_with_its_traceback_once(hub: StubHub, cli: Cli, command: tuple[str, ...]) -> None:
    text = 'Traceback (most recent call last):\n  File "work.py", line 7, in work\nValueError: bad\x1b[31m\n'
    error = {"code": "EXECUTION_ERROR", "message": "ValueError: bad", "details": {"traceback": text}}
    attempts = [
        {"number": n, "daemon_name": "mac", "status": "failed", "error": {**error, "details": details}}
        for n, details in ((1, {"traceback": "an older one"}), (2, error["details"]))
    ]
    failed = a_task(status="permanently_failed", error=error, attempts=attempts, failure_reason="ValueError: bad")
    hub.on("GET", "tasks/T-002", Reply(body=failed))
    said = cli(*command, "T-002").out
    assert '\ntraceback\n  Traceback (most recent call last):\n    File "work.py", line 7, in work\n' in said
    assert said.count("Traceback") == 1
    assert "an older one" not in said
    assert "\x1b" not in said


def test_what_succeeded_in_the_end_and_what_has_no_traceback_show_none(hub: StubHub, cli: Cli) -> None:
    error = {"code": "EXECUTION_ERROR", "message": "bad", "details": {"traceback": "Traceback …"}}
    attempts = [{"number": 1, "daemon_name": "mac", "status": "failed", "error": error}]
    hub.on("GET", "tasks/T-002", Reply(body=a_task(status="completed", attempts=attempts)))
    assert "traceback" not in cli("show", "T-002").out.lower()
    plain = {"code": "NO_PAPER", "message": "none", "details": ["traceback"]}
    hub.on("GET", "tasks/T-002", Reply(body=a_task(status="permanently_failed", error=plain)))
    assert "traceback" not in cli("show", "T-002").out.lower()


def test_of_many_attempts_the_newest_are_shown(hub: StubHub, cli: Cli) -> None:
    attempts = [{"number": n, "daemon_id": "d_2", "daemon_name": "mac", "status": "failed"} for n in range(1, 51)]
    hub.on("GET", "tasks/T-002", Reply(body=a_task(attempts=attempts)))
    said = cli("show", "T-002").out
    assert "attempts\n  40 before these; --json has all of them\n  41  failed  on mac\n" in said
    assert said.count("failed  on mac") == 10


def test_a_daemon_whose_name_is_not_known_is_shown_by_its_id(hub: StubHub, cli: Cli) -> None:
    attempts = [{"number": 1, "daemon_id": "d_2", "status": "running"}]
    hub.on("GET", "tasks/T-002", Reply(body=a_task(status="running", assigned_daemon="d_2", attempts=attempts)))
    shown = cli("show", "T-002").out
    assert "daemon    d_2\n" in shown
    assert "  1  running  on d_2\n" in shown


def test_a_task_that_is_not_there_ends_with_1(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "tasks/T-9", problem(404, "TASK_NOT_FOUND", "There is no task T-9."))
    assert cli("show", "T-9") == (1, "", "taskyard: There is no task T-9.\n")


def test_cancelling_says_what_went_with_it(hub: StubHub, cli: Cli) -> None:
    hub.on("DELETE", "tasks/T-1", Reply(body={"cancelled": True, "also_cancelled": ["T-2", "T-3"]}))
    hub.on("GET", "tasks/T-1", Reply(body=a_task(status="cancelled")))
    assert cli("cancel", "T-1", "--reason", "no need") == (0, "T-1 is cancelled, and with it T-2, T-3.\n", "")
    assert hub.calls[0].query == {"reason": "no need"}
    assert json.loads(cli("cancel", "T-1", "--json").out)["also_cancelled"] == ["T-2", "T-3"]


@pytest.mark.parametrize(
    ("also", "said"),
    [([], "T-1 was asked to stop.\n"), (["T-2", "T-3"], "T-1 was asked to stop, and T-2, T-3 will end with it.\n")],
)
def test_a_task_that_still_runs_is_not_called_cancelled(hub: StubHub, cli: Cli, also: list[str], said: str) -> None:
    hub.on("DELETE", "tasks/T-1", Reply(body={"cancelled": True, "also_cancelled": also}))
    hub.on("GET", "tasks/T-1", Reply(body=a_task(status="running", cancel_requested_at=ago(seconds=0))))
    assert cli("cancel", "T-1") == (0, said, "")


def test_a_task_that_ended_otherwise_before_it_could_stop_is_told_as_it_is(hub: StubHub, cli: Cli) -> None:
    hub.on("DELETE", "tasks/T-2", Reply(body={"cancelled": True, "also_cancelled": []}))
    hub.on("GET", "tasks/T-2", Reply(body=a_task(status="completed")))
    assert cli("cancel", "T-2") == (0, "T-002 is completed.\n", "")


def test_one_of_several_that_is_refused_does_not_stop_the_others(hub: StubHub, cli: Cli) -> None:
    hub.on("DELETE", "tasks/T-1", problem(409, "INVALID_TRANSITION", "T-1 has ended."))
    hub.on("DELETE", "tasks/T-2", Reply(body={"cancelled": True, "also_cancelled": []}))
    hub.on("GET", "tasks/T-2", Reply(body=a_task(status="cancelled")))
    assert cli("cancel", "T-1", "T-2") == (1, "T-2 is cancelled.\n", "T-1: T-1 has ended.\n")
    assert json.loads(cli("cancel", "T-1", "T-2", "--json").out) == [{"cancelled": True, "also_cancelled": []}]


def test_a_reader_that_leaves_does_not_keep_the_others_from_it(
    hub: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given somebody who reads one line and goes
    for name in ("T-1", "T-2", "T-3"):
        hub.on("POST", f"tasks/{name}/skip", Reply(body=a_task(status="skipped")))
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        if len(said) > 1:
            raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("taskyard.cli.output.say", say)
    # When several tasks are skipped, then all of them are, and the exit code says that not all was read
    assert cli("skip", "T-1", "T-2", "T-3").code == 1
    assert [call.path.rpartition("tasks/")[2] for call in hub.calls] == ["T-1/skip", "T-2/skip", "T-3/skip"]


def test_a_task_that_is_tried_again_is_not_told_with_what_failed_before(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks/T-2/retry", Reply(body=a_task(status="scheduled", failure_reason="It broke.")))
    assert cli("retry", "T-2") == (0, "T-002 is scheduled: a daemon was given it.\n", "")


@pytest.mark.parametrize("command", ["ls", "audit"])
def test_more_than_anybody_lists_is_refused_with_how_many_there_can_be(cli: Cli, command: str) -> None:
    code, _, said = cli(command, "--limit", "99999999999999999999")
    assert (code, "1000000" in said) == (2, True)


@pytest.mark.parametrize("verb", ["retry", "skip"])
def test_a_task_is_retried_or_skipped(hub: StubHub, cli: Cli, verb: str) -> None:
    hub.on("POST", f"tasks/T-2/{verb}", Reply(body=a_task(status="pending")))
    assert cli(verb, "T-2") == (0, "T-002 is pending.\n", "")
    assert json.loads(cli(verb, "T-2", "--json").out)["status"] == "pending"


def test_skipping_carries_its_reason(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks/T-2/skip", Reply(body=a_task(status="skipped", skipped_reason="not today")))
    assert cli("skip", "T-2", "--reason", "not today") == (0, "T-002 is skipped: not today\n", "")
    assert hub.calls[0].query == {"reason": "not today"}
