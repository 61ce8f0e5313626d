"""Queues: what the file and the API say of them, where a model goes, and what an admin may change at any moment."""

import pytest

from taskyard.core.effects import Answer, Done, Refused
from taskyard.core.limits import Hold, queue_is_open
from taskyard.core.queues import limit_of, models_of, queue_names, queue_of, route
from taskyard.core.settings import Limits, Queue, Settings, Shares
from taskyard.core.task import Task
from taskyard.core.yard_commands import ChangeSettings, DeleteQueue, PauseQueue, PutQueue, ResumeQueue
from taskyard.vocabulary import Refusal
from taskyard.vocabulary.reasons import Reason
from tests.support.harness import EventName, HubHarness, Status, a_draft

FILE = {"ollama": Queue(models=("llama3", "qwen")), "cloud": Queue(models=("glm5",), max_concurrent=2)}


def a_hub(*, users: tuple[str, ...] = ("ann",), **settings: object) -> HubHarness:
    settings.setdefault("queues", FILE)
    limits = Limits(running_per_user=1000, running_per_source={})
    return HubHarness(Settings(limits=limits, shares=Shares(critical_reserve=0.0), **settings), users=users)  # type: ignore[arg-type]


def put(hub: HubHarness, name: str, *models: str, at_a_time: int | None = None) -> Answer:
    return hub.ask(PutQueue(name, models, at_a_time, "root"))


def delete(hub: HubHarness, name: str) -> Answer:
    return hub.ask(DeleteQueue(name, "root"))


def pause(hub: HubHarness, name: str) -> Answer:
    return hub.ask(PauseQueue(name, "root"))


def resume(hub: HubHarness, name: str) -> Answer:
    return hub.ask(ResumeQueue(name, "root"))


def refusal_of(answer: Answer) -> Refusal:
    assert isinstance(answer, Refused), answer
    return answer.code


def started(tasks: list[Task]) -> int:
    return sum(task.status is Status.SCHEDULED for task in tasks)


def many(hub: HubHarness, count: int, **fields: object) -> list[Task]:
    return hub.submit_all(*(a_draft(**fields) for _ in range(count)))  # type: ignore[arg-type]


# --- routing -----------------------------------------------------------------------------------------------


def test_a_queue_set_through_the_api_takes_its_models_tasks_from_then_on() -> None:
    hub = a_hub()
    assert refusal_of(hub.offer(a_draft(model="gpt"))) is Refusal.MODEL_NOT_ROUTED
    assert put(hub, "openai", "gpt") == Done()
    assert hub.submit(model="gpt").kind.queue == "openai"
    assert hub.submit(queue="openai").kind.queue == "openai"


def test_a_refused_model_is_told_which_are_known_those_of_the_api_included() -> None:
    hub = a_hub()
    put(hub, "openai", "gpt")
    answer = hub.offer(a_draft(model="opus"))
    assert answer.detail == "No queue serves opus; known are: llama3, qwen, glm5, gpt."


def test_a_yard_whose_queues_list_no_model_takes_any() -> None:
    hub = a_hub(queues={})
    assert hub.submit(model="anything").kind.queue == "default"


def test_a_model_of_two_queues_goes_to_the_first_in_order_also_after_a_restart() -> None:
    # Given a model that the file and two queues of the API list, set in no order of their names
    hub = a_hub()
    put(hub, "zeta", "gpt", "llama3")
    put(hub, "alpha", "gpt")
    put(hub, "zeta", "gpt", "llama3")

    # Then the file's comes first, then the API's by name, whenever they were set
    for each in (hub, hub.restarted()):
        assert queue_names(each.state) == ["ollama", "cloud", "alpha", "zeta", "default"]
        assert route(each.state, queue=None, model="llama3") == "ollama"
        assert route(each.state, queue=None, model="gpt") == "alpha"


def test_a_queue_that_is_named_is_taken_whatever_the_model() -> None:
    assert a_hub().submit(queue="cloud", model="llama3").kind.queue == "cloud"


def test_what_the_api_says_wins_over_the_file_until_it_is_removed_there() -> None:
    hub = a_hub()
    put(hub, "ollama", "mistral", at_a_time=4)
    assert queue_of(hub.state, "ollama") == Queue(models=("mistral",), max_concurrent=4)
    assert "llama3" not in models_of(hub.state)
    hub.step(ChangeSettings(Settings(queues={"ollama": Queue(models=("phi",))})))
    assert list(models_of(hub.state)) == ["mistral"]
    delete(hub, "ollama")
    assert list(models_of(hub.state)) == ["phi"]


# --- limits ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "limit"), [("ollama", 1), ("cloud", 2), ("default", None), ("nowhere", None)])
def test_a_model_source_runs_one_at_a_time_unless_configured(name: str, limit: int | None) -> None:
    assert limit_of(a_hub().state, name) == limit


def test_a_higher_limit_starts_more_at_once_and_a_lower_one_no_more() -> None:
    # Given a queue of one
    hub = a_hub()
    hub.daemon(slots=10)
    tasks = many(hub, 8, model="llama3")
    assert started(tasks) == 1

    # When it may run four, then three more start
    put(hub, "ollama", "llama3", at_a_time=4)
    assert started(tasks) == 4

    # When it may run two, then nothing is stopped and nothing starts before it is below
    put(hub, "ollama", "llama3", at_a_time=2)
    for task in tasks[:3]:
        hub.complete(task)
    assert started(tasks) == 2


def test_the_default_queue_has_a_limit_once_one_is_set() -> None:
    hub = a_hub()
    hub.daemon(slots=10)
    put(hub, "default", at_a_time=3)
    tasks = many(hub, 5)
    assert started(tasks) == 3
    delete(hub, "default")
    assert started(tasks) == 5


# --- pausing -----------------------------------------------------------------------------------------------


def test_a_paused_queue_starts_nothing_and_lets_what_runs_go_on() -> None:
    # Given a queue with one running and one waiting
    hub = a_hub()
    hub.daemon(slots=10)
    running, waiting = many(hub, 2, model="llama3")
    hub.run(running)

    # When it is paused
    assert pause(hub, "ollama") == Done()
    hub.complete(running)

    # Then the one ended, the other waits, and says why; other queues go on
    assert (running.status, waiting.status) == (Status.COMPLETED, Status.QUEUED)
    assert hub.submit(model="glm5").status is Status.SCHEDULED
    line = next(line for line in hub.state.yard.lines.values() if line.queue == "ollama")
    held = queue_is_open(hub.core.turn(hub.now), line)
    assert held == Hold(Reason.QUEUE_PAUSED, ("paused", "ollama"), name="ollama")

    # When it is resumed, then the other starts at once
    assert resume(hub, "ollama") == Done()
    assert waiting.status is Status.SCHEDULED


def test_the_default_queue_can_be_paused_and_takes_tasks_in_all_the_same() -> None:
    hub = a_hub()
    hub.daemon()
    pause(hub, "default")
    task = hub.submit()
    assert task.status is Status.QUEUED
    resume(hub, "default")
    assert task.status is Status.SCHEDULED


def test_a_pause_holds_over_a_restart_and_over_a_change() -> None:
    hub = a_hub()
    hub.daemon()
    pause(hub, "ollama")
    put(hub, "ollama", "llama3", at_a_time=3)
    task = hub.submit(model="llama3")
    hub = hub.restarted()
    hub.daemon()
    assert hub.state.tasks[task.id].status is Status.QUEUED
    assert limit_of(hub.state, "ollama") == 3
    resume(hub, "ollama")
    assert hub.state.tasks[task.id].status is Status.SCHEDULED


def test_pausing_twice_is_told_once() -> None:
    hub = a_hub()
    for _ in range(2):
        assert pause(hub, "ollama") == Done()
    assert [e.data for e in hub.said(EventName.QUEUE_PAUSED)] == [{"queue": "ollama"}]
    for _ in range(2):
        assert resume(hub, "ollama") == Done()
    assert [e.data for e in hub.said(EventName.QUEUE_RESUMED)] == [{"queue": "ollama"}]
    assert hub.kept() == []


def test_a_queue_nobody_knows_can_be_neither_paused_nor_resumed() -> None:
    hub = a_hub()
    assert refusal_of(pause(hub, "nowhere")) is Refusal.QUEUE_NOT_FOUND
    assert refusal_of(resume(hub, "nowhere")) is Refusal.QUEUE_NOT_FOUND


def test_a_queue_that_left_the_file_while_it_was_paused_can_be_resumed() -> None:
    hub = a_hub()
    hub.daemon()
    pause(hub, "ollama")
    task = hub.submit(model="llama3")
    hub.step(ChangeSettings(Settings()))
    assert task.status is Status.QUEUED
    assert resume(hub, "ollama") == Done()
    assert task.status is Status.SCHEDULED


# --- removing ----------------------------------------------------------------------------------------------


def test_a_queue_of_the_api_alone_is_gone_when_it_is_removed_its_pause_too() -> None:
    hub = a_hub()
    put(hub, "openai", "gpt")
    pause(hub, "openai")
    assert delete(hub, "openai") == Done()
    assert queue_of(hub.state, "openai") is None
    assert hub.kept() == []
    assert refusal_of(delete(hub, "openai")) is Refusal.QUEUE_NOT_FOUND


def test_a_queue_that_tasks_are_in_cannot_vanish() -> None:
    # Given one that runs, one that is ready, one whose time has not come, and one that has ended
    hub = a_hub()
    hub.daemon()
    put(hub, "openai", "gpt")
    ended, running, *_ = [hub.submit(model="gpt") for _ in range(3)]
    hub.complete(ended)
    later = hub.submit(model="gpt", scheduled_for=hub.now.wall + 10_000)

    # Then three of them keep it
    answer = delete(hub, "openai")
    assert refusal_of(answer) is Refusal.QUEUE_IN_USE
    assert answer.detail.startswith("3 open tasks ")
    assert (running.status, later.status) == (Status.SCHEDULED, Status.PENDING)
    assert queue_of(hub.state, "openai") is not None


def test_what_is_in_the_file_is_as_there_and_stays_paused() -> None:
    hub = a_hub()
    hub.daemon(slots=10)
    put(hub, "ollama", "mistral", at_a_time=5)
    pause(hub, "ollama")
    task = hub.submit(queue="ollama")
    assert delete(hub, "ollama") == Done()
    assert queue_of(hub.state, "ollama") == FILE["ollama"]
    assert task.status is Status.QUEUED
    resume(hub, "ollama")
    assert task.status is Status.SCHEDULED


def test_removing_what_was_never_set_changes_nothing() -> None:
    hub = a_hub()
    for name in ("ollama", "default"):
        assert delete(hub, name) == Done()
    assert hub.said(EventName.QUEUE_CHANGED) == []
    assert refusal_of(delete(hub, "nowhere")) is Refusal.QUEUE_NOT_FOUND


# --- what is told ------------------------------------------------------------------------------------------


def test_who_changed_what_is_kept_and_told_to_admins() -> None:
    hub = a_hub()
    put(hub, "ollama", "phi", at_a_time=3)
    pause(hub, "ollama")
    resume(hub, "ollama")
    delete(hub, "ollama")
    put(hub, "new")
    delete(hub, "new")
    audit = [(a.actor, a.action, a.subject, a.old, a.new) for batch in hub.batches for a in batch.audit]
    assert audit == [
        ("root", "queue.set", "ollama", "llama3, qwen", "phi; 3 at a time"),
        ("root", "queue.pause", "ollama", None, None),
        ("root", "queue.resume", "ollama", None, None),
        ("root", "queue.delete", "ollama", "phi; 3 at a time", "llama3, qwen"),
        ("root", "queue.set", "new", None, "no models"),
        ("root", "queue.delete", "new", "no models", None),
    ]
    changed = hub.said(EventName.QUEUE_CHANGED)
    assert [(event.user_id, event.data) for event in changed] == [
        (None, {"queue": "ollama", "models": ["phi"], "max_concurrent": 3}),
        (None, {"queue": "ollama", "models": ["llama3", "qwen"], "max_concurrent": 1}),
        (None, {"queue": "new", "models": [], "max_concurrent": 1}),
        (None, {"queue": "new", "models": [], "max_concurrent": None}),
    ]
