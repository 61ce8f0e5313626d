"""The event stream: no gap, no repeat, nobody else's."""

from typing import Any

import msgspec
import pytest

from taskyard.core.yard_commands import RevokeKey
from taskyard.gateway import events
from taskyard.gateway.app import GatewayApp
from taskyard.gateway.port import Unavailable
from taskyard.vocabulary import Refusal
from tests.support.gateway_client import Client, Connection
from tests.support.gateway_hub import GatewayHub, refusing

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
EVENTS = "/api/v1/events"


async def begun(stream: Connection) -> None:
    assert (await stream.next())["status"] == 200
    assert (await stream.chunk()).startswith(":")


def parsed(text: str) -> list[tuple[str | None, dict[str, Any]]]:
    """(id, data) of each event."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if fields:
            found.append((fields.get("id"), msgspec.json.decode(fields["data"])))
    return found


async def test_what_happens_is_told_in_order(ann: Client) -> None:
    async with ann.stream(EVENTS) as stream:
        await begun(stream)
        await ann.post(TASKS, {"input": "a"})
        told = parsed(await stream.chunk())
    assert [data["event"] for _, data in told] == ["task.created", "task.queued"]
    assert all(id == data["id"] for id, data in told)
    assert told[1][1]["to"] == "queued"


async def test_nobody_hears_of_anothers_tasks(ann: Client, bob: Client) -> None:
    async with bob.stream(EVENTS) as stream:
        await begun(stream)
        await ann.post(TASKS, {"input": "a"})
        mine = (await bob.post(TASKS, {"input": "b"})).json
        told = parsed(await stream.chunk())
    assert {data["task_id"] for _, data in told} == {mine["id"]}


async def test_an_admin_hears_everything_only_on_request(ann: Client, admin: Client) -> None:
    async with admin.stream(f"{EVENTS}?user=*") as stream:
        await begun(stream)
        await ann.post(TASKS, {"input": "a"})
        assert len(parsed(await stream.chunk())) == 2
    assert (await ann.get(f"{EVENTS}?user=*")).status == 403


async def test_what_was_missed_is_replayed_and_then_it_goes_on(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    seen = (await ann.get(f"{TASKS}/T-001/events")).json[0]["id"]
    await ann.post(TASKS, {"input": "b"})
    async with ann.stream(EVENTS, {"last-event-id": seen}) as stream:
        await begun(stream)
        told: list[tuple[str | None, dict[str, Any]]] = []
        while len(told) < 3:
            told += parsed(await stream.chunk())
        await ann.post(TASKS, {"input": "c"})
        while len(told) < 5:
            told += parsed(await stream.chunk())
    assert [(data["ref"], data["event"]) for _, data in told] == [
        ("T-001", "task.queued"),
        ("T-002", "task.created"),
        ("T-002", "task.queued"),
        ("T-003", "task.created"),
        ("T-003", "task.queued"),
    ]
    assert len({id for id, _ in told}) == 5


@pytest.mark.parametrize("seen", ["99-5-0", "nonsense", "1-99999-0"])
async def test_a_place_that_is_not_kept_says_resync(ann: Client, seen: str) -> None:
    await ann.post(TASKS, {"input": "a"})
    async with ann.stream(EVENTS, {"last-event-id": seen}) as stream:
        await begun(stream)
        told = parsed(await stream.chunk())
        assert told[0][1]["event"] in ("resync", "task.created")


async def test_events_are_filtered_by_task_and_type(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    async with ann.stream(f"{EVENTS}?task=T-001&types=task.cancelled") as stream:
        await begun(stream)
        await ann.post(TASKS, {"input": "b"})
        await ann.request("DELETE", f"{TASKS}/T-002")
        await ann.request("DELETE", f"{TASKS}/T-001")
        told = parsed(await stream.chunk())
    assert [(data["ref"], data["event"]) for _, data in told] == [("T-001", "task.cancelled")]


async def test_a_foreign_task_or_an_unknown_type_is_refused(ann: Client, bob: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    assert (await bob.get(f"{EVENTS}?task=T-001")).json["code"] == "TASK_NOT_FOUND"
    assert (await ann.get(f"{EVENTS}?types=task.sung")).status == 422


async def test_a_reader_that_falls_behind_is_cut(ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "BUFFER_EVENTS_MAX", 3)
    async with ann.stream(EVENTS) as stream:
        await begun(stream)
        await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}] * 3})
        assert len(parsed(await stream.chunk())) == 3
        assert await stream.chunk() == ""
        await stream.ended()


async def test_a_quiet_stream_shows_that_it_lives(ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.01)
    async with ann.stream(EVENTS) as stream:
        await begun(stream)
        assert (await stream.chunk()).startswith(": ")


async def test_a_revoked_key_ends_its_streams(hub: GatewayHub, ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.gateway.door.REVIEW_S", 0.01)
    async with ann.stream(EVENTS) as stream:
        await begun(stream)
        assert ann.key is not None
        await hub.decide(RevokeKey(hub.key_named(ann.key).id, actor="test"))
        assert await stream.chunk() == ""
        await stream.ended()


async def test_a_hub_that_stops_just_ends_its_streams(app: GatewayApp, ann: Client) -> None:
    async with ann.stream(EVENTS) as stream:
        await begun(stream)
        await app.door.close()
        assert await stream.chunk() == ""
        await stream.ended()
    async with ann.stream(EVENTS) as late:
        await begun(late)
        assert await late.chunk() == ""
        await late.ended()


async def test_what_lies_in_the_store_and_in_the_buffer_is_told_once(
    hub: GatewayHub, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given one who comes back, and something that is committed once they have subscribed and before they read on
    await ann.post(TASKS, {"input": "a"})
    seen = (await ann.get(f"{TASKS}/T-001/events")).json[-1]["id"]

    async def caught_up() -> None:
        await ann.post(TASKS, {"input": "b"})

    monkeypatch.setattr(hub, "caught_up", caught_up)
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.01)
    async with ann.stream(EVENTS, {"last-event-id": seen}) as stream:
        await begun(stream)

        # When all of it was read and the stream is quiet, then each was told once
        told: list[tuple[str | None, dict[str, Any]]] = []
        while not (chunk := await stream.chunk()).startswith(": alive"):
            told += parsed(chunk)
    assert [(data["ref"], data["event"]) for _, data in told] == [("T-002", "task.created"), ("T-002", "task.queued")]


async def test_when_the_leader_goes_its_streams_end_and_while_there_is_none_they_end_at_once(
    hub: GatewayHub, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ann.stream(EVENTS) as stream:
        await begun(stream)
        hub.disconnect()
        assert await stream.chunk() == ""
        await stream.ended()
    monkeypatch.setattr(hub, "caught_up", refusing(Unavailable(Refusal.NO_LEADER, 1)))
    async with ann.stream(EVENTS) as late:
        assert (await late.next())["status"] == 200
        assert await late.chunk() == ""
        await late.ended()
