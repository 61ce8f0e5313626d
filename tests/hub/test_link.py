"""A gateway of one hub and the core of another, over a real link on loopback."""

import asyncio
import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import pytest
import uvloop

from taskyard.core.commands import Beat, BeginWait, JoinDaemon, SubmitTasks
from taskyard.core.effects import Submitted
from taskyard.core.settings import Limits, Settings
from taskyard.gateway import port
from taskyard.gateway.port import Unavailable
from taskyard.hub.hub import Hub
from taskyard.hub.link.remote import Remote, dial
from taskyard.hub.link.server import LinkServer
from taskyard.hub.link.views import ARGUMENTS, LiveViews
from taskyard.hub.link.wire import MAGIC, LinkLost
from taskyard.hub.observe import Log
from taskyard.hub.switchboard import Switchboard
from taskyard.store.port import StoreFenced
from taskyard.vocabulary import DaemonStatus, Refusal, Status
from tests.support.hub_scene import SECRET, USER, WAIT_S, Scene, a_draft, a_scene, refused_with

HERE = "127.0.0.1"


class Linked:
    """A scene that leads, and one that only has its gateway's end: speak to either."""

    def __init__(self, lead: Scene, links: LinkServer, address: int) -> None:
        self.lead = lead
        self.links = links
        self.port = address
        self.board = Switchboard(lead.hub.settings, lead.store.reader, secret=SECRET)
        self.far = Scene(lead.store, cast("Hub", self.board), lead.log)

    async def dial(self, secret: bytes = SECRET) -> Remote:
        async with asyncio.timeout(WAIT_S):
            return await dial(HERE, self.port, secret)

    async def connect(self) -> Remote:
        remote = await self.dial()
        remote.lost.add_done_callback(lambda _: self.board.disconnect())
        self.board.connect(remote)
        return remote


@asynccontextmanager
async def linked(*, connected: bool = True, settings: Settings | None = None) -> AsyncIterator[Linked]:
    async with a_scene(settings=settings) as lead:
        links = LinkServer(SECRET, Log(lead.log))
        links.serve(lead.hub)
        both = Linked(lead, links, await links.listen(HERE, 0))
        try:
            if connected:
                await both.connect()
            yield both
        finally:
            lead.held.writes.open()
            lead.held.reads.open()
            both.board.close()
            links.stop()


def lives(scenario: Any) -> None:
    uvloop.run(scenario())


def test_a_task_submitted_through_a_gateway_is_the_leaders_and_answered_after_its_commit() -> None:
    async def scenario() -> None:
        async with linked() as both:
            both.lead.held.writes.shut()
            asked = both.far.asked(both.far.submission())
            await both.lead.held.writes.reached()
            assert not asked.done()
            both.lead.held.writes.open()
            answer, tasks = await asked
            assert isinstance(answer, Submitted)
            assert tasks[answer.ids[0]].task.id == answer.ids[0]
            assert answer.ids[0] in both.lead.hub.state.tasks

    lives(scenario)


def test_a_tasks_id_is_given_by_the_leader_whatever_the_gateways_clock_says() -> None:
    async def scenario() -> None:
        async with linked() as both:
            far_future = "7fffffff-ffff-7000-8000-000000000001"
            answer = await both.far.ask(SubmitTasks(USER, [a_draft(far_future)]))
            assert isinstance(answer, Submitted)
            later = await both.lead.submit()
            assert answer.ids[0] < later

    lives(scenario)


def test_a_daemon_at_a_gateway_is_given_work_and_its_outcome_is_acknowledged() -> None:
    async def scenario() -> None:
        async with linked() as both:
            daemon = await both.far.daemon()
            task_id = await both.lead.submit()
            attempt = await both.far.run(daemon, task_id)
            both.far.complete(daemon, task_id, attempt)
            await daemon.message("ack")
            assert await both.far.status(task_id) is Status.COMPLETED

    lives(scenario)


def test_daemons_of_two_gateways_and_of_the_leader_are_told_apart_though_their_sockets_have_one_number() -> None:
    async def scenario() -> None:
        async with linked() as both:
            other = Linked(both.lead, both.links, both.port)
            await other.connect()
            sessions = [
                await scene.daemon(name) for scene, name in ((both.lead, "d_a"), (both.far, "d_b"), (other.far, "d_c"))
            ]
            assert {session.id for session in sessions} == {1}
            views = await other.board.daemons()
            assert sorted((view.id, view.status) for view in views) == [
                (name, DaemonStatus.ONLINE) for name in ("d_a", "d_b", "d_c")
            ]
            other.board.close()

    lives(scenario)


def test_when_a_link_breaks_its_daemons_have_left_and_rejoin_through_the_next() -> None:
    async def scenario() -> None:
        async with linked(connected=False) as both:
            remote = await both.connect()
            daemon = await both.far.daemon()
            task_id = await both.lead.submit()
            attempt = await both.far.run(daemon, task_id)
            gone = both.lead.watcher()
            # When the link is cut
            remote.close()
            await gone.event("daemon.disconnected")
            assert both.lead.hub.state.tasks[task_id].status is Status.RUNNING
            # And made anew, then the gateway has the daemon say hello again, and its outcome counts
            await both.connect()
            await daemon.message("rejoin")
            both.far.hub.tell(JoinDaemon(daemon.id, USER, "d_one", "boot", "d_one", types=("echo",), inventory=()))
            both.far.complete(daemon, task_id, attempt)
            await gone.event("daemon.connected")
            assert daemon.types.count("welcome") >= 1

    lives(scenario)


def test_a_wait_that_a_lost_gateway_began_is_ended() -> None:
    async def scenario() -> None:
        async with linked(connected=False) as both:
            remote = await both.connect()
            daemon = await both.far.daemon()
            parent = await both.lead.submit()
            attempt = await both.far.run(daemon, parent)
            both.board.tell(BeginWait(parent, attempt, "w_1"))
            await both.board.daemons()
            assert both.lead.hub.state.waits
            gone = both.lead.watcher()
            remote.close()
            await gone.event("daemon.disconnected")
            await both.lead.settled()
            assert not both.lead.hub.state.waits

    lives(scenario)


def test_events_reach_those_who_watch_at_a_gateway_and_only_their_own() -> None:
    async def scenario() -> None:
        async with linked() as both:
            await both.lead.a_user("u_eve")
            mine, hers = both.far.watcher(USER), both.far.watcher("u_eve")
            await both.board.daemons()
            task_id = await both.far.submit()
            seen = await mine.event("task.created")
            assert seen.event.task_id == task_id
            assert hers.told.all == []

    lives(scenario)


def test_a_key_works_at_a_gateway_by_the_time_its_making_is_answered() -> None:
    async def scenario() -> None:
        async with linked() as both:
            await both.far.a_key("k_1", "secret")
            assert [key.id for key in both.board.directory.keys_of(USER)] == ["k_1"]

    lives(scenario)


def test_settings_of_the_leader_hold_at_its_gateways() -> None:
    async def scenario() -> None:
        async with linked() as both:
            settings = Settings(limits=Limits(running_per_user=7))
            both.links.adopt(settings)
            await both.board.daemons()
            assert both.board.settings == settings

    lives(scenario)


def test_every_view_of_the_port_can_be_asked_for_over_a_link() -> None:
    live = {
        name
        for name, method in inspect.getmembers(port.Hub, inspect.iscoroutinefunction)
        if name not in ("ask", "read") and not name.startswith("_")
    }
    assert live == set(ARGUMENTS)
    assert live == {name for name in vars(LiveViews) if not name.startswith("_")}


def test_a_view_shows_at_a_gateway_what_it_shows_at_the_leader() -> None:
    async def scenario() -> None:
        async with linked() as both:
            daemon = await both.far.daemon()
            task_id = await both.far.submit(type="other")
            both.far.hub.tell(Beat(daemon.id, "d_one", 0.5, 100))
            here, there = both.board, both.lead.hub
            assert await here.why(task_id, {}) == await there.why(task_id, {})
            assert await here.forecast(task_id) == await there.forecast(task_id)
            assert await here.queues(USER) == await there.queues(USER)
            assert await here.breakers(USER) == await there.breakers(USER)
            assert await here.breaker(USER, "echo") == await there.breaker(USER, "echo")
            assert await here.overview(USER) == await there.overview(USER)
            assert await here.idle_because(["d_one"], USER) == await there.idle_because(["d_one"], USER)
            assert await here.progress([task_id]) == await there.progress([task_id])
            assert await here.pressure(USER) == await there.pressure(USER)
            assert (await here.figures()).depth == (await there.figures()).depth
            used_here, used_there = await here.usage(USER), await there.usage(USER)
            assert (used_here.plan, used_here.pending) == (used_there.plan, used_there.pending)
            await here.ended(task_id, 0.0)

    lives(scenario)


def test_a_request_whose_answer_was_lost_is_answered_by_the_same_name_and_not_done_again() -> None:
    async def scenario() -> None:
        async with linked(connected=False) as both:
            remote = await both.connect()
            # Given a submission that is being written
            both.lead.held.writes.shut()
            asked = both.far.asked(both.far.submission())
            await both.lead.held.writes.reached()
            # When the link breaks before its answer, and another is made after the commit
            remote.close()
            both.lead.held.writes.open()
            await both.lead.held.commit(2)
            await both.connect()
            # Then it is answered with the task that it made, and there is one
            async with asyncio.timeout(WAIT_S):
                answer, _ = await asked
            assert isinstance(answer, Submitted)
            assert list(both.lead.hub.state.tasks) == list(answer.ids)

    lives(scenario)


def test_a_request_that_never_came_to_be_is_done_by_the_next_leader() -> None:
    async def scenario() -> None:
        async with linked(connected=False) as both:
            asked = both.far.asked(both.far.submission())
            await both.far.settled()
            await both.connect()
            async with asyncio.timeout(WAIT_S):
                answer, _ = await asked
            assert isinstance(answer, Submitted)

    lives(scenario)


def test_a_leader_that_is_fenced_refuses_and_its_gateway_asks_the_next() -> None:
    async def scenario() -> None:
        async with linked(connected=False) as both, a_scene() as second:
            both.board.connect(both.lead.hub)
            both.lead.held.write_faults.append(StoreFenced("another hub leads"))
            asked = both.far.asked(both.far.submission())
            async with asyncio.timeout(WAIT_S):
                await both.lead.hub.deposed
            assert not both.lead.hub.ready
            both.board.disconnect()
            both.board.connect(second.hub)
            async with asyncio.timeout(WAIT_S):
                answer, _ = await asked
            assert isinstance(answer, Submitted)
            assert list(second.hub.state.tasks) == list(answer.ids)

    lives(scenario)


def test_without_a_leader_a_request_waits_a_little_and_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.hub.switchboard.HOLD_S", 0.01)

    async def scenario() -> None:
        async with linked(connected=False) as both:
            assert await refused_with(both.far.asked(both.far.submission())) == Refusal.NO_LEADER
            with pytest.raises(Unavailable):
                await both.board.daemons()

    lives(scenario)


def test_who_follows_events_has_to_come_anew_when_the_leader_changes() -> None:
    async def scenario() -> None:
        async with linked() as both:
            watcher = both.far.watcher()
            both.board.disconnect()
            assert watcher.is_lost

    lives(scenario)


def test_somebody_who_does_not_know_the_secret_is_not_let_in() -> None:
    async def scenario() -> None:
        async with linked(connected=False) as both:
            with pytest.raises(LinkLost):
                await both.dial(b"another secret, of the same length")
            assert both.lead.hub.ready

    lives(scenario)


@pytest.mark.parametrize("said", [b"GET / HTTP/1.1\r\n\r\n", MAGIC + b"x" * 32 + b"\xff" * 64, b"\0" * 4096])
def test_a_stranger_on_the_port_is_cut_off(said: bytes) -> None:
    async def scenario() -> None:
        async with linked(connected=False) as both:
            reader, writer = await asyncio.open_connection(HERE, both.port)
            writer.write(said)
            async with asyncio.timeout(WAIT_S):
                with suppress(ConnectionResetError):
                    await reader.read()
            writer.close()
            await both.connect()
            assert await both.far.submit()

    lives(scenario)


def test_a_hub_that_does_not_lead_lets_nobody_in() -> None:
    async def scenario() -> None:
        async with linked(connected=False) as both:
            both.links.dismiss()
            with pytest.raises(LinkLost):
                await both.dial()

    lives(scenario)


def test_a_leader_that_retires_commits_what_it_decided_and_refuses_the_rest() -> None:
    async def scenario() -> None:
        async with a_scene() as lead:
            lead.held.writes.shut()
            first = lead.asked(lead.submission())
            await lead.held.writes.reached()
            retiring = asyncio.ensure_future(lead.hub.retire())
            await lead.settled()
            second = lead.asked(lead.submission())
            assert await refused_with(second) == Refusal.NO_LEADER
            lead.held.writes.open()
            await retiring
            answer, _ = await first
            assert isinstance(answer, Submitted)
            assert lead.hub.deposed.done()

    lives(scenario)
