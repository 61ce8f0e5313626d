"""A gateway of one hub and the core of another, over a real link on loopback."""

import asyncio
import inspect
from pathlib import Path

import pytest

from taskyard.core.changes import UserRecord
from taskyard.core.commands import BeginWait, SubmitTasks
from taskyard.core.daemon_commands import Beat, ForgetDaemon, JoinDaemon, LeaveDaemon
from taskyard.core.effects import Done, Submitted
from taskyard.core.settings import Limits, Settings
from taskyard.gateway import port
from taskyard.gateway.port import Unavailable
from taskyard.hub import switchboard
from taskyard.hub.link import messages as m
from taskyard.hub.link.remote import dial
from taskyard.hub.link.views import ARGUMENTS, LiveViews
from taskyard.hub.link.wire import LinkLost, Wire
from taskyard.hub.yard import KeyPolicy, welcome_owner
from taskyard.store.port import Identity, StoreFenced
from taskyard.vocabulary import DaemonStatus, Refusal, Status
from tests.support.hub_scene import SECRET, USER, WAIT_S, a_draft, a_scene, refused_with
from tests.support.linked import HERE, Linked, linked


async def test_a_task_submitted_through_a_gateway_is_the_leaders_and_answered_after_its_commit() -> None:
    async with linked() as both:
        both.lead.held.writes.shut()
        asked = both.far.asked(both.far.submission())
        await both.lead.held.writes.reached()
        assert not asked.done()
        both.lead.held.writes.open()
        answer, tasks = await asked
        assert tasks[answer.ids[0]].task.id == answer.ids[0]
        assert answer.ids[0] in both.lead.hub.state.tasks


async def test_a_tasks_id_is_given_by_the_leader_whatever_the_gateways_clock_says() -> None:
    async with linked() as both:
        far_future = "7fffffff-ffff-7000-8000-000000000001"
        answer = await both.far.ask(SubmitTasks(USER, [a_draft(far_future)]))
        assert isinstance(answer, Submitted)
        later = await both.lead.submit()
        assert answer.ids[0] < later


async def test_a_daemon_at_a_gateway_is_given_work_and_its_outcome_is_acknowledged() -> None:
    async with linked() as both:
        daemon = await both.far.daemon()
        task_id = await both.lead.submit()
        attempt = await both.far.run(daemon, task_id)
        both.far.complete(daemon, task_id, attempt)
        await daemon.message("ack")
        assert await both.far.status(task_id) is Status.COMPLETED


async def test_daemons_of_two_gateways_and_of_the_leader_are_told_apart_though_their_sockets_have_one_number() -> None:
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


async def test_when_a_link_breaks_its_daemons_have_left_and_rejoin_through_the_next() -> None:
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


async def test_a_daemon_that_is_forgotten_through_a_gateway_is_gone_for_all() -> None:
    async with linked() as both:
        gone = both.far.watcher()
        session = await both.lead.daemon()
        both.lead.hub.tell(LeaveDaemon(session.id, "d_one"))
        assert await both.far.ask(ForgetDaemon("d_one", USER, "test")) == Done()
        forgotten = await gone.event("daemon.forgotten")
        assert forgotten.event.data == {"daemon_id": "d_one", "name": "d_one", "because": "asked"}
        assert await both.board.daemons() == await both.lead.hub.daemons() == []


async def test_a_wait_that_a_lost_gateway_began_is_ended() -> None:
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


async def test_a_hub_knows_how_much_waits_to_be_decided_and_a_gateway_takes_it_that_something_does() -> None:
    async with linked(connected=False) as both:
        assert both.board.backlog == 0
        await both.connect()
        assert both.board.backlog == 1
        daemon = await both.lead.daemon()
        for _ in range(3):
            both.lead.hub.tell(Beat(daemon.id, "d_one"))
        assert both.lead.hub.backlog == 3
        await both.lead.settled()
        assert both.lead.hub.backlog == 0


async def test_events_reach_those_who_watch_at_a_gateway_and_only_their_own() -> None:
    async with linked() as both:
        await both.lead.a_user("u_eve")
        mine, hers = both.far.watcher(USER), both.far.watcher("u_eve")
        await both.board.daemons()
        task_id = await both.far.submit()
        seen = await mine.event("task.created")
        assert seen.event.task_id == task_id
        assert hers.told.all == []


async def test_a_key_works_at_a_gateway_by_the_time_its_making_is_answered() -> None:
    async with linked() as both:
        await both.far.a_key("k_1", "secret")
        assert [key.id for key in both.board.directory.keys_of(USER)] == ["k_1"]


async def test_hubs_that_start_at_once_make_one_admin_key_whichever_of_them_leads(tmp_path: Path) -> None:
    async with linked() as both:
        places = [tmp_path / name for name in ("lead", "far")]
        for place in places:
            place.mkdir()
        hubs = (both.lead.hub, both.board)
        starts = (
            welcome_owner(hub, place, "http://here", KeyPolicy(joins=True))
            for hub, place in zip(hubs, places, strict=True)
        )
        made = [key for key in await asyncio.gather(*starts) if key is not None]
        assert len(made) == 1
        await both.board.caught_up()
        assert both.board.directory.key(made[0].record.id) == both.lead.hub.directory.key(made[0].record.id)
        assert both.lead.hub.directory.keys() == [made[0].record]


async def test_a_key_made_elsewhere_is_known_at_a_gateway_that_has_caught_up() -> None:
    async with linked() as both:
        await both.lead.a_key("k_1", "secret")
        assert both.board.directory.key("k_1") is None, "nobody has told this gateway yet"
        await both.board.caught_up()
        assert [key.id for key in both.board.directory.keys_of(USER)] == ["k_1"]


async def test_what_a_leader_says_in_the_breath_in_which_it_greets_is_what_holds() -> None:
    settings, ada = Settings(limits=Limits(running_per_user=7)), UserRecord(USER, "ada", 1)
    said = (
        m.Greeting(Identity("c", 1, 8), Settings(), [UserRecord(USER, "a", 1)], []),
        m.Known([ada], []),
        m.Adopt(settings),
        m.Reached(9),
    )

    def leader() -> Wire:
        wire = Wire(SECRET, calls=False)
        wire.opened.add_done_callback(lambda _: [wire.post(message) for message in said])
        return wire

    server = await asyncio.get_running_loop().create_server(leader, HERE, 0)
    async with asyncio.timeout(WAIT_S):
        remote = await dial(HERE, server.sockets[0].getsockname()[1], SECRET)
    assert (remote.settings, remote.identity.seq, remote.directory.user(USER)) == (settings, 9, ada)
    remote.close()
    server.close()


async def test_settings_of_the_leader_hold_at_its_gateways() -> None:
    async with linked() as both:
        settings = Settings(limits=Limits(running_per_user=7))
        both.links.adopt(settings)
        await both.board.daemons()
        assert both.board.settings == settings


async def test_whoever_has_caught_up_misses_nothing_that_is_committed_from_there_on() -> None:
    async with linked() as both:
        watcher = both.far.watcher()
        await both.board.caught_up()
        task_id = await both.lead.submit()
        assert (await watcher.event("task.created")).event.task_id == task_id


async def test_a_gateway_whose_leader_takes_no_work_says_so() -> None:
    async with linked(connected=False) as both:
        assert not await both.board.takes_work()
        await both.connect()
        assert await both.board.takes_work()
        both.lead.hub.is_prepared = False
        assert not await both.board.takes_work()


async def test_a_leader_that_does_not_answer_takes_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switchboard, "HOLD_S", 0.05)
    async with linked() as both:
        never = asyncio.Event()
        monkeypatch.setattr(both.lead.hub, "takes_work", never.wait)
        assert not await both.board.takes_work()


async def test_a_task_that_waits_is_answered_with_where_it_stands_and_a_batch_is_not() -> None:
    async with linked() as both:
        await both.lead.submit()
        (answer, _), forecast = await both.board.submit(both.far.submission())
        assert isinstance(answer, Submitted)
        assert forecast.position == 2
        assert forecast == await both.lead.hub.forecast(answer.ids[0])
        _, none = await both.board.submit(both.far.submission(count=2))
        assert none is None


def test_every_view_of_the_port_can_be_asked_for_over_a_link() -> None:
    live = {
        name
        for name, method in inspect.getmembers(port.Hub, inspect.iscoroutinefunction)
        if name not in ("ask", "submit", "read") and not name.startswith("_")
    }
    assert live == set(ARGUMENTS)
    assert live == {name for name in vars(LiveViews) if not name.startswith("_")}


async def test_a_view_shows_at_a_gateway_what_it_shows_at_the_leader() -> None:
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
        heir = await both.far.submit(depends_on=(task_id,))
        assert await here.heirs([task_id]) == await there.heirs([task_id]) == [heir]
        assert await here.ties([task_id]) == await there.ties([task_id]) == [heir]
        assert await here.idle_because(["d_one"], USER) == await there.idle_because(["d_one"], USER)
        assert await here.progress([task_id]) == await there.progress([task_id])
        assert await here.pressure(USER) == await there.pressure(USER)
        assert (await here.figures()).depth == (await there.figures()).depth
        used_here, used_there = await here.usage(USER), await there.usage(USER)
        assert (used_here.plan, used_here.pending) == (used_there.plan, used_there.pending)
        assert list(await here.usages([USER, "u_nobody"])) == list(await there.usages([USER, "u_nobody"])) == [USER]
        await here.ended(task_id, 0.0)


async def test_a_request_that_never_came_to_be_is_done_by_the_next_leader() -> None:
    async with linked(connected=False) as both:
        asked = both.far.asked(both.far.submission())
        await both.far.settled()
        await both.connect()
        async with asyncio.timeout(WAIT_S):
            answer, _ = await asked
        assert isinstance(answer, Submitted)


async def test_a_leader_that_is_fenced_refuses_and_its_gateway_asks_the_next() -> None:
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
        assert list(second.hub.state.tasks) == list(answer.ids)


async def test_without_a_leader_a_request_waits_a_little_and_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.hub.switchboard.HOLD_S", 0.01)
    async with linked(connected=False) as both:
        assert await refused_with(both.far.asked(both.far.submission())) == Refusal.NO_LEADER
        with pytest.raises(Unavailable):
            await both.board.daemons()


async def test_who_follows_events_has_to_come_anew_when_the_leader_changes() -> None:
    async with linked() as both:
        watcher = both.far.watcher()
        both.board.disconnect()
        assert watcher.is_lost


async def test_a_hub_that_does_not_lead_lets_nobody_in() -> None:
    async with linked(connected=False) as both:
        both.links.dismiss()
        with pytest.raises(LinkLost):
            await both.dial()


async def test_a_leader_that_retires_commits_what_it_decided_and_refuses_the_rest() -> None:
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
