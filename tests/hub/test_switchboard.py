"""What a gateway does while the lead moves, here or over a link."""

import asyncio

import pytest

from taskyard.core.commands import BeginWait, EndWait, SubmitTasks
from taskyard.core.effects import Refused
from taskyard.gateway.port import Unavailable
from taskyard.hub.link.messages import Wrote
from taskyard.hub.link.remote import Remote
from taskyard.hub.link.wire import LinkLost
from taskyard.vocabulary import Refusal
from tests.support.hub_scene import USER, WAIT_S, ASubscriber, a_draft, a_scene
from tests.support.linked import linked


async def test_a_task_that_waits_for_its_sub_task_waits_at_the_next_leader_too() -> None:
    async with linked(connected=False) as both:
        remote = await both.connect()
        daemon = await both.far.daemon()
        parent = await both.lead.submit()
        attempt = await both.far.run(daemon, parent)
        for wait in ("w_1", "w_2"):
            both.board.tell(BeginWait(parent, attempt, wait))
        both.board.tell(EndWait(parent, "w_2"))
        await both.board.daemons()
        remote.close()
        await both.connect()
        await both.board.daemons()
        assert both.lead.hub.state.waits == {parent: {"w_1": None}}


async def test_who_reads_the_past_while_the_lead_moves_reads_on_until_the_next_leader_tells_what_happens() -> None:
    async with linked(connected=False) as both:
        # Given one who subscribed while nobody led, as who was reading the past when a leader went
        reader = ASubscriber()
        both.board.subscribe(reader)
        assert not reader.is_lost
        await both.connect()
        async with asyncio.timeout(WAIT_S):
            while not reader.is_lost:
                await asyncio.sleep(0)
        # Then nothing is missed from there on
        task_id = await both.lead.submit()
        seen = await reader.event("task.created")
        assert seen.event.task_id == task_id


async def test_a_task_that_waited_for_a_leader_stands_behind_those_that_the_leader_has() -> None:
    async with linked(connected=False) as both:
        before = await both.lead.submit()
        asked = both.far.asked(SubmitTasks(USER, [a_draft("01000000-0000-7000-8000-000000000001")]))
        await both.far.settled()
        both.board.connect(both.lead.hub)
        async with asyncio.timeout(WAIT_S):
            answer, _ = await asked
        assert answer.ids[0] > before


async def test_an_answer_that_needed_no_commit_is_not_told_as_one() -> None:
    async with linked() as both:
        written: list[Wrote] = []
        leader = both.board.leader
        assert isinstance(leader, Remote)
        leader.mirror(written.append)
        answer = await both.far.cancel("01900000-0000-7000-8000-000000000001")
        assert isinstance(answer, Refused)
        await both.far.submit()
        assert [wrote.seq for wrote in written] == [both.lead.hub.identity.seq]
        assert both.board.identity == both.lead.hub.identity


async def test_a_leader_that_may_be_one_no_more_answers_nothing_that_the_next_might_answer_otherwise() -> None:
    async with linked(connected=False) as both, a_scene() as second:
        both.board.connect(both.lead.hub)
        both.lead.hub.is_trusted = lambda: False
        asked = both.far.asked(both.far.submission())
        looked = asyncio.ensure_future(both.board.daemons())
        await both.lead.held.commit(both.lead.hub.identity.seq)
        await both.far.settled()
        assert not asked.done()
        both.board.disconnect()
        both.board.connect(second.hub)
        async with asyncio.timeout(WAIT_S):
            answer, _ = await asked
            assert await looked == []
        assert list(second.hub.state.tasks) == list(answer.ids)


async def test_a_gateways_look_at_a_leader_that_may_be_one_no_more_is_not_answered() -> None:
    async with linked(connected=False) as both:
        remote = await both.connect()
        both.lead.hub.is_trusted = lambda: False
        with pytest.raises(LinkLost):
            await remote.daemons()


async def test_whoever_waits_for_an_end_at_a_hub_that_is_deposed_goes_on_waiting_at_the_next() -> None:
    async with linked(connected=False) as both, a_scene() as second:
        both.board.connect(both.lead.hub)
        task_id = await both.lead.submit()
        waiting = asyncio.ensure_future(both.board.ended(task_id, 60.0))
        await both.board.read(lambda reader: reader.position())
        both.lead.hub.depose("another hub leads")
        both.board.disconnect()
        both.board.connect(second.hub)
        # The next one has no such task, so it has ended as far as anybody can tell.
        async with asyncio.timeout(WAIT_S):
            await waiting


async def test_a_leader_that_says_that_it_leads_no_more_and_stays_is_believed() -> None:
    async with linked(connected=False) as both:
        both.board.connect(both.lead.hub)
        task_id = await both.lead.submit()
        waiting = asyncio.ensure_future(both.board.ended(task_id, 60.0))
        await both.board.read(lambda reader: reader.position())
        both.lead.hub.depose("another hub leads")
        with pytest.raises(Unavailable, match=Refusal.NO_LEADER):
            await waiting
