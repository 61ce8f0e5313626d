"""One hub of several, on a real server: what it remembers, what it refuses, and whose clock it goes by."""

import asyncio

import pytest

from taskyard.core.commands import Archive
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.daemon_commands import Seen as DaemonSeen
from taskyard.gateway.port import Unavailable
from taskyard.hub import clock, members, node
from taskyard.hub.hub import Hub
from taskyard.hub.ids import Mint
from taskyard.hub.positions import POSITION
from taskyard.store.port import RecordDamaged, StoreRefused
from taskyard.store.postgres.migrate import SCHEMA_VERSION
from taskyard.vocabulary import DaemonStatus, Refusal
from tests.support.damage import KINDS, Damager
from tests.support.engines import Engine
from tests.support.hub_scene import USER, WAIT_S
from tests.support.nodes import Place, era_of, node_of, remembered

pytestmark = pytest.mark.slow

HOUR_MS = 3_600_000


# --- older copies ------------------------------------------------------------------------------------------


async def test_an_older_copy_is_refused_however_often_it_is_tried_and_left_as_it_is(place: Place) -> None:
    async with place.hub() as scene:
        await scene.a_user()
    copy = place.copy()
    async with place.hub() as scene:
        await scene.submit()
    place.database = copy
    ends = place.log_ends
    for _ in range(5):
        with pytest.raises(StoreRefused, match=r"that hub h_\S+ saw; .*: it is an older copy\. Use the newer"):
            async with place.hub():
                pass
    assert place.log_ends == ends


async def test_an_older_copy_that_is_accepted_is_led_also_by_those_who_have_seen_more(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
    copy = place.copy()
    async with place.hub("a") as first, place.hub("b"):
        await first.submit()
        await remembered(place.directory / "b")
    place.database = copy
    async with place.hub("a", accept_rewind=True) as first:
        assert era_of(first) == 1
    async with place.hub("b") as second:
        assert era_of(second) == 1


async def test_an_acceptance_is_for_the_start_and_not_for_whenever_the_hub_leads(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
        async with place.hub("b", accept_rewind=True) as second:
            await node_of(first).hand_over()
            await second.log.line("hub.leads")
            assert era_of(second) == 0


async def test_a_database_that_is_replaced_by_an_older_copy_under_its_hubs_is_led_by_none_of_them(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
    copy = place.copy()
    async with place.hub("a") as first, place.hub("b") as second:
        await first.submit()
        await second.hub.daemons()
        await asyncio.to_thread(place.replace_by, copy)
        # Given a daemon that comes as soon as the older copy is there
        daemon = first.join()
        for scene in (first, second):
            told = await scene.log.line("lease.refused")
            assert "it is an older copy" in told["data"]["reason"]
        assert "welcome" not in daemon.types
        assert not first.hub.ready
        assert not node_of(first).failure.done()


async def test_a_hub_without_a_memory_leads_an_older_copy_and_daemons_and_other_hubs_notice(place: Place) -> None:
    async with place.hub("a") as first:
        await first.a_user()
    copy = place.copy()
    async with place.hub("a") as first:
        await first.submit()
        seen = first.hub.identity
    place.database = copy
    async with place.hub("new") as new:
        session = new.session()
        before = DaemonSeen(seen.cluster_id, seen.epoch, seen.seq)
        new.hub.tell(JoinDaemon(session.id, USER, "d_one", "boot", "d_one", types=("echo",), seen=before))
        assert (await session.message("error"))["code"] == "HUB_REWOUND"
        with pytest.raises(StoreRefused, match="it is an older copy"):
            async with place.hub("a"):
                pass
        assert (await new.log.line("hub.rewound"))["data"]["seen"] == seen.seq


async def test_a_hub_that_cannot_write_what_it_has_seen_goes_on(place: Place) -> None:
    async with place.hub() as scene:
        await remembered(place.directory / "a")
        (place.directory / "a" / POSITION).unlink()
        # A directory in its place takes no file.
        (place.directory / "a" / POSITION).mkdir()
        await scene.a_user()
        assert "position.json" in (await scene.log.line("hub.unremembered"))["data"]["reason"]
        await scene.submit()
        (place.directory / "a" / POSITION).rmdir()


# --- one clock, one line -----------------------------------------------------------------------------------


async def test_a_hub_goes_by_the_clock_of_the_database_whatever_its_machines_says(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = clock.read_clock

    def an_hour_early() -> clock.Now:
        now = own()
        return clock.Now(now.wall + HOUR_MS, now.mono)

    monkeypatch.setattr(clock, "read_clock", an_hour_early)
    monkeypatch.setattr(members, "read_clock", an_hour_early)
    async with place.hub() as scene:
        assert abs(scene.hub.now_ms() - own().wall) < HOUR_MS / 60
        await scene.a_user()
        task_id = await scene.submit()
        stored = await scene.hub.read(lambda reader: reader.find(user_id=None, task=task_id))
        assert abs(stored.task.created_at - own().wall) < HOUR_MS / 60


async def test_a_task_stands_behind_all_others_also_if_the_leader_before_had_an_early_clock(place: Place) -> None:
    early = Mint()
    early.pass_by("7fffffff-ffff-7000-8000-000000000001")
    async with place.hub("a") as first:
        await first.a_user()
        leader = node_of(first).leader
        assert isinstance(leader, Hub)
        leader.mint = early.id  # type: ignore[method-assign]
        before = await first.submit()
    async with place.hub("b") as second:
        assert await second.submit() > before


# --- among others ------------------------------------------------------------------------------------------


async def test_who_hands_over_is_followed_by_another_and_follows_it(place: Place) -> None:
    async with place.hub("a") as first, place.hub("b") as second:
        await first.a_user()
        await first.daemon()
        await node_of(first).hand_over()
        await second.log.line("hub.leads")
        assert await first.submit()
        async with asyncio.timeout(WAIT_S):
            while not any(view.leader and view.address == "http://b" for view in await first.hub.hubs()):
                await asyncio.sleep(0.01)
        assert [daemon.status for daemon in await second.hub.daemons()] == [DaemonStatus.OFFLINE]


async def test_who_is_alone_does_not_wait_for_somebody_to_hand_over_to(place: Place) -> None:
    async with place.hub() as scene:
        await scene.a_user()
        async with asyncio.timeout(node.HAND_OVER_S / 2):
            await node_of(scene).hand_over()


async def test_while_the_database_is_away_the_list_of_hubs_is_refused_as_such(place: Place) -> None:
    async with place.hub() as scene:
        await scene.a_user()
        place.server.administer(f"ALTER DATABASE {place.database} ALLOW_CONNECTIONS false")
        place.server.terminate(place.database, "lease")
        with pytest.raises(Unavailable) as refused:
            await node_of(scene)._members.views()
        assert refused.value.code == Refusal.STORE_UNAVAILABLE
        place.server.administer(f"ALTER DATABASE {place.database} ALLOW_CONNECTIONS true")


# --- upgrades ----------------------------------------------------------------------------------------------


async def test_hubs_go_on_while_the_database_is_brought_to_the_next_schema_and_take_over_on_it(place: Place) -> None:
    """What the next version may add, at the end of every table there is: the hubs of this one must not notice."""

    def administer(statement: str) -> list[tuple[object, ...]]:
        return place.server.administer(statement, database=place.database)

    async with place.hub("a") as first, place.hub("b") as second:
        await first.a_user()
        before = await first.submit()
        tables = administer(
            "SELECT relname FROM pg_class WHERE relnamespace = 'taskyard'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname"
        )
        assert len(tables) > 10
        for (name,) in tables:
            administer(f"ALTER TABLE taskyard.{name} ADD COLUMN of_the_next_version text NOT NULL DEFAULT 'new'")
        administer("CREATE TABLE taskyard.of_the_next_version (id text PRIMARY KEY)")
        administer(f"INSERT INTO taskyard.migration VALUES ({SCHEMA_VERSION + 1}, now())")
        meanwhile = await first.submit()
        await node_of(first).hand_over()
        await second.log.line("hub.leads")
        after = await second.submit()
        for task_id in (before, meanwhile, after):
            await second.cancel(task_id)
        await second.ask(Archive(ended_before=clock.read_clock().wall + HOUR_MS, events_before=0))
        assert administer("SELECT count(*) FROM taskyard.archive") == [(3,)]
    async with place.hub("c") as third:
        assert [await third.status(task_id) for task_id in (before, meanwhile, after)] == ["cancelled"] * 3


async def test_a_damaged_row_stops_the_hub_that_leads_if_it_decides_by_it_and_only_then(place: Place) -> None:
    damage = Damager(Engine.POSTGRES, place.server.url(place.database))
    async with place.hub() as scene:
        await scene.a_user()
        hot, ended = await scene.submit(type="later"), await scene.submit(type="later")
        await scene.cancel(ended)
        await scene.submit(type="later")
        damage.do(KINDS["a record with other bytes"], id=ended)
        with pytest.raises(RecordDamaged, match=ended):
            await scene.status(ended)
        with pytest.raises(RecordDamaged, match=ended):
            await scene.ask(scene.submission(depends_on=(ended,)))
        assert scene.hub.damage.count == 1, "its gateway's and its own count are one"
        assert not scene.hub.failure.done()

        damage.do(KINDS["a record with other bytes"], table="task", id=hot)
        with pytest.raises(Unavailable, match="STORE_UNAVAILABLE"):
            await scene.status(hot)
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(RecordDamaged, match=hot):
                await scene.hub.failure
