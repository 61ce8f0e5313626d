"""Exit codes, the one sentence of an error, and what the command line costs to start."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, Reset, StubHub, problem


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (problem(404, "TASK_NOT_FOUND", "No task T-1."), 1, "No task T-1."),
        (problem(409, "INVALID_TRANSITION", "T-1 has ended."), 1, "T-1 has ended."),
        (problem(422, "INVALID_INPUT", "Bad.", errors=[{"path": "a", "message": "is wrong"}]), 2, "Bad. a: is wrong."),
        (problem(422, "INVALID_INPUT", "`a`: no.", errors=[{"path": "a", "message": "no."}]), 2, "`a`: no."),
        (problem(422, "DEPENDENCY_CYCLE", "a → b → a."), 2, "a → b → a."),
        (Reply(body=b"<html>"), 3, None),
        (problem(403, "FORBIDDEN", "Not yours."), 4, "Not yours."),
        (problem(429, "RATE_LIMITED", "Too fast.", retry_after=7), 5, "Too fast. Try again in 7 s."),
        (problem(400, "TOO_MANY_PENDING", "Too many."), 5, "Too many."),
        (problem(503, "STORE_UNAVAILABLE", "The disk is full.", retry_after=40), 5,
         "The disk is full. Try again in 40 s."),
    ],
)  # fmt: skip
def test_each_kind_of_error_has_its_exit_code_and_its_sentence(
    hub: StubHub, cli: Cli, answer: Reply, code: int, said: str | None
) -> None:
    hub.on("GET", "tasks/T-1", answer)
    result = cli("show", "T-1")
    assert (result.code, result.out) == (code, "")
    assert result.err.count("\n") == 1
    if said is not None:
        assert result.err == f"taskyard: {said}\n"


def test_of_a_wrong_key_it_is_said_where_it_came_from_and_where_another_goes(
    hub: StubHub, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a hub that knows none of the keys in the three places for one
    hub.on("GET", "tasks/T-1", problem(401, "UNAUTHENTICATED", "This key is not known here."))
    file = tmp_path / "credentials.json"
    file.write_text(json.dumps({"hub": hub.url, "key": "tyk_file"}))
    file.chmod(0o600)

    def said_with(*arguments: str) -> str:
        code, out, err = cli("show", "T-1", "--data", str(tmp_path), *arguments)
        assert (code, out) == (4, "")
        return err

    def said(place: str) -> str:
        return (
            f"taskyard: This key is not known here. {hub.url} was called with {place}: give another with --key "
            "or in TASKYARD_KEY, or the hub's own directory with --data.\n"
        )

    # Then the one that was used is named, and never shown
    assert said_with("--key", "tyk_named") == said("the key of --key")
    assert said_with() == said("the key in TASKYARD_KEY")
    monkeypatch.delenv("TASKYARD_KEY")
    assert said_with() == said(f"the key in {file}")


def test_a_hub_that_is_not_there_ends_with_3(cli: Cli) -> None:
    assert cli("ls", "--hub", "http://127.0.0.1:1") == (
        3,
        "",
        "taskyard: No hub answers at http://127.0.0.1:1. Start one with `taskyard up`, or name it with --hub.\n",
    )


def test_a_hub_that_dies_in_the_middle_ends_with_3(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "tasks/T-1/retry", Reset())
    result = cli("retry", "T-1")
    assert (result.code, result.out) == (3, "")
    assert "did not answer POST /api/v1/tasks/T-1/retry." in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("say", "-"),
        ("submit", "-"),
        ("schedule", "add", "x", "--every", "5m", "--task", "-"),
        ("hook", "add", "x", "--provider", "generic", "--input", "a", "--secret", "-"),
        ("say", "fix \udcff"),
    ],
)
def test_input_that_is_not_utf_8_is_wrong_use(
    hub: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    # Given a locale under which Python lets any bytes pass
    stdin = io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="utf-8", errors="surrogateescape")
    monkeypatch.setattr("sys.stdin", stdin)

    result = cli(*arguments)

    assert (result.code, result.out) == (2, "")
    assert "not UTF-8" in result.err
    assert hub.calls == []


@pytest.mark.parametrize(
    "arguments",
    [("schedule", "show", ""), ("schedule", "rm", ""), ("hook", "rm", ""), ("notify", "rm", "")],
)
def test_an_empty_name_is_wrong_use(hub: StubHub, cli: Cli, arguments: tuple[str, ...]) -> None:
    hub.on("GET", "hooks", Reply(body=[]))
    hub.on("GET", "notifications", Reply(body=[]))
    result = cli(*arguments)
    assert (result.code, result.err) == (2, "taskyard: The name is empty; say which one is meant.\n")


@pytest.mark.parametrize("address", ["http://[", "127.0.0.1:8420", "http://x:99999", "ftp://x", "nonsense"])
def test_an_address_that_is_none_is_wrong_use(cli: Cli, address: str) -> None:
    said = f"taskyard: {address} is no address of a hub; write it as http://127.0.0.1:8420.\n"
    assert cli("ls", "--hub", address) == (2, "", said)


def test_without_a_key_the_error_says_where_to_get_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TASKYARD_KEY")
    monkeypatch.delenv("TASKYARD_HUB")
    result = cli("ls", "--data", str(tmp_path))
    assert (result.code, result.out) == (4, "")
    assert (
        "Start a hub with `taskyard up`, name its directory with --data, or set TASKYARD_HUB and TASKYARD_KEY."
        in result.err
    )


def test_the_key_of_a_data_directory_is_found(
    hub: StubHub, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TASKYARD_KEY")
    monkeypatch.delenv("TASKYARD_HUB")
    file = tmp_path / "credentials.json"
    file.write_text(f'{{"hub": "{hub.url}", "user": "local", "key": "ty_file"}}')
    file.chmod(0o600)
    hub.on("GET", "tasks", Reply(body=[]))
    assert cli("ls", "--data", str(tmp_path)).code == 0
    assert hub.calls[0].headers["authorization"] == "Bearer ty_file"


@pytest.mark.filterwarnings("always::taskyard.sdk.credentials.ReadableByOthers")
def test_a_key_that_others_can_read_is_told_in_a_line(
    hub: StubHub, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TASKYARD_KEY")
    monkeypatch.delenv("TASKYARD_HUB")
    file = tmp_path / "credentials.json"
    file.write_text(f'{{"hub": "{hub.url}", "key": "ty_file"}}')
    file.chmod(0o644)
    hub.on("GET", "tasks", Reply(body=[]))
    result = cli("ls", "--data", str(tmp_path))
    assert result.err == f"taskyard: {file} holds a key and can be read by others; run: chmod 600 {file}\nNo tasks.\n"


def test_a_fault_of_ours_is_a_sentence_and_with_debug_a_traceback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "taskyard.sdk.client", None)
    result = cli("ls")
    assert result.code == 1
    assert result.err.startswith("taskyard: this should not happen: ModuleNotFoundError")
    assert result.err.count("\n") == 1
    monkeypatch.setenv("TASKYARD_DEBUG", "1")
    with pytest.raises(ModuleNotFoundError):
        cli("ls")


def test_an_interrupt_ends_quietly_with_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        def read(self) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Interrupting())
    assert cli("submit", "-") == (130, "", "")


def test_the_version_is_told(cli: Cli) -> None:
    result = cli("--version")
    assert result.code == 0
    assert result.out.startswith("taskyard 0.")


def test_it_runs_as_a_module_too() -> None:
    command = [sys.executable, "-m", "taskyard.cli", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("taskyard 0.")


def test_nothing_takes_the_place_of_a_standard_stream_that_was_closed() -> None:
    program = (
        "import os; from taskyard.cli.main import run; run(['--version']);"
        "print(os.fstat(2).st_rdev == os.stat(os.devnull).st_rdev, os.get_inheritable(2))"
    )
    command = ["sh", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, program]
    shown = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert shown.stdout.splitlines()[1:] == ["True True"]


def test_a_command_works_though_nobody_hears_its_answer_and_nothing_can_be_read() -> None:
    program = 'exec "$0" -m taskyard.cli --version >&- <&-'
    done = subprocess.run(["sh", "-c", program, sys.executable], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("No hub leads at the moment; try again.", "No hub leads at the moment; try again in 40 s."),
        ("The queue is too long.", "The queue is too long. Try again in 40 s."),
    ],
)
def test_when_to_try_again_is_said_once(hub: StubHub, cli: Cli, said: str, told: str) -> None:
    hub.on("GET", "tasks/T-2", problem(503, "NO_LEADER", said, retry_after=40))
    assert cli("show", "T-2").err == f"taskyard: {told}\n"


def test_help_comes_up_without_loading_any_client() -> None:
    program = (
        "import sys, time; from taskyard.cli.main import run; run(['--help']);"
        "print(time.process_time(), *{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    took_s, *loaded = shown.stderr.split()
    assert "submit" in shown.stdout
    assert not {"rich", "aiohttp", "urllib3", "uvicorn", "apsw", "asyncio"} & set(loaded)
    # It takes about 0.1 s. Of the processor, and not by the clock: whatever runs beside it is none of its doing.
    assert float(took_s) < 2
