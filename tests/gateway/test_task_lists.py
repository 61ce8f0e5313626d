"""Finding tasks among many: by what they are, by words, by name; and how many there are."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from taskyard.gateway.app import GatewayApp
from taskyard.gateway.port import Unavailable
from taskyard.store.memory.reader import MemoryReader
from taskyard.store.paging import cursor_of
from taskyard.store.port import TaskFilter
from taskyard.vocabulary import Refusal, Status
from tests.support.gateway_client import Client, Response
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
COUNTS = f"{TASKS}/counts"


async def submit(client: Client, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = (await client.post(TASKS, {"input": "a", **fields})).json
    return made


def refs(response: Response) -> list[str]:
    return [task["ref"] for task in response.json]


def next_of(response: Response) -> str | None:
    link = response.headers.get("link")
    return None if link is None else link.partition(">")[0].removeprefix("<")


async def test_several_statuses_are_listed_at_once(ann: Client) -> None:
    for _ in range(3):
        await submit(ann)
    await ann.request("DELETE", f"{TASKS}/T-002")
    assert refs(await ann.get(f"{TASKS}?status=queued,cancelled")) == ["T-003", "T-002", "T-001"]
    assert refs(await ann.get(f"{TASKS}?status=running,cancelled")) == ["T-002"]


async def test_pending_means_what_the_status_of_the_queue_counts_unless_it_is_meant_exactly(ann: Client) -> None:
    await submit(ann)
    await submit(ann, depends_on=["T-001"])
    await submit(ann, scheduled_for="2030-01-01T00:00:00Z")
    assert refs(await ann.get(f"{TASKS}?status=pending")) == ["T-003", "T-002", "T-001"]
    assert (await ann.get(f"{TASKS}/queue-status")).json["pending"] == 3
    assert refs(await ann.get(f"{TASKS}?status=pending&exact=true")) == ["T-003"]
    assert refs(await ann.get(f"{TASKS}?status=waiting")) == ["T-002"]
    # Words of other queues are none of the statuses.
    assert (await ann.get(f"{TASKS}?status=in-progress&exact=true")).status == 422


async def test_a_task_is_found_by_its_ref_or_id_as_if_they_were_words(ann: Client, bob: Client) -> None:
    first = await submit(ann, title="about T-002")
    second = await submit(ann)
    await submit(bob)
    assert refs(await ann.get(f"{TASKS}?q=t-002")) == ["T-002", "T-001"]
    assert refs(await ann.get(f"{TASKS}?q={first['id']}")) == ["T-001"]
    # A foreign one is as unknown as one that is not there, and one that does not fit is not shown
    assert refs(await bob.get(f"{TASKS}?q={second['id']}")) == []
    assert refs(await ann.get(f"{TASKS}?q=T-002&status=cancelled")) == []
    assert refs(await ann.get(f"{TASKS}?q=T-002&priority=low")) == []
    assert refs(await ann.get(f"{TASKS}?q=T-002&archived=true")) == []


async def test_who_may_see_everybodys_finds_a_task_by_its_id(ann: Client, admin: Client) -> None:
    task = await submit(ann)
    assert refs(await admin.get(f"{TASKS}?user=*&q={task['id']}")) == ["T-001"]
    assert refs(await admin.get(f"{TASKS}?user=*&q=T-001")) == []


async def test_a_page_with_a_task_that_was_meant_leaves_none_out(ann: Client) -> None:
    for _ in range(4):
        await submit(ann, title="T-001 again")
    found, path = [], f"{TASKS}?q=T-001&limit=2"
    while path:
        page = await ann.get(path)
        found += refs(page)
        path = next_of(page) or ""
    assert found[0] == "T-001"
    assert set(found) == {"T-001", "T-002", "T-003", "T-004"}


def two_at_a_time(reader: MemoryReader, query: TaskFilter) -> str | None:
    """How far a reader gets that looks through two tasks."""
    newest = reader.tasks(replace(query, text=None, limit=2))
    return cursor_of(newest[-1], user_id=query.user_id) if len(newest) == 2 else None


async def test_a_long_search_goes_on_page_by_page_though_some_are_empty(
    ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for word in ("rare", "a", "b", "c", "d", "rare", "e"):
        await submit(ann, title=word)
    monkeypatch.setattr(MemoryReader, "search_end", two_at_a_time)
    pages, path = [], f"{TASKS}?q=rare"
    while path:
        page = await ann.get(path)
        pages.append(refs(page))
        path = next_of(page) or ""
    assert pages == [["T-006"], [], [], ["T-001"]]
    # What few tasks are is looked for among those few
    assert next_of(await ann.get(f"{TASKS}?q=rare&status=running,permanently_failed")) is None


async def test_tasks_are_counted_by_status(hub: GatewayHub, ann: Client, bob: Client, admin: Client) -> None:
    for _ in range(3):
        await submit(ann)
    await submit(bob)
    await ann.request("DELETE", f"{TASKS}/T-002")
    counts = (await ann.get(COUNTS)).json
    assert counts["total"] == 3
    assert counts["by_status"] == {status.value: 0 for status in Status} | {"queued": 2, "cancelled": 1}
    assert (await bob.get(COUNTS)).json["total"] == 1
    assert (await admin.get(COUNTS)).json["total"] == 0
    assert (await admin.get(f"{COUNTS}?user=*")).json["total"] == 4
    assert (await admin.get(f"{COUNTS}?user=ann")).json["total"] == 3
    assert (await ann.get(f"{COUNTS}?user=bob")).status == 403


async def test_many_who_ask_at_once_are_told_of_one_count_and_whoever_asks_later_of_what_has_happened_since(
    ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = 0
    count = MemoryReader.counts

    def noted(reader: MemoryReader, *, user_id: str | None) -> dict[Status, int]:
        nonlocal counted
        counted += 1
        return count(reader, user_id=user_id)

    monkeypatch.setattr(MemoryReader, "counts", noted)
    await ann.get(COUNTS)
    # A page that hears of a task asks once, and must not be told of the time before
    await submit(ann)
    told = await asyncio.gather(*(ann.get(COUNTS) for _ in range(20)))
    assert ({one.json["total"] for one in told}, counted) == ({1}, 2)


async def test_a_count_that_failed_is_not_remembered(
    app: GatewayApp, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(look: object) -> object:
        raise Unavailable(Refusal.STORE_UNAVAILABLE, 1)

    with monkeypatch.context() as patched:
        patched.setattr(app.door.hub, "read", away)
        assert (await ann.get(COUNTS)).status == 503
    assert (await ann.get(COUNTS)).status == 200
