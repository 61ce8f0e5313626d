"""Keys that were never used need no look at the store, and those that may have been do get one."""

import asyncio
from typing import Any

import pytest

from taskyard.core.effects import Submitted
from taskyard.hub import looks
from taskyard.hub.chores import TEND_EVERY
from taskyard.hub.used_keys import UsedKeys
from taskyard.store.port import StoreUnavailable
from taskyard.vocabulary import Refusal
from tests.support.hub_scene import HeldStore, Scene, a_scene, refused_with

BUSY = StoreUnavailable("busy")
OTHERS = (("u_ada", "other"), ("u_bob", "used"))


async def gathered(scene: Scene) -> None:
    """Returns when a key that nobody used is decided without a look."""
    for n in range(1000):
        scene.held.read_faults = [BUSY]
        if await refused_with(scene.asked(scene.submission(key=f"new-{n}"))) != Refusal.STORE_UNAVAILABLE:
            scene.held.read_faults = []
            return
        await asyncio.sleep(0.005)
    raise AssertionError("the keys of history were not gathered")


async def completed(scene: Scene, key: str) -> str:
    """A task that ended, holds this key still, and is out of memory."""
    daemon = await scene.daemon()
    task_id = await scene.submit(key=key, digest="same")
    await daemon.message("task.execute")
    scene.complete(daemon, task_id)
    await daemon.message("ack")
    await scene.submit(type="nobody's")
    assert task_id not in scene.hub.state.tasks
    return task_id


async def the_same(scene: Scene, key: str) -> Any:
    answer = await scene.ask(scene.submission(key=key, digest="same"))
    assert isinstance(answer, Submitted)
    return answer


async def test_a_key_that_nobody_used_is_decided_without_a_look() -> None:
    async with a_scene() as scene:
        await gathered(scene)
        scene.held.reads.shut()
        assert await scene.submit(key="mine")


async def test_a_key_of_a_task_that_ended_since_is_looked_for() -> None:
    async with a_scene() as scene:
        await gathered(scene)
        first = await completed(scene, "mine")
        assert (await the_same(scene, "mine")).ids == (first,)


async def test_a_key_of_a_task_that_ended_before_the_hub_began_is_looked_for() -> None:
    store = HeldStore()
    async with a_scene(store) as scene:
        first = await completed(scene, "mine")
    async with a_scene(store, with_user=False) as scene:
        await gathered(scene)
        assert (await the_same(scene, "mine")).ids == (first,)


async def test_until_the_keys_of_history_are_there_each_is_looked_for() -> None:
    store = HeldStore()
    async with a_scene(store) as scene:
        first = await completed(scene, "mine")
    store.key_reads.shut()
    async with a_scene(store, with_user=False) as scene:
        assert (await the_same(scene, "mine")).ids == (first,)
        store.read_faults = [BUSY]
        assert await refused_with(scene.asked(scene.submission(key="new"))) == Refusal.STORE_UNAVAILABLE


async def test_what_ends_while_they_are_gathered_is_among_them() -> None:
    store = HeldStore()
    store.key_reads.shut()
    async with a_scene(store) as scene:
        await store.key_reads.reached()
        first = await completed(scene, "mine")
        store.key_reads.open()
        await gathered(scene)
        assert (await the_same(scene, "mine")).ids == (first,)


async def test_they_are_gathered_later_if_the_store_is_busy() -> None:
    store = HeldStore()
    store.key_faults = [BUSY]
    async with a_scene(store) as scene:
        await scene.log.line("store.unread")
        for _ in range(TEND_EVERY):
            await scene.submit()
        await gathered(scene)


async def test_more_than_fit_are_gathered_anew_a_page_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "FIT", 3)
    monkeypatch.setattr(looks, "KEYS_PER_PAGE", 2)
    store = HeldStore()
    async with a_scene(store) as scene:
        keys = [f"k-{n}" for n in range(TEND_EVERY)]
        await scene.used(*keys)
        store.key_reads.shut()
        for _ in range(TEND_EVERY):
            await scene.submit()
        await store.key_reads.reached()
        store.key_reads.open()
        await gathered(scene)
        store.read_faults = [BUSY]
        assert await refused_with(scene.asked(scene.submission(key=keys[-1]))) == Refusal.STORE_UNAVAILABLE


def test_no_key_that_was_added_is_missing_and_few_others_seem_to_be_there() -> None:
    used = UsedKeys()
    used.add(("u_ada", f"used-{n}") for n in range(50_000))
    assert all(used.may_have("u_ada", f"used-{n}") for n in range(50_000))
    others = sum(used.may_have(user, f"{kind}-{n}") for n in range(5_000) for user, kind in OTHERS)
    assert others <= 10
