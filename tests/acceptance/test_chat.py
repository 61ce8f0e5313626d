"""Chat with a real hub: what somebody types, what is answered, and what the daemon then runs."""

import json
from collections.abc import Iterator

import pytest
from msgspec import structs

from taskyard.sdk import requests
from taskyard.sdk.task import Task
from tests.support.engines import Engine
from tests.support.live import LONG_LEASES, LiveHub, LiveYard, Said, live_yard, taskyard
from tests.support.wire_client import WireClient

pytestmark = pytest.mark.takes(25)

NO = 1
QUEUES = """\
default_queue = "work"
[queues.ollama-local]
models = ["ollama/llama3", "ollama/qwen2.5"]
[queues.ollama-remote]
models = ["ollama-remote/qwen3.5:27b"]
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Iterator[LiveHub]:
    with live_yard(tmp_path_factory.mktemp("chat"), engine) as yard:
        yield yard.hub(settings=QUEUES)


def say(hub: LiveHub, *words: str) -> Said:
    return taskyard("say", *words, "--hub", hub.url, "--key", hub.key)


def test_a_sequence_is_added_in_order_with_models_and_dependencies(hub: LiveHub) -> None:
    said = say(hub, "use qwen2.5 to analyse the sales data, then send to remote: write a report")
    assert said.code == 0, said.err
    head, first, second = said.out.splitlines()
    assert head == "Added 2 tasks:"
    one, two = (line.split()[1].rstrip(":") for line in (first, second))
    assert "(queue ollama-local, model ollama/qwen2.5, position" in first
    assert second.endswith(f"(queue ollama-remote, model ollama-remote/qwen3.5:27b, after {one})")
    with hub.client() as client:
        tasks = [client.task(ref) for ref in (one, two)]
    assert [task.status for task in tasks] == ["queued", "waiting"]
    assert tasks[1].depends_on == [tasks[0].id]
    assert (tasks[0].source.type, tasks[0].source.channel) == ("user", "cli")


def test_tasks_are_commanded_and_asked_about_in_chinese(hub: LiveHub) -> None:
    ref = json.loads(say(hub, "帮我写一份周报", "--json").out)["tasks"][0]["ref"]
    assert say(hub, f"{ref} 怎么样了").out.startswith(f"{ref} 排队中（队列 work）：写一份周报\n")
    assert say(hub, f"取消 {ref}") == (0, f"{ref} 已取消\n", "")
    refused = say(hub, f"重试 {ref}")
    assert (refused.code, refused.out.startswith(f"重试 {ref}：")) == (NO, True)
    assert "ollama-remote：" in say(hub, "队列状态").out


def test_a_message_that_is_repeated_commands_once(hub: LiveHub) -> None:
    with hub.client() as client:
        ref = client.say("write the minutes").tasks[0].ref
        asked = requests.say(Task, f"cancel {ref} and analyse the minutes")
        keyed = structs.replace(asked, headers={**asked.headers, "Idempotency-Key": f"again-{ref}"})
        first, second = client.call(keyed), client.call(keyed)
    assert [task.id for task in first.tasks] == [task.id for task in second.tasks]
    assert [one.ok for said in (first, second) for one in said.commands] == [True, None]
    assert f"Not done again: cancel {ref}" in second.reply


def test_what_is_missing_is_asked_and_conversation_makes_nothing(hub: LiveHub) -> None:
    with hub.client() as client:
        before = len(list(client.tasks()))
        for message in ("cancel it", "how are you?", "then write a report", "use gpt-9 to write a report"):
            assert say(hub, message).code == NO
        assert say(hub, "--dry-run", "fix the build, then ship it").code == 0
        assert len(list(client.tasks())) == before


def test_what_is_said_is_run_in_its_order(yard: LiveYard) -> None:
    # Given a daemon that runs whatever is said
    hub = yard.hub(settings=LONG_LEASES)
    with hub.client() as client, WireClient("127.0.0.1", hub.port, hub.key, timeout_s=20) as daemon:
        daemon.hello(name="mac", max_concurrent_tasks=2)

        # When two things are said of which one comes after the other
        first, second = client.say("fetch the numbers, then plot them").tasks
        for summary in ("42 rows", "a chart"):
            order = daemon.receive("task.execute")
            this = {"task_id": order["task"]["id"], "attempt": order["attempt"]}
            daemon.send({"type": "task.accepted", **this}, {"type": "task.started", **this})
            daemon.send({"type": "task.completed", **this, "summary": summary})
            daemon.receive("ack")

        # Then the second is told what the first found, and both are done
        assert (order["task"]["input"], order["context_input"][0]["result_summary"]) == ("plot them", "42 rows")
        told = client.say(f"is {second.ref} done?").reply
        assert told.startswith(f"{second.ref} is done: a chart (queue default, after {first.ref}, took ")
        assert first.refresh().succeeded
