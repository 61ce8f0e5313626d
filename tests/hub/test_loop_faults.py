"""The hub's loop when its store fails: what is refused, what is loaded anew, and what stops it."""

import asyncio

import pytest

from taskyard.core.commands import CancelTask, SubmitTasks
from taskyard.core.daemon_commands import Held
from taskyard.core.effects import Done, Submitted
from taskyard.gateway.port import Unavailable
from taskyard.hub.chores import TEND_EVERY
from taskyard.hub.outbox import Outbox
from taskyard.store.port import StoreBroken, StoreRefused, StoreUnavailable
from taskyard.vocabulary import Refusal, Status
from tests.support.hub_scene import USER, WAIT_S, a_draft, a_scene, refused_with
from tests.support.loop import MB, NO_ROOM, a_release_that_reads, failing_commit, failure_of

# --- a commit that fails -----------------------------------------------------------------------------------


async def test_a_failed_commit_answers_503_to_everyone_undurable_and_loads_anew() -> None:
    async with a_scene() as scene:
        kept = await scene.submit()
        in_flight = await failing_commit(scene)
        gathered = scene.asked(scene.submission())
        await scene.settled()
        scene.held.writes.open()
        assert await refused_with(in_flight) == Refusal.OUTCOME_UNKNOWN
        assert await refused_with(gathered) == Refusal.STORE_UNAVAILABLE
        assert not scene.hub.ready
        assert await refused_with(scene.asked(scene.submission())) == Refusal.STORE_UNAVAILABLE
        await scene.ready()
        assert list(scene.hub.state.tasks) == [kept]
        await scene.submit()


async def test_numbers_go_on_without_a_gap_after_a_failed_commit() -> None:
    async with a_scene() as scene:
        await scene.submit()
        answer = await failing_commit(scene)
        scene.held.writes.open()
        await refused_with(answer)
        await scene.ready()
        task_id = await scene.submit()
        assert scene.hub.state.tasks[task_id].number == 2


async def test_an_ambiguous_commit_that_happened_shows_its_task_and_a_retry_with_the_same_key_finds_it() -> None:
    async with a_scene() as scene:
        scene.held.lose_next_answer()
        command = scene.submission(key="order-1", digest="same")
        answer = scene.asked(command)
        assert await refused_with(answer) == Refusal.OUTCOME_UNKNOWN
        await scene.ready()
        task_id = command.drafts[0].id
        assert await scene.status(task_id) is Status.QUEUED
        again = await scene.ask(scene.submission(key="order-1", digest="same"))
        assert again == Submitted((task_id,), (True,))


async def test_what_can_be_read_of_an_ambiguous_commit_is_no_answer_before_the_state_was_loaded_with_it() -> None:
    """It is there, and a failover could still lose it: the probe that is confirmed comes first."""
    async with a_scene() as scene:
        scene.held.lose_next_answer()
        scene.held.probe_faults = [StoreUnavailable("no standby has confirmed it")]
        command = scene.submission()
        with pytest.raises(Unavailable) as lost:
            await scene.hub.ask(command, request="r_1")
        assert lost.value.code == Refusal.OUTCOME_UNKNOWN
        assert await scene.hub.answer_given("r_1") is not None
        with pytest.raises(Unavailable) as asked_again:
            await scene.hub.ask(command, request="r_1", again=True)
        assert asked_again.value.code == Refusal.OUTCOME_UNKNOWN
        await scene.ready()
        answer, _ = await scene.hub.ask(command, request="r_1", again=True)
        assert isinstance(answer, Submitted)


async def test_an_ambiguous_commit_that_happened_is_told_to_whoever_watches() -> None:
    """A stream of events has no gap, also when the hub itself learned late that something had happened."""
    async with a_scene() as scene:
        watcher = scene.watcher()
        scene.held.lose_next_answer()
        command = scene.submission()
        await refused_with(scene.asked(command))
        await scene.ready()
        created = await watcher.event("task.created")
        assert created.event.task_id == command.drafts[0].id
        await scene.submit()
        places = [(one.epoch, one.seq, one.index) for one in watcher.told.all]
        assert places == sorted(set(places))
        assert {seq for _, seq, _ in places} == {2, 3}


async def test_waiting_for_an_end_survives_a_commit_whose_answer_was_lost() -> None:
    async with a_scene() as scene:
        task_id = await scene.submit()
        waiting = asyncio.create_task(scene.hub.ended(task_id, WAIT_S))
        await scene.status(task_id)
        scene.held.lose_next_answer()
        assert await refused_with(scene.asked(CancelTask(USER, task_id, actor="test"))) == Refusal.OUTCOME_UNKNOWN
        await asyncio.wait_for(waiting, WAIT_S)
        assert await scene.status(task_id) is Status.CANCELLED


async def test_a_daemons_socket_is_closed_after_a_reload() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
        task_id = await scene.submit()
        attempt = await scene.run(daemon, task_id)
        answer = await failing_commit(scene)
        scene.held.writes.open()
        await refused_with(answer)
        # What it says meanwhile is heard by nobody, and it is told to come back and say it again.
        scene.complete(daemon, task_id, attempt)
        code, _ = await asyncio.wait_for(daemon.closed, WAIT_S)
        assert code == 4503
        await scene.ready()
        back = await scene.daemon(holds=(Held(task_id, attempt),))
        assert (await back.message("welcome"))["inventory"][0]["verdict"] == "continue"
        scene.complete(back, task_id, attempt)
        await back.message("ack")
        assert await scene.status(task_id) is Status.COMPLETED


async def test_a_daemon_that_came_while_the_store_was_away_is_sent_away_too() -> None:
    async with a_scene() as scene:
        answer = await failing_commit(scene)
        scene.held.writes.open()
        await refused_with(answer)
        session = scene.join()
        await asyncio.wait_for(session.closed, WAIT_S)
        assert session.types == []


async def test_a_look_up_that_outlives_its_state_is_dropped() -> None:
    async with a_scene() as scene:
        await scene.used("k-1")
        scene.held.reads.shut()
        asking = scene.asked(scene.submission(key="k-1", body=b"x" * MB))
        await scene.held.reads.reached()
        other = await failing_commit(scene)
        scene.held.writes.open()
        await refused_with(other)
        assert await refused_with(asking) == Refusal.STORE_UNAVAILABLE
        scene.held.reads.open()
        await scene.ready()
        assert scene.hub.state.tasks == {}
        await scene.submit(key="k-1")


async def test_an_answer_on_its_way_out_outlives_a_later_commit_that_fails() -> None:
    """Its commit is on disk; only a body is still being read for what leaves with it."""
    async with a_scene() as scene:
        daemon, durable = await a_release_that_reads(scene)
        failing = await failing_commit(scene)
        scene.held.writes.open()
        assert await refused_with(failing) == Refusal.OUTCOME_UNKNOWN
        assert not durable.done()
        scene.held.reads.open()
        assert isinstance((await durable)[0], Done)
        await daemon.message("task.execute")


async def test_a_store_that_stays_away_is_probed_until_it_is_back() -> None:
    async with a_scene() as scene:
        scene.held.probe_faults = [StoreUnavailable(NO_ROOM)]
        scene.held.load_faults = [StoreUnavailable(NO_ROOM)]
        answer = await failing_commit(scene)
        scene.held.writes.open()
        await refused_with(answer)
        await scene.ready()
        await scene.submit()


# --- what cannot be trusted stops the hub ------------------------------------------------------------------


async def test_a_broken_store_sets_the_failure() -> None:
    async with a_scene() as scene:
        answer = await failing_commit(scene, StoreBroken("fsync"))
        scene.held.writes.open()
        assert await refused_with(answer) == Refusal.OUTCOME_UNKNOWN
        assert isinstance(await failure_of(scene), StoreBroken)
        assert not scene.hub.ready
        assert (await scene.log.line("store.broken"))["data"]["reason"] == "fsync"


@pytest.mark.parametrize(
    ("when", "fault"), [("probe_faults", StoreBroken("fsync")), ("load_faults", StoreRefused("damaged"))]
)
async def test_a_store_that_breaks_while_it_is_probed_or_loaded_again_sets_the_failure(
    when: str, fault: Exception
) -> None:
    async with a_scene() as scene:
        setattr(scene.held, when, [fault])
        answer = await failing_commit(scene)
        scene.held.writes.open()
        await refused_with(answer)
        assert await failure_of(scene) is fault


async def test_a_store_that_breaks_while_it_is_tended_sets_the_failure() -> None:
    async with a_scene() as scene:
        scene.held.tend_faults = [StoreUnavailable(NO_ROOM), StoreBroken("fsync")]
        for _ in range(TEND_EVERY):
            await scene.submit()
        await scene.log.line("store.untended")
        assert scene.hub.ready
        for _ in range(TEND_EVERY - 1):
            await scene.submit()
        await refused_with(scene.asked(scene.submission()))
        assert isinstance(await failure_of(scene), StoreBroken)


async def test_a_look_up_that_reads_nonsense_sets_the_failure() -> None:
    async with a_scene() as scene:
        await scene.used("k-1")
        scene.held.read_faults = [StoreBroken("checksum")]
        answer = scene.asked(scene.submission(key="k-1"))
        assert await refused_with(answer) == Refusal.OUTCOME_UNKNOWN
        assert isinstance(await failure_of(scene), StoreBroken)


async def test_a_mistake_in_the_middle_of_a_decision_is_never_committed() -> None:
    async with a_scene() as scene:
        before = scene.held.seq
        twice = a_draft(scene.hub.mint())
        twice.terms = None  # type: ignore[assignment]
        answer = scene.asked(SubmitTasks(USER, [a_draft(scene.hub.mint()), twice]))
        assert await refused_with(answer) == Refusal.OUTCOME_UNKNOWN
        assert isinstance(await failure_of(scene), AttributeError)
        assert (await scene.log.line("hub.failed"))["level"] == "critical"
    assert scene.held.seq == before


async def test_a_mistake_in_putting_a_commit_together_stops_the_hub_before_anything_is_written() -> None:
    async with a_scene() as scene:
        before = scene.held.seq
        scene.held.writing = None  # type: ignore[assignment, method-assign]
        assert await refused_with(scene.asked(scene.submission())) == Refusal.OUTCOME_UNKNOWN
        assert isinstance(await failure_of(scene), TypeError)
    assert scene.held.seq == before


async def test_a_mistake_in_putting_the_last_commit_together_is_told_and_the_rest_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with a_scene() as scene:
        # Given something decided that waits for room among what leaves
        monkeypatch.setattr(Outbox, "is_full", True)
        answer = scene.asked(scene.submission())
        await scene.settled()
        monkeypatch.setattr(Outbox, "is_full", False)
        scene.held.writing = None  # type: ignore[assignment, method-assign]
    # Then whoever asked is told that nobody knows, and the store is closed
    assert await refused_with(answer) == Refusal.OUTCOME_UNKNOWN
    assert isinstance(await failure_of(scene), TypeError)
    assert scene.held.is_closed


async def test_a_mistake_in_whoever_listens_stops_the_hub_instead_of_telling_half() -> None:
    async with a_scene() as scene:
        session = scene.session()
        session.send = None  # type: ignore[assignment, method-assign]
        scene.join(session)
        assert isinstance(await failure_of(scene), TypeError)
