"""Another try begins when the hub has heard that it starts, and not before."""

import asyncio
from pathlib import Path

import pytest

from taskyard.daemon.attempt import Ending
from taskyard.daemon.orders import Key
from taskyard.vocabulary import InventoryState, InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import Heartbeat, Item, TaskAccepted, TaskCancelled, TaskRejected, TaskStarted
from tests.daemon.hub_stub import HubStub
from tests.daemon.live_daemon import Held, a_daemon, completed, play, serving
from tests.daemon.scene import Scene, cancel, execute, hello

AGAIN: Key = ("t1", 2)
OTHER: Key = ("t2", 2)
THIRD: Key = ("t3", 2)
ANSWER = frames.HeartbeatAck("c1", 1, 1)


def beats(scene: Scene) -> int:
    return sum(isinstance(message, Heartbeat) for message in scene.take_sent())


def test_one_that_is_to_begin_is_told_with_a_heartbeat_behind_it_and_begins_when_that_is_answered() -> None:
    scene = Scene().join()
    # Given a start that was told
    scene.is_to_begin(AGAIN)
    assert scene.sent == [TaskAccepted(*AGAIN), TaskStarted(*AGAIN), Heartbeat(0.2, None, [Item(*AGAIN)])]
    assert scene.begun == []
    # When the hub answers what was said behind it
    scene.hears(ANSWER)
    # Then it has heard of it
    assert scene.begun == [AGAIN]


def test_the_answer_to_an_earlier_heartbeat_says_nothing_of_it() -> None:
    scene = Scene().join()
    scene.passes(5_000)
    scene.is_to_begin(AGAIN)
    scene.hears(ANSWER)
    assert scene.begun == []
    scene.hears(ANSWER)
    assert scene.begun == [AGAIN]


def test_all_that_are_to_begin_share_one_heartbeat_and_who_comes_meanwhile_the_next() -> None:
    scene = Scene().join()
    # Given two that were told at once, and a third one later
    scene.machine.received([execute(AGAIN), execute(OTHER)], scene.now)
    for key in (AGAIN, OTHER):
        scene.machine.work_starts(key)
    scene.carry_out()
    scene.is_to_begin(THIRD)
    assert beats(scene) == 1
    # When the first heartbeat is answered
    scene.hears(ANSWER)
    # Then the two begin, and the third is asked for
    assert scene.begun == [AGAIN, OTHER]
    assert beats(scene) == 1
    scene.hears(ANSWER)
    assert scene.begun == [AGAIN, OTHER, THIRD]
    assert beats(scene) == 0


def test_a_lost_connection_answers_nothing_and_the_next_one_is_asked_anew() -> None:
    scene = Scene().join()
    scene.is_to_begin(AGAIN)
    # When the connection breaks before the answer, and none comes for longer than it may run
    scene.disconnect()
    scene.passes(400_000)
    assert (scene.begun, scene.stops) == ([], [])
    # Then the next one is told that it runs, and asked
    scene.take_sent()
    scene.connect()
    assert hello(scene).inventory == [Item(*AGAIN, InventoryState.RUNNING)]
    scene.take_sent()
    scene.welcome({AGAIN: InventoryVerdict.CONTINUE})
    assert scene.begun == []
    assert scene.sent == [Heartbeat(0.2, None, [Item(*AGAIN)])]
    scene.hears(ANSWER)
    assert scene.begun == [AGAIN]


def test_one_that_was_offered_and_not_told_before_the_connection_broke_is_told_ahead_of_the_heartbeat() -> None:
    scene = Scene().join()
    scene.hears(execute(AGAIN))
    scene.disconnect()
    scene.connect()
    scene.machine.work_starts(AGAIN)
    scene.take_sent()
    scene.welcome({AGAIN: InventoryVerdict.CONTINUE})
    assert scene.sent == [TaskStarted(*AGAIN), Heartbeat(0.2, None, [Item(*AGAIN)])]


def test_its_time_runs_from_when_it_begins() -> None:
    scene = Scene().join()
    scene.is_to_begin(AGAIN, timeout=2.0)
    scene.passes(4_000)
    scene.hears(ANSWER)
    scene.passes(2_999)
    assert scene.stops == []
    scene.passes(1)
    assert [(stop.key, stop.reason) for stop in scene.stops] == [(AGAIN, Ending.TIMED_OUT)]


def test_a_hub_that_answers_nothing_is_hung_up_on_and_holds_nobody_up_for_ever() -> None:
    scene = Scene().join()
    scene.is_to_begin(AGAIN)
    scene.passes(15_000)
    assert scene.hung_up


@pytest.mark.parametrize("is_behind", [True, False])
def test_one_that_is_stopped_before_it_was_heard_of_never_begins(is_behind: bool) -> None:
    scene = Scene().join()
    scene.is_to_begin(AGAIN)
    # When it is told to stop, and the answer comes right behind that, or later
    scene.hears(*([cancel(AGAIN), ANSWER] if is_behind else [cancel(AGAIN)]))
    scene.stops_as_told(AGAIN)
    scene.hears(ANSWER)
    # Then it is over, and others are not held up by it
    assert TaskCancelled(*AGAIN, "cancelled") in scene.take_sent()
    scene.is_to_begin(OTHER)
    scene.hears(ANSWER)
    assert scene.begun == [OTHER]


def test_while_the_hub_is_away_one_that_waits_is_stopped_before_the_lease_ends_if_it_is_exclusive() -> None:
    scene = Scene().join()
    scene.is_to_begin(AGAIN, exclusive="repo")
    scene.disconnect()
    scene.passes(26_000)
    assert [(stop.key, stop.reason) for stop in scene.stops] == [(AGAIN, Ending.FENCED)]
    assert scene.begun == []


def test_while_the_hub_is_away_one_that_waits_is_handed_back_when_its_daemon_leaves() -> None:
    scene = Scene().join()
    scene.is_to_begin(AGAIN)
    scene.disconnect()
    scene.machine.drain(scene.now, deadline_ms=scene.now + 100)
    scene.passes(200)
    assert [(stop.key, stop.reason) for stop in scene.stops] == [(AGAIN, Ending.HANDED_BACK)]
    assert scene.begun == []


# --- with a whole daemon -----------------------------------------------------------------------------------


def test_a_function_is_called_again_when_the_hub_has_answered_and_not_before(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        work = Held()
        async with serving(a_daemon(hub, tmp_path, work)):
            session = await hub.session()
            await session.welcome()
            # Given a second try, of which the hub has heard and said nothing yet
            await session.send(execute(AGAIN))
            await session.receive(Heartbeat)
            assert [type(message) for message in session.frames[-1]] == [TaskStarted, Heartbeat], "in one frame"
            # When a first try of another comes, that begins; the second one waits for the answer
            await session.send(execute(("t2", 1)))
            assert await session.receive(TaskStarted) == TaskStarted("t2", 1)
            assert work.begun == ["t2"]
            await session.send(ANSWER)
            while work.begun != ["t2", "t1"]:
                await asyncio.sleep(0)
            work.let_go()
            assert {(await completed(session)).task_id for _ in range(2)} == {"t1", "t2"}

    play(scenario)


def test_a_function_whose_start_was_lost_with_its_connection_is_called_after_the_next_welcome(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            session = await hub.session()
            await session.welcome()
            await session.send(execute(AGAIN))
            await session.receive(Heartbeat)
            await session.close()
            session = await hub.session()
            greeting = await session.welcome({AGAIN: InventoryVerdict.CONTINUE})
            assert greeting.inventory == [Item(*AGAIN, InventoryState.RUNNING)]
            await session.receive(Heartbeat)
            await session.send(ANSWER)
            assert (await completed(session)).task_id == "t1"

    play(scenario)


@pytest.mark.parametrize("act", ["cancel", "leave"])
def test_a_function_that_waits_to_be_heard_of_is_let_go_at_once(tmp_path: Path, act: str) -> None:
    async def scenario(hub: HubStub) -> None:
        work = Held()
        daemon = a_daemon(hub, tmp_path, work)
        async with serving(daemon):
            session = await hub.session()
            await session.welcome()
            await session.send(execute(AGAIN))
            await session.receive(Heartbeat)
            if act == "cancel":
                await session.send(cancel(AGAIN, grace_s=60))
                assert await session.receive(TaskCancelled) == TaskCancelled(*AGAIN, "cancelled")
            else:
                await daemon.stop()
                assert await session.receive(TaskRejected) == TaskRejected(*AGAIN, "drained")
            assert work.begun == []

    play(scenario)
