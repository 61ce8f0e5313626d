"""How a daemon comes back: with work that outlived it, from a sleep, or as another one than before."""

from msgspec.structs import replace

from taskyard.daemon.orders import Memory, Start
from taskyard.vocabulary import InventoryState, InventoryVerdict, OnLoss
from taskyard.wire.frames import Item, TaskCancelled, TaskRejected, TaskStarted
from tests.daemon.scene import ONE, TWO, Scene, done, execute


def adopting(*starts: Start, memory: Memory | None = None, slots: int = 5) -> Scene:
    scene = Scene(memory=memory, slots=slots)
    for start in starts:
        scene.machine.adopt(start)
    scene.carry_out()
    return scene


# --- work that outlived the process ----------------------------------------------------------------------------


def test_adopted_work_is_listed_as_running_and_its_result_is_told() -> None:
    # Given a process that found work of the one before it
    scene = adopting(Start(ONE, execute()))
    assert [start.key for start in scene.started] == [ONE]

    # When it says hello, may go on, and the work ends
    scene.connect()
    greeting = scene.take_sent()[0]
    scene.welcome({ONE: InventoryVerdict.CONTINUE})
    scene.begins()
    scene.ends(done())

    # Then the hub heard of it as of any other work
    assert greeting.inventory == [Item(*ONE, InventoryState.RUNNING)]  # type: ignore[union-attr]
    assert scene.take_sent()[-1] == done()


def test_work_whose_outcome_is_written_is_not_followed_again() -> None:
    before = Scene().join()
    before.runs()
    before.disconnect()
    before.ends(done())
    scene = adopting(Start(ONE, execute()), memory=before.remembered())
    assert scene.started == []
    assert scene.machine.live == {}


def test_adopted_work_that_the_hub_gave_up_is_stopped() -> None:
    scene = adopting(Start(ONE, execute()))
    scene.connect()
    scene.welcome({ONE: InventoryVerdict.ABORT})
    assert [stop.key for stop in scene.stops] == [ONE]


def test_adopted_work_takes_its_slot() -> None:
    scene = adopting(Start(ONE, execute()), slots=1)
    scene.connect()
    scene.welcome({ONE: InventoryVerdict.CONTINUE})
    scene.sent.clear()
    scene.hears(execute(TWO))
    assert scene.take_sent() == [TaskRejected(*TWO, "slots full")]


# --- what is kept until it is safe ------------------------------------------------------------------------------


def test_an_attempt_is_settled_when_its_outcome_is_acknowledged_and_not_when_it_is_told() -> None:
    scene = Scene().join()
    scene.runs()
    scene.ends(done())
    assert scene.settled == []
    scene.acknowledged()
    assert scene.settled == [ONE]


def test_an_attempt_that_stopped_as_told_is_settled_at_once() -> None:
    scene = adopting(Start(ONE, execute()))
    scene.connect()
    scene.welcome({ONE: InventoryVerdict.ABORT})
    scene.stops_as_told()
    assert scene.settled == [ONE]


# --- the lease, for whoever watches in our place -----------------------------------------------------------------


def test_every_answered_heartbeat_moves_the_instant_by_which_fenced_work_has_to_be_gone() -> None:
    scene = Scene()
    scene.connect()
    said_at = scene.now
    scene.welcome()
    assert scene.leases == [said_at + 30_000]


def test_where_loss_means_kill_all_work_is_stopped_before_the_lease_ends() -> None:
    scene = Scene().join()
    scene.machine.settings = replace(scene.machine.settings, on_loss=OnLoss.KILL)
    scene.runs()
    scene.disconnect()
    scene.passes(30_000)
    assert [(stop.key, stop.reason) for stop in scene.stops] == [(ONE, "fenced")]
    scene.stops_as_told()
    scene.connect()
    assert TaskCancelled not in map(type, scene.take_sent())


# --- from a sleep, or as another one -------------------------------------------------------------------------------


def test_who_slept_dials_at_once_and_afterwards_as_patiently_as_ever() -> None:
    scene = Scene()
    for _ in range(10):
        scene.disconnect()
    scene.machine.woke()
    scene.disconnect()
    assert scene.connect_in_ms == 0
    scene.disconnect()
    assert scene.connect_in_ms is not None
    assert 0 < scene.connect_in_ms <= 1_000


def test_what_changed_about_a_daemon_is_said_in_a_new_hello_while_its_work_goes_on() -> None:
    # Given a daemon at work
    scene = Scene().join()
    scene.runs()

    # When it can do something else than before
    scene.machine.introduce(replace(scene.machine.settings, capabilities=("browser",), slots=2))
    scene.carry_out()
    assert scene.hung_up
    scene.disconnect()
    scene.sent.clear()
    scene.connect()

    # Then it says so at once, and lists what it runs
    assert scene.connect_in_ms == 0
    greeting = scene.take_sent()[0]
    assert greeting.capabilities == ["browser"]  # type: ignore[union-attr]
    assert greeting.max_concurrent_tasks == 2  # type: ignore[union-attr]
    assert greeting.inventory == [Item(*ONE, InventoryState.RUNNING)]  # type: ignore[union-attr]
    scene.welcome({ONE: InventoryVerdict.CONTINUE})
    assert TaskStarted(*ONE) not in scene.take_sent()
    assert scene.stops == []
