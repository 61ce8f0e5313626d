"""Functions in processes of their own: what reaches them, what comes back, and that nothing of them stays."""

import asyncio
import contextlib
import errno
import socket
import subprocess
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import psutil  # type: ignore[import-untyped]
import pytest
from msgspec import Raw

from taskyard.daemon.orders import Key, Start, Stop
from taskyard.daemon.python_runner import PythonRunner, served
from taskyard.daemon.workers import pool as pools
from taskyard.wire.frames import TaskCompleted, TaskExecute, TaskFailed, TaskRejected
from tests.daemon.told import Told
from tests.daemon.workers import functions

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
ONE: Key = ("t1", 1)


def execute(key: Key = ONE, *, type: str = "work", **more: Any) -> TaskExecute:
    task = msgspec.json.encode({"id": key[0], "type": type, "input": more.get("input", "go")})
    return TaskExecute(
        Raw(task),
        key[1],
        300.0,
        "token",
        Raw(b"[]"),
        Raw(msgspec.json.encode(more.get("checkpoint"))),
        Raw(msgspec.json.encode(more.get("before", []))),
    )


def play(scenario: Callable[[PythonRunner, Told], Awaitable[None]], **served_by: Callable[..., Any]) -> None:
    async def main() -> None:
        told = Told()
        known = {name: served(function, process=True) for name, function in served_by.items()}
        runner = PythonRunner(known, told, threads=8, idle_max=2)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await scenario(runner, told)
        finally:
            workers = list(runner.pool.workers)
            runner.close()
            await asyncio.gather(*(worker.gone for worker in workers))

    asyncio.run(main())


def outcomes_of(function: Callable[..., Any], *starts: TaskExecute) -> list[Any]:
    """One after the other, in one pool."""
    outcomes: list[Any] = []

    async def scenario(runner: PythonRunner, told: Told) -> None:
        for start in starts or (execute(),):
            runner.start(Start(("t1", start.attempt), start))
            outcomes.append(await told.outcome())

    play(scenario, work=function)
    return outcomes


def value(outcome: Any) -> Any:
    assert isinstance(outcome, TaskCompleted)
    assert isinstance(outcome.result, Raw)
    return msgspec.json.decode(outcome.result)


def test_a_function_runs_in_another_process_which_is_used_again() -> None:
    first, second = map(value, outcomes_of(functions.who, execute(), execute(("t1", 2), input=[1])))

    assert first["pid"] == second["pid"] != psutil.Process().pid
    assert (first["input"], second["input"]) == ("go", [1])


def test_what_a_function_in_a_process_prints_and_logs_is_its_tasks_log() -> None:
    logs: list[str] = []

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        while (event := await told.next())[0] != "ended":
            logs.extend(event[3:])

    play(scenario, work=functions.prints)
    assert "\n".join(logs).splitlines() == [
        "printed in a process",
        "WARNING my.agent: logged in a process",
        "and no more",
    ]


def test_a_checkpoint_and_previous_attempts_reach_a_function_in_a_process() -> None:
    before = [{"number": 1, "status": "failed"}]

    (outcome,) = outcomes_of(functions.who, execute(("t1", 2), checkpoint={"page": 7}, before=before))

    assert value(outcome)["checkpoint"] == {"page": 7}
    assert value(outcome)["before"] == before


@pytest.mark.parametrize("act", ["go on", "stop"])
def test_another_try_in_a_process_waits_until_the_hub_has_heard_of_it(act: str) -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        # Given a second try, of which was told and nobody has heard yet
        again, told.unheard = ("t1", 2), []
        runner.start(Start(again, execute(again)))
        assert await told.next() == ("started", again)
        (then,) = told.unheard
        if act == "stop":
            # When it is not wanted any more, then it never begins
            runner.stop(Stop(again, "cancelled", 0))
            then()
            assert await told.next() == ("stopped", again)
        else:
            then()
            assert isinstance(await told.outcome(), TaskCompleted)

    play(scenario, work=functions.tells)


@pytest.mark.parametrize(
    ("place", "name"), [(threading.Thread, "start"), (subprocess, "Popen"), (socket, "socketpair")]
)
def test_a_machine_that_has_run_out_of_something_hands_the_task_back(
    monkeypatch: pytest.MonkeyPatch, place: Any, name: str
) -> None:
    def exhausted(*_: object, **__: object) -> None:
        raise RuntimeError("no more") if place is threading.Thread else BlockingIOError(errno.EAGAIN, "no more")

    async def scenario(runner: PythonRunner, told: Told) -> None:
        with monkeypatch.context() as full:
            full.setattr(place, name, exhausted)
            runner.start(Start(ONE, execute()))
            refused = await told.outcome()
        assert isinstance(refused, TaskRejected)
        assert "no more" in refused.reason
        runner.start(Start(("t2", 1), execute(("t2", 1))))
        assert isinstance(await told.outcome(), TaskCompleted)

    play(scenario, work=functions.who)


def test_progress_log_and_checkpoint_come_back_before_the_end() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        assert await told.events.get() == ("started", ONE)
        seen: list[object] = []
        while (event := await told.events.get())[0] != "ended":
            seen += event[1:]
        assert {50.0, "half way", "a line", b'{"done":1}'} <= set(seen)
        assert (value(event[1]), event[1].summary, event[1].usage.output_tokens) == ("said", "all of it", 3)

    play(scenario, work=functions.tells)


def test_an_async_function_runs_there_too() -> None:
    (outcome,) = outcomes_of(functions.later)
    assert value(outcome) != psutil.Process().pid


@pytest.mark.parametrize(
    ("function", "code", "said"),
    [
        (functions.fails, "MY_CODE", "on purpose"),
        (functions.raises, "EXECUTION_ERROR", "RuntimeError: not on purpose"),
        (functions.not_json, "INVALID_RESULT", "not JSON"),
        (functions.details_not_json, "INVALID_RESULT", "not JSON"),
        (functions.interrupts, "EXECUTION_ERROR", "KeyboardInterrupt"),
        (functions.garbles, "INVALID_RESULT", "not JSON"),
        (functions.dies, "WORKER_DIED", "exited with 3"),
        (functions.crashes, "WORKER_DIED", "was ended by SIGSEGV"),
    ],
)
def test_each_way_to_fail_is_told_and_the_next_task_runs(function: Any, code: str, said: str) -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        # When a function fails, or takes its process along
        runner.start(Start(ONE, execute()))
        failed = await told.outcome()

        # Then it is that attempt's failure, and nobody else's
        assert isinstance(failed, TaskFailed)
        assert failed.error.code == code
        assert said in failed.error.message
        runner.start(Start(("t2", 1), execute(("t2", 1), type="good")))
        assert value(await told.outcome())["input"] == "go"

    play(scenario, work=function, good=functions.who)


@pytest.mark.parametrize("function", [functions.sleeps, functions.waits])
def test_a_function_that_hears_its_cancel_stops(function: Any) -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        await told.until("progressed")

        runner.stop(Stop(ONE, "cancelled", 60_000))

        assert await told.until("ended", "stopped") == ("stopped", ONE)

    play(scenario, work=function)


def test_work_that_ends_well_in_spite_of_a_cancel_is_told_as_that() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        await told.until("progressed")

        runner.stop(Stop(ONE, "cancelled", 60_000))

        assert value(await told.outcome()) == "finished all the same"

    play(scenario, work=functions.finishes)


def test_a_function_that_ignores_its_cancel_is_killed_with_all_it_started() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        # Given a function that ignores everything, with a child in its session and one in another
        runner.start(Start(ONE, execute()))
        (_, _, _, log) = await told.until("progressed")
        family = [psutil.Process(int(pid)) for pid in log.split()]
        assert len(family) == 3

        # When its grace is over
        runner.stop(Stop(ONE, "cancelled", 100))

        # Then it is told as stopped, and by then nobody of it is alive
        assert await told.until("ended", "stopped") == ("stopped", ONE)
        assert not any(is_alive(member) for member in family)

    play(scenario, work=functions.stubborn)


def test_what_a_function_leaves_running_ends_with_its_process() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        pid = value(await told.outcome())
        # It may be gone before anybody looks.
        with contextlib.suppress(psutil.NoSuchProcess):
            child = psutil.Process(pid)
            while is_alive(child):
                await asyncio.sleep(0.01)

    play(scenario, work=functions.leaves)


def test_a_stop_before_the_process_is_there_runs_nothing() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        runner.stop(Stop(ONE, "cancelled", 1000))
        assert await told.until("started", "ended", "stopped") == ("stopped", ONE)

    play(scenario, work=functions.who)


def test_processes_are_bounded_and_idle_ones_kept_only_so_far() -> None:
    async def main() -> None:
        pool = pools.Pool(count=2, idle_max=1)
        first, second = await pool.take(), await pool.take()
        with pytest.raises(pools.TaskError, match="there are 2 processes already"):
            await pool.take()

        pool.give_back(first)
        pool.give_back(second)
        await second.gone

        assert await pool.take() is first
        pool.close()
        await first.gone

    asyncio.run(main())


def test_a_function_that_no_other_process_could_find_is_refused_when_it_is_registered() -> None:
    def inside(task: object) -> None: ...

    for function in (inside, lambda task: None, functions.who.__call__):
        with pytest.raises(TypeError, match="cannot run in a process of its own"):
            served(function, process=True)


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
