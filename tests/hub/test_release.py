"""Parcels and frames: what a commit's effects take with them."""

import msgspec

from taskyard.core.changes import Batch
from taskyard.core.daemon_commands import Held
from taskyard.core.effects import (
    Acknowledge,
    AcknowledgeBeat,
    CancelWork,
    CloseSession,
    Effect,
    Execute,
    Judged,
    SlowDown,
    Welcome,
)
from taskyard.core.settings import Lease, Settings
from taskyard.core.task import Dependency, Task
from taskyard.hub.release import BODIES_BYTES_MAX, BODY_OVERHEAD_BYTES, Bodies, Frames, Parcel
from taskyard.hub.tokens import Tokens
from taskyard.store.committer import Release
from taskyard.store.memory import MemoryStore
from taskyard.store.port import Identity
from taskyard.vocabulary import CancelReason, InventoryVerdict
from tests.support.records import a_body, a_row, a_task

SECRET = b"0123456789abcdef0123456789abcdef"


def an_execute(task: Task) -> Execute:
    return Execute(1, "d_one", task.id, 1, 60_000)


def a_release(*, created: list[Task], sent: list[Task], with_bodies: bool = True) -> Release:
    batch = Batch(1, 1, "b_1", 0, created=[a_row(task) for task in created])
    batch.bodies = [a_body(task) for task in created] if with_bodies else []
    return Release(1, batch, [an_execute(task) for task in sent])


def stored(*tasks: Task) -> MemoryStore:
    store = MemoryStore()
    store.open()
    batch = Batch(1, 1, "b_1", 0, created=[a_row(task) for task in tasks], bodies=[a_body(task) for task in tasks])
    store.write(batch)
    return store


# --- bodies ------------------------------------------------------------------------------------------------


def test_a_body_is_taken_once() -> None:
    bodies = Bodies()
    bodies.keep({"t_1": b"one"})
    assert bodies.take("t_1") == b"one"
    assert bodies.take("t_1") is None


def test_who_came_first_keeps_its_place_when_there_are_too_many_bytes() -> None:
    bodies, half = Bodies(), b"x" * (BODIES_BYTES_MAX // 2)
    bodies.keep({"t_1": half, "t_2": b"small", "t_3": half})
    assert bodies.take("t_1") == half
    assert bodies.take("t_2") == b"small"
    assert bodies.take("t_3") is None
    bodies.keep({"t_4": half})
    assert bodies.take("t_4") == half


def test_small_bodies_are_counted_with_what_they_cost() -> None:
    bodies, most = Bodies(), BODIES_BYTES_MAX // BODY_OVERHEAD_BYTES
    bodies.keep({f"t_{n}": b"{}" for n in range(most + 100)})
    assert bodies.take("t_0") == b"{}"
    assert bodies.take(f"t_{most + 99}") is None


def test_a_task_that_ends_without_being_sent_gives_its_place_up() -> None:
    # Given a task that waits with its body at hand
    task, bodies = a_task(), Bodies()
    Parcel(a_release(created=[task], sent=[]), bodies)

    # When it is cancelled
    Parcel(Release(2, Batch(2, 1, "b_2", 0, ended=[a_row(task)]), []), bodies)

    # Then nothing of it is kept
    assert bodies.take(task.id) is None


# --- parcels -----------------------------------------------------------------------------------------------


def test_a_task_that_came_in_just_now_needs_no_reading() -> None:
    task = a_task()
    parcel = Parcel(a_release(created=[task], sent=[task]), Bodies())
    assert parcel.is_complete
    assert parcel.loads[task.id].body == a_body(task)[1]


def test_a_task_whose_body_has_gone_is_read_without_its_record() -> None:
    task = a_task()
    store = stored(task)
    parcel = Parcel(a_release(created=[task], sent=[task], with_bodies=False), Bodies())
    assert not parcel.is_complete
    parcel.fill(store.reader())
    assert parcel.loads[task.id].body == a_body(task)[1]
    assert parcel.loads[task.id].task is task


def test_a_task_that_depended_on_others_is_read_with_what_they_left() -> None:
    parent = a_task()
    task = a_task(depends=[Dependency(parent.id)])
    store = stored(parent, task)
    parcel = Parcel(a_release(created=[task], sent=[task]), Bodies())
    assert not parcel.is_complete
    parcel.fill(store.reader())
    assert set(parcel.loads) == {task.id}


def test_a_task_that_is_gone_by_the_time_it_is_read_has_nothing_to_send() -> None:
    task = a_task()
    parcel = Parcel(a_release(created=[], sent=[task]), Bodies())
    parcel.fill(stored().reader())
    assert parcel.loads == {}


# --- frames ------------------------------------------------------------------------------------------------


def message_of(effect: Effect) -> dict[str, object]:
    frames = Frames(Identity("c_test", 3, 0), Settings(), Tokens(SECRET))
    found: dict[str, object] = msgspec.json.decode(frames.of(effect, 42, {}))
    return found


def test_what_a_daemon_remembers_of_the_log_travels_with_every_acknowledgement() -> None:
    place = {"cluster_id": "c_test", "epoch": 3, "seq": 42}
    assert message_of(Acknowledge(1, "t_1", 2)) == {"type": "ack", "task_id": "t_1", "attempt": 2, **place}
    assert message_of(AcknowledgeBeat(1)) == {"type": "heartbeat.ack", **place}
    held = Judged(Held("t_1", 2), InventoryVerdict.CONTINUE)
    welcome = message_of(Welcome(1, "d_one", (held,), Lease(heartbeat_s=2, lease_s=9)))
    assert {name: welcome[name] for name in place} == place
    assert (welcome["heartbeat_s"], welcome["lease_s"]) == (2, 9)
    assert welcome["inventory"] == [{"task_id": "t_1", "attempt": 2, "verdict": "continue"}]


def test_a_cancel_says_why_and_how_long_there_is() -> None:
    cancel = message_of(CancelWork(1, "t_1", 2, CancelReason.WITHDRAWN, 1500))
    assert (cancel["reason"], cancel["grace_s"]) == (CancelReason.WITHDRAWN, 1.5)


def test_a_daemon_is_told_which_queue_to_leave_alone_and_for_how_many_seconds() -> None:
    assert message_of(SlowDown(1, "cloud", 2500)) == {"type": "slowdown", "queue": "cloud", "wait": 2.5}


def test_a_close_is_announced_as_an_error() -> None:
    error = message_of(CloseSession(1, "HUB_REWOUND", "older than you"))
    assert (error["type"], error["code"]) == ("error", "HUB_REWOUND")


def test_an_execute_carries_the_token_of_its_attempt() -> None:
    task, tokens = a_task(), Tokens(SECRET)
    parcel = Parcel(a_release(created=[task], sent=[task]), Bodies())
    sent = Frames(Identity("c_test", 3, 0), Settings(), tokens).of(an_execute(task), 1, parcel.loads)
    message = msgspec.json.decode(sent)
    assert tokens.read(message["token"]) == (task.id, 1)
    assert message["timeout"] == 60.0
