"""What hubs tell each other of the log they saw: one question to all of them, and the first word on a link."""

import asyncio

import pytest
from msgspec.structs import replace

from taskyard.hub.link import asking, messages, server
from taskyard.hub.link.asking import ask_all
from taskyard.hub.link.remote import dial
from taskyard.hub.link.server import LinkServer
from taskyard.hub.link.wire import LinkLost, Wire
from taskyard.hub.observe import Log
from taskyard.store.port import Identity, StoreUnavailable
from taskyard.store.rewind import Sighting
from tests.support.hub_scene import SECRET, WAIT_S, ALog
from tests.support.linked import HERE, Linked, linked

ONE = Sighting("hub h_1", Identity("c_1", 1, 9, "a", "b9"))
TWO = Sighting("hub h_2", Identity("c_1", 1, 8, "a", "b8"))


async def standing_by(*sightings: Sighting) -> tuple[LinkServer, int]:
    """A hub that does not lead, and its port."""
    links = LinkServer(SECRET, Log(ALog()))
    links.remembered = lambda: list(sightings)
    return links, await links.listen(HERE, 0)


# --- the question ------------------------------------------------------------------------------------------


async def test_hubs_that_do_not_lead_say_what_they_saw() -> None:
    first, one = await standing_by(ONE, TWO)
    second, two = await standing_by(TWO)
    assert await ask_all([(HERE, one), (HERE, two)], SECRET) == [ONE, TWO]
    assert await ask_all([], SECRET) == []
    first.stop()
    second.stop()


async def test_the_hub_that_leads_says_it_too() -> None:
    async with linked(connected=False) as both:
        both.links.remembered = lambda: [ONE]
        assert await ask_all([(HERE, both.port)], SECRET) == [ONE]


async def test_silence_and_nobody_there_keep_nobody_waiting_longer_than_the_time_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asking, "ASK_S", 0.3)
    there, port = await standing_by(ONE)
    # Given one whose port is taken and says nothing, one who is gone, and one who speaks of other things
    silent = await asyncio.get_running_loop().create_server(asyncio.Protocol, HERE, 0)

    def babbler() -> Wire:
        wire = Wire(SECRET, calls=False)
        wire.opened.add_done_callback(lambda _: wire.post(messages.Failed(1)))
        return wire

    odd = await asyncio.get_running_loop().create_server(babbler, HERE, 0)
    places = [(HERE, one.sockets[0].getsockname()[1]) for one in (silent, odd)]
    async with asyncio.timeout(WAIT_S):
        assert await ask_all([*places, (HERE, 1), (HERE, port)], SECRET) == [ONE]
    silent.close()
    odd.close()
    there.stop()


async def test_a_stranger_is_told_nothing() -> None:
    there, port = await standing_by(ONE)
    assert await ask_all([(HERE, port)], b"another secret of another yard's") == []
    there.stop()


async def test_a_hub_that_does_not_lead_is_no_leader_to_those_who_want_one() -> None:
    there, port = await standing_by(ONE)
    with pytest.raises(LinkLost):
        await dial(HERE, port, SECRET)
    there.stop()


async def test_who_asks_nothing_is_not_kept_and_only_so_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "OPENING_S", 0.05)
    monkeypatch.setattr(server, "STRANGERS_MAX", 1)
    there, port = await standing_by(ONE)
    idle, writer = await asyncio.open_connection(HERE, port)
    async with asyncio.timeout(WAIT_S):
        while await ask_all([(HERE, port)], SECRET) != [ONE]:
            await asyncio.sleep(0.01)
        while await idle.read(1024):
            pass
    writer.close()
    there.stop()


# --- the first word ----------------------------------------------------------------------------------------


def seen_of(both: Linked, **other: object) -> Sighting:
    return Sighting("hub h_2", replace(both.lead.hub.identity, **other))


async def test_a_hub_that_saw_what_the_leader_has_is_greeted() -> None:
    async with linked(connected=False) as both:
        remote = await dial(HERE, both.port, SECRET, sightings=[seen_of(both)])
        assert remote.identity == both.lead.hub.identity
        await both.lead.submit()
        async with asyncio.timeout(WAIT_S):
            while remote.identity != both.lead.hub.identity:
                await asyncio.sleep(0.001)
        assert remote.identity.batch_id


@pytest.mark.slow
async def test_a_hub_that_saw_what_the_leader_lacks_is_not_greeted_and_stops_it() -> None:
    async with linked() as both:
        watcher = both.far.watcher()
        await both.board.caught_up()
        with pytest.raises(LinkLost):
            await dial(HERE, both.port, SECRET, sightings=[seen_of(both, seq=99, batch_id="lost")])
        assert both.lead.hub.missing is not None
        assert not both.lead.hub.ready
        # Readers at other hubs hear why as well
        await watcher.event("hub.rewound")
        # It says so once, whoever else says it again
        both.lead.hub.guard.stop(both.lead.hub.missing)
        assert [line["event"] for line in both.lead.log.told.all].count("hub.rewound") == 1


async def test_what_a_hub_saw_is_judged_as_soon_as_the_store_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "JUDGE_AGAIN_S", 0.01)
    async with linked(connected=False) as both:
        both.lead.held.read_faults = [StoreUnavailable("away")] * 3
        remote = await dial(HERE, both.port, SECRET, sightings=[seen_of(both, seq=99, batch_id="lost")])
        assert remote.ready
        async with asyncio.timeout(WAIT_S):
            while both.lead.hub.missing is None:
                await asyncio.sleep(0.001)


async def test_who_does_not_introduce_itself_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "INTRODUCTION_S", 0.05)
    async with linked(connected=False) as both:
        loop = asyncio.get_running_loop()
        _, wire = await loop.create_connection(lambda: Wire(SECRET, calls=True), HERE, both.port)
        lost: asyncio.Future[str] = loop.create_future()
        wire.on_lost = lost.set_result
        async with asyncio.timeout(WAIT_S):
            await lost
        # One that did is, also when the time for it is over
        monkeypatch.setattr(server, "INTRODUCTION_S", 1.0)
        remote = await both.connect()
        await asyncio.sleep(1.1)
        assert remote.ready
