"""The daemon's rules, each by example."""

import pytest
from msgspec import Raw

from taskyard.daemon.attempt import Ending
from taskyard.daemon.introduction import INVENTORY_MAX
from taskyard.daemon.ledger import JOURNAL_AFTER_MS
from taskyard.daemon.orders import Memory, Stop
from taskyard.vocabulary import CancelReason, ErrorCode, InventoryState, InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import (
    Hello,
    Item,
    Position,
    TaskAccepted,
    TaskCancelled,
    TaskCheckpoint,
    TaskCompleted,
    TaskExecute,
    TaskFailed,
    TaskProgress,
    TaskRejected,
    TaskStarted,
)
from tests.daemon.scene import ONE, TWO, Scene, broken, cancel, done, execute

OWED = frames.encode(done())


def hello(scene: Scene) -> Hello:
    greeting = scene.sent[0]
    assert isinstance(greeting, Hello)
    return greeting


# --- hello and welcome -------------------------------------------------------------------------------------


def test_hello_is_first_and_says_who_and_what() -> None:
    scene = Scene(slots=3)
    scene.connect()
    assert scene.sent == [Hello(protocol=1, boot_id="boot", name="mac-1", max_concurrent_tasks=3)]


def test_hello_lists_accepted_running_and_ended_attempts() -> None:
    scene = Scene().join()
    scene.runs(ONE)
    scene.hears(execute(TWO))
    scene.runs(("t3", 1))
    scene.ends(done(("t3", 1)))
    scene.disconnect()
    scene.sent.clear()
    scene.connect()
    assert hello(scene).inventory == [
        Item(*ONE, InventoryState.RUNNING),
        Item(*TWO, InventoryState.ACCEPTED),
        Item("t3", 1, InventoryState.ENDED),
    ]


def test_hello_names_the_id_and_the_position_that_were_remembered() -> None:
    scene = Scene(memory=Memory(daemon_id="d_9", seen=Position("c1", 4, 17)))
    scene.connect()
    assert (hello(scene).daemon_id, hello(scene).seen) == ("d_9", Position("c1", 4, 17))


def test_the_id_from_the_welcome_goes_to_disk() -> None:
    scene = Scene()
    scene.connect()
    scene.welcome(seq=5)
    assert scene.batches[0].daemon_id == "d_1"
    assert scene.batches[0].seen == Position("c1", 1, 5)


def test_nothing_but_a_welcome_is_heard_before_the_welcome() -> None:
    scene = Scene()
    scene.connect()
    scene.hears(execute(), cancel())
    assert scene.started == []
    assert len(scene.sent) == 1


def test_a_hello_never_outgrows_its_frame() -> None:
    scene = Scene(memory=Memory(ended={(f"t{n}", 1): OWED for n in range(INVENTORY_MAX + 5)}))
    scene.connect()
    assert len(hello(scene).inventory) == INVENTORY_MAX


def test_a_hub_of_another_protocol_ends_the_daemon_with_a_message() -> None:
    scene = Scene()
    scene.connect()
    scene.welcome(protocol=2)
    assert scene.left == "the hub speaks protocol 2, this daemon speaks 1"


def test_results_owed_to_one_hub_are_not_offered_to_another() -> None:
    scene = Scene(memory=Memory(seen=Position("c0", 1, 1), ended={ONE: OWED}))
    scene.connect()
    scene.welcome({ONE: InventoryVerdict.FORGET})
    assert scene.left is not None
    assert "owed to another hub" in scene.left
    assert ONE in scene.machine.ledger.ended


def test_without_debts_a_new_hub_is_as_good_as_the_old() -> None:
    scene = Scene(memory=Memory(seen=Position("c0", 9, 9)))
    scene.connect()
    scene.welcome(cluster_id="c1", epoch=1)
    assert scene.left is None
    assert scene.machine.welcomed


# --- verdicts ----------------------------------------------------------------------------------------------


def test_work_that_may_continue_continues() -> None:
    scene = Scene().join()
    scene.runs()
    scene.disconnect()
    scene.connect()
    scene.take_sent()
    scene.welcome({ONE: InventoryVerdict.CONTINUE})
    assert (scene.sent, scene.stops) == ([], [])
    assert len(scene.started) == 1


def test_aborted_work_is_stopped_and_then_told_to_be_so() -> None:
    scene = Scene().join()
    scene.runs()
    scene.disconnect()
    scene.connect()
    scene.take_sent()
    scene.welcome({ONE: InventoryVerdict.ABORT})
    assert [stop.key for stop in scene.stops] == [ONE]
    scene.stops_as_told()
    assert scene.sent == [TaskCancelled(*ONE, "aborted")]
    assert not scene.machine.live


def test_a_result_that_aborted_work_brings_all_the_same_is_sent() -> None:
    scene = Scene().join()
    scene.runs()
    scene.disconnect()
    scene.connect()
    scene.take_sent()
    scene.welcome({ONE: InventoryVerdict.ABORT})
    scene.ends(done())
    assert scene.sent == [done()]


def test_a_result_asked_for_is_sent() -> None:
    scene = Scene(memory=Memory(ended={ONE: OWED}))
    scene.connect()
    scene.take_sent()
    scene.welcome({ONE: InventoryVerdict.SEND_RESULT})
    assert scene.sent == [done()]


def test_a_result_to_forget_is_forgotten_on_disk_too() -> None:
    scene = Scene(memory=Memory(ended={ONE: OWED}))
    scene.connect()
    scene.take_sent()
    scene.welcome({ONE: InventoryVerdict.FORGET})
    assert scene.sent == []
    assert [batch.forgotten for batch in scene.batches] == [[ONE]]


def test_running_work_to_forget_is_stopped() -> None:
    scene = Scene().join()
    scene.runs()
    scene.disconnect()
    scene.connect()
    scene.welcome({ONE: InventoryVerdict.FORGET})
    assert [stop.key for stop in scene.stops] == [ONE]


def test_what_changed_between_hello_and_welcome_is_told_after_it() -> None:
    scene = Scene().join()
    scene.hears(execute(ONE), execute(TWO))
    scene.disconnect()
    scene.connect()
    scene.begins(ONE)
    scene.begins(TWO)
    scene.ends(done(TWO))
    scene.take_sent()
    scene.welcome({ONE: InventoryVerdict.CONTINUE, TWO: InventoryVerdict.CONTINUE})
    assert scene.sent == [TaskStarted(*ONE), done(TWO)]


# --- execute -----------------------------------------------------------------------------------------------


def test_an_acceptance_is_told_at_once_and_not_written_down() -> None:
    scene = Scene().join()
    batches = len(scene.batches)
    scene.runs()
    assert scene.sent == [TaskAccepted(*ONE), TaskStarted(*ONE)]
    assert len(scene.batches) == batches


def test_what_ends_in_the_turn_of_its_offer_says_so_by_its_outcome_alone() -> None:
    scene = Scene().join()
    scene.machine.received([execute(ONE), execute(TWO)], scene.now)
    assert [start.key for start in scene.machine.take_starts()] == [ONE, TWO]
    for key in (ONE, TWO):
        scene.machine.work_started(key, scene.now)
        scene.machine.work_ended(done(key), scene.now)
    scene.carry_out()
    assert scene.sent == [done(ONE), done(TWO)]


def test_what_starts_in_the_turn_of_its_offer_is_told_as_started() -> None:
    scene = Scene().join()
    scene.machine.received([execute(ONE), execute(TWO)], scene.now)
    scene.machine.work_started(ONE, scene.now)
    scene.carry_out()
    assert scene.sent == [TaskStarted(*ONE), TaskAccepted(*TWO)]


def test_an_attempts_state_comes_before_everything_else_that_is_said_of_it() -> None:
    scene = Scene().join()
    scene.hears(execute())
    scene.machine.work_started(ONE, scene.now)
    scene.machine.work_checkpointed(ONE, b"1")
    scene.machine.work_progressed(ONE, scene.now, percent=1.0)
    scene.carry_out()
    scene.ends(done())
    assert scene.sent == [
        TaskAccepted(*ONE),
        TaskStarted(*ONE),
        TaskCheckpoint(*ONE, Raw(b"1")),
        TaskProgress(*ONE, 1.0),
        done(),
    ]


def test_the_task_is_handed_on_as_it_was_read() -> None:
    scene = Scene().join()
    scene.hears(execute(exclusive="house"))
    (start,) = scene.started
    assert start.task is not None
    assert (start.task.id, start.task.input, start.task.timeout) == ("t1", "go", 300.0)
    assert scene.machine.live[ONE].exclusive


def test_a_task_that_can_be_read_only_in_part_is_accepted_so_that_its_failure_is_told() -> None:
    scene = Scene().join()
    message = execute()
    message.task = Raw(b'{"id":"t1","type":7,"execution":{"exclusive":"house"}}')
    scene.hears(message)
    assert scene.sent == [TaskAccepted(*ONE)]
    assert [start.task for start in scene.started] == [None]
    assert scene.machine.live[ONE].exclusive


def test_a_repeated_execute_is_answered_with_the_state_and_starts_nothing() -> None:
    scene = Scene().join()
    scene.hears(execute())
    scene.hears(execute())
    scene.begins()
    scene.hears(execute())
    scene.ends(done())
    scene.hears(execute())
    assert scene.sent == [
        *[TaskAccepted(*ONE)] * 2,
        *[TaskStarted(*ONE)] * 2,
        *[done()] * 2,
    ]
    assert len(scene.started) == 1


def test_a_full_daemon_rejects() -> None:
    scene = Scene(slots=1).join()
    scene.runs(ONE)
    scene.take_sent()
    scene.hears(execute(TWO))
    assert scene.sent == [TaskRejected(*TWO, "slots full")]


def test_one_sub_task_of_each_task_it_runs_is_run_beside_it() -> None:
    scene = Scene(slots=1).join()
    scene.runs(ONE)
    child, grandchild, second, stranger = ("child", 1), ("grandchild", 1), ("second", 1), ("stranger", 1)
    scene.hears(execute(child, parent=ONE[0]))
    scene.hears(execute(grandchild, parent=child[0]))
    scene.take_sent()
    scene.hears(execute(second, parent=ONE[0]))
    scene.hears(execute(stranger, parent="elsewhere"))
    assert [start.key for start in scene.started] == [ONE, child, grandchild]
    assert scene.sent == [TaskRejected(*second, "slots full"), TaskRejected(*stranger, "slots full")]


def test_who_runs_beside_another_takes_no_slot_also_when_there_is_one_and_when_the_other_has_ended() -> None:
    scene = Scene(slots=2).join()
    scene.runs(ONE)
    child, third = ("child", 1), ("third", 1)
    scene.hears(execute(child, parent=ONE[0]))
    scene.hears(execute(TWO))
    scene.ends(done(ONE))
    scene.hears(execute(third))
    assert [start.key for start in scene.started] == [ONE, child, TWO, third]


def test_an_ended_attempt_frees_its_slot_at_once() -> None:
    scene = Scene(slots=1).join()
    scene.runs(ONE)
    scene.ends(done(ONE))
    scene.hears(execute(TWO))
    assert [start.key for start in scene.started] == [ONE, TWO]


def test_a_daemon_with_a_full_spool_takes_no_new_work() -> None:
    scene = Scene(spool_bytes_max=10).join()
    scene.runs(ONE)
    scene.ends(done(ONE))
    scene.take_sent()
    scene.hears(execute(TWO))
    assert scene.sent == [TaskRejected(*TWO, "spool full")]
    scene.acknowledged(ONE)
    scene.hears(execute(("t3", 1)))
    assert scene.sent[-1] == TaskAccepted("t3", 1)


def test_a_daemon_whose_journal_cannot_write_takes_no_new_work() -> None:
    scene = Scene().join()
    scene.machine.trouble = "journal: No space left on device"
    scene.hears(execute())
    assert scene.sent == [TaskRejected(*ONE, "journal: No space left on device")]


def test_a_task_without_an_id_is_left_to_the_hub_to_miss() -> None:
    scene = Scene().join()
    scene.hears(TaskExecute(Raw(b"{}"), 1, 1.0, "", Raw(b"[]"), Raw(b"null"), Raw(b"[]")))
    assert (scene.started, scene.sent) == ([], [])


def test_a_newer_attempt_stops_the_older_one_of_the_same_task() -> None:
    scene = Scene().join()
    scene.runs(("t1", 1))
    scene.hears(execute(("t1", 2)))
    assert [stop.key for stop in scene.stops] == [("t1", 1)]
    assert len(scene.started) == 2


def test_an_exclusive_attempt_does_not_start_beside_its_older_one() -> None:
    scene = Scene().join()
    scene.runs(("t1", 1), exclusive="db")
    scene.take_sent()
    scene.hears(execute(("t1", 2), exclusive="db"))
    assert scene.sent == [TaskRejected("t1", 2, "an older attempt is still stopping")]


# --- cancel ------------------------------------------------------------------------------------------------


def test_a_cancel_is_confirmed_when_the_work_has_stopped() -> None:
    scene = Scene().join()
    scene.runs()
    scene.take_sent()
    scene.hears(cancel(grace_s=3))
    assert scene.stops == [Stop(ONE, CancelReason.CANCELLED, 3_000)]
    assert scene.sent == []
    scene.stops_as_told()
    assert scene.sent == [TaskCancelled(*ONE, "cancelled")]


def test_a_cancel_before_the_start_is_confirmed_too() -> None:
    scene = Scene().join()
    scene.hears(execute(), cancel())
    scene.stops_as_told()
    assert scene.sent == [TaskAccepted(*ONE), TaskCancelled(*ONE, "cancelled")]


def test_a_cancel_of_an_unknown_attempt_is_confirmed_at_once() -> None:
    scene = Scene().join()
    scene.hears(cancel())
    assert scene.sent == [TaskCancelled(*ONE, "cancelled")]


def test_a_result_that_crosses_the_cancel_is_sent_and_the_hub_decides() -> None:
    scene = Scene().join()
    scene.runs()
    scene.take_sent()
    scene.hears(cancel())
    scene.ends(done())
    scene.hears(cancel())
    assert scene.sent == [done()]


def test_work_that_cancels_itself_has_failed() -> None:
    scene = Scene().join()
    scene.runs()
    scene.take_sent()
    scene.stops_as_told()
    failed = scene.sent[0]
    assert isinstance(failed, TaskFailed)
    assert failed.error.code == "EXECUTION_ERROR"


# --- outcomes ----------------------------------------------------------------------------------------------


def test_an_outcome_is_told_again_on_every_connection_until_it_is_acknowledged() -> None:
    scene = Scene().join()
    scene.runs()
    scene.ends(broken())
    for _ in range(3):
        scene.disconnect()
        scene.connect()
        scene.take_sent()
        scene.welcome()
        assert scene.sent == [broken()]
    scene.acknowledged()
    scene.disconnect()
    scene.connect()
    scene.take_sent()
    scene.welcome()
    assert scene.sent == []


def test_an_outcome_is_told_in_the_turn_in_which_the_work_ended() -> None:
    scene = Scene().join()
    scene.runs()
    scene.take_sent()
    scene.machine.work_ended(done(), scene.now)
    orders = scene.machine.take()
    assert orders.send == [OWED]
    assert orders.batch is None


def test_what_is_acknowledged_soon_never_touches_the_disk() -> None:
    scene = Scene().join()
    scene.runs()
    scene.ends(done())
    scene.passes(JOURNAL_AFTER_MS - 1)
    scene.acknowledged()
    scene.passes(2_000)
    assert scene.written == []
    assert [key for batch in scene.batches for key in batch.forgotten] == []


def test_what_is_not_acknowledged_soon_is_written_with_all_that_is_owed_by_then() -> None:
    scene = Scene().join()
    scene.runs(ONE)
    scene.runs(TWO)
    scene.ends(done(ONE))
    scene.passes(JOURNAL_AFTER_MS - 1)
    scene.ends(done(TWO))
    assert scene.written == []
    scene.passes(1)
    assert scene.written == [ONE, TWO]
    scene.passes(2_000)
    assert scene.written == [ONE, TWO]


def test_each_outcome_has_its_own_time_to_be_acknowledged() -> None:
    scene = Scene().join()
    scene.runs(ONE)
    scene.runs(TWO)
    scene.ends(done(ONE))
    scene.passes(30)
    scene.ends(done(TWO))
    scene.acknowledged(ONE)
    scene.passes(JOURNAL_AFTER_MS - 1)
    assert scene.written == []
    scene.passes(1)
    assert scene.written == [TWO]


def test_what_ends_while_there_is_nobody_to_tell_is_written_at_once() -> None:
    scene = Scene().join()
    scene.runs(ONE)
    scene.runs(TWO)
    scene.disconnect()
    scene.ends(done(ONE))
    assert scene.written == [ONE]
    scene.connect()
    scene.ends(done(TWO))
    assert scene.written == [ONE, TWO]


def test_what_is_owed_when_the_connection_ends_is_written_at_once() -> None:
    scene = Scene().join()
    scene.runs()
    scene.ends(done())
    scene.disconnect()
    assert scene.written == [ONE]


def test_an_outcome_that_was_written_is_told_again_by_the_next_process() -> None:
    scene = Scene().join()
    scene.runs(ONE)
    scene.ends(done(ONE))
    scene.passes(JOURNAL_AFTER_MS)
    scene.runs(TWO)
    scene.ends(done(TWO))
    after = Scene(memory=scene.remembered())
    after.connect()
    assert hello(after).inventory == [Item(*ONE, InventoryState.ENDED)]
    after.take_sent()
    after.welcome({ONE: InventoryVerdict.SEND_RESULT})
    assert after.sent == [done(ONE)]


def test_an_outcome_that_was_written_leaves_the_disk_within_a_second_of_its_acknowledgement() -> None:
    scene = Scene().join()
    scene.runs()
    scene.ends(done())
    scene.passes(JOURNAL_AFTER_MS)
    scene.acknowledged()
    scene.passes(1_000)
    assert scene.batches[-1].forgotten == [ONE]
    assert scene.remembered().ended == {}


def test_an_acknowledgement_of_running_work_means_nothing() -> None:
    scene = Scene().join()
    scene.runs()
    scene.acknowledged()
    scene.ends(done())
    assert ONE in scene.machine.ledger.ended


def test_a_full_spool_is_told_in_portions_as_the_hub_acknowledges() -> None:
    large = frames.encode(done(ONE, b'"' + b"x" * 1_000_000 + b'"'))
    scene = Scene(memory=Memory(ended={(f"t{n}", 1): large for n in range(20)}))
    scene.connect()
    scene.take_sent()
    scene.welcome()
    assert len(scene.take_sent()) == 5
    scene.acknowledged(("t0", 1))
    assert len(scene.take_sent()) == 1


def test_a_result_too_large_for_the_wire_is_cut_and_kept_whole_in_a_file() -> None:
    scene = Scene().join()
    scene.runs()
    scene.take_sent()
    result = b'"' + b"x" * (1024 * 1024) + b'"'
    scene.ends(done(ONE, result))
    [whole] = scene.kept
    assert whole.content == result
    assert scene.written == [ONE]
    [completed] = scene.sent
    assert isinstance(completed, TaskCompleted)
    assert isinstance(completed.result, Raw)
    assert len(completed.result) < 64 * 1024
    assert f'"bytes":{len(result)}'.encode() in bytes(completed.result)
    assert whole.name.encode() in bytes(completed.result)


def test_an_outcome_that_is_not_json_fails_for_good() -> None:
    scene = Scene().join()
    scene.runs()
    scene.take_sent()
    scene.ends(TaskCompleted(*ONE, Raw(b"1e400")))
    [failed] = scene.sent
    assert isinstance(failed, TaskFailed)
    assert (failed.error.code, failed.error.retryable) == ("INVALID_RESULT", False)


def test_what_could_not_be_begun_here_is_handed_back_and_nothing_is_kept_of_it() -> None:
    scene = Scene(slots=1).join()
    scene.hears(execute())
    scene.take_sent()
    scene.ends(frames.TaskRejected(*ONE, "no space left"))
    assert scene.sent == [frames.TaskRejected(*ONE, "no space left")]
    assert (scene.settled, scene.written, scene.machine.load) == ([ONE], [], 0.0)


# --- progress ----------------------------------------------------------------------------------------------


def test_progress_is_thinned_out_and_the_newest_wins() -> None:
    scene = Scene().join()
    scene.runs()
    scene.take_sent()
    for percent in (1.0, 2.0, 3.0):
        scene.machine.work_progressed(ONE, scene.now, percent=percent, log=f"line {percent:g}")
    scene.carry_out()
    assert scene.take_sent() == [TaskProgress(*ONE, 1.0, None, "line 1")]
    scene.passes(500)
    assert scene.sent == [TaskProgress(*ONE, 3.0, None, "line 2\nline 3")]


def test_the_last_progress_is_told_before_the_outcome() -> None:
    scene = Scene().join()
    scene.runs()
    scene.take_sent()
    scene.machine.work_progressed(ONE, scene.now, message="a")
    scene.machine.work_progressed(ONE, scene.now, message="b")
    scene.ends(done())
    assert scene.sent == [TaskProgress(*ONE, None, "a"), TaskProgress(*ONE, None, "b"), done()]


def test_a_flood_of_log_lines_is_cut_with_a_mark() -> None:
    scene = Scene().join()
    scene.runs()
    for _ in range(50):
        scene.machine.work_progressed(ONE, scene.now, log="x" * 1_000)
    scene.passes(500)
    last = scene.sent[-1]
    assert isinstance(last, TaskProgress)
    assert last.log is not None
    assert last.log.endswith("holds …]")
    assert len(last.log) < 20_000


def test_news_of_work_that_is_gone_are_ignored() -> None:
    scene = Scene().join()
    scene.machine.work_progressed(ONE, scene.now, percent=1.0)
    scene.machine.work_checkpointed(ONE, b"1")
    scene.carry_out()
    assert scene.sent == []


def test_the_newest_checkpoint_is_told_again_after_a_reconnect() -> None:
    scene = Scene().join()
    scene.runs()
    scene.machine.work_checkpointed(ONE, b"1")
    scene.disconnect()
    scene.machine.work_checkpointed(ONE, b"2")
    scene.connect()
    scene.take_sent()
    scene.welcome({ONE: InventoryVerdict.CONTINUE})
    assert scene.sent == [TaskCheckpoint(*ONE, Raw(b"2"))]


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


def answer_heartbeats(scene: Scene, ms: int) -> None:
    for _ in range(ms // 5_000):
        scene.passes(5_000)
        scene.hears(frames.HeartbeatAck("c1", 1, 1))


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
    assert scene.left == "the hub does not speak protocol 1: hello: odd"


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
    scene.disconnect()
    scene.connect()
    scene.take_sent()
    scene.welcome({ONE: InventoryVerdict.CONTINUE})
    assert scene.sent == [frames.Drain()]


def test_an_idle_daemon_leaves_at_once() -> None:
    scene = Scene().join()
    drained(scene)
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
    scene = Scene().join()
    scene.runs()
    scene.take_sent()
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
