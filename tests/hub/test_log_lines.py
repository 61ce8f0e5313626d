"""Every line that the log's readers rely on: its level, and the fields it has."""

import io
import json
from collections.abc import Iterable
from typing import Any

import pytest

from taskyard.core.changes import Event
from taskyard.core.commands import Draft, FailTask, SubmitTasks
from taskyard.core.daemon_commands import JoinDaemon, LeaveDaemon
from taskyard.core.settings import Depth, Limits, Settings
from taskyard.core.task import Failure, Kind, Needs, Terms
from taskyard.hub.log_facts import FACTS
from taskyard.hub.observe import Log
from taskyard.vocabulary import EventName
from tests.support.hub_scene import USER, Scene, a_scene
from tests.support.room import without_rates

FEW = Depth(warning=2, critical=3)
SHORT = without_rates(Settings(limits=Limits(user_queue_depth=FEW, queue_depth=FEW)))
TWO_TRIES = Terms(max_attempts=2, retry_delay_ms=0)


def lines_of(scene: Scene, event: str) -> list[dict[str, Any]]:
    return [line for line in scene.log.told.all if line["event"] == event]


def level_of(line: dict[str, Any]) -> str:
    return str(line.get("level", "info"))


def fields(line: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: line["data"][name] for name in names}


async def test_a_task_that_goes_well_is_told_with_source_priority_depth_daemon_and_duration() -> None:
    async with a_scene() as scene:
        task_id = await scene.submit()
        await scene.submit(type="other")
        daemon = await scene.daemon()
        await scene.run(daemon, task_id)
        scene.complete(daemon, task_id)
        completed = await scene.log.line("task.completed")
        created, _ = lines_of(scene, "task.created")
        first, second = lines_of(scene, "task.queued")
        (scheduled,), (started,) = lines_of(scene, "task.scheduled"), lines_of(scene, "task.started")
    assert created["data"] == {"source": "user", "priority": "normal"}
    assert first["data"] == {"queue_depth": 1, "estimated_wait": None}
    assert second["data"] == {"queue_depth": 2, "estimated_wait": None}
    assert scheduled["data"] == started["data"] == {"daemon_id": "d_one"}
    assert fields(completed, ["daemon_id"]) == {"daemon_id": "d_one"}
    assert 0 <= completed["data"]["duration_ms"] < 3_600_000
    told = [created, first, scheduled, started, completed]
    assert all(level_of(line) == "info" for line in told)
    assert all(line["task_id"] == task_id for line in told)


async def test_a_failure_is_told_with_its_error_and_whether_it_is_tried_again() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
        task_id = await scene.submit(terms=TWO_TRIES)
        for attempt in (1, 2):
            await daemon.told.first(lambda m, n=attempt: m["type"] == "task.execute" and m["attempt"] == n)
            scene.hub.tell(FailTask("d_one", task_id, attempt, Failure("BOOM", "it broke"), daemon.id))
        ended = await scene.log.line("task.permanently_failed")
        first, second = lines_of(scene, "task.failed")
    error = {"code": "BOOM", "message": "it broke"}
    assert [(line["attempt"], level_of(line)) for line in (first, second)] == [(1, "warning"), (2, "warning")]
    assert [fields(line, ["error", "will_retry"]) for line in (first, second)] == [
        {"error": error, "will_retry": True},
        {"error": error, "will_retry": False},
    ]
    assert fields(ended, ["error", "total_attempts"]) == {"error": error, "total_attempts": 2}
    assert (level_of(ended), ended["task_id"]) == ("error", task_id)


async def test_an_error_in_a_line_is_short_and_shows_no_key() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
        task_id = await scene.submit(terms=TWO_TRIES)
        token = (await daemon.message("task.execute"))["token"]
        message = f"refused tyk_canary with {token}: " + "x" * 5000
        scene.hub.tell(FailTask("d_one", task_id, 1, Failure("BOOM", message, retryable=False), daemon.id))
        line = await scene.log.line("task.permanently_failed")
    said = line["data"]["error"]["message"]
    assert said.startswith("refused tyk_… with tyt_…: xxx")
    assert len(said) == 500
    assert token not in scene.log.text
    assert "canary" not in scene.log.text


async def test_events_that_another_hub_committed_keep_their_level_and_their_own_facts() -> None:
    sink = io.BytesIO()
    event = Event(EventName.TASK_FAILED, 1, "u_1", "t_1", 7, 2, data={"code": "BOOM", "will_retry": True})
    Log(sink).events([event, *(Event(name, 1, "u_1", "t_1", 7, 1) for name in FACTS)])
    first, *others = map(json.loads, sink.getvalue().splitlines())
    assert (first["level"], first["data"]["will_retry"], first["data"]["code"]) == ("warning", True, "BOOM")
    assert len(others) == len(FACTS)


async def test_an_estimated_wait_is_told_in_seconds_once_the_pace_is_known() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
        task_id = await scene.submit()
        await daemon.message("task.execute")
        await scene.submit(type="other")
        last = lines_of(scene, "task.queued")[-1]
    assert last["task_id"] != task_id
    assert last["data"]["queue_depth"] == 1
    assert 0 < last["data"]["estimated_wait"] < 3600


async def test_a_task_that_no_daemon_can_ever_run_is_told_as_one_that_failed_for_good() -> None:
    async with a_scene() as scene:
        kind = Kind(Needs("echo", target="nowhere"))
        await scene.ask(SubmitTasks(USER, [Draft(id=scene.hub.mint(), kind=kind, terms=Terms(), body=b"{}")]))
        ended = await scene.log.line("task.permanently_failed")
    assert level_of(ended) == "error"
    assert ended["data"]["error"]["code"] == "DAEMON_NOT_FOUND"
    assert ended["data"]["total_attempts"] == 0


async def test_a_daemon_is_told_with_what_it_can_do_and_what_its_going_touches() -> None:
    async with a_scene() as scene:
        daemon = scene.session()
        scene.hub.tell(JoinDaemon(daemon.id, USER, "d_one", "boot", "d_one", capabilities=("gpu", "web")))
        task_id = await scene.submit()
        await scene.run(daemon, task_id)
        scene.hub.tell(LeaveDaemon(daemon.id, "d_one"))
        gone = await scene.log.line("daemon.disconnected")
        (came,) = lines_of(scene, "daemon.connected")
    assert level_of(came) == "info"
    assert fields(came, ["daemon_id", "capabilities"]) == {"daemon_id": "d_one", "capabilities": ["gpu", "web"]}
    assert level_of(gone) == "warning"
    assert fields(gone, ["daemon_id", "affected_tasks"]) == {"daemon_id": "d_one", "affected_tasks": 1}


@pytest.mark.parametrize(
    ("name", "level", "depth"), [("backpressure.warning", "warning", 2), ("backpressure.critical", "error", 3)]
)
async def test_backpressure_is_told_with_its_depth_its_wait_and_what_the_hub_does(
    name: str, level: str, depth: int
) -> None:
    async with a_scene(settings=SHORT) as scene:
        for _ in range(depth):
            await scene.submit()
        line = await scene.log.line(name)
    assert level_of(line) == level
    assert fields(line, ["queue_depth", "estimated_wait"]) == {"queue_depth": depth, "estimated_wait": None}
    actions = line["data"]["actions_taken"]
    assert actions
    assert ("refused" in " ".join(actions)) is (name == "backpressure.critical")
