"""The loop: nothing leaves before its commit, and nobody waits for an answer that will not come."""

import asyncio
from collections.abc import Callable

import pytest

from taskyard.core.commands import CancelTask, RetryTask
from taskyard.core.daemon_commands import Beat, Held, StartTask
from taskyard.core.effects import Done, Refused, Submitted
from taskyard.core.settings import Settings
from taskyard.core.state import Now
from taskyard.core.yard_commands import RevokeKey
from taskyard.gateway.port import Unavailable
from taskyard.hub.alarm import LAG_MS
from taskyard.hub.clock import read_clock
from taskyard.hub.inbox import URGENT_COMMANDS_MAX
from taskyard.hub.loop import COMMANDS_PER_TURN_MAX
from taskyard.hub.outbox import RELEASES_MAX
from taskyard.store.port import StoreUnavailable
from taskyard.vocabulary import Refusal, Status
from tests.support.hub_scene import USER, WAIT_S, Scene, a_scene, refused_with
from tests.support.loop import MB, NO_ROOM, a_release_that_reads, a_running_task, failing_commit, turned

HOUR_MS = 3_600_000


# --- the one order that matters ----------------------------------------------------------------------------


async def test_an_answer_is_given_only_after_its_commit() -> None:
    async with a_scene() as scene:
        scene.held.writes.shut()
        answer = scene.asked(scene.submission())
        await scene.held.writes.reached()
        assert not answer.done()
        scene.held.writes.open()
        submitted, written = await answer
        assert set(written) == set(submitted.ids)


async def test_a_task_is_sent_out_only_after_its_commit() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
        watcher = scene.watcher()
        scene.held.writes.shut()
        answer = scene.asked(scene.submission())
        await scene.held.writes.reached()
        assert "task.execute" not in daemon.types
        assert watcher.names == []
        scene.held.writes.open()
        await answer
        await daemon.message("task.execute")
        assert "task.scheduled" in watcher.names


async def test_while_one_batch_is_written_the_next_one_gathers() -> None:
    async with a_scene() as scene:
        scene.held.writes.shut()
        before = len(scene.held.written.all)
        first = scene.asked(scene.submission())
        await scene.held.writes.reached()
        later = [scene.asked(scene.submission()) for _ in range(10)]
        scene.held.writes.open()
        await asyncio.gather(first, *later)
        assert len(scene.held.written.all) - before == 2


async def test_a_question_that_changes_nothing_needs_no_commit() -> None:
    async with a_scene() as scene:
        before = scene.hub.identity
        assert isinstance(await scene.ask(RevokeKey("k_none", "test")), Refused)
        assert scene.hub.identity == before


# --- look-ups ----------------------------------------------------------------------------------------------


async def test_a_task_that_ended_just_now_is_found_by_a_command_that_names_it() -> None:
    """Between memory, which forgets what has ended, and the store, which has it, there is no gap."""
    async with a_scene() as scene:
        ended = await scene.submit()
        scene.held.writes.shut()
        cancelled = scene.asked(CancelTask(USER, ended, actor="test"))
        await scene.held.writes.reached()
        undurable = scene.asked(scene.submission(depends_on=(ended,)))
        scene.held.writes.open()
        assert await cancelled
        for answer in (undurable, scene.asked(scene.submission(depends_on=(ended,)))):
            assert not isinstance((await answer)[0], Refused)
        # Nothing is left of it in memory, and it is found all the same.
        await scene.submit()
        assert ended not in scene.hub.state.tasks
        assert isinstance(await scene.cancel(ended), Refused)
        assert isinstance(await scene.ask(RetryTask(USER, ended, "test")), Refused)


async def test_what_ends_while_a_look_up_is_under_way_stays_in_memory_until_it_is_done() -> None:
    async with a_scene() as scene:
        first, second = await scene.submit(), await scene.submit()
        assert await scene.cancel(first) == Done(first)
        await scene.submit()
        assert first not in scene.hub.state.tasks
        scene.held.reads.shut()
        asking = scene.asked(scene.submission(depends_on=(first, second)))
        await scene.held.reads.reached()
        assert await scene.cancel(second) == Done(second)
        assert second in scene.hub.state.tasks
        scene.held.reads.open()
        assert isinstance((await asking)[0], Submitted)


async def test_whoever_asks_is_refused_when_what_they_name_cannot_be_looked_up() -> None:
    async with a_scene() as scene:
        await scene.used("k-1")
        scene.held.read_faults = [StoreUnavailable("busy")]
        answer = scene.asked(scene.submission(key="k-1"))
        assert await refused_with(answer) == Refusal.STORE_UNAVAILABLE
        assert scene.hub.ready
        await scene.submit(key="k-1")


async def test_a_daemon_whose_result_cannot_be_looked_up_is_sent_away_to_say_it_again() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
        scene.held.read_faults = [StoreUnavailable("busy")]
        scene.complete(daemon, "a task of long ago")
        code, _ = await asyncio.wait_for(daemon.closed, WAIT_S)
        assert code == 4503


async def test_what_open_tasks_wait_for_is_asked_again_when_it_could_not_be_looked_up() -> None:
    async with a_scene(settings=Settings(cascade_rows_max=1)) as scene:
        parent = await scene.submit(type="nobody's")
        heirs = [await scene.submit(depends_on=(parent,)) for _ in range(2)]
        # The parent's end is on disk with its first heir's; the second one has yet to hear of it.
        scene.held.write_faults = [None, StoreUnavailable(NO_ROOM)]
        scene.held.read_faults = [None, StoreUnavailable("busy")]
        watcher = scene.watcher()
        assert await scene.cancel(parent) == Done(parent, tuple(heirs))
        await scene.log.line("store.unread")
        await watcher.told.first(lambda one: one.event.task_id == heirs[1])
        assert await scene.status(heirs[1]) is Status.CANCELLED


# --- bounds ------------------------------------------------------------------------------------------------


def a_body(megabytes: int) -> bytes:
    return b'{"type":"other","input":"' + b"x" * (megabytes * MB) + b'"}'


async def test_too_many_bytes_waiting_are_refused_with_overloaded_while_outcomes_still_pass() -> None:
    body = a_body(15)
    async with a_scene() as scene:
        daemon, running = await a_running_task(scene)
        scene.held.writes.shut()
        in_flight = scene.asked(scene.submission(type="other"))
        await scene.held.writes.reached()
        # Three fill the batch, four more fill the inbox, and there is no place for another.
        waiting = [scene.asked(scene.submission(type="other", body=body)) for _ in range(3)]
        await scene.settled()
        waiting += [scene.asked(scene.submission(type="other", body=body)) for _ in range(4)]
        await scene.settled()
        assert await refused_with(scene.asked(scene.submission(type="other", body=body))) == Refusal.OVERLOADED
        scene.complete(daemon, running)
        await scene.settled()
        assert scene.hub.state.tasks[running].status is Status.COMPLETED
        scene.held.writes.open()
        await daemon.message("ack")
        await asyncio.gather(in_flight, *waiting)
        await scene.submit(type="other", body=body)


async def test_a_daemon_that_says_more_than_can_be_kept_is_cut_off() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
        beat = Beat(daemon.id, "d_one")
        for _ in range(URGENT_COMMANDS_MAX):
            scene.hub.tell(beat)
        assert not daemon.closed.done()
        scene.hub.tell(beat)
        assert daemon.closed.done()


async def test_more_commands_than_one_turn_takes_are_all_decided() -> None:
    async with a_scene() as scene:
        await asyncio.gather(*(scene.submit() for _ in range(COMMANDS_PER_TURN_MAX + 100)))
        assert len(scene.hub.state.tasks) == COMMANDS_PER_TURN_MAX + 100


async def test_commits_wait_while_too_many_releases_wait_for_bodies() -> None:
    async with a_scene() as scene:
        daemon, held = await a_release_that_reads(scene)
        seq = scene.held.seq
        answers = []
        for n in range(1, RELEASES_MAX):
            answers.append(scene.asked(scene.submission(type="nobody's")))
            await scene.held.commit(seq + n)
            await scene.settled()
        answers.append(scene.asked(scene.submission(type="nobody's")))
        await scene.settled()
        assert len(scene.hub.state.tasks) == 1 + RELEASES_MAX, "the last one is decided"
        assert scene.held.seq == seq + RELEASES_MAX - 1, "but not written"
        assert not any(answer.done() for answer in answers)
        scene.held.reads.open()
        await asyncio.gather(held, *answers)
        assert scene.held.seq == seq + RELEASES_MAX
        await daemon.message("task.execute")


# --- time --------------------------------------------------------------------------------------------------


class AClock:
    """The real clock, which a test can put forward: as if the process had been stopped meanwhile."""

    def __init__(self) -> None:
        self.ahead_ms = 0

    def __call__(self) -> Now:
        now = read_clock()
        return Now(now.wall + self.ahead_ms, now.mono + self.ahead_ms)

    async def pass_until(self, scene: Scene, is_so: Callable[[], bool]) -> None:
        """In steps that no hub takes for a pause of its own."""
        async with asyncio.timeout(WAIT_S):
            while not is_so():
                self.ahead_ms += LAG_MS - 50
                await turned(scene)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["a heartbeat", "a stranger", "the timer"])
async def test_a_hub_that_was_stopped_for_longer_than_a_lease_does_not_lose_its_fleet(first: str) -> None:
    """Whatever it hears first when it goes on: nobody was silent, it was deaf."""
    clock = AClock()
    async with a_scene(clock=clock) as scene:
        daemon, task_id = await a_running_task(scene)
        watcher = scene.watcher()
        due = await scene.submit(scheduled_for=clock().wall + HOUR_MS // 2)
        clock.ahead_ms += HOUR_MS
        if first == "a heartbeat":
            scene.hub.tell(Beat(daemon.id, "d_one", running=(Held(task_id, 1),)))
        elif first == "a stranger":
            await turned(scene)
        # What came due meanwhile shows that everything due was judged.
        await watcher.told.first(lambda one: one.event.task_id == due and one.event.name == "task.queued")
        assert not daemon.closed.done()
        assert await scene.status(task_id) is Status.RUNNING


async def test_a_daemon_that_is_silent_for_longer_than_its_lease_is_lost() -> None:
    clock = AClock()
    async with a_scene(clock=clock) as scene:
        daemon, task_id = await a_running_task(scene)
        watcher = scene.watcher()
        await clock.pass_until(scene, daemon.closed.done)
        await watcher.event("task.lost")
        assert await scene.status(task_id) is Status.QUEUED


async def test_a_task_that_is_due_later_becomes_ready_without_anyone_asking() -> None:
    async with a_scene() as scene:
        watcher = scene.watcher()
        task_id = await scene.submit(scheduled_for=read_clock().wall + 50)
        queued = await watcher.event("task.queued")
        assert queued.event.task_id == task_id


# --- the end -----------------------------------------------------------------------------------------------


async def test_stop_commits_what_was_decided_and_lets_it_out() -> None:
    async with a_scene() as scene:
        scene.held.writes.shut()
        first = scene.asked(scene.submission())
        await scene.held.writes.reached()
        second = scene.asked(scene.submission())
        await scene.settled()
        stopping = asyncio.create_task(scene.hub.stop())
        await scene.settled()
        assert await refused_with(scene.asked(scene.submission())) == Refusal.STORE_UNAVAILABLE
        scene.held.writes.open()
        await stopping
        scene.is_stopped = True
        for answer in (first, second):
            assert isinstance((await answer)[0], Submitted)
        assert scene.held.is_closed


async def test_a_hub_can_be_stopped_while_its_store_is_away() -> None:
    async with a_scene() as scene:
        first = await failing_commit(scene)
        second = scene.asked(scene.submission())
        await scene.settled()
        scene.held.writes.open()
        await refused_with(first)
        await refused_with(second)
    assert scene.held.is_closed


async def test_a_commit_that_fails_while_the_hub_stops_is_not_tried_again() -> None:
    async with a_scene() as scene:
        answer = await failing_commit(scene)
        stopping = asyncio.create_task(scene.hub.stop())
        await scene.settled()
        scene.held.writes.open()
        await stopping
        scene.is_stopped = True
        assert await refused_with(answer) == Refusal.OUTCOME_UNKNOWN
        assert scene.held.is_closed
        assert not scene.hub.ready


async def test_stop_waits_for_bodies_that_are_being_read() -> None:
    async with a_scene() as scene:
        daemon, held = await a_release_that_reads(scene)
        stopping = asyncio.create_task(scene.hub.stop())
        await scene.settled()
        scene.held.reads.open()
        await stopping
        scene.is_stopped = True
        assert isinstance((await held)[0], Done)
        assert "task.execute" in daemon.types
        assert daemon.closed.done()


async def test_a_hub_that_is_closed_takes_nothing() -> None:
    async with a_scene() as scene:
        daemon = await scene.daemon()
    with pytest.raises(Unavailable):
        await scene.hub.ask(scene.submission())
    scene.hub.tell(StartTask(daemon.id, "d_one", "t", 1))
    assert not scene.hub.ready
