"""What has to be read before a command can be decided."""

import pytest

from taskyard.core.commands import (
    CancelTask,
    ChangeTask,
    Command,
    CompleteTask,
    FailTask,
    HearEnded,
    Known,
    RetryTask,
    ReviewTask,
    SkipTask,
    SubmitTasks,
    Tick,
)
from taskyard.core.lookups import Lookup, is_ref, key_name, merge, missing
from taskyard.core.task import Failure
from taskyard.vocabulary import Verdict
from tests.support.harness import HubHarness, a_draft

BY_NAME: list[Command] = [
    CancelTask("ann", "x"),
    SkipTask("ann", "x"),
    ChangeTask("ann", "x"),
    RetryTask("ann", "x"),
    ReviewTask("ann", "x", Verdict.RETRY, "", "ann"),
]
BY_DAEMON: list[Command] = [CompleteTask("d", "x", 1), FailTask("d", "x", 1, Failure("c", "m"))]


def test_a_command_that_names_nothing_needs_nothing() -> None:
    assert missing(HubHarness().state, Tick()) is None


@pytest.mark.parametrize("command", BY_NAME, ids=lambda c: type(c).__name__)
def test_a_task_the_core_has_forgotten_is_looked_up_for_its_user(command: Command) -> None:
    assert missing(HubHarness().state, command) == Lookup("ann", ("x",), (), ())


@pytest.mark.parametrize("command", BY_DAEMON, ids=lambda c: type(c).__name__)
def test_a_daemon_may_speak_of_whosever_task(command: Command) -> None:
    assert missing(HubHarness().state, command) == Lookup(None, ("x",), (), ())


@pytest.mark.parametrize("command", [*BY_NAME, *BY_DAEMON], ids=lambda c: type(c).__name__)
def test_a_task_in_memory_is_not_looked_up(command: Command) -> None:
    hub = HubHarness()
    hub.submit(id="x")
    assert missing(hub.state, command) is None


@pytest.mark.parametrize("command", [*BY_NAME, *BY_DAEMON], ids=lambda c: type(c).__name__)
def test_what_was_asked_is_not_asked_again(command: Command) -> None:
    command.known = Known(asked={"x": None})  # type: ignore[union-attr]
    try:
        assert missing(HubHarness().state, command) is None
    finally:
        command.known = Known()  # type: ignore[union-attr]


def test_a_submission_looks_up_dependencies_parents_refs_and_keys_that_are_not_in_memory() -> None:
    hub = HubHarness()
    hub.submit(id="here", key="known")
    command = SubmitTasks(
        "ann",
        [
            a_draft(name="a", key="known"),
            a_draft(depends_on=("a", "here", "gone", "T-007"), parent_id="up", key="new"),
            a_draft(key="new", depends_on=("gone",)),
        ],
        under="token",
    )
    assert missing(hub.state, command) == Lookup("ann", ("gone", "up", "token"), ("T-007",), ("new",))


def test_a_submission_that_stands_alone_looks_up_nothing() -> None:
    assert missing(HubHarness().state, SubmitTasks("ann", [a_draft()])) is None


def test_a_revival_looks_up_its_task_then_its_dependencies_and_its_key() -> None:
    hub = HubHarness()
    base = hub.submit()
    task = hub.submit(depends_on=(base.id,), key="k")
    hub.cancel(base)
    hub.advance(ms=1)
    hub.advance(ms=1)
    assert hub.state.tasks == {}
    command = RetryTask("ann", task.id)
    first = missing(hub.state, command)
    assert first == Lookup("ann", (task.id,), (), ())
    command.known = merge(command.known, first, Known(read_seq=5, tasks={task.id: task}))
    second = missing(hub.state, command)
    assert second == Lookup("ann", (base.id,), (), ("k",))
    command.known = merge(command.known, second, Known(read_seq=6, tasks={base.id: base}, keys={"k": "other"}))
    assert missing(hub.state, command) is None
    assert command.known == Known(
        read_seq=5,
        tasks={task.id: task, base.id: base},
        keys={"k": "other"},
        asked=dict.fromkeys([task.id, base.id, key_name("k")]),
    )


def test_a_task_without_key_or_with_its_key_in_memory_asks_for_no_key() -> None:
    hub = HubHarness()
    hub.submit(id="x", key="k")
    assert missing(hub.state, RetryTask("ann", "x")) is None


def test_after_a_start_what_open_tasks_hope_for_is_looked_up() -> None:
    hub = HubHarness()
    dead = hub.submit(target="nobody")
    hub.submit(depends_on=(dead.id,))
    hub.advance(ms=1)
    assert missing(hub.state, HearEnded()) == Lookup(None, (dead.id,), (), ())
    assert missing(HubHarness().state, HearEnded()) is None


@pytest.mark.parametrize(
    ("name", "expected"), [("T-001", True), ("T-12345", True), ("T-x", False), ("0190-T-1", False)]
)
def test_a_ref_is_told_from_an_id(name: str, expected: bool) -> None:
    assert is_ref(name) is expected


def test_an_ended_task_is_in_memory_or_in_what_was_read_never_in_neither() -> None:
    # Given a look-up that begins at some commit
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(key="k")
    reading = hub.state.ledger.seq - 1
    # When the task ends after it, and commits go on
    hub.complete(task)
    for _ in range(3):
        hub.submit()
        hub.core.forget(through_seq=reading)
    # Then memory has it as long as that look-up is under way
    assert task.id not in hub.state.tasks or hub.state.tasks[task.id] is task
    hub.core.forget(through_seq=hub.state.ledger.seq)
    assert task.id not in hub.state.tasks
    assert task.id not in hub.hot()
