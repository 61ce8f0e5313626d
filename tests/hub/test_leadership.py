"""Who leads, over a lease in memory: its row, its lock, and every way in which either cannot be had.

The hubs are real ones, and so are the links between them; each hub has a store of its own, since what they would write
is not in question here. What time does is waited for, never slept through.
"""

import asyncio
from collections.abc import Callable

import pytest

from taskyard.gateway.port import Unavailable
from taskyard.hub import leadership as module
from taskyard.hub.clock import read_age
from taskyard.hub.leadership import RAN_OUT, RENEWALS_PER_LEASE
from taskyard.store.port import StoreFenced, StoreRefused
from tests.support.hub_scene import WAIT_S, Scene
from tests.support.leadership import AWAY, LEASE_S, LONG_S, ANode, Row, a_yard
from tests.support.live import wait_until

pytestmark = pytest.mark.slow

ROOM_S, OFTEN = 2 * LEASE_S, 40
"""A lease, and its renewals, of which thirty may be late before it is doubtful."""


@pytest.fixture(autouse=True)
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """As patient as production, but for its waits."""
    monkeypatch.setattr(module, "LOOK_S", 0.02)
    monkeypatch.setattr(module, "RETRY_S", 0.01)


# --- who may lead ------------------------------------------------------------------------------------------


async def test_the_first_hub_leads_and_the_second_follows_it() -> None:
    async with a_yard() as yard:
        first = await yard.leader("a")
        second = await yard.node("b")
        await second.follows(first)
        assert (first.leadership.is_leading, second.leadership.is_leading) == (True, False)
        assert second.begins == 0


async def test_whoever_gets_the_lock_of_a_leader_that_died_leads_without_waiting_for_its_lease() -> None:
    async with a_yard() as yard:
        first = await yard.leader("a")
        second = await yard.node("b")
        await second.follows(first)
        # When the first is gone with its lock and its links, long before its lease is over
        first.running.cancel()
        first.lease.cut()
        await second.leads()
        assert (yard.row.holder.id, yard.row.holder.epoch) == ("b", 2)


async def test_a_lease_that_ran_out_is_taken_though_its_holder_still_has_the_lock() -> None:
    async with a_yard(LEASE_S) as yard:
        first = await yard.leader("a")
        second = await yard.node("b")
        await second.follows(first)
        first.lease.renewals.shut()
        await second.leads()
        assert yard.row.lock_owner is first.lease
        assert first.hub.deposed.done()


async def test_a_hub_that_was_faster_is_followed() -> None:
    async with a_yard() as yard:
        first = await yard.leader("a")
        second = ANode(yard.row, "b", lease_s=LONG_S)

        def is_faster() -> None:
            yard.row.until = read_age() + LONG_S

        # Given one that finds the lease ended when it looks, and another's when it takes it
        second.before_begin = is_faster
        yard.row.until = 0.0
        await second.start()
        await second.follows(first)
        assert (second.begins, second.hubs) == (1, [])
        await second.stop()


async def test_a_copy_of_a_hubs_directory_follows_the_one_whose_name_it_has() -> None:
    async with a_yard() as yard:
        first = await yard.leader("a")
        await (await yard.node("a")).follows(first)


# --- following ---------------------------------------------------------------------------------------------


async def test_a_link_that_is_lost_is_made_again() -> None:
    async with a_yard() as yard:
        first, second = await yard.leader("a"), await yard.node("b")
        (await second.follows(first)).close()
        await second.said("link.made", 2)
        await second.follows(first)


async def test_a_leader_that_takes_calls_and_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DIAL_S", 0.05)
    async with a_yard(LEASE_S) as yard:
        first = await yard.leader("a")
        second = ANode(yard.row, "b", lease_s=LEASE_S)
        # Given a second hub whose call the first takes, and never answers
        second.dial = lambda holder: asyncio.get_running_loop().create_future()
        await second.start()
        assert (await second.said("link.refused"))["data"]["reason"] == "it does not answer"
        # When the first renews its lease no longer
        first.lease.renewals.shut()
        # Then the second leads all the same
        await second.leads()
        await second.stop()


async def test_while_nobody_can_tell_who_leads_that_is_said_once_and_nobody_begins() -> None:
    async with a_yard() as yard:
        node = await yard.node("a", look_faults=[AWAY] * 5)
        await node.leads()
        told = [line["data"]["reason"] for line in node.log.told.all if line["event"] == "lease.unread"]
        assert told == ["the server is gone"]


# --- keeping it --------------------------------------------------------------------------------------------


async def test_a_lease_is_renewed_several_times_in_its_length() -> None:
    async with a_yard(LEASE_S) as yard:
        node = await yard.leader()
        began, before = read_age(), node.lease.renewed
        async with asyncio.timeout(WAIT_S):
            while node.lease.renewed < before + 2 * RENEWALS_PER_LEASE:
                await asyncio.sleep(0.001)
        assert read_age() - began > LEASE_S
        assert node.leadership.is_leading


async def test_a_lease_is_renewed_while_the_state_is_loaded_however_long_that_takes() -> None:
    async with a_yard(LEASE_S) as yard:
        node = await yard.node("a")
        node.loads.shut()
        await node.loads.reached()
        other = await yard.node("b")
        async with asyncio.timeout(WAIT_S):
            while node.lease.renewed < 2 * RENEWALS_PER_LEASE:
                await asyncio.sleep(0.001)
        assert other.begins == 0
        node.loads.open()
        await node.leads()
        await other.follows(node)


async def test_one_renewal_that_fails_does_not_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RENEWALS_PER_LEASE", OFTEN)
    async with a_yard(ROOM_S) as yard:
        node = await yard.leader()
        node.lease.renew_faults = [AWAY]
        await node.said("lease.unrenewed")
        before = node.lease.renewed
        async with asyncio.timeout(WAIT_S):
            while node.lease.renewed < before + 2:
                await asyncio.sleep(0.001)
        assert node.hub.ready
        assert len(node.hubs) == 1


def is_trusted_to_the_end(node: ANode, row: Row) -> bool:
    """Whether it still answers a moment before another can lead, however late this process gets to look."""
    with pytest.MonkeyPatch.context() as clock:
        clock.setattr(module, "read_age", lambda: row.until - 0.001)
        return node.hub.is_trusted()


async def test_a_leader_that_cannot_renew_answers_nothing_more_before_another_can_lead() -> None:
    async with a_yard(LEASE_S) as yard:
        node = await yard.leader()
        node.lease.renew_faults = [AWAY] * 1000
        node.lease.look_faults = [AWAY] * 1000
        await node.said("hub.deposed")
        assert not is_trusted_to_the_end(node, yard.row)
        assert not node.hub.ready
        assert node.board.leader is None


async def test_a_renewal_that_nobody_answers_is_not_waited_for() -> None:
    async with a_yard(LEASE_S) as yard:
        node = await yard.leader()
        node.lease.renewals.shut()
        await node.said("hub.deposed")
        assert not is_trusted_to_the_end(node, yard.row)
        await node.loses()


async def test_a_leader_whose_event_loop_is_stuck_leaves_the_lead_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STUCK_S", LEASE_S / 2)
    async with a_yard(LEASE_S) as yard:
        node = await yard.leader()
        # When the loop does nothing else until the lease has run out
        wait_until(lambda: not yard.row.left_ms, within_s=WAIT_S, what="a lease that nobody renews")
        told = await node.said("hub.deposed")
        assert told["data"]["reason"] in {"it did nothing else for too long", RAN_OUT}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda node: node.lease.renew_faults.append(StoreFenced("another hub leads")), "another hub leads"),
        (lambda node: node.lease.cut(), "the connection that says it is alive was cut"),
    ],
    ids=["fenced", "cut off"],
)
async def test_a_leader_that_learns_that_another_may_lead_stops_at_once(
    fault: Callable[[ANode], None], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEWALS_PER_LEASE", OFTEN)
    async with a_yard(ROOM_S) as yard:
        node = await yard.leader()
        fault(node)
        assert (await node.said("hub.deposed"))["data"]["reason"] == reason
        # And leads again when nobody else did
        await node.said("hub.leads", 2)


async def test_what_is_lost_while_a_hub_begins_is_not_begun() -> None:
    async with a_yard(LEASE_S) as yard:
        node = await yard.node("a")
        node.loads.shut()
        await node.loads.reached()
        node.lease.renew_faults = [StoreFenced("another hub leads")]
        async with asyncio.timeout(WAIT_S):
            while node.begins < 2:
                await asyncio.sleep(0.001)
        assert node.hubs == []


# --- going -------------------------------------------------------------------------------------------------


async def test_who_resigns_hands_over_and_follows_and_what_is_asked_meanwhile_is_answered() -> None:
    async with a_yard() as yard:
        first, second = await yard.leader("a"), await yard.node("b")
        await second.follows(first)
        # Given a first that has gone, and a second that is still loading
        second.loads.shut()
        await first.leadership.resign()
        await second.loads.reached()
        asked = Scene(first.stores[0], first.board, first.log)  # type: ignore[arg-type]
        submitting = asked.asked(asked.submission())
        second.loads.open()
        # Then what is asked of the first is answered by the second
        answer, _ = await submitting
        assert answer.ids[0] in second.hub.state.tasks
        assert first.begins == 1, "it did not try again"


async def test_who_resigns_while_the_store_is_away_leaves_the_lease_to_run_out() -> None:
    async with a_yard(LEASE_S) as yard:
        first, second = await yard.leader("a"), await yard.node("b")
        await second.follows(first)
        first.lease.resign_faults = [AWAY]
        await first.leadership.resign()
        await first.said("lease.kept")
        await second.leads()
        await first.follows(second)


async def test_who_resigns_and_cannot_write_what_it_decided_goes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETIRE_S", 0.05)
    async with a_yard() as yard:
        first, second = await yard.leader("a"), await yard.node("b")
        await second.follows(first)
        first.stores[0].writes.shut()
        scene = Scene(first.stores[0], first.hub, first.log)
        asked = scene.asked(scene.submission())
        await first.stores[0].writes.reached()
        await first.leadership.resign()
        await first.follows(second)
        with pytest.raises(Unavailable):
            await asked


async def test_a_deposed_hub_whose_writer_hangs_does_not_keep_its_gateway_from_the_next() -> None:
    async with a_yard(LEASE_S) as yard:
        first, second = await yard.leader("a"), await yard.node("b")
        await second.follows(first)
        scene = Scene(first.stores[0], first.hub, first.log)
        first.stores[0].writes.shut()
        asked = scene.asked(scene.submission())
        await first.stores[0].writes.reached()
        # When its lease is another's while it still waits for its disk
        first.lease.renewals.shut()
        await second.leads()
        first.lease.renewals.open()
        await first.follows(second)
        assert not first.stores[0].is_closed
        with pytest.raises(Unavailable):
            await asked


# --- what cannot be led ------------------------------------------------------------------------------------


async def test_a_store_that_goes_away_while_it_is_taken_over_is_tried_again() -> None:
    async with a_yard() as yard:
        node = await yard.node("a", begin_faults=[AWAY, AWAY])
        await node.said("lease.untaken", 2)
        await node.leads()
        assert node.begins == 3


async def test_a_hub_that_is_refused_at_its_start_says_why_and_ends() -> None:
    async with a_yard() as yard:
        node = await yard.node("a", begin_faults=[StoreRefused("It is an older copy.")])
        with pytest.raises(StoreRefused, match=r"It is an older copy\."):
            await node.running
        assert node.lease.renewed == 0


async def test_a_gateway_that_may_not_lead_serves_on_and_leaves_the_lead_to_others() -> None:
    async with a_yard() as yard:
        first, second = await yard.leader("a"), await yard.node("b")
        await second.follows(first)
        second.begin_faults = [StoreRefused("It is an older copy.")] * 1000
        first.running.cancel()
        first.lease.cut()
        assert (await second.said("lease.refused"))["data"]["reason"] == "It is an older copy."
        third = await yard.node("c")
        await third.leads()
        await second.follows(third)
        assert not second.running.done()


async def test_a_gateway_that_may_not_lead_tries_again_ever_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REFUSED_S", 0.02)
    monkeypatch.setattr(module, "REFUSED_S_MAX", 0.05)
    async with a_yard() as yard:
        first, second = await yard.leader("a"), await yard.node("b")
        await second.follows(first)
        second.begin_faults = [StoreRefused("The server is a replica.")] * 4
        began = read_age()
        first.running.cancel()
        first.lease.cut()
        await second.leads()
        assert read_age() - began >= 0.02 + 0.04 + 0.05 + 0.05
        assert second.begins == 5
