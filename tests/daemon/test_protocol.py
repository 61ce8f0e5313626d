"""The daemon's rules, each by example."""

from random import Random

from msgspec import Raw

from taskyard.daemon.introduction import INVENTORY_MAX, Settings
from taskyard.daemon.orders import Memory, Stop
from taskyard.daemon.protocol import Protocol
from taskyard.vocabulary import CancelReason, InventoryState, InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import (
    Hello,
    Item,
    Position,
    TaskAccepted,
    TaskCancelled,
    TaskCheckpoint,
    TaskExecute,
    TaskFailed,
    TaskProgress,
    TaskRejected,
    TaskStarted,
)
from tests.daemon.scene import ONE, OWED, TWO, Scene, cancel, done, execute, hello

# --- hello and welcome -------------------------------------------------------------------------------------


def test_hello_is_first_and_says_who_and_what() -> None:
    scene = Scene(slots=3)
    scene.connect()
    assert scene.sent == [Hello(protocol=1, boot_id="boot", name="mac-1", max_concurrent_tasks=3)]


def test_hello_says_of_an_ephemeral_daemon_that_it_does_not_come_back() -> None:
    settings = Settings(name="pod", boot_id="boot", ephemeral=True)
    machine = Protocol(settings, rng=Random(7))
    machine.connected(0)
    [said] = frames.decode_from_daemon(b"".join(machine.take().send))
    assert isinstance(said, Hello)
    assert said.ephemeral
    # To a hub that is older nothing else is said than before
    assert b"ephemeral" not in frames.encode(Hello(protocol=1, boot_id="boot", name="mac"))


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
    scene.comes_back({ONE: InventoryVerdict.CONTINUE})
    assert (scene.sent, scene.stops) == ([], [])
    assert len(scene.started) == 1


def test_aborted_work_is_stopped_and_then_told_to_be_so() -> None:
    scene = Scene().join()
    scene.runs()
    scene.comes_back({ONE: InventoryVerdict.ABORT})
    assert [stop.key for stop in scene.stops] == [ONE]
    scene.stops_as_told()
    assert scene.sent == [TaskCancelled(*ONE, "aborted")]
    assert not scene.machine.live


def test_a_result_that_aborted_work_brings_all_the_same_is_sent() -> None:
    scene = Scene().join()
    scene.runs()
    scene.comes_back({ONE: InventoryVerdict.ABORT})
    scene.ends(done())
    assert scene.sent == [done()]


def test_a_result_asked_for_is_sent() -> None:
    scene = Scene(memory=Memory(ended={ONE: OWED}))
    scene.comes_back({ONE: InventoryVerdict.SEND_RESULT})
    assert scene.sent == [done()]


def test_a_result_to_forget_is_forgotten_on_disk_too() -> None:
    scene = Scene(memory=Memory(ended={ONE: OWED}))
    scene.comes_back({ONE: InventoryVerdict.FORGET})
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


def test_what_work_said_last_is_told_before_that_it_stopped() -> None:
    # Given work that said two things so close together that the second waits
    scene = Scene().join()
    scene.runs()
    for line in ("one", "two"):
        scene.machine.work_progressed(ONE, scene.now, log=line)
    scene.hears(cancel())
    assert TaskProgress(*ONE, log="one") in scene.take_sent()
    # When it stops, then the second is told first
    scene.stops_as_told()
    assert scene.take_sent() == [TaskProgress(*ONE, log="two"), TaskCancelled(*ONE, "cancelled")]


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


def test_a_newer_attempt_stops_no_attempt_of_another_task() -> None:
    scene = Scene(slots=4).join()
    for task_id in ("t0", "t1", "t2"):
        scene.runs((task_id, 1))
    scene.hears(execute(("t1", 2)))
    assert [stop.key for stop in scene.stops] == [("t1", 1)]


def test_an_exclusive_attempt_does_not_start_beside_its_older_one() -> None:
    scene = Scene().join()
    scene.runs(("t1", 1), exclusive="db")
    scene.take_sent()
    scene.hears(execute(("t1", 2), exclusive="db"))
    assert scene.sent == [TaskRejected("t1", 2, "an older attempt is still stopping")]


# --- cancel ------------------------------------------------------------------------------------------------


def test_a_cancel_is_confirmed_when_the_work_has_stopped() -> None:
    scene = Scene().at_work()
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
    scene = Scene().at_work()
    scene.hears(cancel())
    scene.ends(done())
    scene.hears(cancel())
    assert scene.sent == [done()]


def test_work_that_cancels_itself_has_failed() -> None:
    scene = Scene().at_work()
    scene.stops_as_told()
    failed = scene.sent[0]
    assert isinstance(failed, TaskFailed)
    assert failed.error.code == "EXECUTION_ERROR"
