import json
from datetime import datetime, timedelta

import pytest

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, a_task


def test_dead_letters_are_listed_with_their_pattern(hub: StubHub, cli: Cli) -> None:
    when = (now() - timedelta(hours=2.5)).isoformat()
    pattern = {"fingerprint": "f1a2", "same_error": 12, "same_daemon": "mac-1"}
    letter = a_task(status="permanently_failed", failure_reason="Timed out.", completed_at=when, pattern=pattern)
    other = a_task(ref="T-1", error={"code": "X", "message": "broke"}, completed_at=when)
    hub.on("GET", "dead-letters", Reply(body=[letter, other]))
    assert cli("dlq", "ls") == (
        0,
        "REF    TYPE  FAILED   ALIKE        PATTERN  ERROR\n"
        "T-002  echo  2 h ago  12 on mac-1  f1a2     Timed out.\n"
        "T-1    echo  2 h ago  -            -        broke\n",
        "",
    )
    cli("dlq", "ls", "--pattern", "f1a2", "--json")
    assert hub.calls[-1].query["fingerprint"] == "f1a2"


def test_no_dead_letters_is_good_news(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "dead-letters", Reply(body=[]))
    assert cli("dlq", "ls") == (0, "", "No dead letters.\n")


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (["retry", "T-2", "--reason", "fixed"], {"verdict": "retry", "reason": "fixed"}),
        (["discard", "T-2", "--reason", "old"], {"verdict": "discard", "reason": "old"}),
        (["escalate", "T-2", "--to", "ann", "--reason", "r"], {"verdict": "escalate", "reason": "r", "to": "ann"}),
    ],
)
def test_a_verdict_is_given_on_one(hub: StubHub, cli: Cli, arguments: list[str], body: dict[str, str]) -> None:
    hub.on("POST", "dead-letters/T-2/review", Reply(body=a_task(status="pending")))
    assert cli("dlq", *arguments) == (0, "T-002 is pending.\n", "")
    assert hub.calls[0].body == body
    assert json.loads(cli("dlq", *arguments, "--json").out)["ref"] == "T-002"


def test_a_dead_letter_can_wait(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "dead-letters/T-2/review", Reply(body=a_task(status="pending")))
    assert cli("dlq", "wait", "T-2", "--until", "2h", "--reason", "r").code == 0
    until = datetime.fromisoformat(hub.calls[0].body["until"])
    assert abs(until - now() - timedelta(hours=2)) < timedelta(minutes=1)
    assert cli("dlq", "wait", "T-2", "--until", "whenever", "--reason", "r").code == 2


def test_one_verdict_for_a_whole_pattern(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "dead-letters/review", Reply(body={"reviewed": ["a", "b"], "rejected": []}),
           Reply(body={"reviewed": ["a"], "rejected": ["b"]}))  # fmt: skip
    assert cli("dlq", "retry", "--pattern", "f1", "--reason", "r") == (0, "retry: 2 reviewed.\n", "")
    assert cli("dlq", "retry", "--pattern", "f1", "--reason", "r") == (1, "retry: 1 reviewed, 1 could not be.\n", "")
    assert json.loads(cli("dlq", "retry", "--pattern", "f1", "--reason", "r", "--json").out)["rejected"] == ["b"]
    assert hub.calls[0].body == {"fingerprint": "f1", "verdict": "retry", "reason": "r"}


@pytest.mark.parametrize("arguments", [[], ["T-2", "--pattern", "f1"]])
def test_a_verdict_needs_one_task_or_one_pattern(hub: StubHub, cli: Cli, arguments: list[str]) -> None:
    result = cli("dlq", "retry", "--reason", "r", *arguments)
    assert result.code == 2
    assert "give one task, or --pattern for all that failed alike" in result.err
    assert hub.calls == []


def test_a_dead_letter_is_shown_like_any_task(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "tasks/T-2", Reply(body=a_task(status="permanently_failed", failure_reason="It broke.")))
    assert "because   It broke.\n" in cli("dlq", "show", "T-2").out


def test_a_verdict_needs_a_reason(hub: StubHub, cli: Cli) -> None:
    result = cli("dlq", "discard", "T-2")
    assert (result.code, "--reason" in result.err, hub.calls) == (2, True, [])


def test_the_verdicts_of_a_day_are_listed(hub: StubHub, cli: Cli) -> None:
    entry = {"at": "2026-11-18T09:30:00Z", "actor": "user:u_ann", "subject": "task-1", "old": "permanently_failed"}
    waits = {**entry, "action": "dead_letter.wait", "new": "the API is down", "until": "2026-11-18T12:00:00Z"}
    hub.on("GET", "dead-letters/reviews", Reply(body=[waits]), Reply(body=[]))
    shown = cli("dlq", "log", "--date", "2026-11-18")
    assert "09:30:00  task-1  wait until 2026-11-18 12:00  user:u_ann  the API is down" in shown.out
    assert hub.calls[0].query == {"date": "2026-11-18"}
    assert cli("dlq", "log", "--date", "2026-11-17") == (0, "", "No verdicts on 2026-11-17.\n")
    assert cli("dlq", "log", "--date", "yesterday").code == 2


def test_the_last_verdict_is_shown(hub: StubHub, cli: Cli) -> None:
    said = {"verdict": "escalate", "to": "bob", "reason": "needs a plane"}
    review = {**said, "by": "user:u_ann", "at": "2026-11-18T09:30:00Z"}
    hub.on("GET", "tasks/T-2", Reply(body=a_task(status="permanently_failed", review=review)))
    assert "escalate to bob, by user:u_ann" in cli("dlq", "show", "T-2").out
