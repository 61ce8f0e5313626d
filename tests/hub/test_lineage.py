"""A failover that loses commits, on a real server: who leads afterwards, who stops, and what is said and done.

The loss is brought about by an older copy of the database in the place of the one that the hubs use.
"""

import asyncio

import pytest

from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.daemon_commands import Seen as DaemonSeen
from taskyard.gateway.daemon_positions import sealed_position
from taskyard.hub.doctor import examine
from taskyard.hub.findings import Health
from taskyard.store.port import StoreRefused
from taskyard.vocabulary import REFS_PER_ERA
from tests.support.hub_scene import USER, WAIT_S, Scene
from tests.support.nodes import Place, era_of, node_of, remembered

pytestmark = pytest.mark.slow


async def announced(place: Place, hubs: int) -> None:
    """Until so many are in the yard's table."""
    async with asyncio.timeout(WAIT_S):
        while len(place.server.administer("SELECT id FROM taskyard.hub", database=place.database)) < hubs:
            await asyncio.sleep(0.05)


async def not_ready(scene: Scene) -> None:
    async with asyncio.timeout(WAIT_S):
        while scene.hub.ready:
            await asyncio.sleep(0.01)


# --- who leads ---------------------------------------------------------------------------------------------


async def test_a_hub_with_an_empty_directory_does_not_lead_while_one_that_saw_the_lost_commit_can_be_asked(
    place: Place,
) -> None:
    async with place.hub("a") as first:
        await first.a_user()
    copy = place.copy()
    # Given two hubs that saw a commit which the promoted server has not received
    async with place.hub("a") as first, place.hub("b") as second:
        await first.submit()
        await second.hub.daemons()
        await asyncio.to_thread(place.replace_by, copy)
        for scene in (first, second):
            assert "it is an older copy" in (await scene.log.line("lease.refused"))["data"]["reason"]
        await announced(place, 2)
        ends = place.log_ends
        # Then the doctor knows it, also on a machine that has seen nothing
        url = place.server.url(place.database)
        found = await asyncio.to_thread(examine, str(place.directory / "elsewhere"), None, url)
        [finding] = [finding for finding in found if finding.name == "history"]
        assert (finding.state, "--accept-rewind" in finding.detail) == (Health.FAILED, True)
        # And a third, which knows nothing, does not lead either, and says what is missing
        with pytest.raises(
            StoreRefused, match=r"This database lacks .* that hub h_\S+ saw; the last was commit \d+ of"
        ):
            async with place.hub("new"):
                pass
        assert place.log_ends == ends


async def test_a_hub_that_led_while_nobody_could_be_asked_stops_as_soon_as_one_that_saw_more_links(
    place: Place,
) -> None:
    async with place.hub("a") as first:
        await first.a_user()
    copy = place.copy()
    async with place.hub("a") as first:
        await first.submit()
    place.database = copy
    async with place.hub("new") as new:
        # Given one whose log has grown longer than the lost one
        await new.submit(count=1)
        for _ in range(5):
            await new.submit()
        watcher = new.watcher()
        with pytest.raises(StoreRefused, match=r"lacks .*2 commits? that hub h_\S+ saw"):
            async with place.hub("a"):
                pass
        told = await new.log.line("hub.rewound")
        assert "taskyard up --accept-rewind" in told["data"]["reason"]
        event = (await watcher.told.first(lambda numbered: numbered.event.name == "hub.rewound")).event
        assert event.data["missing_commits"] == told["data"]["missing_commits"]
        await not_ready(new)
        assert node_of(new).missing is not None
        assert not node_of(new)._leadership.is_leading
    # Also when whoever objected is gone, and after a restart
    with pytest.raises(StoreRefused, match="it is an older copy"):
        async with place.hub("new"):
            pass


async def test_silence_of_the_other_hubs_stands_in_nobodys_way(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
    # Given a hub in the table whose machine vanished: nothing listens there, and one whose port says nothing
    silent = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    for name, address in (("h_gone", "127.0.0.1:1"), ("h_silent", f"127.0.0.1:{port}")):
        place.server.administer(
            f"INSERT INTO taskyard.hub VALUES ('{name}', '{address}', 'http://x', 'test', now(), now())",
            database=place.database,
        )
    async with place.hub("b") as second:
        assert second.hub.ready
    silent.close()


async def test_a_follower_is_asked_and_answers_while_another_leads(place: Place) -> None:
    async with place.hub("a") as first, place.hub("b") as second:
        await first.a_user()
        await second.hub.daemons()
        await announced(place, 2)
        url = place.server.url(place.database)
        found = await asyncio.to_thread(examine, str(place.directory / "elsewhere"), None, url)
        assert [finding.state for finding in found if finding.name == "history"] == [Health.OK]
        # Given that the leader goes, both have seen the same
        await node_of(first).hand_over()
        await second.log.line("hub.leads")
        assert node_of(second)._heard[0].position.cluster_id == second.hub.identity.cluster_id
        assert node_of(second)._heard[0].position.batch_id


# --- daemons -----------------------------------------------------------------------------------------------


def sealed_seen(scene: Scene) -> DaemonSeen:
    """What a daemon that was just welcomed has, with what the seal says."""
    here = scene.hub.identity
    text = sealed_position(scene.hub.seal, here)
    assert text
    return DaemonSeen(here.cluster_id, here.epoch, here.seq, here.takeover, here.batch_id)


async def test_a_position_that_the_yard_sealed_stops_a_leader_whose_log_lacks_it(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
    copy = place.copy()
    async with place.hub("a") as first:
        await first.submit()
        seen = sealed_seen(first)
    place.database = copy
    async with place.hub("new") as new:
        for _ in range(5):
            await new.submit()
        session = new.session()
        new.hub.tell(JoinDaemon(session.id, USER, "d_one", "boot", "mac-1", types=("echo",), seen=seen))
        assert (await session.message("error"))["code"] == "HUB_REWOUND"
        told = await new.log.line("hub.rewound")
        assert told["data"]["seen_by"] == "daemon mac-1 (d_one)"
        await not_ready(new)


async def test_a_position_that_nobody_sealed_refuses_that_daemon_alone(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
        here = first.hub.identity
        session = first.session()
        invented = DaemonSeen(here.cluster_id, here.epoch, here.seq + 100)
        first.hub.tell(JoinDaemon(session.id, USER, "d_one", "boot", "mac-1", types=("echo",), seen=invented))
        assert (await session.message("error"))["code"] == "HUB_REWOUND"
        await first.submit()
        assert first.hub.ready


# --- a new era ---------------------------------------------------------------------------------------------


async def test_a_rewind_that_a_person_accepts_gives_no_ref_twice_and_is_audited(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
        await first.submit()
    copy = place.copy()
    async with place.hub("a") as first, place.hub("b"):
        lost = await first.submit()
        stored = await first.hub.read(lambda reader: reader.find(user_id=None, task=lost))
        await remembered(place.directory / "b")
        seen = sealed_seen(first)
    place.database = copy
    async with place.hub("a", accept_rewind=True) as first:
        assert era_of(first) == 1
        task_id = await first.submit()
        after = await first.hub.read(lambda reader: reader.find(user_id=None, task=task_id))
        assert after.task.number == stored.task.number - 1 + REFS_PER_ERA + 1
        # A daemon of the lost time comes back and is welcome.
        session = first.session()
        first.hub.tell(JoinDaemon(session.id, USER, "d_one", "boot", "mac-1", types=("echo",), seen=seen))
        await session.message("welcome")
        async with place.hub("b") as second:
            await second.hub.daemons()
            entries = await first.hub.read(lambda reader: reader.audit(subject=None, limit=50, before=None))
    actions = [entry.action for _, entry in entries]
    assert actions.count("rewind.accepted") == 2
    assert actions.count("rewind.daemon") == 1
    accepted = [entry.old for _, entry in entries if entry.action == "rewind.accepted"]
    assert all("saw; the last was commit" in (old or "") for old in accepted)


async def test_a_hub_that_is_told_to_accept_begins_an_era_without_a_person(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
    copy = place.copy()
    async with place.hub("a") as first, place.hub("b", accepts_rewind=True) as second:
        await first.submit()
        await second.hub.daemons()
        await asyncio.to_thread(place.replace_by, copy)
        await second.log.line("hub.leads")
        assert era_of(second) == 1
        assert await first.submit()


async def test_a_leader_that_is_told_to_accept_begins_an_era_when_another_hub_links(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
    copy = place.copy()
    async with place.hub("a") as first:
        await first.submit()
    place.database = copy
    async with place.hub("new", accepts_rewind=True) as new:
        await new.submit()
        async with place.hub("a", accepts_rewind=True) as first:
            assert await first.submit()
            assert era_of(first) == 1
