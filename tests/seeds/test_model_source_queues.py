"""Queues by model source: routing, refs, dependencies with policies, context, control commands.

Covered here: routing, refs, states, limits per queue, dependencies, retries, skip and retry. Chat intake is in
`test_model_source_chat.py`, imports are in `test_model_source_import.py`.
"""

from typing import Any

import pytest

from taskyard.core.commands import Known
from taskyard.core.effects import Done, Refused
from taskyard.core.settings import Queue, Settings
from taskyard.core.story import story_of
from taskyard.core.task import Task, Terms
from taskyard.core.yard_commands import PutQueue
from taskyard.vocabulary import AttemptStatus, DependsPolicy, LostPolicy, Refusal
from tests.support.gateway_client import Client, Connection
from tests.support.harness import HubHarness, ResultStatus, Status, a_draft, attempt_of

SETTINGS = Settings(
    queues={
        "ollama-local": Queue(models=("ollama/llama3", "ollama/qwen2.5", "ollama/mistral")),
        "ollama-remote": Queue(models=("ollama-remote/qwen3.5:27b", "ollama-remote/llama3:70b")),
        "cloud-nvidia": Queue(models=("nvidia/z-ai/glm5", "nvidia/llama3")),
    }
)


def a_hub() -> HubHarness:
    return HubHarness(SETTINGS)


# Routing


@pytest.mark.parametrize(
    ("model", "queue"),
    [
        ("ollama/qwen2.5", "ollama-local"),
        ("ollama-remote/llama3:70b", "ollama-remote"),
        ("nvidia/z-ai/glm5", "cloud-nvidia"),
    ],
)
def test_a_task_goes_to_the_queue_of_its_models_source(model: str, queue: str) -> None:
    assert a_hub().submit(model=model).kind.queue == queue


def test_a_queue_can_be_named_without_a_model() -> None:
    assert a_hub().submit(queue="ollama-remote").kind.queue == "ollama-remote"


def test_a_default_source_takes_what_names_none() -> None:
    hub = HubHarness(Settings(queues=SETTINGS.queues, default_queue="ollama-remote"))
    assert hub.submit().kind.queue == "ollama-remote"


def test_a_model_in_no_source_is_refused_with_those_that_are_known() -> None:
    answer = a_hub().offer(a_draft(model="gpt-4"))
    assert isinstance(answer, Refused)
    assert answer.code is Refusal.MODEL_NOT_ROUTED
    assert "ollama/mistral" in answer.detail


def test_a_blocked_task_in_one_queue_does_not_affect_another() -> None:
    hub = a_hub()
    dead = hub.submit(target="nobody")
    blocked = hub.submit(model="ollama/llama3", depends_on=(dead.id,))
    hub.daemon()
    assert (blocked.status, hub.submit(model="nvidia/llama3").status) == (Status.BLOCKED, Status.SCHEDULED)


def test_refs_are_counted_across_queues_since_dependencies_cross_them() -> None:
    hub = a_hub()
    one, two = hub.submit(model="ollama/llama3"), hub.submit(model="nvidia/llama3")
    assert (one.ref, two.ref) == ("T-001", "T-002")
    heir = hub.submit_all(
        a_draft(model="ollama-remote/llama3:70b", depends_on=("T-001",)), known=Known(refs={"T-001": one.id})
    )[0]
    assert [d.id for d in heir.depends or ()] == [one.id]


# Queues


def test_a_source_runs_one_task_at_a_time_and_the_sources_do_not_wait_for_each_other() -> None:
    hub = a_hub()
    hub.daemon(slots=10)
    local = [hub.submit(model="ollama/llama3") for _ in range(3)]
    remote = [hub.submit(model="ollama-remote/llama3:70b") for _ in range(3)]
    for tasks in (local, remote):
        assert [task.status for task in tasks] == [Status.SCHEDULED, Status.QUEUED, Status.QUEUED]
    hub.complete(local[0])
    assert (local[1].status, remote[1].status) == (Status.SCHEDULED, Status.QUEUED)


def test_a_source_with_a_larger_max_concurrent_fills_its_free_slots() -> None:
    hub = HubHarness(Settings(queues={"cloud-nvidia": Queue(models=("nvidia/llama3",), max_concurrent=3)}))
    hub.daemon(slots=10)
    tasks = [hub.submit(model="nvidia/llama3") for _ in range(5)]
    assert [task.status for task in tasks].count(Status.SCHEDULED) == 3
    hub.complete(tasks[0])
    assert [task.status for task in tasks].count(Status.SCHEDULED) == 3


def test_a_source_that_is_added_later_has_its_queue_at_once() -> None:
    hub = a_hub()
    hub.daemon()
    assert isinstance(hub.offer(a_draft(model="groq/llama3")), Refused)
    assert hub.ask(PutQueue("groq", ("groq/llama3",), None, "root")) == Done()
    task = hub.submit(model="groq/llama3")
    assert (task.kind.queue, task.status) == ("groq", Status.SCHEDULED)


def test_a_model_of_two_sources_goes_to_the_first_of_them() -> None:
    hub = HubHarness(Settings(queues={"near": Queue(models=("qwen",)), "far": Queue(models=("qwen",))}))
    assert hub.submit(model="qwen").kind.queue == "near"


# Dependencies


def chain(hub: HubHarness, policy: DependsPolicy) -> tuple[Task, Task]:
    hub.daemon(slots=1)
    first = hub.run(hub.submit())
    return first, hub.submit(depends_on=(first.id,), terms=Terms(on_depends_fail=policy))


def test_a_task_with_a_dependency_waits_and_one_without_is_ready() -> None:
    first, second = chain(a_hub(), DependsPolicy.BLOCK)
    assert (first.status, second.status) == (Status.RUNNING, Status.WAITING)


def test_a_completed_dependency_makes_it_ready_and_its_summary_is_kept_for_it() -> None:
    hub = a_hub()
    first, second = chain(hub, DependsPolicy.BLOCK)
    hub.complete(first, summary="42 rows", result_status=ResultStatus.PARTIAL)
    assert second.status is Status.SCHEDULED
    assert (first.summary, first.result_status) == ("42 rows", ResultStatus.PARTIAL)
    assert [(d.id, d.outcome, d.at) for d in second.depends or ()] == [(first.id, Status.COMPLETED, hub.now.wall)]


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        (DependsPolicy.BLOCK, Status.BLOCKED),
        (DependsPolicy.SKIP, Status.SKIPPED),
        (DependsPolicy.CONTINUE, Status.SCHEDULED),
    ],
)
def test_a_failed_dependency_blocks_skips_or_warns(policy: DependsPolicy, status: Status) -> None:
    hub = a_hub()
    first, second = chain(hub, policy)
    hub.fail(first, code="INVALID_INPUT")
    assert second.status is status
    assert second.trouble is not None
    said = second.trouble.blocked_reason or second.trouble.skipped_reason or second.trouble.notes[0].message
    assert said.startswith("T-001 ended as permanently_failed")


@pytest.mark.parametrize("policy", DependsPolicy)
def test_a_blocked_dependency_counts_as_failed_in_the_same_pass(policy: DependsPolicy) -> None:
    hub = a_hub()
    first, second = chain(hub, DependsPolicy.BLOCK)
    third = hub.submit(depends_on=(second.id,), terms=Terms(on_depends_fail=policy))
    hub.fail(first, code="INVALID_INPUT")
    expected = {DependsPolicy.BLOCK: Status.BLOCKED, DependsPolicy.SKIP: Status.SKIPPED}
    assert third.status is expected.get(policy, Status.SCHEDULED)


def test_a_skipped_dependency_does_not_leave_its_dependants_waiting_for_ever() -> None:
    hub = a_hub()
    first = hub.submit()
    second = hub.submit(depends_on=(first.id,))
    hub.skip(first)
    assert second.status is Status.BLOCKED


def test_a_dependency_that_was_archived_still_counts() -> None:
    hub = a_hub()
    hub.daemon()
    first = hub.submit()
    hub.complete(first)
    hub.advance(s=1)
    assert first.id not in hub.state.tasks
    second = hub.submit_all(a_draft(depends_on=(first.id,)), known=hub.known(first))[0]
    assert second.status is Status.SCHEDULED


def test_a_cycle_is_rejected_with_a_message() -> None:
    answer = a_hub().offer(a_draft(name="a", depends_on=("b",)), a_draft(name="b", depends_on=("a",)))
    assert isinstance(answer, Refused)
    assert answer.code is Refusal.DEPENDENCY_CYCLE


def test_a_task_can_have_several_dependencies() -> None:
    hub = a_hub()
    one, two = hub.submit(), hub.submit()
    assert len(hub.submit(depends_on=(one.id, two.id)).depends or ()) == 2


def test_a_blocked_task_runs_once_its_dependency_was_retried_and_completes() -> None:
    hub = a_hub()
    first, second = chain(hub, DependsPolicy.BLOCK)
    hub.fail(first, code="INVALID_INPUT")
    assert second.status is Status.BLOCKED
    hub.retry(first)
    hub.complete(first)
    assert second.status is Status.SCHEDULED


def test_a_cancelled_dependency_leaves_nobody_waiting() -> None:
    hub = a_hub()
    first = hub.submit()
    strict, warned = (
        hub.submit(depends_on=(first.id,), terms=Terms(on_depends_fail=policy))
        for policy in (DependsPolicy.BLOCK, DependsPolicy.CONTINUE)
    )
    hub.cancel(first)
    assert (strict.status, warned.status) == (Status.CANCELLED, Status.QUEUED)


def test_a_dependency_on_what_is_nowhere_is_refused() -> None:
    answer = a_hub().offer(a_draft(depends_on=("T-099",)))
    assert isinstance(answer, Refused)
    assert answer.code is Refusal.DEPENDENCY_NOT_FOUND


async def executed(daemon: Connection) -> list[dict[str, Any]]:
    while True:
        if found := [message for message in await daemon.hear() if message["type"] == "task.execute"]:
            return found


@pytest.mark.anyio
async def test_who_goes_on_after_a_failure_is_told_whose_and_has_the_whole_result_of_the_others(ann: Client) -> None:
    # Given a task that waits for two others and goes on without either
    tasks = [
        {"input": "a", "name": "a", "execution": {"max_attempts": 1}},
        {"input": "b", "name": "b"},
        {"input": "c", "depends_on": ["a", "b"], "on_depends_fail": "continue"},
    ]
    async with ann.socket() as daemon:
        await daemon.next()
        daemon.say({"type": "hello", "protocol": 1, "boot_id": "b1", "name": "mac", "max_concurrent_tasks": 4})
        await daemon.hear()
        made = (await ann.post("/api/v1/tasks/batch", {"tasks": tasks})).json["tasks"]
        first, second = ({"task_id": task["id"], "attempt": 1} for task in made[:2])

        # When one fails, and the other leaves more than a sentence
        daemon.say({"type": "task.failed", **first, "error": {"code": "INVALID_INPUT", "message": "no"}})
        daemon.say({"type": "task.completed", **second, "result": {"rows": [1, 2, 3]}, "summary": "three rows"})
        messages = await executed(daemon)
        while messages[-1]["task"]["ref"] != "T-003":
            messages += await executed(daemon)

    # Then it is told both, each with where it came from
    result, warning = messages[-1]["context_input"]
    assert (result["ref"], result["result"], result["result_summary"]) == ("T-002", {"rows": [1, 2, 3]}, "three rows")
    assert (warning["ref"], warning["source_task"], warning["result_status"]) == ("T-001", made[0]["id"], None)
    assert "T-001" in warning["warning"]


# Running


def test_tasks_of_a_queue_run_by_priority_then_in_the_order_they_came() -> None:
    hub = a_hub()
    tasks = [hub.submit(model="ollama/llama3", value=value) for value in (5, 6, 5, 7)]
    hub.daemon(slots=4)
    for index in (3, 1, 0, 2):
        assert [task.status for task in tasks].count(Status.SCHEDULED) == 1
        hub.complete(tasks[index])
    assert [task.status for task in tasks] == [Status.COMPLETED] * 4


def test_twenty_tasks_added_at_once_keep_their_order() -> None:
    hub = a_hub()
    hub.daemon(slots=1)
    tasks = hub.submit_all(*(a_draft(model="ollama/llama3") for _ in range(25)))
    for task in tasks:
        assert task.status is Status.SCHEDULED
        hub.complete(task)


def test_tasks_start_at_once_and_not_at_the_next_heartbeat() -> None:
    hub = a_hub()
    hub.daemon()
    assert hub.submit(model="ollama/llama3").status is Status.SCHEDULED


def test_a_task_that_times_out_is_retried() -> None:
    hub = a_hub()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=10_000)))
    hub.live(s=10)
    assert (task.status, attempt_of(task).status) == (Status.PENDING, AttemptStatus.TIMEOUT)


def test_a_session_that_was_lost_is_dispatched_again() -> None:
    hub = a_hub()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.daemon()
    assert (task.status, attempt_of(task).number) == (Status.SCHEDULED, 2)


def test_the_one_place_of_a_source_is_free_again_when_its_session_is_lost() -> None:
    hub = a_hub()
    hub.daemon("gone")
    lost = hub.run(hub.submit(model="ollama/llama3", terms=Terms(on_lost=LostPolicy.FAIL)))
    waiting = hub.submit(model="ollama/llama3")
    hub.daemon("other")
    hub.daemon("gone", boot="boot-2")
    assert (lost.status, waiting.status) == (Status.PERMANENTLY_FAILED, Status.SCHEDULED)


def test_a_failed_task_does_not_use_up_its_tries_at_once() -> None:
    hub = a_hub()
    hub.daemon()
    task = hub.submit(model="ollama/llama3")
    hub.fail(task)
    hub.live(s=29)
    assert (task.status, len(task.attempts or ())) == (Status.PENDING, 1)


def test_a_task_that_failed_says_how_often_it_was_tried() -> None:
    hub = a_hub()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=3, retry_delay_ms=0))
    for _ in range(3):
        hub.fail(task)
    assert "Tried 3 times" in story_of(task, hub.now.wall)


def test_a_result_that_says_failed_is_a_failure() -> None:
    hub = a_hub()
    hub.daemon()
    task = hub.submit()
    hub.complete(task, result_status=ResultStatus.FAILED, summary="the page was empty")
    assert task.status is Status.PENDING
    assert task.error is not None
    assert task.error.message == "the page was empty"


# Control


def test_retry_resets_the_tries() -> None:
    hub = a_hub()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=1))
    hub.fail(task)
    hub.retry(task)
    assert (task.status, task.series) == (Status.SCHEDULED, 2)


def test_skip_leaves_a_task_out_and_it_can_come_back() -> None:
    hub = a_hub()
    task = hub.submit()
    hub.skip(task)
    assert task.status is Status.SKIPPED
    hub.retry(task)
    assert task.status is Status.QUEUED


def test_a_source_starts_nothing_in_place_of_a_cancelled_task_before_that_has_stopped() -> None:
    hub = a_hub()
    hub.daemon(slots=4)
    running = hub.run(hub.submit(model="ollama/llama3"))
    waiting = hub.submit(model="ollama/llama3")
    hub.cancel(running)
    assert (running.status, waiting.status) == (Status.RUNNING, Status.QUEUED)
    hub.confirm_cancel(running)
    assert (running.status, waiting.status) == (Status.CANCELLED, Status.SCHEDULED)


def test_cancel_and_skip_are_not_the_same() -> None:
    hub = a_hub()
    cancelled, skipped = hub.submit(), hub.submit()
    hub.cancel(cancelled)
    hub.skip(skipped)
    assert (isinstance(hub.retry(cancelled), Refused), hub.retry(skipped)) == (True, Done(skipped.id))


def test_cancel_ends_a_task_for_good() -> None:
    hub = a_hub()
    task = hub.submit()
    hub.cancel(task)
    assert task.status is Status.CANCELLED
