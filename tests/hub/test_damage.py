"""A damaged record of the past is an error to its reader; the hub goes on, and says that it met one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from taskyard.core.commands import CancelTask, Command, CompleteTask, FailTask, RetryTask
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.effects import Submitted
from taskyard.core.task import Failure
from taskyard.gateway.port import Unavailable
from taskyard.hub import looks
from taskyard.hub.damage import REMEMBERED_MAX, Damage
from taskyard.hub.looks import Looks
from taskyard.hub.observe import Log
from taskyard.hub.readers import Readers
from taskyard.store.port import RecordDamaged, Store, StoreBroken
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.sqlite import SqliteStore
from taskyard.vocabulary import Status
from tests.support.damage import KINDS, Damager
from tests.support.engines import Engine
from tests.support.hub_scene import USER, ALog, Scene, a_scene
from tests.support.linked import linked
from tests.support.postgres import lent_yard

RECORD, RESULT = KINDS["a record with other bytes"], KINDS["a result with other bytes"]


class Yard:
    """A database as one hub after another opens it, and what damages it meanwhile."""

    def __init__(self, engine: Engine, directory: Path) -> None:
        self._is_file = engine is Engine.SQLITE
        self._place = str(directory / "taskyard.db") if self._is_file else lent_yard()
        self.damager = Damager(engine, self._place)

    def store(self) -> Store:
        if self._is_file:
            return SqliteStore(self._place, new_cluster_id="c_test")
        return PostgresStore(self._place, new_cluster_id="c_test", candidate=Candidate("h_test"))

    def hurt(self, task_id: str, kind: tuple[str, str] = RECORD, *, table: str = "history") -> None:
        self.damager.do(kind, table=table, id=task_id)

    @asynccontextmanager
    async def hub(self, *, is_new: bool = True) -> AsyncIterator[Scene]:
        async with a_scene(self.store(), with_user=is_new) as scene:
            yield scene


@pytest.fixture(params=[Engine.SQLITE, pytest.param(Engine.POSTGRES, marks=pytest.mark.soak)])
def yard(request: pytest.FixtureRequest, tmp_path: Path) -> Yard:
    """On one database; what a hub meets on the other is shown in `tests/acceptance`, and by the contract."""
    return Yard(request.param, tmp_path)


async def done(scene: Scene, **fields: object) -> str:
    """The id of a task that was completed, and that memory has forgotten."""
    task_id = await scene.submit(**fields)
    daemon = await scene.daemon()
    scene.complete(daemon, task_id, await scene.run(daemon, task_id))
    await daemon.message("ack")
    scene.hub.detach(daemon)
    await scene.cancel(await scene.submit(type="of nobody"))
    assert task_id not in scene.hub.state.tasks
    return task_id


async def refused(scene: Scene, command: Command) -> str:
    with pytest.raises(RecordDamaged) as raised:
        await scene.ask(command)
    return str(raised.value)


async def test_reading_it_is_refused_logged_once_and_counted(yard: Yard) -> None:
    async with yard.hub() as scene:
        hurt, other = await done(scene), await done(scene)
        yard.hurt(hurt)
        for _ in range(2):
            with pytest.raises(RecordDamaged, match=hurt):
                await scene.status(hurt)
        assert await scene.status(other) is Status.COMPLETED
        assert scene.hub.ready
        assert scene.hub.damage.count == 1
        assert [line["data"]["reason"] for line in scene.log.told.all if line["event"] == "record.damaged"] == [
            f"the record of task {hurt} (T-001) is not what was written: its checksum differs"
        ]


async def test_a_command_that_needs_it_is_refused_and_others_are_not(yard: Yard) -> None:
    async with yard.hub() as scene:
        hurt = await done(scene, key="k-1")
        yard.hurt(hurt)
        for command in (
            scene.submission(key="k-1"),
            scene.submission(depends_on=(hurt,)),
            scene.submission(depends_on=("T-001",)),
            RetryTask(USER, hurt, "test"),
            CancelTask(USER, hurt, actor="test"),
        ):
            assert hurt in await refused(scene, command)
        assert isinstance(await scene.ask(scene.submission(key="k-2")), Submitted)
        assert scene.hub.ready


async def test_a_late_result_of_it_is_neither_taken_nor_acknowledged(yard: Yard) -> None:
    async with yard.hub() as scene:
        hurt, other = await done(scene), await done(scene)
        yard.hurt(hurt)
        daemon = await scene.daemon("d_late")
        for task_id in (hurt, other):
            scene.hub.tell(CompleteTask("d_late", task_id, 1, daemon.id, outcome=b"{}"))
        assert (await daemon.message("ack"))["task_id"] == other
        await scene.log.line("record.damaged")
        assert not daemon.closed.done()
        assert scene.hub.damage.count == 1


async def test_an_attempt_that_needs_its_result_fails_for_good_and_says_why(yard: Yard) -> None:
    async with yard.hub() as scene:
        hurt = await done(scene)
        heir = await scene.submit(type="later", depends_on=(hurt,))
        yard.hurt(hurt, RESULT)
        session = scene.session()
        watcher = scene.watcher()
        scene.hub.tell(JoinDaemon(session.id, USER, "d_later", "boot", "d_later", types=("later",), inventory=()))
        failed = await watcher.event("task.permanently_failed")
        assert failed.event.task_id == heir
        stored = await scene.hub.read(lambda reader: reader.find(user_id=USER, task=heir))
        assert stored is not None
        assert stored.task.error is not None
        assert stored.task.error.code == "DEPENDENCY_DAMAGED"
        assert hurt in stored.task.error.message
        assert "task.execute" not in session.types
        assert scene.hub.damage.count == 1
        assert scene.hub.ready


async def test_a_hub_starts_beside_it_though_it_is_the_newest_and_open_tasks_wait_for_it(yard: Yard) -> None:
    # Given dead letters, one of which is damaged, and tasks that are blocked by them
    async with yard.hub() as scene:
        daemon = await scene.daemon()
        dead = [await scene.submit() for _ in range(3)]
        for task_id in dead:
            await scene.run(daemon, task_id)
            failure = Failure("INVALID_INPUT", "no", retryable=False)
            scene.hub.tell(FailTask("d_one", task_id, 1, failure, session=daemon.id))
        heirs = [await scene.submit(depends_on=(task_id,)) for task_id in dead]
        hurt = dead[1]
        newest = await done(scene)
    yard.hurt(hurt)
    yard.hurt(newest)

    # When a hub starts
    async with yard.hub(is_new=False) as scene:
        # Then it takes work, and what depends on the others hears of them
        await scene.log.line("record.damaged")
        assert await scene.status(await scene.submit(type="of nobody")) is Status.QUEUED
        assert [await scene.status(heir) for heir in heirs] == [Status.BLOCKED] * 3
        await scene.ask(RetryTask(USER, dead[2], "test"))
        assert await scene.status(heirs[2]) is Status.WAITING
        assert hurt in await refused(scene, RetryTask(USER, hurt, "test"))


async def test_a_damaged_row_of_what_is_hot_stops_the_hub(yard: Yard) -> None:
    async with yard.hub() as scene:
        hot = await scene.submit(type="of nobody")
        yard.hurt(hot, table="task")
        with pytest.raises(Unavailable, match="STORE_UNAVAILABLE"):
            await scene.status(hot)
        assert isinstance(scene.hub.failure.exception(), StoreBroken)


async def test_a_damaged_row_of_what_is_hot_stops_the_hub_when_a_command_needs_it(yard: Yard) -> None:
    async with yard.hub() as scene:
        hot = await scene.submit(type="of nobody")
        yard.hurt(hot, table="task")
        # A ref is looked up in the database, also that of a task in memory.
        with pytest.raises(Unavailable, match="OUTCOME_UNKNOWN"):
            await scene.ask(scene.submission(depends_on=("T-001",)))
        assert isinstance(scene.hub.failure.exception(), StoreBroken)


async def test_a_gateway_of_another_hub_is_told_by_the_leader() -> None:
    async with linked() as both:
        task_id = await both.lead.submit()
        await both.lead.used("k-1")
        for ask in (both.far.ask(both.far.submission(key="k-1")), both.far.hub.ended(task_id, 1.0)):
            both.lead.held.read_faults = [RecordDamaged("the record of task t", task_id="t")]
            with pytest.raises(RecordDamaged, match="the record of task t"):
                await ask
        assert both.lead.hub.ready
        assert both.lead.hub.damage.count == 1, "the same record"


async def test_the_gateway_of_a_hub_that_does_not_lead_counts_what_it_reads_itself() -> None:
    async with linked() as both:
        both.lead.held.read_faults = [RecordDamaged("the record of task t", task_id="t")]
        with pytest.raises(RecordDamaged):
            await both.far.status("t")
        assert (both.far.hub.damage.count, both.lead.hub.damage.count) == (1, 0)


async def test_a_minute_of_figures_that_is_damaged_is_passed_over() -> None:
    async with a_scene() as scene:
        scene.held.read_faults = [RecordDamaged("the figures of 60000")]
        await scene.hub.history.keep()
        assert (await scene.log.line("figures.unkept"))["data"]["reason"] == "the figures of 60000"
        assert scene.hub.ready


@pytest.mark.parametrize("damaged", [1, 4])
async def test_keys_that_follow_a_damaged_one_are_gathered_or_else_all_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: int
) -> None:
    # Given keys in the order of their bytes, where what is shown of a damaged one would come after others
    monkeypatch.setattr(looks, "KEYS_PER_PAGE", 2)
    yard = Yard(Engine.SQLITE, tmp_path)
    keys = ["a", "b", "b\u00e9", "c"]
    async with yard.hub() as scene:
        ids = [await done(scene, key=key) for key in keys]
        for place, task_id in [(1, ids[1])] if damaged == 1 else enumerate(ids):
            statement = f"UPDATE history SET idempotency_key = CAST(x'6{place + 1}80' AS TEXT) WHERE id = '{{id}}'"
            yard.hurt(task_id, (statement, statement))

        # When they are gathered
        readers = Readers(scene.store.reader)
        gathered = Looks(readers)
        await gathered.gather_keys()

        # Then a key that is whole is looked for, and one that was never used is only if nothing is known
        state = scene.hub.state
        assert gathered.wanted(state, scene.submission(key="b\u00e9")) is not None
        assert (gathered.wanted(state, scene.submission(key="new")) is None) is (damaged == 1)
        readers.close()


def test_of_very_many_the_count_goes_on_and_the_log_does_not() -> None:
    log = ALog()
    damage = Damage(Log(log))
    for number in range(REMEMBERED_MAX + 10):
        damage.note(f"record {number}")
        damage.note("record 0")
    assert damage.count == REMEMBERED_MAX + 10
    assert len(log.text.splitlines()) == REMEMBERED_MAX
