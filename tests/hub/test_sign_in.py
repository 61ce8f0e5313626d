"""Signing in at real hubs: the one that leads, one that is linked to it, and the next one after a restart."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from taskyard.gateway import port
from taskyard.gateway.sign_in import SignIn
from taskyard.hub.link.remote import dial
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log
from taskyard.hub.switchboard import Switchboard
from taskyard.vocabulary import Scope
from tests.support.hub_scene import SECRET, USER, WAIT_S, HeldStore, Scene, a_scene

HERE = "127.0.0.1"


@asynccontextmanager
async def linked_to(lead: Scene) -> AsyncIterator[Switchboard]:
    links = LinkServer(SECRET, Log(lead.log))
    links.serve(lead.hub)
    board = Switchboard(lead.hub.settings, lead.store.reader, secret=SECRET)
    try:
        async with asyncio.timeout(WAIT_S):
            board.connect(await dial(HERE, await links.listen(HERE, 0), SECRET))
        yield board
    finally:
        board.close()
        links.stop()


def a_sign_in(hub: port.Hub) -> SignIn:
    return SignIn(hub, ticket_s=600, session_s=3600)


def a_ticket(sign_in: SignIn) -> str:
    return sign_in.ticket(user_id=USER, scopes=frozenset({Scope.TASKS}))


async def test_hubs_of_a_yard_take_each_others_tickets_once_and_each_others_sessions() -> None:
    async with a_scene() as lead, linked_to(lead) as board:
        here, there = a_sign_in(board), a_sign_in(lead.hub)
        for made, used, other in ((here, there, here), (there, here, there), (here, here, there)):
            ticket = a_ticket(made)
            session = await used.exchange(ticket)
            assert session is not None
            assert [await one.exchange(ticket) for one in (other, used)] == [None, None]
            seen = other.session(session)
            assert (seen, seen.user_id) == (used.session(session), USER)


async def test_a_ticket_that_reaches_the_leader_when_it_is_over_by_the_leaders_clock_is_refused() -> None:
    async with a_scene() as lead:
        assert not await lead.hub.redeem("a", lead.hub.now_ms())
        assert await lead.hub.redeem("a", lead.hub.now_ms() + 60_000)


async def test_a_restart_keeps_sessions_and_takes_no_ticket_of_before() -> None:
    store = HeldStore()
    async with a_scene(store) as scene:
        sign_in = a_sign_in(scene.hub)
        used, unused = a_ticket(sign_in), a_ticket(sign_in)
        session = await sign_in.exchange(used)
        assert session is not None
        before = sign_in.session(session)
        assert before is not None
    async with a_scene(store, with_user=False) as scene:
        sign_in = a_sign_in(scene.hub)
        assert sign_in.session(session) == before
        assert [await sign_in.exchange(ticket) for ticket in (used, unused)] == [None, None]
