"""Imports: tasks come in as they stood elsewhere, all or none, and once."""

import pytest

from taskyard.core.breakers import state_of
from taskyard.core.changes import BreakerRecord
from taskyard.core.commands import Arrival, Draft, ImportTasks, Known
from taskyard.core.effects import Imported, Refused, Submitted
from taskyard.core.endings import DAY_MS
from taskyard.core.imports import AHEAD_MS_MAX
from taskyard.core.lookups import missing
from taskyard.core.settings import Queue, Settings
from taskyard.core.task import Attempt, Failure, Needs, Task, Terms
from taskyard.vocabulary import (
    AttemptStatus,
    BreakerState,
    DependsPolicy,
    EventName,
    Level,
    Refusal,
    ResultStatus,
    SourceType,
    Status,
    Verdict,
)
from tests.support.harness import START_WALL, HubHarness, a_draft

HOUR = 3_600_000


def an_arrival(id: str, status: Status = Status.PENDING, **fields: object) -> Arrival:
    """A task that stood elsewhere; what a draft has goes into its draft."""
    own = {name: fields.pop(name) for name in list(fields) if name in Arrival.__struct_fields__}
    own.setdefault("created_at", START_WALL - HOUR)
    return Arrival(draft=a_draft(id=id, **fields), status=status, **own)  # type: ignore[arg-type]


def import_of(*arrivals: Arrival, user: str = "ann", **fields: object) -> ImportTasks:
    return ImportTasks(user, "there", list(arrivals), "ann", **fields)  # type: ignore[arg-type]


def taken(hub: HubHarness, *arrivals: Arrival, **fields: object) -> list[Task]:
    answer = hub.ask(import_of(*arrivals, **fields))
    assert isinstance(answer, Imported), answer
    return [hub.state.tasks[arrival.draft.id] for arrival in arrivals]


def refusal(hub: HubHarness, *arrivals: Arrival, **fields: object) -> Refused:
    """Of an import, and of a look at it, which says the same; nothing has changed by either."""
    before, numbers = dict(hub.state.tasks), {user.id: user.number for user in hub.state.users.values()}
    looked = hub.ask(import_of(*arrivals, dry_run=True, **fields))
    answer = hub.ask(import_of(*arrivals, **fields))
    assert isinstance(answer, Refused), answer
    assert looked.refused[0] == answer
    assert hub.state.tasks == before
    assert {user.id: user.number for user in hub.state.users.values()} == numbers
    assert all(batch.is_empty() for batch in hub.batches[-2:])
    return answer


def a_try(number: int, status: AttemptStatus = AttemptStatus.FAILED, series: int = 1) -> Attempt:
    return Attempt(number, "loki", "loki", "imported", START_WALL - HOUR, series=series, status=status)


def test_what_was_open_takes_its_place_and_what_had_ended_is_history() -> None:
    hub = HubHarness()
    done, queued, later = taken(
        hub,
        an_arrival("a", Status.COMPLETED, completed_at=START_WALL - 5, summary="fine", outcome=b'{"result":1}'),
        an_arrival("b", Status.RUNNING),
        an_arrival("c", scheduled_for=START_WALL + HOUR),
    )
    assert [t.status for t in (done, queued, later)] == [Status.COMPLETED, Status.QUEUED, Status.PENDING]
    assert (done.completed_at, done.summary, done.created_at) == (START_WALL - 5, "fine", START_WALL - HOUR)
    batch = hub.batches[-1]
    assert [row.task.id for row in batch.ended] == ["a"]
    assert [row.task.id for row in batch.created] == ["b", "c"]
    assert batch.outcomes == [("a", b'{"result":1}')]
    assert [t.number for t in (done, queued, later)] == [1, 2, 3]
    assert [e.task_id for e in hub.said(EventName.TASK_IMPORTED)] == ["a", "b", "c"]
    assert hub.events(done) == [EventName.TASK_IMPORTED]
    hub.restarted()


def test_what_comes_again_is_recognised_and_stays_as_it_is() -> None:
    hub = HubHarness()
    first = taken(hub, an_arrival("a"), an_arrival("b", Status.CANCELLED))
    hub.cancel(first[0])
    again = (an_arrival("a"), an_arrival("b", Status.COMPLETED), an_arrival("c"))
    answer = hub.ask(import_of(*again, known=hub.known(*first)))
    assert answer == Imported((True, True, False))
    assert [t.status for t in first] == [Status.CANCELLED, Status.CANCELLED]
    assert hub.state.users["ann"].number == 3


def test_what_was_forgotten_is_looked_up_first() -> None:
    hub = HubHarness()
    done = taken(hub, an_arrival("a", Status.COMPLETED, key="k"))[0]
    hub.advance(s=1)
    hub.submit()
    hub.submit()
    assert "a" not in hub.state.tasks
    command = import_of(an_arrival("a"), an_arrival("b", key="k", depends_on=("c",)), an_arrival("c", parent_id="d"))
    asked = missing(hub.state, command)
    assert (asked.user_id, asked.ids, asked.keys) == (None, ("a", "b", "c", "d"), ())
    command.known = Known(tasks={"a": done}, asked=dict.fromkeys("abcd"))
    asked = missing(hub.state, command)
    assert (asked.user_id, asked.ids, asked.keys) == ("ann", (), ("k",))
    command.known = Known(tasks={"a": done}, keys={"k": "a"}, asked=dict.fromkeys(("a", "b", "c", "d", "key:k")))
    assert missing(hub.state, command) is None
    assert missing(hub.state, import_of(an_arrival("a"))) is not None


def test_dependencies_are_found_in_any_order_and_their_ends_count() -> None:
    hub = HubHarness()
    waits, blocked, goes, opened, _, dead = taken(
        hub,
        an_arrival("waits", depends_on=("open", "done")),
        an_arrival("blocked", depends_on=("dead",)),
        an_arrival("goes", depends_on=("done",)),
        an_arrival("open"),
        an_arrival("done", Status.COMPLETED),
        an_arrival("dead", Status.PERMANENTLY_FAILED, error=Failure("BOOM", "broke"), archived=True),
    )
    assert (waits.status, blocked.status, goes.status) == (Status.WAITING, Status.BLOCKED, Status.QUEUED)
    hub.daemon()
    hub.complete(hub.run(opened))
    assert waits.status is Status.SCHEDULED
    hub.review(dead, Verdict.RETRY)
    assert dead.status is Status.SCHEDULED
    assert (dead.series, dead.shelved) == (2, False)


def test_a_task_that_was_to_go_on_without_what_it_needed_goes_on_and_is_warned() -> None:
    hub = HubHarness()
    terms = Terms(on_depends_fail=DependsPolicy.CONTINUE)
    goes = taken(hub, an_arrival("goes", depends_on=("out",), terms=terms), an_arrival("out", Status.SKIPPED))[0]
    assert goes.status is Status.QUEUED
    assert len(goes.trouble.notes) == 1


def test_a_dependency_in_an_earlier_piece_is_found() -> None:
    hub = HubHarness()
    taken(hub, an_arrival("a"))
    assert taken(hub, an_arrival("b", depends_on=("a",)))[0].status is Status.WAITING


def test_a_look_takes_the_word_that_other_pieces_bring_the_rest() -> None:
    hub = HubHarness()
    piece = an_arrival("b", depends_on=("a",), parent_id="a")
    assert hub.ask(import_of(piece, dry_run=True, elsewhere=("a",))) == Imported((False,))
    assert refusal(hub, an_arrival("b", depends_on=("a",))).code is Refusal.DEPENDENCY_NOT_FOUND
    answer = hub.ask(import_of(piece, elsewhere=("a",)))
    assert isinstance(answer, Refused)
    assert hub.state.tasks == {}


def test_what_it_depends_on_must_be_ones_own() -> None:
    hub = HubHarness(users=("ann", "bob"))
    taken(hub, an_arrival("a"), user="bob")
    assert refusal(hub, an_arrival("b", depends_on=("a",))).code is Refusal.DEPENDENCY_NOT_FOUND
    assert refusal(hub, an_arrival("b", parent_id="a")).field == "parent_task_id"
    assert refusal(hub, an_arrival("a")).field == "id"
    assert refusal(hub, an_arrival("c"), an_arrival("c")).field == "id"


def test_a_circle_is_refused_and_named() -> None:
    circle = (an_arrival("a", depends_on=("b",), name="A"), an_arrival("b", depends_on=("a",)))
    answer = refusal(HubHarness(), *circle)
    assert answer.code is Refusal.DEPENDENCY_CYCLE
    assert "A → b → A" in answer.detail


def test_tries_so_far_count() -> None:
    hub = HubHarness()
    hub.daemon()
    terms = Terms(max_attempts=3)
    tried = [a_try(1, AttemptStatus.LOST), a_try(2), a_try(3)]
    task = taken(hub, an_arrival("a", terms=terms, attempts=tried, started_at=START_WALL - 9))[0]
    assert (task.newest.number, task.status, task.started_at) == (4, Status.SCHEDULED, START_WALL - 9)
    hub.run(task)
    hub.fail(task)
    assert task.status is Status.PERMANENTLY_FAILED


def test_of_several_series_the_last_one_counts() -> None:
    task = taken(HubHarness(), an_arrival("a", attempts=[a_try(1), a_try(2, series=2)]))[0]
    assert task.series == 2


def test_what_was_cancelled_says_why_if_it_was_said() -> None:
    hub = HubHarness()
    told, untold = taken(
        hub,
        an_arrival("a", Status.CANCELLED, cancel_reason="the wrong branch"),
        an_arrival("b", Status.CANCELLED),
    )
    assert told.trouble.cancel_reason == "the wrong branch"
    assert untold.trouble is None


def test_what_was_skipped_says_why_and_can_be_retried() -> None:
    hub = HubHarness()
    task = taken(hub, an_arrival("a", Status.SKIPPED, skipped_reason="not needed"))[0]
    assert task.trouble.skipped_reason == "not needed"
    assert task.completed_at == task.created_at
    hub.retry(task)
    assert task.status is Status.QUEUED


def test_a_dead_letter_has_its_error_and_a_completed_task_its_result() -> None:
    hub = HubHarness()
    dead, done = taken(
        hub,
        an_arrival("a", Status.PERMANENTLY_FAILED, error=Failure("BOOM", "broke"), archived=True),
        an_arrival("b", Status.COMPLETED, result_status=ResultStatus.PARTIAL),
    )
    assert dead.error == Failure("BOOM", "broke")
    assert (dead.shelved, done.shelved, done.result_status) == (True, False, ResultStatus.PARTIAL)


def test_a_key_that_somebody_holds_stays_with_them() -> None:
    hub = HubHarness()
    holder = hub.submit(key="k", digest="x")
    first, second, third, free = taken(
        hub,
        an_arrival("a", key="k", digest="y"),
        an_arrival("b", Status.COMPLETED, key="l", digest="y"),
        an_arrival("c", key="l", digest="z"),
        an_arrival("d", Status.CANCELLED, key="m", digest="z", completed_at=START_WALL - DAY_MS),
    )
    assert (first.key, second.key, third.key, free.key) == (None, "l", None, "m")
    assert hub.state.keys == {("ann", "k"): holder.id, ("ann", "l"): "b"}


def test_a_key_goes_on_naming_what_was_cancelled_elsewhere_within_the_last_day() -> None:
    hub = HubHarness()
    at = START_WALL - DAY_MS + 1
    cancelled, after = taken(
        hub,
        an_arrival("a", Status.CANCELLED, key="k", digest="y", completed_at=at, created_at=at),
        an_arrival("b", key="k", digest="y"),
    )
    assert (cancelled.key, after.key) == ("k", None)
    assert hub.offer(a_draft(key="k", digest="y")) == Submitted(("a",), (True,))


def test_numbers_go_on_from_the_users_last_one() -> None:
    hub = HubHarness()
    hub.submit()
    assert [task.number for task in taken(hub, an_arrival("a", Status.COMPLETED), an_arrival("b"))] == [2, 3]
    assert hub.submit().number == 4


def test_sub_tasks_know_how_deep_they_are() -> None:
    hub = HubHarness()
    parent, child, grandchild = taken(
        hub,
        an_arrival("parent"),
        an_arrival("child", Status.COMPLETED, parent_id="parent"),
        an_arrival("grandchild", parent_id="child"),
    )
    assert (parent.depth, child.depth, grandchild.depth) == (0, 1, 2)
    later = taken(hub, an_arrival("later", parent_id="grandchild"))[0]
    assert (later.depth, later.parent_id) == (3, "grandchild")
    depth = hub.state.settings.subtask_depth_max
    line = [an_arrival(f"p{n}", parent_id=f"p{n - 1}" if n else None) for n in range(depth + 2)]
    assert refusal(hub, *line).detail == "Sub-tasks are nested too deep."
    circle = (an_arrival("x", parent_id="y"), an_arrival("y", parent_id="x"))
    assert refusal(hub, *circle).field == "parent_task_id"


@pytest.mark.parametrize("field", ["created_at", "queued_at", "scheduled_at", "started_at", "completed_at"])
def test_what_has_been_lies_not_far_ahead_and_what_lies_a_little_ahead_is_now(field: str) -> None:
    ahead = {field: START_WALL + AHEAD_MS_MAX + 1}
    answer = refusal(HubHarness(), an_arrival("a", Status.COMPLETED, **ahead))
    assert (answer.code, answer.field, answer.index) == (Refusal.INVALID_INPUT, field, 0)
    task = taken(HubHarness(), an_arrival("a", Status.COMPLETED, **{field: START_WALL + AHEAD_MS_MAX}))[0]
    assert getattr(task, field) == START_WALL


def test_a_key_bound_to_a_source_imports_as_nothing_else() -> None:
    answer = refusal(HubHarness(), an_arrival("a"), sources=(SourceType.WEBHOOK,))
    assert answer.code is Refusal.FORBIDDEN


def test_nothing_comes_in_above_the_keys_ceiling() -> None:
    task = taken(HubHarness(), an_arrival("a", value=10), ceiling=Level.NORMAL)[0]
    assert (task.level, task.ceiling) == (Level.NORMAL, Level.NORMAL)


def test_a_queue_that_is_missing_is_an_admins_to_bring() -> None:
    hub = HubHarness(Settings(queues={"here": Queue(models=("m",))}))
    queues = {"there": Queue(models=("n",), max_concurrent=2), "here": Queue(models=("other",))}
    waiting = an_arrival("a", queue="there", model="n")
    assert refusal(hub, waiting).code is Refusal.QUEUE_NOT_FOUND
    assert refusal(hub, waiting, queues=queues).code is Refusal.QUEUE_NOT_FOUND
    assert refusal(hub, an_arrival("a", model="q")).code is Refusal.MODEL_NOT_ROUTED
    taken(hub, an_arrival("old", Status.COMPLETED, queue="gone", model="q"), an_arrival("b", queue="here"))
    look = import_of(waiting, queues=queues, is_admin=True, dry_run=True)
    assert hub.ask(look) == Imported((False,), queues=("there",))
    assert taken(hub, waiting, queues=queues, is_admin=True)[0].kind.queue == "there"
    assert hub.state.queues["there"].config == queues["there"]
    assert "here" not in hub.state.queues


def test_a_target_that_is_excluded_is_refused_unless_it_is_all_over() -> None:
    hub = HubHarness()
    fields = {"target": "mac", "excluded": ("mac",)}
    assert refusal(hub, an_arrival("a", **fields)).field == "requirements.excluded_daemons"
    assert taken(hub, an_arrival("a", Status.CANCELLED, **fields))[0].kind.needs == Needs(
        target="mac", excluded=("mac",)
    )


def test_there_is_room_for_all_of_it_or_for_none() -> None:
    hub = HubHarness(is_metered=True)
    fifty = [an_arrival(f"a{n:02d}") for n in range(50)]
    assert refusal(hub, *fifty, an_arrival("b")).code is Refusal.TOO_MANY_PENDING
    assert refusal(hub, fifty[0], open_left=51).code is Refusal.TOO_MANY_PENDING
    assert len(taken(hub, *fifty, an_arrival("done", Status.COMPLETED), open_left=50)) == 51
    assert isinstance(hub.ask(import_of(*fifty)), Imported)
    assert isinstance(hub.ask(import_of(an_arrival("done2", Status.COMPLETED))), Imported)


def test_nobody_is_made_for_whom_they_are() -> None:
    assert refusal(HubHarness(), an_arrival("a"), user="u_2").code is Refusal.USER_NOT_FOUND


def test_breakers_come_along_unless_there_is_one() -> None:
    hub = HubHarness()
    opened = START_WALL - 1000
    breakers = [
        BreakerRecord("ann", "open", 5, opened, opened, half_open_at=START_WALL + 30_000),
        BreakerRecord("ann", "due", 5, opened, opened, half_open_at=opened + 1),
        BreakerRecord("ann", "counting", 2, opened),
        BreakerRecord("ann", "fine"),
    ]
    taken(hub, breakers=breakers)
    found = hub.state.users["ann"].breakers
    states = {name: state_of(breaker, START_WALL) for name, breaker in found.items()}
    assert states == {
        "open": BreakerState.OPEN,
        "due": BreakerState.HALF_OPEN,
        "counting": BreakerState.CLOSED,
    }
    assert (found["open"].opened_at, found["open"].half_open_at) == (opened, START_WALL + 30_000)
    taken(hub, breakers=[BreakerRecord("ann", "counting", 4)])
    assert found["counting"].failures == 2
    hub.restarted()


def test_an_import_is_audited_with_how_much_came_from_where() -> None:
    hub = HubHarness()
    taken(hub, an_arrival("a"), an_arrival("b"))
    entry = hub.batches[-1].audit[-1]
    assert (entry.actor, entry.action, entry.subject, entry.new) == ("ann", "tasks.import", "ann", "2 tasks from there")
    hub.ask(import_of(an_arrival("a")))
    assert hub.batches[-1].is_empty()


def test_a_draft_is_what_it_was_before_it_was_looked_at() -> None:
    draft: Draft = an_arrival("a", key="k").draft
    hub = HubHarness()
    hub.ask(import_of(Arrival(draft, Status.PENDING, 0), dry_run=True))
    assert draft.key == "k"
    assert hub.state.tasks == {}
