"""The daemon's rules about time: heartbeats, leases, fences, a lead that moves, timeouts, each by example."""

import pytest
from msgspec import Raw

from taskyard.daemon.attempt import Ending
from taskyard.daemon.orders import Memory, Stop
from taskyard.vocabulary import ErrorCode, InventoryState, InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import (
    Hello,
    Item,
    Position,
    TaskCancelled,
    TaskCheckpoint,
    TaskFailed,
    TaskRejected,
    TaskStarted,
)
from tests.daemon.scene import ONE, TWO, Scene, answer_heartbeats, cancel, done, execute, hello

# --- heartbeats, lease, epochs -----------------------------------------------------------------------------


def test_heartbeats_list_what_is_accepted_or_running_and_not_what_ended() -> None:
    scene = Scene(slots=4).join()
    scene.runs(ONE)
    scene.hears(execute(TWO))
    scene.runs(("t3", 1))
    scene.ends(done(("t3", 1)))
    scene.take_sent()
    scene.passes(5_000)
    assert scene.sent == [frames.Heartbeat(0.5, None, [Item(*ONE), Item(*TWO, InventoryState.ACCEPTED)])]


def test_how_much_memory_is_free_is_asked_for_when_it_is_told() -> None:
    scene, asked = Scene().join(), iter([700])
    scene.take_sent()
    for at in (4_999, 5_000, 5_001):
        scene.machine.tick(scene.now + at, lambda: next(asked))
    scene.carry_out()
    assert scene.sent == [frames.Heartbeat(0.0, 700, [])]


def test_heartbeats_list_the_outcomes_that_wait_for_their_turn_to_be_told_again() -> None:
    large = frames.encode(done(ONE, b'"' + b"x" * 1_000_000 + b'"'))
    scene = Scene(memory=Memory(ended={(f"t{n}", 1): large for n in range(7)}))
    scene.connect()
    scene.welcome()
    scene.take_sent()
    scene.passes(5_000)
    assert scene.sent == [frames.Heartbeat(0.0, None, [Item("t5", 1), Item("t6", 1)])]


@pytest.mark.parametrize("code", ["UNAUTHENTICATED", "DAEMON_NOT_FOUND"])
def test_an_error_that_no_retry_can_mend_ends_the_daemon(code: str) -> None:
    scene = Scene()
    scene.connect()
    scene.hears(frames.Error(code, "not yours"))
    scene.disconnect(1000)
    assert scene.left == "the hub does not accept this daemon: not yours"


def test_a_hub_that_answers_heartbeats_is_not_hung_up_on() -> None:
    scene = Scene().join()
    answer_heartbeats(scene, 120_000)
    assert not scene.hung_up


def test_a_hub_silent_for_half_a_lease_is_hung_up_on() -> None:
    scene = Scene().join()
    scene.passes(14_999)
    assert not scene.hung_up
    scene.passes(1)
    assert scene.hung_up


def test_a_hub_that_does_not_welcome_is_hung_up_on() -> None:
    scene = Scene()
    scene.connect()
    scene.passes(10_000)
    assert scene.hung_up


def test_exclusive_work_is_stopped_before_the_lease_ends_and_other_work_goes_on() -> None:
    scene = Scene().join()
    scene.runs(ONE, exclusive="db")
    scene.runs(TWO)
    scene.disconnect()
    scene.passes(24_999)
    assert scene.stops == []
    scene.passes(1)
    assert scene.stops == [Stop(ONE, Ending.FENCED, 5_000)]


def test_the_lease_counts_from_when_the_answered_heartbeat_was_sent() -> None:
    scene = Scene().join()
    scene.runs(ONE, exclusive="db")
    scene.passes(5_000)
    scene.passes(4_000)
    scene.hears(frames.HeartbeatAck("c1", 1, 1))
    scene.disconnect()
    scene.passes(20_999)
    assert scene.stops == []
    scene.passes(1)
    assert [stop.key for stop in scene.stops] == [ONE]


def test_fenced_work_is_told_to_be_lost_by_a_list_without_it() -> None:
    scene = Scene().join()
    scene.runs(ONE, exclusive="db")
    scene.disconnect()
    scene.passes(25_000)
    scene.stops_as_told()
    scene.take_sent()
    scene.connect()
    assert hello(scene).inventory == []


def test_fenced_work_is_told_to_have_stopped_if_the_hub_is_there_again() -> None:
    scene = Scene().join()
    scene.runs(ONE, exclusive="db")
    scene.disconnect()
    scene.passes(25_000)
    scene.connect()
    scene.welcome({ONE: InventoryVerdict.CONTINUE})
    scene.take_sent()
    scene.stops_as_told()
    assert scene.sent == [TaskCancelled(*ONE, "lease lost")]


def test_an_offer_read_after_the_lease_ran_out_is_not_taken() -> None:
    # A process that was stopped finds the offer in its socket; meanwhile the hub gave the task to another daemon.
    scene = Scene().join()
    scene.now += 30_000
    scene.hears(execute(ONE, exclusive="db"), execute(TWO))
    assert scene.started == []
    assert scene.sent == [TaskRejected(*key, "lease ran out") for key in (ONE, TWO)]


def test_messages_of_an_older_epoch_are_ignored() -> None:
    scene = Scene()
    scene.connect()
    scene.welcome(epoch=3)
    scene.runs()
    scene.ends(done())
    scene.acknowledged(epoch=2, seq=99)
    assert ONE in scene.machine.ledger.ended
    scene.passes(14_000)
    scene.hears(frames.HeartbeatAck("c1", 2, 99))
    scene.passes(1_000)
    assert scene.hung_up


def test_a_deposed_leader_is_hung_up_on() -> None:
    scene = Scene(memory=Memory(seen=Position("c1", 4, 1)))
    scene.connect()
    scene.welcome(epoch=3, seq=99)
    assert scene.hung_up
    assert not scene.machine.welcomed


def test_what_the_hub_says_about_its_queues_changes_nothing_here() -> None:
    scene = Scene().join()
    scene.hears(frames.SlowDown("q", 1.0), frames.Backpressure("warning", "hub", 1), frames.Error("X", "y"))
    assert (scene.sent, scene.stops, scene.hung_up) == ([], [], False)


# --- when the lead moves -----------------------------------------------------------------------------------


def test_who_is_asked_to_rejoin_says_hello_again_and_runs_on() -> None:
    scene = Scene().join()
    scene.runs(ONE)
    scene.runs(TWO)
    scene.ends(done(TWO))
    scene.sent.clear()
    scene.hears(frames.Rejoin())
    (greeting,) = scene.sent
    assert isinstance(greeting, Hello)
    assert (greeting.boot_id, greeting.daemon_id, greeting.seen) == ("boot", "d_1", Position("c1", 1, 1))
    assert greeting.inventory == [Item(*ONE), Item(*TWO, InventoryState.ENDED)]
    assert (scene.stops, scene.hung_up, scene.connect_in_ms) == ([], False, None)
    assert len(scene.started) == 2


def test_from_rejoin_to_welcome_there_is_no_word_but_hello_and_afterwards_all_is_told_anew() -> None:
    # Given a daemon that was asked to rejoin
    scene = Scene().join()
    scene.hears(execute(ONE), execute(TWO))
    scene.hears(frames.Rejoin())
    scene.sent.clear()

    # When its work goes on and heartbeats would be due, then it keeps still
    scene.begins(ONE)
    scene.machine.work_checkpointed(ONE, b"1")
    scene.machine.work_progressed(ONE, scene.now, percent=1.0)
    scene.begins(TWO)
    scene.ends(done(TWO))
    scene.hears(execute(("t3", 1)), cancel(ONE), frames.Ack(*TWO, "c1", 1, 2))
    scene.passes(9_999)
    assert (scene.sent, scene.stops) == ([], [])

    # When the new leader welcomes it, then it hears of everything, and of heartbeats as before
    verdicts = {ONE: InventoryVerdict.CONTINUE, TWO: InventoryVerdict.CONTINUE}
    scene.welcome(verdicts, epoch=2)
    assert scene.take_sent() == [TaskStarted(*ONE), TaskCheckpoint(*ONE, Raw(b"1")), done(TWO)]
    scene.passes(5_000)
    assert scene.sent == [frames.Heartbeat(0.2, running=[Item(*ONE)])]


def test_what_the_old_leader_sent_before_is_held_and_what_was_about_to_be_told_is_not() -> None:
    scene = Scene().join()
    scene.runs(ONE)
    scene.sent.clear()
    scene.machine.work_checkpointed(ONE, b"1")
    scene.machine.work_ended(done(ONE), scene.now)
    scene.hears(execute(TWO), frames.Rejoin(), execute(("t3", 1)))
    assert hello(scene).inventory == [Item(*TWO, InventoryState.ACCEPTED), Item(*ONE, InventoryState.ENDED)]
    assert len(scene.sent) == 1
    assert [start.key for start in scene.started] == [ONE, TWO]


def test_what_is_owed_when_the_lead_moves_is_written_at_once() -> None:
    scene = Scene().join()
    scene.runs()
    scene.ends(done())
    assert scene.written == []
    scene.hears(frames.Rejoin())
    assert scene.written == [ONE]


def test_who_waits_for_a_welcome_can_be_asked_to_rejoin_too() -> None:
    scene = Scene()
    scene.connect()
    scene.hears(frames.Rejoin())
    assert scene.sent == [hello(scene)] * 2
    scene.welcome()
    assert scene.machine.welcomed


def test_a_new_leader_that_does_not_welcome_is_hung_up_on_and_the_fence_has_not_moved() -> None:
    # Given exclusive work under a lease of 30 s, and a lead that moves when half of it is over
    scene = Scene().join()
    scene.runs(ONE, exclusive="db")
    scene.passes(14_900)
    scene.hears(frames.Rejoin())

    # When an answer to the old leader's heartbeats comes, then it is not taken for one of the new one
    scene.hears(frames.HeartbeatAck("c1", 1, 1))
    scene.passes(9_999)
    assert not scene.hung_up
    scene.passes(1)
    assert (scene.hung_up, scene.stops) == (True, [])
    scene.passes(100)
    assert scene.stops == [Stop(ONE, Ending.FENCED, 5_000)]


def test_the_welcome_renews_the_lease_from_when_hello_was_said() -> None:
    scene = Scene().join()
    scene.runs(ONE, exclusive="db")
    scene.passes(14_000)
    scene.hears(frames.Rejoin())
    scene.passes(1_000)
    scene.welcome({ONE: InventoryVerdict.CONTINUE}, epoch=2)
    scene.disconnect()
    scene.passes(23_999)
    assert scene.stops == []
    scene.passes(1)
    assert [stop.key for stop in scene.stops] == [ONE]


def test_a_protocol_error_after_a_rejoin_is_one_more_reconnect() -> None:
    scene = Scene().join()
    scene.hears(frames.Rejoin())
    scene.disconnect(frames.CLOSE_PROTOCOL, "hello: odd")
    assert scene.left is None
    assert scene.connect_in_ms is not None

    # When the next connection is refused at once, then that is for good
    scene.connect()
    scene.disconnect(frames.CLOSE_PROTOCOL, "hello: odd")
    assert scene.left == "the hub does not take this daemon's hello (protocol 1): hello: odd"


# --- timeouts ----------------------------------------------------------------------------------------------


def test_work_over_its_timeout_is_stopped_a_second_after_the_hub_would() -> None:
    scene = Scene().join()
    scene.runs(timeout=2.0)
    scene.take_sent()
    scene.passes(2_999)
    assert scene.stops == []
    scene.passes(1)
    assert [stop.key for stop in scene.stops] == [ONE]
    scene.stops_as_told()
    [failed] = scene.sent
    assert isinstance(failed, TaskFailed)
    assert failed.error.code == ErrorCode.EXECUTION_TIMEOUT


def test_a_result_that_comes_after_the_timeout_is_sent() -> None:
    scene = Scene().join()
    scene.runs(timeout=2.0)
    scene.take_sent()
    scene.passes(3_000)
    scene.ends(done())
    assert scene.sent == [done()]


def test_the_hubs_cancel_goes_before_our_own_timeout() -> None:
    scene = Scene().join()
    scene.runs(timeout=2.0)
    scene.take_sent()
    scene.passes(3_000)
    scene.hears(cancel())
    scene.stops_as_told()
    assert scene.sent == [TaskCancelled(*ONE, "cancelled")]
