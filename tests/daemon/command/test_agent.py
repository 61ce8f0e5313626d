"""A program as an agent: what it is given, what it says, and how it ends, with real processes."""

import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.files import Files
from taskyard.daemon.orders import Stop
from taskyard.daemon.process.launching import Launch
from taskyard.daemon.task import read_task
from taskyard.wire.frames import WireUsage
from tests.daemon.command.workshop import HUB, Workshop, execute, play, python, run, script

pytestmark = pytest.mark.slow

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


# --- what it is given --------------------------------------------------------------------------------------


def test_the_prompt_is_on_standard_input_and_the_output_is_the_result(tmp_path: Path) -> None:
    ran = run(tmp_path, script(tmp_path, 'echo "you said: $(cat)"'), input="hello; rm -rf $HOME")
    assert ran.result == "you said: hello; rm -rf $HOME"
    assert ran.log == "you said: hello; rm -rf $HOME"


def test_the_task_is_in_a_file_and_in_the_environment_without_its_token(tmp_path: Path) -> None:
    agent = script(tmp_path, '[ "$TASKYARD_TASK" = "$(cat "$TASKYARD_TASK_FILE")" ] && cat "$TASKYARD_TASK_FILE"')
    ran = run(tmp_path, agent, title="A title", checkpoint={"page": 2}, context_input=[{"ref": "T-1"}])
    assert ran.result["title"] == "A title"
    assert (ran.result["checkpoint"], ran.result["context_input"]) == ({"page": 2}, [{"ref": "T-1"}])
    assert "the-task's-token" not in json.dumps(ran.result)


def test_a_task_too_long_for_a_variable_is_in_its_file(tmp_path: Path) -> None:
    agent = script(tmp_path, 'echo "${TASKYARD_TASK-none} $(wc -c < "$TASKYARD_TASK_FILE")"')
    answer = run(tmp_path, agent, input="x" * 200_000).result.split()
    assert answer[0] == "none"
    assert int(answer[1]) > 200_000


def test_the_environment_is_what_is_listed_and_nothing_of_the_daemons_own(tmp_path: Path) -> None:
    # Given a daemon with a key, and with what its owner exported for other things
    own = {"PATH": os.environ["PATH"], "TASKYARD_KEY": "secret", "AWS_SECRET": "s", "MODEL_NAME": "m", "HOME": "/h"}
    agent = script(tmp_path, "env", inherit=("MODEL_NAME", "ABSENT"), environment={"MODE": "quick"}, output="text")

    # When a task with a trace runs
    ran = run(tmp_path, agent, own=own, task_id="t7", attempt=3, traceparent=PARENT, tracestate="a=b")
    environment = dict(line.split("=", 1) for line in ran.result.splitlines() if "=" in line)

    # Then it has what it needs
    assert environment["TASKYARD_HUB"] == HUB
    assert environment["TASKYARD_TASK_TOKEN"] == "[hidden]"
    assert (environment["TASKYARD_TASK_ID"], environment["TASKYARD_ATTEMPT"]) == ("t7", "3")
    assert (environment["TASKYARD_FENCE"], environment["TRACEPARENT"]) == ("3", PARENT)
    assert environment["TRACESTATE"] == "a=b"
    assert (environment["MODEL_NAME"], environment["MODE"], environment["HOME"]) == ("m", "quick", "/h")
    # And nothing else
    assert "TASKYARD_KEY" not in environment
    assert "AWS_SECRET" not in environment
    assert "secret" not in ran.result


def test_what_it_was_trusted_with_is_in_nothing_it_leaves(tmp_path: Path) -> None:
    # Given an agent that prints all it knows: to its log, its checkpoint, its error and its result
    own = {"PATH": os.environ["PATH"], "TASKYARD_KEY": "the-daemons-own-key", "MODEL_API_KEY": "sk-very-secret"}
    tell = 'echo "[\\"$MODEL_API_KEY $TASKYARD_TASK_TOKEN the-daemons-own-key\\"]"'
    agent = script(tmp_path, f'{tell}; {tell} > "$TASKYARD_CHECKPOINT"; {tell} >&2; {tell}', inherit=("MODEL_API_KEY",))

    # When it succeeds, and when it fails
    done = run(tmp_path, agent, own=own)
    failed = run(tmp_path, script(tmp_path, f"{tell} >&2; exit 1", inherit=("MODEL_API_KEY",)), own=own)

    # Then none of it leaves this machine
    for text in (str(done.result), done.log, str(done.checkpoints), failed.error.message):
        assert "[hidden]" in text
        for secret in ("sk-very-secret", "the-task's-token", "the-daemons-own-key"):
            assert secret not in text


def test_it_runs_in_a_directory_of_its_own_and_says_what_it_changed_there(tmp_path: Path) -> None:
    agent = script(tmp_path, 'pwd; echo a > made.txt; [ "$(pwd)" = "$TASKYARD_WORKSPACE" ]', output="text")
    ran = run(tmp_path, agent)
    assert ran.result == str(tmp_path / "workspaces" / "t1-1")
    assert ran.outcome.files_changed == ["made.txt"]
    assert list((tmp_path / "workspaces").iterdir()) == []


def test_the_directory_of_a_failure_is_kept_to_look_at(tmp_path: Path) -> None:
    assert run(tmp_path, script(tmp_path, "echo half > made.txt; exit 1")).error.code == "EXECUTION_ERROR"
    assert (tmp_path / "workspaces" / "t1-1" / "made.txt").read_text() == "half\n"


def test_in_a_directory_that_is_given_nothing_of_ours_stays(tmp_path: Path) -> None:
    # Given a repository, which agents work in
    place = tmp_path / "repository"
    place.mkdir()
    agent = script(
        tmp_path, 'cat "$TASKYARD_PROMPT_FILE"; cat .taskyard/t1-1/.gitignore; echo x > made', directory=str(place)
    )

    # When a task ran there, then its own files are gone and what it made is there
    assert run(tmp_path, agent).result == "go*"
    assert os.listdir(place) == ["made"]


def test_models_and_flags_come_from_the_list(tmp_path: Path) -> None:
    agent = script(
        tmp_path, 'for a; do echo "<$a>"; done', models={"big": "big-2024"}, flags={"fast": ("--speed", "high")}
    )
    agent = Agent(
        **{
            **{f: getattr(agent, f) for f in ("models", "flags")},
            "command": (*agent.command, "--model", "{model}", "{flags}"),
        }
    )
    assert run(tmp_path, agent, model="big", metadata={"flags": ["fast"]}).result == (
        "<--model>\n<big-2024>\n<--speed>\n<high>"
    )
    assert run(tmp_path, agent).result is None
    for wrong in ({"model": "--dangerous"}, {"metadata": {"flags": ["--x"]}}, {"metadata": {"flags": "fast"}}):
        assert run(tmp_path, agent, **wrong).error.code == "INVALID_INPUT"


def test_in_a_sandbox_it_finds_nothing_of_the_yard_but_its_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a program in the place of bubblewrap, which writes down how it was called and goes on without walls
    (tmp_path / "bwrap").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/walls\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
    )
    (tmp_path / "bwrap").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    yard = tmp_path / "data" / "daemons" / "mine"

    # When an agent without a network runs behind it
    ran = run(yard, script(tmp_path, "cat", sandbox="bubblewrap", network=False), own={"PATH": path})

    # Then the yard with its key is hidden, its workspace is not, and there is no network
    walls = (tmp_path / "walls").read_text().split("\n")
    assert ran.result == "go"
    assert walls[walls.index(str(tmp_path / "data")) - 1] == "--tmpfs"
    assert walls.index(str(tmp_path / "data")) < walls.index(str(yard / "workspaces" / "t1-1"))
    assert "--share-net" not in walls


# --- what it says ------------------------------------------------------------------------------------------


def test_a_result_file_goes_before_the_output_and_can_say_more(tmp_path: Path) -> None:
    answer = {
        "result": [1],
        "summary": "one",
        "status": "partial",
        "usage": {"input_tokens": 7},
        "files_changed": ["a"],
    }
    ran = run(tmp_path, script(tmp_path, f"echo noise; echo '{json.dumps(answer)}' > \"$TASKYARD_RESULT\""))
    assert (ran.result, ran.outcome.summary, ran.outcome.result_status) == ([1], "one", "partial")
    assert (ran.outcome.usage, ran.outcome.files_changed) == (WireUsage(7), ["a"])


@pytest.mark.parametrize("trick", ["ln -s {} $TASKYARD_RESULT", "mkfifo $TASKYARD_RESULT", "mkdir $TASKYARD_RESULT"])
def test_a_result_that_is_no_plain_file_is_not_read(tmp_path: Path, trick: str) -> None:
    (tmp_path / "secret.json").write_text('{"key": "secret"}')
    ran = run(tmp_path, script(tmp_path, f"{trick.format(tmp_path / 'secret.json')}; echo printed"))
    assert ran.result == "printed"


def test_a_directory_put_in_place_of_ours_is_not_read(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "t1-1").mkdir(parents=True)
    (elsewhere / "t1-1" / "result.json").write_text('{"key": "secret"}')
    agent = script(tmp_path, f"mv .taskyard aside; ln -s {elsewhere} .taskyard; echo printed")
    assert run(tmp_path, agent).result == "printed"


def test_a_result_that_is_not_json_fails(tmp_path: Path) -> None:
    error = run(tmp_path, script(tmp_path, 'echo "{half" > "$TASKYARD_RESULT"')).error
    assert error.code == "INVALID_RESULT"


def test_the_last_line_is_the_result_if_it_is_json(tmp_path: Path) -> None:
    assert run(tmp_path, script(tmp_path, "echo thinking; echo '{\"answer\": 42}'")).result == {"answer": 42}


def test_what_floods_is_cut_and_said_and_the_end_of_it_still_counts(tmp_path: Path) -> None:
    # Given an agent that prints megabytes without a newline, bytes that are no text, colours, and its answer; no more
    # of it than is kept for a reader that is slow
    agent = python(
        tmp_path,
        "import os, sys\n"
        "os.write(1, b'\\x1b[31mred\\x1b[0m\\n\\xff\\xfe\\n')\n"
        "for _ in range(60): os.write(1, b'x' * 65536)\n"
        "os.write(1, b'\\n{\"answer\": 1}\\n')\n",
        log_bytes=40_000,
    )
    ran = run(tmp_path, agent)
    assert ran.result == {"answer": 1}
    assert ran.log.startswith("red\n��\n")
    assert "[… the rest of this line is left out …]" in ran.log
    assert len(ran.log) < 41_000


def test_a_checkpoint_reaches_the_hub_while_it_runs_and_the_next_attempt(tmp_path: Path) -> None:
    # Given an agent that counts on from what it finds, and waits until it has been taken down
    agent = script(
        tmp_path,
        'n=$(cat "$TASKYARD_CHECKPOINT" 2>/dev/null || echo 0)\n'
        'echo $((n + 1)) > new && mv new "$TASKYARD_CHECKPOINT"\n'
        '[ "$n" -ge 1 ] || read -r forever < fifo',
    )
    agent = Agent(command=("/bin/sh", "-c", f"mkfifo fifo; exec {agent.command[0]}"), stdin="nothing")

    async def scenario(shop: Workshop) -> None:
        first = shop.start()
        while not shop.told.checkpoints:
            await shop.told.waited()
        shop.runner.stop(Stop(first, "preempted", 5_000))
        assert await shop.outcome(first) is None
        # When the next attempt is given it
        second = shop.start(attempt=2, checkpoint=shop.told.checkpoints[-1])
        assert (await shop.outcome(second)).task_id == "t1"

    shops: list[Any] = []

    async def kept(shop: Workshop) -> None:
        shops.append(shop)
        await scenario(shop)

    play(tmp_path, agent, kept)
    assert shops[0].told.checkpoints == [1, 2]


def test_a_checkpoint_that_cannot_be_taken_is_said(tmp_path: Path) -> None:
    assert "checkpoint.json is not JSON" in run(tmp_path, script(tmp_path, 'echo "{" > "$TASKYARD_CHECKPOINT"')).log
    large = script(tmp_path, 'head -c 1100000 /dev/zero | tr "\\0" 1 > "$TASKYARD_CHECKPOINT"')
    assert "has more than 1048576 bytes" in run(tmp_path, large).log


# --- how it ends -------------------------------------------------------------------------------------------


def test_a_result_that_was_ready_when_it_was_cancelled_counts(tmp_path: Path) -> None:
    # Given an agent that ends when a file is there
    agent = script(tmp_path, f"echo $$ > {tmp_path}/pid; echo ready; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done")

    async def scenario(shop: Workshop) -> None:
        key = shop.start()
        await shop.until_said(key)
        # When it has ended, and the cancel comes before the news of that
        (tmp_path / "go").touch()
        pid = int((tmp_path / "pid").read_text())
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.01)  # on purpose: the loop shall hear of nothing meanwhile
        shop.runner.stop(Stop(key, "cancelled", 5_000))
        # Then what it did is its outcome
        assert bytes((await shop.outcome(key)).result) == b'"ready"'

    play(tmp_path, agent, scenario)


def test_a_cancel_stops_it(tmp_path: Path) -> None:
    agent = script(tmp_path, 'trap "exit 3" TERM; echo ready; while :; do sleep 0.05; done')

    async def scenario(shop: Workshop) -> None:
        key = shop.start()
        await shop.until_said(key)
        shop.runner.stop(Stop(key, "cancelled", 5_000))
        assert await shop.outcome(key) is None

    play(tmp_path, agent, scenario)


def test_what_it_writes_while_it_stops_is_in_its_log_once(tmp_path: Path) -> None:
    # Given an agent that has something to say when it is asked to stop
    agent = script(
        tmp_path, 'trap "echo tidied up; echo bye >&2; exit 3" TERM; echo ready; while :; do sleep 0.05; done'
    )
    told: list[str] = []

    async def scenario(shop: Workshop) -> None:
        key = shop.start()
        await shop.until_said(key)
        shop.runner.stop(Stop(key, "cancelled", 20_000))
        assert await shop.outcome(key) is None
        told.append(shop.told.logs[key])

    # Then its log has that too, and nothing twice (a shell may add that what it waited for was terminated)
    play(tmp_path, agent, scenario)
    assert {text: told[0].splitlines().count(text) for text in ("ready", "tidied up", "bye")} == {
        "ready": 1,
        "tidied up": 1,
        "bye": 1,
    }


def test_what_ignores_a_cancel_is_killed_after_its_grace(tmp_path: Path) -> None:
    agent = script(tmp_path, 'trap "" TERM; echo ready; while :; do sleep 0.05; done')

    async def scenario(shop: Workshop) -> None:
        key = shop.start()
        await shop.until_said(key)
        shop.runner.stop(Stop(key, "cancelled", 100))
        assert await shop.outcome(key) is None

    play(tmp_path, agent, scenario)


def test_a_limit_of_time_is_a_timeout(tmp_path: Path) -> None:
    assert run(tmp_path, script(tmp_path, "sleep 60", timeout_s=0.2)).error.code == "EXECUTION_TIMEOUT"


def test_a_program_that_is_not_there_is_said(tmp_path: Path) -> None:
    error = run(tmp_path, Agent(command=("no-such-program-here",))).error
    assert error.code == "AGENT_NOT_RUNNABLE"
    assert error.message == "no-such-program-here cannot be run: No such file or directory"


def test_a_script_whose_interpreter_has_gone_says_which(tmp_path: Path) -> None:
    program = tmp_path / "agent"
    program.write_text("#!/opt/none/python9\n")
    program.chmod(0o755)
    assert run(tmp_path, Agent(command=(str(program),))).error.message == (
        f"{program} cannot be run: its first line asks for /opt/none/python9, which is not a program on this machine: "
        "install that, or correct the line"
    )


def test_a_refusal_on_standard_error_is_a_rate_limit_and_one_in_the_output_is_not(tmp_path: Path) -> None:
    said = "HTTP status 429 Too Many Requests. Retry-After: 17"
    refused = run(tmp_path, script(tmp_path, f'echo "{said}" >&2; echo "giving up" >&2; exit 1')).error
    assert (refused.code, refused.details) == ("RATE_LIMITED", {"exit_code": 1, "retry_after": 17.0})
    failed = run(tmp_path, script(tmp_path, f'echo "{said}"; exit 1')).error
    assert (failed.code, failed.message) == ("EXECUTION_ERROR", "it exited with 1")
    assert run(tmp_path, script(tmp_path, f'echo "{said}" >&2; echo fine')).result == "fine"


# --- several in one directory ------------------------------------------------------------------------------


def test_attempts_that_share_a_directory_leave_each_others_files_alone(tmp_path: Path) -> None:
    """Also those of several daemons, so that no lock of one would do."""
    lost: list[str] = []

    def come_and_go(who: int) -> None:
        for number in range(300):
            files = Files(tmp_path, f"t{who}-{number}")
            files.make(read_task(execute("t1", 1)), b"{}", "go")
            lost.extend(name for name in ("task_file", "prompt_file") if not files.places[name].exists())
            files.remove()

    with ThreadPoolExecutor(4) as several:
        list(several.map(come_and_go, range(4)))
    assert lost == []
    assert list(tmp_path.iterdir()) == []


# --- what an earlier daemon left ---------------------------------------------------------------------------


def left_behind(tmp_path: Path, workspace: Path) -> Launch:
    """A program as an earlier daemon would have started it: it waits for a word before it answers."""
    text = f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo from-before"
    return Launch(key=("t1", 1), argv=["/bin/sh", "-c", text], env={"PATH": "/usr/bin:/bin"}, cwd=str(workspace))


def test_work_that_outlived_its_daemon_is_followed_and_not_run_again(tmp_path: Path) -> None:
    workspace = tmp_path / "workspaces" / "t1-1"

    async def scenario(shop: Workshop) -> None:
        # Given a program of an earlier daemon, with its files
        Files(workspace, "t1-1").make(read_task(execute("t1", 1)), b"{}", "go")
        assert shop.agent.processes is not None
        shop.agent.adopt(await shop.agent.processes.launch(left_behind(tmp_path, workspace)))
        # When its task is started here
        key = shop.start()
        (tmp_path / "go").touch()
        # Then what that program says is the outcome
        assert bytes((await shop.outcome(key)).result) == b'"from-before"'

    play(tmp_path, script(tmp_path, "echo run again"), scenario)


@pytest.mark.parametrize("gone", ["workspaces/t1-1", "processes/attempts/t1-1/stdout"])
def test_work_whose_files_are_gone_is_ended_before_it_is_told_as_lost(tmp_path: Path, gone: str) -> None:
    workspace = tmp_path / "workspaces" / "t1-1"

    async def scenario(shop: Workshop) -> None:
        # Given a program of an earlier daemon, of whose files some are gone
        Files(workspace, "t1-1").make(read_task(execute("t1", 1)), b"{}", "go")
        assert shop.agent.processes is not None
        running = await shop.agent.processes.launch(left_behind(tmp_path, tmp_path))
        lost = tmp_path / gone
        shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
        shop.agent.adopt(running)
        # When its task is started here, then nobody is left of it by the time that is told
        error = (await shop.outcome(shop.start())).error
        assert error.code == "AGENT_LOST", error
        assert running.exit is not None
        assert running.exit.stopped

    play(tmp_path, script(tmp_path, "echo run again"), scenario)
