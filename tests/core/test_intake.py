"""What is taken in, recognised or refused; everything of a submission or nothing."""

import pytest

from taskyard.core.commands import Draft, Known
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.effects import Refused, Submitted
from taskyard.core.endings import DAY_MS
from taskyard.core.intake import find_cycle
from taskyard.core.settings import Queue, Settings
from taskyard.core.task import Task, Terms
from taskyard.vocabulary import CONTENT_KEY_PREFIX, DependsPolicy, Level, Refusal, SourceType
from tests.support.harness import HubHarness, Status, a_draft

QUEUES = {
    "ollama-local": Queue(models=("ollama/llama3", "ollama/qwen2.5")),
    "cloud-nvidia": Queue(models=("nvidia/glm5",)),
}


def refusal(answer: object) -> Refused:
    assert isinstance(answer, Refused), answer
    return answer


def submitted(answer: object) -> Submitted:
    assert isinstance(answer, Submitted), answer
    return answer


# Identity


def test_refs_are_counted_per_user_across_all_queues() -> None:
    hub = HubHarness(Settings(queues=QUEUES), users=("ann", "bob"))
    refs = [hub.submit(queue="ollama-local").ref, hub.submit().ref, hub.submit(user="bob").ref, hub.submit().ref]
    assert refs == ["T-001", "T-002", "T-001", "T-003"]


def test_a_refused_submission_uses_up_no_number_and_changes_nothing() -> None:
    hub = HubHarness()
    hub.offer(a_draft(), a_draft(depends_on=("nowhere",)))
    assert hub.state.tasks == {}
    assert hub.batches[-1].is_empty()
    assert hub.submit().ref == "T-001"


def test_a_submission_is_answered_with_its_ids_in_order() -> None:
    hub = HubHarness()
    answer = submitted(hub.offer(a_draft(id="x"), a_draft(id="y")))
    assert answer == Submitted(("x", "y"), (False, False))


# Idempotency


def test_a_second_submission_with_the_same_key_answers_with_the_first_task() -> None:
    hub = HubHarness()
    task = hub.submit(key="k", digest="d")
    answer = submitted(hub.offer(a_draft(key="k", digest="d")))
    assert answer == Submitted((task.id,), (True,))
    assert list(hub.state.tasks) == [task.id]


def test_the_same_key_with_other_content_is_refused() -> None:
    hub = HubHarness()
    hub.submit(key="k", digest="d")
    assert refusal(hub.offer(a_draft(key="k", digest="other"))).code is Refusal.IDEMPOTENCY_KEY_REUSED


def test_keys_are_per_user() -> None:
    hub = HubHarness(users=("ann", "bob"))
    assert hub.submit(key="k").id != hub.submit(key="k", user="bob").id


def test_a_key_that_only_the_store_remembers_is_recognised() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(key="k")
    hub.complete(task)
    hub.advance(ms=1)
    assert task.id not in hub.state.tasks
    known = Known(tasks={task.id: task}, keys={"k": task.id})
    assert submitted(hub.offer(a_draft(key="k"), known=known)).deduplicated == (True,)


@pytest.mark.parametrize("is_forgotten", [False, True])
@pytest.mark.parametrize("end", ["cancel", "skip"])
def test_a_late_repetition_of_what_was_cancelled_or_skipped_brings_nothing_to_life(
    end: str, is_forgotten: bool
) -> None:
    # Given a task that was cancelled or skipped, and a request for it that is still on its way
    hub = HubHarness()
    task = hub.submit(key="k", digest="d")
    getattr(hub, end)(task)
    known = Known(tasks={task.id: task}, keys={"k": task.id})
    if is_forgotten:
        hub.advance(s=3600)
        assert (task.id in hub.state.tasks, hub.state.keys) == (False, {})

    # When it arrives, then it is answered with that task
    late = hub.offer(a_draft(key="k", digest="d"), known=known if is_forgotten else Known())
    assert submitted(late) == Submitted((task.id,), (True,))

    # And the key means that content only
    other = refusal(hub.offer(a_draft(key="k", digest="other"), known=known))
    assert other.code is Refusal.IDEMPOTENCY_KEY_REUSED


@pytest.mark.parametrize("end", ["cancel", "skip"])
def test_a_day_after_its_task_was_cancelled_or_skipped_a_key_may_be_used_again(end: str) -> None:
    hub = HubHarness()
    task = hub.submit(key="k")
    getattr(hub, end)(task)
    hub.core.forget(through_seq=hub.state.ledger.seq)
    known = Known(tasks={task.id: task}, keys={"k": task.id})
    hub.advance(ms=DAY_MS - 1)
    assert submitted(hub.offer(a_draft(key="k"), known=known)).ids == (task.id,)
    hub.advance(ms=1)
    assert submitted(hub.offer(a_draft(key="k"), known=known)).deduplicated == (False,)


def test_a_batch_that_comes_again_answers_with_the_cancelled_one_among_its_tasks() -> None:
    hub = HubHarness()
    drafts = [("a", ()), ("b", ("a",)), ("c", ())]
    first = [a_draft(name=name, key=f"k#{name}", digest=name, depends_on=needs) for name, needs in drafts]
    made = submitted(hub.offer(*first))
    hub.cancel(hub.state.tasks[made.ids[2]])
    again = [a_draft(name=name, key=f"k#{name}", digest=name, depends_on=needs) for name, needs in drafts]
    assert submitted(hub.offer(*again)) == Submitted(made.ids, (True, True, True))


def test_what_was_read_before_a_task_was_discarded_names_it_still() -> None:
    # Given a dead letter whose key was looked up, and which was cancelled before the submission was decided
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(key="k")
    hub.fail(task, code="INVALID_INPUT")
    known = Known(tasks={task.id: task}, keys={"k": task.id})
    hub.cancel(task)
    # When the submission comes with what was read, then it is answered with that task
    assert submitted(hub.offer(a_draft(key="k"), known=known)) == Submitted((task.id,), (True,))


def test_what_was_read_before_a_key_was_freed_does_not_deduplicate() -> None:
    # Given a key made of the content, looked up while it was a dead letter's, which was then cancelled
    hub = HubHarness()
    hub.daemon()
    key = f"{CONTENT_KEY_PREFIX}d"
    task = hub.submit(key=key, digest="d")
    hub.fail(task, code="INVALID_INPUT")
    known = Known(tasks={task.id: task}, keys={key: task.id})
    hub.cancel(task)
    # When the submission comes with what was read, then it makes a new task
    assert submitted(hub.offer(a_draft(key=key, digest="d"), known=known)).deduplicated == (False,)


def test_twins_in_one_batch_are_one_task() -> None:
    hub = HubHarness()
    answer = submitted(hub.offer(a_draft(id="x", key="k"), a_draft(id="y", key="k")))
    assert answer == Submitted(("x", "x"), (False, True))
    assert list(hub.state.tasks) == ["x"]


def test_twins_with_other_content_are_refused() -> None:
    hub = HubHarness()
    answer = refusal(hub.offer(a_draft(key="k", digest="1"), a_draft(key="k", digest="2")))
    assert (answer.code, answer.index) == (Refusal.IDEMPOTENCY_KEY_REUSED, 1)


def test_the_twin_of_a_refused_draft_is_refused_with_it() -> None:
    hub = HubHarness()
    drafts = [a_draft(id=name, key="k", depends_on=("nowhere",)) for name in "xy"]
    answer = submitted(hub.offer(*drafts, partial=True))
    assert answer.ids == ()
    assert [(r.index, r.code) for r in answer.rejected] == [
        (0, Refusal.DEPENDENCY_NOT_FOUND),
        (1, Refusal.DEPENDENCY_NOT_FOUND),
    ]


def test_a_local_name_of_a_draft_that_is_there_already_means_the_task_that_is_there() -> None:
    hub = HubHarness()
    first = hub.submit(key="k")
    second = hub.submit(a_draft(name="a", key="k"), a_draft(depends_on=("a",)))
    assert [d.id for d in second.depends or ()] == [first.id]


# Routing


def test_a_task_without_a_model_goes_to_the_default_queue() -> None:
    hub = HubHarness(Settings(queues=QUEUES))
    assert hub.submit().kind.queue == "default"
    assert HubHarness(Settings(default_queue="cloud")).submit().kind.queue == "cloud"


def test_a_model_goes_to_the_queue_that_serves_it() -> None:
    hub = HubHarness(Settings(queues=QUEUES))
    assert hub.submit(model="ollama/qwen2.5").kind.queue == "ollama-local"
    assert hub.submit(model="nvidia/glm5").kind.queue == "cloud-nvidia"


def test_an_unknown_queue_is_refused() -> None:
    answer = refusal(HubHarness().offer(a_draft(queue="nope")))
    assert (answer.code, answer.field) == (Refusal.INVALID_INPUT, "queue")


# Other rules


def test_a_key_bound_to_sources_takes_no_other() -> None:
    hub = HubHarness()
    allowed = (SourceType.WEBHOOK,)
    assert refusal(hub.offer(a_draft(), sources=allowed)).code is Refusal.FORBIDDEN
    submitted(hub.offer(a_draft(source=SourceType.WEBHOOK), sources=allowed))


def test_a_deadline_that_has_passed_is_refused() -> None:
    hub = HubHarness()
    answer = refusal(hub.offer(a_draft(deadline=hub.now.wall)))
    assert (answer.code, answer.field) == (Refusal.INVALID_INPUT, "deadline")
    hub.submit(deadline=hub.now.wall + 1)


@pytest.mark.parametrize(
    ("target", "excluded"), [("mac", "mac"), ("d-mac", "d-mac"), ("mac", "d-mac"), ("d-mac", "mac"), ("far", "far")]
)
def test_a_task_that_excludes_the_daemon_it_names_is_refused(target: str, excluded: str) -> None:
    hub = HubHarness()
    hub.daemon("mac")
    answer = refusal(hub.offer(a_draft(target=target, excluded=("other", excluded))))
    assert (answer.code, answer.field) == (Refusal.INVALID_INPUT, "requirements.excluded_daemons")
    assert answer.detail == f"The task is to run on {target} and excludes it; leave it out of one of the two."


def test_a_name_that_two_daemons_have_is_not_excluded_with_one_of_them() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("mac")
    hub.daemon("own", user="ann")
    hub.step(JoinDaemon(77, "bob", "d-theirs", "boot", "mac", shared=True, slots=1))
    task = hub.submit(target="mac", excluded=("d-mac", "own"))
    assert task.status is Status.SCHEDULED


def test_a_sub_task_knows_its_parent_and_how_deep_it_is() -> None:
    hub = HubHarness()
    parent = hub.submit()
    child = hub.submit(parent_id=parent.id)
    grandchild = hub.submit(parent_id=child.id)
    assert (child.parent_id, child.depth, grandchild.depth) == (parent.id, 1, 2)


def test_sub_tasks_nest_only_so_deep() -> None:
    hub = HubHarness(Settings(subtask_depth_max=1))
    child = hub.submit(parent_id=hub.submit().id)
    answer = refusal(hub.offer(a_draft(parent_id=child.id)))
    assert (answer.code, answer.field) == (Refusal.INVALID_INPUT, "parent_task_id")


def test_a_parent_must_be_ones_own() -> None:
    hub = HubHarness(users=("ann", "bob"))
    parent = hub.submit(user="bob")
    assert refusal(hub.offer(a_draft(parent_id=parent.id))).field == "parent_task_id"


def test_a_task_token_makes_sub_tasks_of_its_running_task_only() -> None:
    hub = HubHarness()
    hub.daemon()
    other, parent = hub.submit(), hub.submit()
    answer = submitted(hub.offer(a_draft(parent_id=other.id), under=parent.id))
    assert hub.state.tasks[answer.ids[0]].parent_id == parent.id


def test_a_task_token_is_worth_nothing_once_its_task_is_over_or_told_to_stop() -> None:
    hub = HubHarness()
    hub.daemon()
    done, stopped = hub.submit(), hub.submit()
    hub.complete(done)
    hub.cancel(stopped)
    assert refusal(hub.offer(a_draft(), under=done.id, known=hub.known(done))).code is Refusal.STALE_ATTEMPT
    assert refusal(hub.offer(a_draft(), under=stopped.id)).code is Refusal.STALE_ATTEMPT


def test_a_token_depends_on_sub_tasks_of_its_own_task_and_sees_no_other() -> None:
    # Given a running task with a sub-task, and others of the same user
    hub = HubHarness()
    hub.daemon(slots=1)
    parent = hub.run(hub.submit())
    other = hub.submit(key="k", digest="same")
    (sibling,) = submitted(hub.offer(a_draft(key="own", digest="same"), under=parent.id)).ids

    # Then its token can build on that sub-task alone, and on what comes with it
    made = hub.offer(a_draft(name="a"), a_draft(depends_on=("a", sibling)), under=parent.id)
    assert len(submitted(made).ids) == 2
    for name in (other.id, parent.id, "nobody"):
        code = refusal(hub.offer(a_draft(depends_on=(name,)), under=parent.id)).code
        assert code is Refusal.DEPENDENCY_NOT_FOUND

    # And a key that another task was made with shows it no more than that it is taken
    known = hub.offer(a_draft(key="own", digest="same"), under=parent.id)
    assert submitted(known).deduplicated == (True,)
    taken = hub.offer(a_draft(key="k", digest="same"), under=parent.id)
    assert refusal(taken).code is Refusal.IDEMPOTENCY_KEY_REUSED


# Dependencies


def test_a_dependency_can_be_named_by_id_by_ref_or_by_local_name() -> None:
    hub = HubHarness()
    one, two = hub.submit(), hub.submit()
    task = hub.submit_all(
        a_draft(id="c", name="here"),
        a_draft(depends_on=(one.id, "T-002", "here", one.id)),
        known=Known(refs={"T-002": two.id}),
    )[-1]
    assert [d.id for d in task.depends or ()] == [one.id, two.id, "c"]
    assert task.status is Status.WAITING


@pytest.mark.parametrize("name", ["nowhere", "T-999", "bobs"])
def test_a_dependency_on_an_unknown_or_foreign_task_is_refused(name: str) -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.submit(id="bobs", user="bob")
    assert refusal(hub.offer(a_draft(depends_on=(name,)))).code is Refusal.DEPENDENCY_NOT_FOUND


def test_a_dependency_that_has_completed_holds_up_nobody() -> None:
    hub = HubHarness()
    hub.daemon()
    done = hub.submit()
    hub.complete(done)
    hub.advance(ms=1)
    task = hub.submit_all(a_draft(depends_on=(done.id,)), known=hub.known(done))[0]
    assert task.status is Status.SCHEDULED


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        (DependsPolicy.BLOCK, Status.BLOCKED),
        (DependsPolicy.SKIP, Status.SKIPPED),
        (DependsPolicy.CONTINUE, Status.QUEUED),
    ],
)
def test_a_dependency_that_failed_before_is_met_by_the_policy_at_once(policy: DependsPolicy, status: Status) -> None:
    hub = HubHarness()
    failed = dead_letter(hub)
    task = hub.submit(depends_on=(failed.id,), terms=Terms(on_depends_fail=policy), key="k")
    assert task.status is status
    reason = "T-001 ended as permanently_failed"
    assert task.trouble is not None
    if policy is DependsPolicy.BLOCK:
        assert task.trouble.blocked_reason == reason
    elif policy is DependsPolicy.SKIP:
        assert task.trouble.skipped_reason == reason
        assert hub.state.keys["ann", "k"] == task.id
    else:
        assert [(n.kind, n.source_task) for n in task.trouble.notes] == [("dependency_failed", failed.id)]


def dead_letter(hub: HubHarness) -> Task:
    task = hub.submit(target="nobody")
    assert task.status is Status.PERMANENTLY_FAILED
    return task


def test_a_batch_may_name_what_comes_later_in_it() -> None:
    hub = HubHarness()
    first, second = hub.submit_all(a_draft(depends_on=("b",)), a_draft(name="b"))
    assert (first.status, second.status) == (Status.WAITING, Status.QUEUED)


def test_one_born_blocked_blocks_what_was_made_before_it_in_the_batch() -> None:
    # Given a batch whose first task depends on its second, which is blocked from the beginning
    hub = HubHarness()
    failed = dead_letter(hub)
    first, second, third = hub.submit_all(
        a_draft(depends_on=("b",)),
        a_draft(name="b", depends_on=(failed.id,)),
        a_draft(depends_on=("b",), terms=Terms(on_depends_fail=DependsPolicy.CONTINUE)),
    )
    # Then the first hears of it
    assert (first.status, second.status, third.status) == (Status.BLOCKED, Status.BLOCKED, Status.QUEUED)


def test_one_born_skipped_is_heard_of_too() -> None:
    hub = HubHarness()
    failed = dead_letter(hub)
    skip = Terms(on_depends_fail=DependsPolicy.SKIP)
    first, second = hub.submit_all(a_draft(depends_on=("b",)), a_draft(name="b", depends_on=(failed.id,), terms=skip))
    assert (first.status, second.status) == (Status.BLOCKED, Status.SKIPPED)


def test_a_cycle_inside_a_batch_is_refused_and_named() -> None:
    hub = HubHarness()
    answer = refusal(
        hub.offer(
            a_draft(name="free"),
            a_draft(name="a", depends_on=("c",)),
            a_draft(name="b", depends_on=("a",)),
            a_draft(name="c", depends_on=("b", "free")),
        )
    )
    assert (answer.code, answer.index) == (Refusal.DEPENDENCY_CYCLE, 1)
    assert answer.detail == "These depend on each other: a → c → b → a."
    assert hub.state.tasks == {}


def test_a_task_cannot_depend_on_itself() -> None:
    answer = refusal(HubHarness().offer(a_draft(name="a", depends_on=("a",))))
    assert answer.detail == "These depend on each other: a → a."


def test_every_cycle_of_a_partial_batch_is_refused() -> None:
    hub = HubHarness()
    pairs = [a_draft(name=n, depends_on=(d,)) for n, d in ("ab", "ba", "cd", "dc")]
    answer = submitted(hub.offer(*pairs, a_draft(id="free"), partial=True))
    assert answer.ids == ("free",)
    assert [r.index for r in answer.rejected] == [0, 1, 2, 3]


def test_a_diamond_is_no_cycle() -> None:
    assert find_cycle({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["outside"]}) == []


# Batches


def test_a_batch_is_taken_whole_or_not_at_all() -> None:
    hub = HubHarness()
    answer = refusal(hub.offer(a_draft(), a_draft(queue="nope"), a_draft(depends_on=("nowhere",))))
    assert (answer.index, answer.field) == (1, "queue")
    assert hub.state.tasks == {}


def test_a_partial_batch_leaves_out_what_is_refused_and_what_depends_on_it() -> None:
    hub = HubHarness()
    drafts: list[Draft] = [
        a_draft(id="1"),
        a_draft(id="2", name="bad", queue="nope"),
        a_draft(id="3", name="heir", depends_on=("bad",)),
        a_draft(id="4", depends_on=("heir",)),
    ]
    answer = submitted(hub.offer(*drafts, partial=True))
    assert answer.ids == ("1",)
    assert [(r.index, r.code) for r in answer.rejected] == [
        (1, Refusal.INVALID_INPUT),
        (2, Refusal.DEPENDENCY_NOT_FOUND),
        (3, Refusal.DEPENDENCY_NOT_FOUND),
    ]


def test_two_tasks_of_a_batch_cannot_have_one_name() -> None:
    answer = refusal(HubHarness().offer(a_draft(name="a"), a_draft(name="a")))
    assert (answer.code, answer.field, answer.index) == (Refusal.INVALID_INPUT, "name", 0)


def test_a_task_scheduled_for_later_is_pending_and_one_for_earlier_is_ready() -> None:
    hub = HubHarness()
    assert hub.submit(scheduled_for=hub.now.wall + 1).status is Status.PENDING
    assert hub.submit(scheduled_for=hub.now.wall).status is Status.QUEUED


def test_fields_that_only_group_are_kept() -> None:
    task = HubHarness().submit(correlation_id="c", level=Level.LOW, sla=5, source=SourceType.WEBHOOK)
    assert (task.correlation_id, task.level, task.sla, task.kind.source) == ("c", Level.LOW, 5, SourceType.WEBHOOK)
