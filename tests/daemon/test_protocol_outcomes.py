"""The daemon's rules about what its work says: outcomes until they are acknowledged, and progress, each by example."""

from msgspec import Raw

from taskyard.daemon.ledger import JOURNAL_AFTER_MS
from taskyard.daemon.orders import Memory
from taskyard.vocabulary import InventoryState, InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import (
    Item,
    TaskCheckpoint,
    TaskCompleted,
    TaskFailed,
    TaskProgress,
)
from tests.daemon.scene import ONE, OWED, TWO, Scene, broken, done, execute, hello

# --- outcomes ----------------------------------------------------------------------------------------------


def test_an_outcome_is_told_again_on_every_connection_until_it_is_acknowledged() -> None:
    scene = Scene().join()
    scene.runs()
    scene.ends(broken())
    for _ in range(3):
        scene.comes_back()
        assert scene.sent == [broken()]
    scene.acknowledged()
    scene.comes_back()
    assert scene.sent == []


def test_an_outcome_is_told_in_the_turn_in_which_the_work_ended() -> None:
    scene = Scene().at_work()
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
    scene.comes_back()
    assert len(scene.take_sent()) == 5
    scene.acknowledged(("t0", 1))
    assert len(scene.take_sent()) == 1


def test_a_result_too_large_for_the_wire_is_cut_and_kept_whole_in_a_file() -> None:
    scene = Scene().at_work()
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
    scene = Scene().at_work()
    scene.ends(TaskCompleted(*ONE, Raw(b"1e400")))
    [failed] = scene.sent
    assert isinstance(failed, TaskFailed)
    assert (failed.error.code, failed.error.retryable) == ("INVALID_RESULT", False)


def test_what_could_not_be_begun_here_is_handed_back_and_nothing_is_kept_of_it() -> None:
    scene = Scene(slots=1).join()
    scene.hears(execute())
    scene.take_sent()
    scene.ends(frames.TaskRejected(*ONE, "no space left in \udcff"))
    assert scene.sent == [frames.TaskRejected(*ONE, "no space left in ?")]
    assert (scene.settled, scene.written, scene.machine.live) == ([ONE], [], {})


# --- progress ----------------------------------------------------------------------------------------------


def test_progress_is_thinned_out_and_the_newest_wins() -> None:
    scene = Scene().at_work()
    for percent in (1.0, 2.0, 3.0):
        scene.machine.work_progressed(ONE, scene.now, percent=percent, log=f"line {percent:g}")
    scene.carry_out()
    assert scene.take_sent() == [TaskProgress(*ONE, 1.0, None, "line 1")]
    scene.passes(500)
    assert scene.sent == [TaskProgress(*ONE, 3.0, None, "line 2\nline 3")]


def test_the_last_progress_is_told_before_the_outcome() -> None:
    scene = Scene().at_work()
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
