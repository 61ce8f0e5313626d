import io
import json
from typing import Any

import pytest

from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, a_task


def answered(**more: Any) -> Reply:
    return Reply(body={"reply": "Added 1 task:\n- T-002: fix it", "understood": True, **more})


def test_the_answer_is_printed_and_the_words_are_one_message(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "intake", answered(tasks=[a_task()]))
    assert cli("say", "please", "fix it") == (0, "Added 1 task:\n- T-002: fix it\n", "")
    assert hub.calls[-1].body == {"text": "please fix it", "channel": "cli"}


def test_a_dry_run_is_asked_for(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "intake", answered(commands=[{"command": "status"}]))
    assert cli("say", "status", "--dry-run").code == 0
    assert hub.calls[-1].body == {"text": "status", "channel": "cli", "dry_run": True}


def test_a_message_may_come_from_standard_input(hub: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.on("POST", "intake", answered())
    monkeypatch.setattr("sys.stdin", io.StringIO("1. fix it\n2. ship it\n"))
    assert cli("say", "-").code == 0
    assert hub.calls[-1].body["text"] == "1. fix it\n2. ship it\n"


@pytest.mark.parametrize(
    "answer",
    [
        {"understood": False},
        {"question": "Which task?"},
        {"commands": [{"command": "cancel", "ref": "T-009", "ok": False, "detail": "There is no such task."}]},
    ],
    ids=["conversation", "question", "refused"],
)
def test_what_was_not_done_is_a_no(hub: StubHub, cli: Cli, answer: dict[str, Any]) -> None:
    hub.on("POST", "intake", answered(**answer))
    assert cli("say", "cancel it").code == 1


def test_an_empty_message_is_wrong_use(hub: StubHub, cli: Cli) -> None:
    assert cli("say", " ").code == 2
    assert hub.calls == []


def test_programs_get_all_of_it(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "intake", answered(tasks=[a_task()], parsed=[{"input": "fix it"}]))
    said = json.loads(cli("say", "fix it", "--json").out)
    assert (said["tasks"][0]["ref"], said["parsed"][0]["input"]) == ("T-002", "fix it")


def test_an_admin_speaks_for_another(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "intake", answered())
    assert cli("say", "fix it", "--user", "ann").code == 0
    assert hub.calls[-1].query == {"user": "ann"}
