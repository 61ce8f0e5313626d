"""Text of tasks never drives a terminal: the corpus through every command that shows some."""

import json

import pytest

from taskyard.cli.neutral import neutral, neutral_json, one_line
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, Stream, StubHub, a_task, an_event, problem

CORPUS = {
    "clear the screen": "\x1b[2J\x1b[H",
    "set the title": "\x1b]0;owned\x07",
    "write the clipboard": "\x1b]52;c;cm0gLXJm\x1b\\",
    "eight-bit escape": "\x9b31m",
    "carriage return": "all good\rrm -rf",
    "backspaces": "safe\x08\x08\x08\x08evil",
    "right-to-left override": "\u202etxt.exe",
    "isolates": "\u2066a\u2069",
    "zero width": "pass\u200bword",
    "line separator": "one\u2028two",
    "private use": "\ue000",
    "beyond the first plane": "\U000e0041",
    "nul": "a\x00b",
}


def harmless(text: str) -> bool:
    return all(character.isprintable() or character in "\n\t" for character in text)


@pytest.mark.parametrize("text", CORPUS.values(), ids=CORPUS.keys())
def test_it_is_neither_shown_nor_lost(text: str) -> None:
    assert harmless(neutral(text))
    assert harmless(one_line(text))
    safe = neutral_json(json.dumps(text, ensure_ascii=False))
    assert harmless(safe)
    assert json.loads(safe) == text


def test_no_command_lets_it_through(hub: StubHub, cli: Cli) -> None:
    # Given one character of each kind in every text of a task: so few that no column is too narrow for them
    text = "".join(
        dict.fromkeys(character for text in CORPUS.values() for character in text if not harmless(character))
    )
    dirty = a_task(
        ref=text, title=text, input=text, type=text, queue=text, result=text, failure_reason=text,
        status="completed", progress={"message": text}, pattern={"fingerprint": text},
        attempts=[{"number": 1, "status": "failed", "daemon_name": text, "error": {"code": text, "message": text}}],
    )  # fmt: skip
    hub.on("POST", "tasks", Reply(status=201, body=dirty))
    hub.on("GET", "tasks", Reply(body=[dirty]))
    hub.on("GET", "tasks/T-1", Reply(body=dirty))
    hub.on("GET", "tasks/T-2", problem(404, "TASK_NOT_FOUND", text))
    hub.on("GET", "tasks/T-1/log", Reply(body=[{"text": text}]))
    hub.on("GET", "tasks/T-1/events", Reply(body=[{"id": "1-0-0", "event": "task.queued", "to": "queued"}]))
    hub.on("GET", "dead-letters", Reply(body=[dirty]))
    hub.on("GET", "events", Stream([an_event("1-1-0", "task.completed", ref=text, to="completed", data={text: text})]))
    for arguments in (
        ["submit", "x"],
        ["submit", "x", "--wait"],
        ["ls"],
        ["show", "T-1"],
        ["show", "T-2"],
        ["log", "T-1"],
        ["watch", "T-1"],
        ["dlq", "ls"],
    ):
        for mode in ([], ["--json"]):
            code, out, err = cli(*arguments, *mode)
            assert code in {0, 1}
            assert harmless(out), arguments
            assert harmless(err), arguments
    assert json.loads(cli("show", "T-1", "--json").out)["title"] == text


def test_what_is_harmless_stays_as_it_is() -> None:
    text = "Grüße, 你好, \U0001f600\n\tdone"
    assert neutral(text) == text
    assert neutral_json(text) == text


def test_what_is_not_is_shown() -> None:
    assert neutral("a\r\nb\x1b[1m\u202e\x9b") == "a\nb\\x1b[1m\\u202e\\x9b"


def test_a_line_is_one_line() -> None:
    assert one_line(" a\n\tb  c ") == "a b c"
    assert one_line("abcdef", chars_max=4) == "abc…"
