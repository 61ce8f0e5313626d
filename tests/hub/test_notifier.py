"""What is told to receivers: what is on disk, at least once, under one id; a bad receiver harms nobody else."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from random import Random
from typing import Any

import pytest
from msgspec import convert

from taskyard.core.effects import Done
from taskyard.core.notices import DEAD, DELIVERED, PENDING, Delivery
from taskyard.core.notification_commands import CreateNotification, DeleteNotification, ResendDelivery
from taskyard.core.notifications import notification_of
from taskyard.core.settings import Notifications, Settings
from taskyard.core.state import Now
from taskyard.gateway.views import DeliveryView
from taskyard.hub.clock import read_clock
from taskyard.hub.notice_line import FAILURES_MAX, REST_MS, Line
from taskyard.sdk.webhooks import verify
from taskyard.store.port import StoreUnavailable
from taskyard.vocabulary import EventName
from taskyard.vocabulary.notices import NoticeName
from taskyard.wire.tasks import EventAnswer
from tests.support.hub_scene import USER, WAIT_S, HeldStore, Scene, a_scene
from tests.support.linked import linked
from tests.support.receiver import FLOOD, HANG, Receiver, a_receiver
from tests.support.room import without_rates

pytestmark = pytest.mark.slow

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
CREATED = (NoticeName.TASK_CREATED,)
LIVES = int(os.environ.get("NOTIFIER_LIVES", "1"))
"""How many seeds are lived; a soak asks for more."""


class Ahead:
    """The machine's clocks, and as much later as a test says."""

    def __init__(self) -> None:
        self.ms = 0

    def __call__(self) -> Now:
        now = read_clock()
        return Now(now.wall + self.ms, now.mono + self.ms)


def settings(**numbers: Any) -> Settings:
    numbers.setdefault("allow", ("127.0.0.0/8",))
    return without_rates(Settings(notifications=Notifications(**numbers)))


def a_hub(store: Any = None, *, clock: Any = read_clock, **numbers: Any) -> AbstractAsyncContextManager[Scene]:
    return a_scene(store, settings(**numbers), with_user=False, clock=clock)


async def told(scene: Scene, receiver: Receiver, *, id: str = "n_1", user: str = USER) -> None:
    """Have what is queued told to this receiver."""
    if user not in scene.hub.state.users:
        await scene.a_user(user)
    assert await scene.ask(CreateNotification(id, user, receiver.url, CREATED, SECRET, "test")) == Done()


async def settled(scene: Scene, fits: Callable[[list[Delivery]], bool]) -> list[Delivery]:
    """The deliveries, once they are as they should be."""
    async with asyncio.timeout(WAIT_S):
        while not fits(found := list(scene.hub.state.deliveries.values())):
            await asyncio.sleep(0.005)
    return found


def all_are(status: object, count: int = 1) -> Callable[[list[Delivery]], bool]:
    return lambda found: len(found) == count and all(one.status is status for one in found)


async def test_what_is_told_is_signed_and_says_what_the_event_says() -> None:
    async with a_receiver() as receiver, a_hub() as scene:
        await told(scene, receiver)
        watcher = scene.watcher()
        task_id = await scene.submit()
        [heard] = await receiver.until(1)
        notice = verify(heard.body, heard.headers, SECRET)
        event = await watcher.event("task.created")
        assert (notice.id, notice.type, notice.data.task_id) == (heard.id, "task_created", task_id)
        said = convert(heard.json["data"], EventAnswer)
        assert said.id == f"{event.epoch}-{event.seq}-{event.index}"
        assert (said.event, said.user_id, said.now) == (EventName.TASK_CREATED, USER, event.event.now)
        [delivery] = await settled(scene, all_are(DELIVERED))
        assert (delivery.id, delivery.attempts, delivery.answered) == (heard.id, 1, 204)


async def test_nothing_is_told_before_it_is_on_disk_nor_what_was_rolled_back() -> None:
    async with a_receiver() as receiver, a_hub() as scene:
        await told(scene, receiver)
        # Given a task whose commit is held up, and then fails
        scene.held.writes.shut()
        lost = scene.asked(scene.submission())
        await scene.held.writes.reached()
        assert len(scene.hub.state.deliveries) == 1
        scene.held.write_faults = [StoreUnavailable("no room")]
        scene.held.writes.open()
        await asyncio.wait((lost,))
        assert lost.exception() is not None
        await scene.ready()
        # When another one is committed
        task_id = await scene.submit()
        # Then only that is told of
        [heard] = await receiver.until(1)
        assert heard.json["data"]["task_id"] == task_id
        await settled(scene, all_are(DELIVERED))
        assert len(receiver.heard) == 1


async def test_what_was_sent_and_not_written_down_is_sent_again_under_the_same_id() -> None:
    store = HeldStore()
    async with a_receiver() as receiver:
        async with a_hub(store) as scene:
            await told(scene, receiver)
            # Given a hub that dies after the sending and before its report is on disk
            release = await scene.submit()
            await receiver.until(1)
            store.writes.shut()
            scene.is_stopped = True
            stopping = asyncio.ensure_future(scene.hub.stop())
            store.write_faults = [StoreUnavailable("killed")] * 10
            store.writes.open()
            await asyncio.wait((stopping,))
        store.write_faults.clear()
        async with a_hub(store) as scene:
            [delivery] = await settled(scene, all_are(DELIVERED))
            assert set(receiver.ids) == {delivery.id}
            assert {one.json["data"]["task_id"] for one in receiver.heard} == {release}


async def test_the_next_hub_goes_on_where_the_last_one_was() -> None:
    store, clock = HeldStore(), Ahead()
    async with a_receiver(lambda number: 500 if number == 1 else 204) as receiver:
        async with a_hub(store, clock=clock) as scene:
            await told(scene, receiver)
            await scene.submit()
            await settled(scene, lambda found: bool(found) and found[0].attempts == 1)
            [first] = receiver.ids
        clock.ms += 3_600_000
        async with a_hub(store, clock=clock) as scene:
            [delivery] = await settled(scene, all_are(DELIVERED))
            assert receiver.ids == [first] * 2
            assert delivery.attempts == 2


async def test_a_failure_is_tried_again_when_it_is_time_and_a_person_need_not_wait() -> None:
    clock = Ahead()
    async with a_receiver(lambda number: 204 if number > 2 else 503) as receiver, a_hub(clock=clock) as scene:
        await told(scene, receiver)
        await scene.submit()
        [delivery] = await settled(scene, lambda found: bool(found) and found[0].attempts == 1)
        assert (delivery.status, delivery.answered, delivery.error) == (PENDING, 503, "It answered 503.")
        # A person says so
        assert await scene.ask(ResendDelivery("n_1", delivery.id, USER, "test")) == Done()
        await settled(scene, lambda found: found[0].attempts == 2)
        # The time comes
        clock.ms += 3_600_000
        await settled(scene, all_are(DELIVERED))
        assert receiver.ids == [delivery.id] * 3


async def test_what_nobody_takes_is_dead_after_a_day_and_can_be_sent_again() -> None:
    clock = Ahead()
    async with a_receiver(lambda number: 204 if number > 1 else 404) as receiver, a_hub(clock=clock) as scene:
        await told(scene, receiver)
        await scene.submit()
        [delivery] = await settled(scene, lambda found: bool(found) and found[0].attempts == 1)
        clock.ms += 86_400_000
        said = await scene.log.line("notification.dead")
        assert (said["level"], said["data"]["delivery_id"]) == ("warning", delivery.id)
        assert SECRET not in scene.log.text
        assert receiver.url not in scene.log.text
        assert delivery.status in (DEAD, DELIVERED)
        await scene.ask(ResendDelivery("n_1", delivery.id, USER, "test"))
        await settled(scene, all_are(DELIVERED))


@pytest.mark.parametrize("trouble", [HANG, FLOOD])
async def test_a_receiver_that_hangs_or_never_stops_holds_up_nobody_else(trouble: int) -> None:
    async with (
        a_receiver(lambda number: trouble) as bad,
        a_receiver() as good,
        a_hub(timeout_s=30, parallel_max=2, total_max=8) as scene,
    ):
        await told(scene, bad)
        await told(scene, good, id="n_2", user="u_bob")
        for _ in range(10):
            await scene.submit()
        # Given a receiver whose every request is still under way
        await bad.until(2)
        # When somebody else has something to tell
        for _ in range(5):
            await scene.ask(_submission_of(scene, "u_bob"))
        # Then it is told at once
        await good.until(5)
        assert bad.hurried <= 2
        if trouble == FLOOD:
            await settled(scene, lambda found: sum(one.status is DELIVERED for one in found) == 15)
        assert len(good.heard) == 5


async def test_many_hanging_receivers_of_one_user_hold_up_only_that_user() -> None:
    async with AsyncExitStack() as stack:
        scene = await stack.enter_async_context(a_hub(timeout_s=30, parallel_max=2, total_max=8))
        bad = [
            await stack.enter_async_context(a_receiver(lambda number: HANG, host=f"127.0.0.{number}"))
            for number in range(2, 8)
        ]
        good = await stack.enter_async_context(a_receiver())
        for number, receiver in enumerate(bad):
            await told(scene, receiver, id=f"n_bad{number}")
        await told(scene, good, id="n_good", user="u_bob")
        for _ in range(3):
            await scene.submit()
        for _ in range(5):
            await scene.ask(_submission_of(scene, "u_bob"))
        await good.until(5)
        assert sum(len(receiver.heard) for receiver in bad) <= 2


async def test_whoever_has_as_many_under_way_as_one_may_goes_on_when_one_of_them_ends() -> None:
    async with (
        a_receiver() as one,
        a_receiver(host="127.0.0.2") as other,
        a_hub(parallel_max=4, total_max=1) as scene,
    ):
        await told(scene, one)
        await told(scene, other, id="n_2")
        for _ in range(10):
            await scene.submit()
        await one.until(10)
        await other.until(10)
        await settled(scene, all_are(DELIVERED, 20))
        assert (one.hurried, other.hurried) == (1, 1)


def _submission_of(scene: Scene, user_id: str) -> Any:
    submission = scene.submission()
    submission.user_id = user_id
    return submission


async def test_a_host_that_keeps_failing_is_left_alone_and_tried_again_one_by_one() -> None:
    clock = Ahead()

    def answer(number: int) -> int:
        return 204 if number > FAILURES_MAX + 2 else 500

    async with a_receiver(answer) as receiver, a_hub(clock=clock, parallel_max=1) as scene:
        await told(scene, receiver)
        for _ in range(10):
            await scene.submit()
        # Given so many failures in a row, nothing more is sent until it has rested; then one tries
        for number in range(FAILURES_MAX, FAILURES_MAX + 2):
            await settled(scene, lambda found: sum(one.attempts for one in found) == number)  # noqa: B023
            assert len(receiver.heard) == number
            clock.ms += 600_000
            await receiver.until(number + 1)
        await settled(scene, lambda found: sum(one.attempts for one in found) == FAILURES_MAX + 2)
        # When it answers again, all that waits is sent
        clock.ms += 600_000
        await receiver.until(FAILURES_MAX + 3)
        clock.ms += 3_600_000
        await settled(scene, all_are(DELIVERED, 10))
        assert len(set(receiver.ids)) == 10


async def test_what_a_person_asks_for_is_sent_although_its_host_is_left_alone() -> None:
    async with (
        a_receiver(lambda number: 204 if number > FAILURES_MAX else 503) as receiver,
        a_hub(parallel_max=1) as scene,
    ):
        await told(scene, receiver)
        # Given a host that is left alone, and deliveries that wait for it longer than the one a person asks for
        for _ in range(FAILURES_MAX + 3):
            await scene.submit()
        found = await settled(scene, lambda found: sum(one.attempts for one in found) >= FAILURES_MAX)
        asked = max((one for one in found if one.attempts), key=lambda one: one.id)
        # When it is to be sent again
        assert await scene.ask(ResendDelivery("n_1", asked.id, USER, "test")) == Done()
        # Then it is the very next to be sent, and since it was taken the others follow at once
        await receiver.until(FAILURES_MAX + 4)
        assert receiver.ids[FAILURES_MAX] == asked.id


async def test_who_looks_sees_what_is_under_way_and_what_waits_for_a_host_that_is_left_alone() -> None:
    async with (
        a_receiver(lambda number: HANG if number == 1 else 503) as receiver,
        a_hub(timeout_s=60, parallel_max=1) as scene,
    ):
        await told(scene, receiver)
        first = await scene.submit()
        await receiver.until(1)
        shown = await scene.hub.deliveries(USER, "n_1", PENDING, None, 10)
        assert shown is not None
        assert [(one.delivery.event.task_id, one.is_under_way) for one in shown] == [(first, True)]
        receiver.hang_up()
        for _ in range(FAILURES_MAX + 3):
            await scene.submit()
        await settled(scene, lambda found: sum(one.attempts for one in found) == FAILURES_MAX)
        before = read_clock().wall
        shown = await scene.hub.deliveries(USER, "n_1", PENDING, None, 20)
        assert shown is not None
        assert len(shown) == FAILURES_MAX + 4
        for one in shown:
            assert one.host_rests_until is not None
            assert before < one.host_rests_until <= before + REST_MS


async def test_an_address_that_turned_private_is_not_told_and_says_why() -> None:
    async with a_receiver() as receiver, a_hub(allow=()) as scene:
        await told(scene, receiver)
        await scene.submit()
        [delivery] = await settled(scene, lambda found: bool(found) and found[0].attempts == 1)
        assert delivery.error == "127.0.0.1 is not a public address, and `notifications.allow` does not list it."
        assert receiver.heard == []


async def test_one_that_is_deleted_while_it_is_sent_is_forgotten() -> None:
    async with a_receiver(lambda number: HANG) as receiver, a_hub(timeout_s=0.3) as scene:
        await told(scene, receiver)
        await scene.submit()
        await receiver.until(1)
        assert await scene.ask(DeleteNotification("n_1", USER, "test")) == Done()
        # The report comes to nobody, and the hub goes on
        await asyncio.wait((scene.hub.failure,), timeout=0.5)
        assert not scene.hub.failure.done()
        await scene.submit()
        assert notification_of(scene.hub.state, USER, "n_1") is None


async def test_a_sender_that_could_not_say_how_it_went_says_it_when_the_store_is_back() -> None:
    store = HeldStore()
    async with a_receiver() as receiver, a_hub(store) as scene:
        await told(scene, receiver)
        store.write_faults = [None, StoreUnavailable("no room")]
        await scene.submit()
        await receiver.until(1)
        await scene.ready()
        await settled(scene, all_are(DELIVERED))
        assert len(set(receiver.ids)) == 1


async def test_a_gateway_in_a_process_of_its_own_shows_what_the_leader_has() -> None:
    async with a_receiver() as receiver, linked(settings=settings()) as both:
        command = CreateNotification("n_1", USER, receiver.url, CREATED, SECRET, "test")
        answer, _ = await both.board.ask(command)
        assert answer == Done()
        await both.lead.submit()
        [delivery] = await settled(both.lead, all_are(DELIVERED))
        [view] = await both.board.notifications(USER)
        assert (view.id, view.url, view.events, view.pending) == ("n_1", receiver.url, CREATED, 0)
        assert await both.board.notifications("u_bob") == []
        assert await both.board.deliveries(USER, "n_1", DELIVERED, None, 10) == [DeliveryView(delivery)]
        assert await both.board.deliveries(USER, "n_1", None, delivery.id, 10) == []
        assert await both.board.deliveries("u_bob", "n_1", None, None, 10) is None
        assert await both.board.delivery(USER, "n_1", delivery.id) == DeliveryView(delivery)
        assert await both.board.delivery("u_bob", "n_1", delivery.id) is None
        answer, _ = await both.board.ask(ResendDelivery("n_1", delivery.id, USER, "test"))
        assert answer == Done()
        await receiver.until(2)
        assert set(receiver.ids) == {delivery.id}


def test_a_line_rests_longer_each_time_and_forgets_it_all_at_the_first_success() -> None:
    line, now_ms = Line(), 1_000
    for _ in range(FAILURES_MAX - 1):
        line.note(now_ms, has_failed=True)
    assert line.may_send(now_ms, 4)
    for rest_ms in (REST_MS, 2 * REST_MS, 4 * REST_MS):
        line.note(now_ms, has_failed=True)
        assert not line.may_send(now_ms + rest_ms - 1, 4)
        assert line.may_send(now_ms + rest_ms, 4)
        line.sending = 1
        assert not line.may_send(now_ms + rest_ms, 4)
        line.sending = 0
    line.note(now_ms, has_failed=False)
    line.sending = 3
    assert line.may_send(now_ms, 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(LIVES))
async def test_whatever_fails_between_commit_sending_and_report_each_event_is_told_and_no_other(seed: int) -> None:
    """Lives of several hubs, one after another, on a store that fails now and then; receivers that do so too."""
    dice, store, clock = Random(seed), HeldStore(), Ahead()
    made: list[str] = []
    async with a_receiver(lambda number: dice.choice((204, 204, 204, 500))) as receiver:
        for life in range(4):
            async with a_hub(store, clock=clock) as scene:
                if life == 0:
                    await told(scene, receiver)
                for _ in range(dice.randrange(1, 6)):
                    if dice.random() < 0.4:
                        store.write_faults = [None] * dice.randrange(3) + [StoreUnavailable("no room")]
                    asked = scene.asked(scene.submission())
                    await asyncio.wait((asked,))
                    if asked.exception() is None:
                        made += asked.result()[0].ids  # type: ignore[union-attr]
                    async with asyncio.timeout(WAIT_S):
                        while not scene.hub.ready:
                            await asyncio.sleep(0.005)
                clock.ms += dice.randrange(7_200_000)
            store.write_faults.clear()
        async with a_hub(store, clock=clock) as scene:
            async with asyncio.timeout(WAIT_S):
                while not all(one.status is DELIVERED for one in scene.hub.state.deliveries.values()):
                    clock.ms += 60_000
                    await asyncio.sleep(0.02)
            stored = {task_id for task_id in made if await scene.status(task_id) is not None}
            heard = {(one.id, one.json["data"]["task_id"]) for one in receiver.heard}
            on_disk = {one.event.task_id for one in scene.hub.state.deliveries.values()}
            assert stored == set(made)
            assert {task_id for _, task_id in heard} == on_disk
            assert set(made) <= on_disk
            assert len(heard) == len(on_disk), "one id for each event"
