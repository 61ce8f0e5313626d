"""The daemon's rules about connections that end and daemons that leave, each by example."""

import pytest

from taskyard.daemon.orders import Memory
from taskyard.vocabulary import InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import (
    Position,
    TaskCancelled,
    TaskRejected,
)
from tests.daemon.scene import ONE, TWO, Scene, answer_heartbeats, cancel, done, execute

# --- reconnecting ------------------------------------------------------------------------------------------


def test_reconnects_are_spread_over_a_growing_span_of_at_most_a_minute() -> None:
    scene = Scene()
    ceilings = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
    for ceiling in ceilings:
        scene.disconnect()
        assert scene.connect_in_ms is not None
        assert 0 <= scene.connect_in_ms <= ceiling
    delays = set()
    for _ in range(50):
        scene.disconnect()
        delays.add(scene.connect_in_ms)
    assert max(filter(None, delays)) > 30_000


def test_a_daemon_that_holds_work_comes_back_within_its_lease() -> None:
    scene = Scene().join()
    scene.runs()
    for _ in range(20):
        scene.disconnect()
        assert scene.connect_in_ms is not None
        assert scene.connect_in_ms <= 30_000 // 4


def test_a_welcome_makes_the_next_reconnect_quick_again() -> None:
    scene = Scene()
    for _ in range(8):
        scene.disconnect()
    scene.join()
    scene.disconnect()
    assert scene.connect_in_ms is not None
    assert scene.connect_in_ms <= 1_000


@pytest.mark.parametrize("announced", [True, False])
def test_a_superseded_daemon_waits_long(announced: bool) -> None:
    scene = Scene().join()
    if announced:
        scene.hears(frames.Error("superseded", "a newer connection"))
        scene.disconnect()
    else:
        scene.disconnect(frames.CLOSE_SUPERSEDED)
    assert scene.connect_in_ms is not None
    assert scene.connect_in_ms >= 60_000
    assert scene.left is None


def test_a_refused_key_ends_the_daemon_with_a_message() -> None:
    scene = Scene()
    scene.disconnect(frames.CLOSE_UNAUTHENTICATED, "unknown key")
    assert scene.left == "the hub does not accept this daemon: unknown key"
    assert scene.connect_in_ms is None


def test_an_error_long_before_the_end_is_not_why_it_ended() -> None:
    scene = Scene().join()
    scene.hears(frames.Error("forbidden", "not that one"))
    scene.hears(frames.HeartbeatAck("c1", 1, 2))
    scene.disconnect()
    assert scene.left is None


def test_a_frame_is_not_read_on_after_a_deposed_leaders_welcome() -> None:
    scene = Scene(memory=Memory(seen=Position("c1", 4, 1)))
    scene.connect()
    stale = frames.Welcome(1, "d_1", 5.0, 30.0, [], "c1", 3, 1)
    scene.hears(stale, frames.Welcome(1, "d_1", 5.0, 30.0, [], "c1", 5, 1), execute())
    assert scene.started == []


def test_work_without_a_timeout_has_no_deadline() -> None:
    scene = Scene().join()
    scene.runs(timeout=0.0)
    answer_heartbeats(scene, 600_000)
    assert scene.stops == []


def test_a_hub_that_refuses_the_protocol_at_hello_ends_the_daemon() -> None:
    scene = Scene()
    scene.connect()
    scene.disconnect(frames.CLOSE_PROTOCOL)
    assert scene.left is not None
    assert "protocol 1" in scene.left


def test_a_protocol_error_later_on_is_one_more_reconnect() -> None:
    scene = Scene().join()
    scene.disconnect(frames.CLOSE_PROTOCOL)
    assert scene.left is None


# --- draining ----------------------------------------------------------------------------------------------


def drained(scene: Scene, within_ms: int = 10_000) -> None:
    scene.machine.drain(scene.now, deadline_ms=scene.now + within_ms)
    scene.carry_out()


def test_a_draining_daemon_says_so_and_takes_nothing_new() -> None:
    scene = Scene().join()
    scene.runs(ONE)
    scene.take_sent()
    drained(scene)
    scene.hears(execute(TWO))
    assert scene.sent == [frames.Drain(), TaskRejected(*TWO, "draining")]


def test_a_draining_daemon_says_so_again_after_a_reconnect() -> None:
    scene = Scene().join()
    scene.runs(ONE)
    drained(scene)
    scene.comes_back({ONE: InventoryVerdict.CONTINUE})
    assert scene.sent == [frames.Drain()]


def test_an_idle_daemon_leaves_at_once() -> None:
    scene = Scene().join()
    drained(scene)
    assert scene.left == ""


def test_a_daemon_that_may_leave_does_so_although_a_hub_welcomes_it_in_the_same_turn() -> None:
    # Given a daemon that drains, has lost its hub, and gives its last task back
    scene = Scene().join()
    scene.runs()
    scene.machine.drain(scene.now, deadline_ms=scene.now + 60_000)
    scene.carry_out()
    scene.hears(cancel())
    scene.disconnect()
    scene.connect()
    scene.machine.work_stopped(ONE, scene.now)
    # When it is welcomed before it has gone
    scene.welcome()
    # Then it goes all the same
    assert scene.left == ""


def test_a_draining_daemon_leaves_when_its_last_outcome_is_acknowledged() -> None:
    scene = Scene().join()
    scene.runs()
    drained(scene)
    scene.ends(done())
    assert scene.left != ""
    scene.acknowledged()
    assert scene.left == ""


def test_a_daemon_that_leaves_has_written_what_it_owes() -> None:
    scene = Scene().join()
    scene.runs()
    drained(scene, within_ms=0)
    answer_heartbeats(scene, 10_000)
    scene.passes(4_990)
    scene.ends(done())
    scene.passes(10)
    assert scene.left == ""
    assert scene.written == [ONE]


def test_a_drained_daemon_waits_five_seconds_for_acknowledgements() -> None:
    scene = Scene().join()
    scene.runs()
    drained(scene)
    scene.ends(done())
    scene.passes(4_999)
    assert scene.left is None
    scene.passes(1)
    assert scene.left == ""


def test_what_is_left_at_the_deadline_is_handed_back() -> None:
    scene = Scene().at_work()
    drained(scene, within_ms=4_000)
    scene.passes(4_000)
    assert [stop.key for stop in scene.stops] == [ONE]
    scene.stops_as_told()
    assert scene.sent == [frames.Drain(), TaskRejected(*ONE, "drained")]
    assert scene.left == ""


def test_a_cancel_works_during_a_drain() -> None:
    scene = Scene().join()
    scene.runs()
    drained(scene)
    scene.take_sent()
    scene.hears(cancel())
    scene.stops_as_told()
    assert scene.sent == [TaskCancelled(*ONE, "cancelled")]


def test_asking_again_moves_the_deadline_forward() -> None:
    scene = Scene().join()
    scene.runs()
    drained(scene, within_ms=60_000)
    drained(scene, within_ms=0)
    scene.tick()
    assert [stop.key for stop in scene.stops] == [ONE]


def test_work_that_will_not_stop_does_not_keep_a_daemon_from_leaving() -> None:
    scene = Scene().join()
    scene.runs()
    drained(scene, within_ms=0)
    answer_heartbeats(scene, 15_000)
    assert scene.left == ""
