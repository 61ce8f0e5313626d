"""What leaves the hub, and in what order."""

import asyncio

from taskyard.core.changes import Batch, Event, UserRecord
from taskyard.core.commands import CancelTask
from taskyard.core.daemon_commands import DrainDaemon
from taskyard.core.effects import AcknowledgeBeat, CloseSession, Done, Execute, Reply
from taskyard.core.settings import Settings
from taskyard.gateway.port import Unavailable
from taskyard.hub.observe import Log
from taskyard.hub.outbox import Outbox
from taskyard.hub.readers import Readers
from taskyard.hub.tokens import Tokens
from taskyard.store.committer import Release
from taskyard.store.port import Identity, Numbered, StoreBroken, StoreUnavailable
from taskyard.vocabulary import EventName, Refusal, Status
from taskyard.wire import frames
from tests.support.hub_scene import GOES_ON, SECRET, USER, WAIT_S, ALog, ASession, ASubscriber, HeldStore, a_scene


class Line:
    """An outbox alone, over a store that is empty and can be held."""

    def __init__(self) -> None:
        self.store = HeldStore()
        self.store.open()
        self.log = ALog()
        self.readers = Readers(self.store.reader)
        self.out = Outbox(Settings(), Log(self.log), Tokens(SECRET), self.readers)
        self.failures: list[BaseException] = []
        self.out.on_failure = self.failures.append
        self.out.begin(Identity("c_test", 1, 0), [], [], [])

    def session(self, number: int = 1) -> ASession:
        session = self.out.sessions[number] = ASession(number)
        return session


def a_release(seq: int, *effects: object, events: tuple[Event, ...] = ()) -> Release:
    return Release(seq, Batch(seq, 1, f"b_{seq}", 0, events=list(events)), list(effects))  # type: ignore[arg-type]


def reads(seq: int) -> Release:
    """A release that has to ask the store for a task."""
    return a_release(seq, Execute(1, "d_one", f"t_{seq}", 1, 1000))


# --- order -------------------------------------------------------------------------------------------------


async def test_effects_leave_in_the_order_of_commits_while_an_earlier_release_is_reading_bodies() -> None:
    line = Line()
    session = line.session()
    _, answer = line.out.askers.admit()
    line.store.reads.shut()
    line.out.put(reads(1))
    line.out.put(a_release(2, AcknowledgeBeat(1), Reply(1, Done())))
    await line.store.reads.reached()
    assert session.types == []
    assert not answer.done()
    line.store.reads.open()
    await line.out.drain()
    assert session.types == ["heartbeat.ack"], "the task was gone before its body was read"
    assert (await answer)[0] == Done()
    line.readers.close()


async def test_a_cancel_never_passes_its_execute() -> None:
    async with a_scene() as scene:
        parent = await scene.submit(type="nobody's")
        heir = await scene.submit(depends_on=(parent,), terms=GOES_ON)
        daemon = await scene.daemon()
        scene.held.reads.shut()
        first = scene.asked(CancelTask(USER, parent, actor="test"))
        await scene.held.reads.reached()
        seq = scene.held.seq
        second = scene.asked(CancelTask(USER, heir, actor="test"))
        await scene.held.commit(seq + 1)
        assert daemon.types == ["welcome"]
        scene.held.reads.open()
        await asyncio.gather(first, second)
        await daemon.message("cancel_task")
        assert daemon.types == ["welcome", "task.execute", "cancel_task"]


async def test_whoever_made_room_is_told_after_each_release_that_others_waited_behind() -> None:
    line = Line()
    backlogs: list[int] = []
    line.out.on_room = lambda: backlogs.append(line.out.backlog)
    line.out.put(reads(1))
    line.out.put(a_release(2))
    await line.out.drain()
    assert backlogs == [1, 0]
    line.readers.close()


async def test_what_is_packed_while_its_commit_is_written_stays_until_that_is_done_and_leaves_once() -> None:
    line = Line()
    session = line.session()
    release = a_release(1, AcknowledgeBeat(1), CloseSession(1, "BAD_MESSAGE", "not understood"))
    line.out.prepare(release)
    line.out.pack()
    assert session.types == []
    line.out.send_work(release)
    assert session.types == ["heartbeat.ack", "error"]
    line.out.put(release)
    assert session.types == ["heartbeat.ack", "error"]
    line.readers.close()


async def test_work_that_is_packed_does_not_pass_a_release_that_is_reading_bodies() -> None:
    line = Line()
    session = line.session()
    line.store.reads.shut()
    line.out.put(reads(1))
    second = a_release(2, AcknowledgeBeat(1))
    line.out.prepare(second)
    line.out.pack()
    line.out.send_work(second)
    line.out.put(second)
    await line.store.reads.reached()
    assert session.types == []
    line.store.reads.open()
    await line.out.drain()
    assert session.types == ["heartbeat.ack"]
    line.readers.close()


async def test_who_is_new_is_known_before_any_work_of_theirs_leaves() -> None:
    line = Line()
    session = line.session()
    release = a_release(1, AcknowledgeBeat(1))
    release.batch.users = [UserRecord("u_new", "zoe", 0)]
    line.out.prepare(release)
    line.out.pack()
    line.out.send_work(release)
    assert (line.out.directory.user("u_new"), session.types) == (None, [])
    line.out.put(release)
    assert line.out.directory.user("u_new") is not None
    assert session.types == ["heartbeat.ack"]
    line.readers.close()


async def test_what_was_packed_for_a_commit_that_failed_does_not_leave_with_the_next_of_its_number() -> None:
    line = Line()
    session = line.session()
    line.out.prepare(a_release(1, AcknowledgeBeat(1)))
    line.out.pack()
    after = a_release(1)
    line.out.send_work(after)
    line.out.put(after)
    assert session.types == []
    line.readers.close()


# --- bodies that cannot be read ----------------------------------------------------------------------------


async def test_bodies_that_cannot_be_read_now_are_read_later() -> None:
    """They are committed, so they leave."""
    async with a_scene() as scene:
        parent = await scene.submit(type="nobody's")
        heir = await scene.submit(depends_on=(parent,), terms=GOES_ON)
        daemon = await scene.daemon()
        scene.held.read_faults = [StoreUnavailable("busy")]
        await scene.cancel(parent)
        assert (await daemon.message("task.execute"))["task"]["id"] == heir
        await scene.log.line("store.unread")


async def test_bodies_that_are_not_what_was_written_are_never_sent() -> None:
    async with a_scene() as scene:
        parent = await scene.submit(type="nobody's")
        await scene.submit(depends_on=(parent,), terms=GOES_ON)
        daemon = await scene.daemon()
        scene.held.read_faults = [StoreBroken("checksum")]
        asking = scene.asked(CancelTask(USER, parent, actor="test"))
        await asyncio.wait((scene.hub.failure,), timeout=WAIT_S)
        assert isinstance(scene.hub.failure.exception(), StoreBroken)
        assert "task.execute" not in daemon.types
    # The answer was on disk and could not be given: that is all its asker can be told.
    assert isinstance(asking.exception(), Unavailable)


async def test_behind_a_release_that_cannot_leave_nothing_leaves() -> None:
    line = Line()
    session = line.session()
    line.store.read_faults = [StoreBroken("checksum")]
    line.out.put(reads(1))
    await line.out.drain()
    line.out.put(a_release(2, AcknowledgeBeat(1)))
    await asyncio.sleep(0)
    assert [type(error) for error in line.failures] == [StoreBroken]
    assert session.types == []
    await line.out.close()
    line.readers.close()


async def test_closing_gives_up_on_bodies_that_cannot_be_read() -> None:
    line = Line()
    number, answer = line.out.askers.admit()
    line.store.read_faults = [StoreUnavailable("gone")] * 100
    line.out.put(a_release(1, Execute(1, "d_one", "t_1", 1, 1000), Reply(number, Done())))
    await line.log.line("store.unread")
    await line.out.close(within_s=0.0)
    error = answer.exception()
    assert isinstance(error, Unavailable)
    assert error.code == Refusal.OUTCOME_UNKNOWN
    assert line.failures == []
    line.readers.close()


# --- sessions ----------------------------------------------------------------------------------------------


async def test_a_session_is_told_why_before_it_is_closed() -> None:
    line = Line()
    session = line.session()
    line.out.put(a_release(1, AcknowledgeBeat(1), CloseSession(1, "SUPERSEDED", "a newer one came")))
    assert session.types == ["heartbeat.ack", "error"]
    assert session.closed.result() == (frames.CLOSE_SUPERSEDED, "a newer one came")
    line.out.put(a_release(2, AcknowledgeBeat(7), CloseSession(7, "SUPERSEDED", "nobody there")))
    line.out.cut_off(7)
    line.readers.close()


async def test_a_daemon_that_asks_to_be_drained_hears_nothing_more_and_is_shown_so() -> None:
    async with a_scene() as scene:
        await scene.daemon()
        watcher = scene.watcher()
        assert await scene.ask(DrainDaemon("d_one", user_id=USER, actor="test")) == Done()
        await watcher.event("daemon.draining")


# --- events and ends ---------------------------------------------------------------------------------------


async def test_a_subscriber_hears_of_its_own_user_and_an_admin_of_everyone() -> None:
    line = Line()
    ann, bob, admin = ASubscriber("u_ann"), ASubscriber("u_bob"), ASubscriber(None)
    line.out.subscribers = {1: ann, 2: bob, 3: admin}
    events = tuple(Event(EventName.TASK_CREATED, 5, user, "t_1") for user in ("u_ann", "u_bob", "u_ann"))
    line.out.put(a_release(4, events=events))
    assert [one.index for one in ann.told.all] == [0, 2]
    assert [one.index for one in bob.told.all] == [1]
    assert [(one.epoch, one.seq, one.index) for one in admin.told.all] == [(1, 4, 0), (1, 4, 1), (1, 4, 2)]
    line.readers.close()


async def test_what_happened_without_anyone_hearing_of_it_is_told_when_the_state_is_loaded() -> None:
    line = Line()
    admin = ASubscriber(None)
    line.out.subscribers = {1: admin}
    waiter = line.out.wait_for_end("t_1")
    missed = Numbered(1, 9, 0, Event(EventName.TASK_COMPLETED, 5, "u_ann", "t_1", now=Status.COMPLETED))
    line.out.begin(Identity("c_test", 1, 9), [], [], [missed])
    assert admin.told.all == [missed]
    assert waiter.done(), "whoever waits looks again"
    assert (await line.log.line("task.completed"))["task_id"] == "t_1"
    line.readers.close()


async def test_one_of_two_who_wait_for_an_end_may_leave() -> None:
    line = Line()
    first, second = line.out.wait_for_end("t_1"), line.out.wait_for_end("t_1")
    line.out.stop_waiting("t_1", first)
    line.out.stop_waiting("t_1", second)
    line.out.stop_waiting("t_1", second)
    line.readers.close()


async def test_an_answer_shows_the_tasks_that_its_own_commit_wrote() -> None:
    async with a_scene() as scene:
        answer, written = await scene.asked(scene.submission(count=3))
        assert [stored.task.status for stored in written.values()] == [Status.QUEUED] * 3
        daemon = await scene.daemon()
        command = scene.submission()
        _, written = await scene.asked(command)
        (stored,) = written.values()
        assert stored.task.status is Status.SCHEDULED
        assert stored.task.attempts is not scene.hub.state.tasks[stored.task.id].attempts
        assert stored.body == command.drafts[0].body
        _, written = await scene.asked(CancelTask(USER, stored.task.id, actor="test"))
        assert written == {}, "its row was there before"
        assert daemon is not None
        assert answer is not None
