"""The 200 inputs full of tricks through the runners that start no program; the others, in command/test_tricks.py."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskyard.daemon.context import Context
from taskyard.daemon.openai.agent import OpenAIAgent
from taskyard.daemon.openai.configuration import Endpoint
from taskyard.daemon.orders import Key, Start
from taskyard.daemon.prompt import prompt_of
from taskyard.daemon.python_runner import Outcome, PythonRunner, served
from taskyard.daemon.task import Task, read_task
from tests.daemon.command.workshop import execute
from tests.support.openai_server import OpenAIServer, an_openai_server
from tests.support.tricks import tricky_tasks

SEED, TASKS = 6, 200
PATIENCE_S = 120.0
OWN_FIELDS = {"model", "messages", "stream", "stream_options"}


class Told:
    """Waits for as many ends as there are tasks."""

    def __init__(self) -> None:
        self.outcomes: dict[str, Outcome] = {}
        self.all_ended = asyncio.Event()

    def started(self, key: Key) -> None: ...

    def when_heard(self, key: Key, then: Callable[[], None]) -> None: ...

    def progressed(self, key: Key, percent: float | None, message: str | None, log: str) -> None: ...

    def checkpointed(self, key: Key, data: bytes) -> None: ...

    def stopped(self, key: Key) -> None: ...

    def ended(self, message: Outcome) -> None:
        self.outcomes[message.task_id] = message
        if len(self.outcomes) == TASKS:
            self.all_ended.set()


@pytest.mark.parametrize("is_async", [True, False])
def test_a_function_is_given_the_words_as_they_are(is_async: bool) -> None:
    def plain(task: Task) -> Any:
        return [task.input, task.title, task.goal, task.metadata]

    async def on_the_loop(task: Task) -> Any:
        return plain(task)

    async def main() -> dict[str, Outcome]:
        told = Told()
        runner = PythonRunner({"*": served(on_the_loop if is_async else plain)}, told, threads=4)
        for number, task in enumerate(tricky_tasks(SEED, TASKS)):
            runner.start(Start((f"t{number}", 1), execute(f"t{number}", 1, **task)))
        async with asyncio.timeout(PATIENCE_S):
            await told.all_ended.wait()
        runner.close()
        return told.outcomes

    outcomes: Any = asyncio.run(main())
    for number, task in enumerate(tricky_tasks(SEED, TASKS)):
        answer = msgspec.json.decode(outcomes[f"t{number}"].result)
        assert answer == [task["input"], task["title"], task.get("goal"), task.get("metadata")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAIServer]:
    with an_openai_server(tmp_path_factory.mktemp("openai")) as running:
        yield running


@pytest.mark.slow
def test_a_model_is_asked_the_prompt_in_one_message_and_nothing_else(server: OpenAIServer, tmp_path: Path) -> None:
    # Given an endpoint, and tasks made of tricks
    agent = OpenAIAgent(Endpoint(base_url=server.url("well"), models=("small",)), environment={})
    tasks = [read_task(execute(f"t{number}", 1, **task)) for number, task in enumerate(tricky_tasks(SEED, TASKS))]

    # When it is asked each of them in turn
    async def main() -> None:
        async with asyncio.timeout(PATIENCE_S):
            for task in tasks:
                await agent(task, Context((task.id, 1), Told(), asyncio.get_running_loop()))

    asyncio.run(main())

    # Then what it heard is the prompt, in the form that was configured
    asked = server.requests("well")
    assert len(asked) == TASKS
    for task, request in zip(tasks, asked, strict=True):
        body = request["body"]
        assert body["messages"] == [{"role": "user", "content": prompt_of(task)}]
        assert body.keys() <= OWN_FIELDS
        assert body["model"] == "small"
