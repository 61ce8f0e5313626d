"""Python functions before a runner: what was told of them."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from taskyard.daemon.orders import Start
from taskyard.daemon.python_runner import PythonRunner, Served, served
from taskyard.daemon.task import Task
from tests.daemon.scene import ONE, execute
from tests.daemon.told import Told

PATIENCE_S = 60.0


Scenario = Callable[[PythonRunner, Told], Awaitable[None]]


def play(functions: dict[str, Callable[..., Any]], scenario: Scenario, *, threads: int = 4) -> None:
    async def main() -> None:
        told = Told()
        known: dict[str, Served] = {name: served(function) for name, function in functions.items()}
        runner = PythonRunner(known, told, threads=threads)
        async with asyncio.timeout(PATIENCE_S):
            await scenario(runner, told)
        runner.close()

    asyncio.run(main())


def outcome_of(function: Callable[..., Any]) -> Any:
    """Run it once; what was told of its end."""
    outcomes: list[Any] = []

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        outcomes.append(await told.outcome())

    play({"noop": function}, scenario)
    return outcomes[0]


def as_async(function: Callable[[Task], Any]) -> Callable[[Task], Coroutine[Any, Any, Any]]:
    async def wrapped(task: Task) -> Any:
        return function(task)

    return wrapped


def both(function: Callable[[Task], Any]) -> list[Any]:
    """The outcome as a plain function and as an async one."""
    return [outcome_of(function), outcome_of(as_async(function))]
