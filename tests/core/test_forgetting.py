"""When a daemon is forgotten, when not, and what becomes of one that comes back."""

import pytest

from taskyard.core import forgetting
from taskyard.core.commands import CompleteTask
from taskyard.core.daemon_commands import ForgetDaemon, ForgetUnseen, Held, JoinDaemon, LeaveDaemon
from taskyard.core.effects import Acknowledge, Done, Effect, Refused, Welcome
from taskyard.core.settings import Settings, Suspects
from taskyard.core.state import Daemon, Now
from taskyard.core.task import Task, Terms
from taskyard.vocabulary import (
    AttemptStatus,
    ErrorCode,
    EventName,
    InventoryState,
    InventoryVerdict,
    LostPolicy,
    Refusal,
    Status,
)
from tests.support.harness import HubHarness, a_draft, attempt_of

LEASE_S = 36
"""As the hub judges it."""
DAY_MS = 86_400_000


def forget(hub: HubHarness, name: str = "d-mac", **fields: object) -> object:
    return hub.ask(ForgetDaemon(name, actor="key:boss", **fields))  # type: ignore[arg-type]


def why_not(hub: HubHarness, name: str = "d-mac") -> str:
    """The sentence with which a person is refused; nothing changed."""
    answer = forget(hub, name)
    assert isinstance(answer, Refused), answer
    assert answer.code is Refusal.DAEMON_IN_USE
    assert hub.batches[-1].is_empty()
    assert name in hub.state.daemons
    return answer.detail


def away(hub: HubHarness, name: str = "mac", **fields: object) -> Daemon:
    """A daemon that came and went."""
    daemon = hub.daemon(name, **fields)  # type: ignore[arg-type]
    hub.disconnect(daemon)
    return daemon


def tidy(hub: HubHarness, *, days: float = 30) -> None:
    """A round of housekeeping."""
    assert hub.ask(ForgetUnseen(hub.now.wall - round(days * DAY_MS))) == Done()


def told(hub: HubHarness) -> list[object]:
    return [event.data for event in hub.said(EventName.DAEMON_FORGOTTEN)]


# A person says so


def test_a_daemon_that_is_away_is_forgotten_with_its_row_and_it_is_told_and_audited() -> None:
    hub = HubHarness()
    away(hub)
    assert forget(hub, user_id="ann") == Done()
    batch = hub.batches[-1]
    assert (batch.forgotten, batch.daemons) == (["d-mac"], [])
    assert told(hub) == [{"daemon_id": "d-mac", "name": "mac", "because": "asked"}]
    assert [(entry.actor, entry.action, entry.subject, entry.old) for entry in batch.audit] == [
        ("key:boss", "daemon.forget", "d-mac", "mac")
    ]
    assert hub.state.daemons == {}
    # Its lease was not over, and nothing is left that it could end
    hub.advance(s=LEASE_S)


@pytest.mark.parametrize("user_id", [None, "bob"])
def test_one_that_is_not_there_or_not_ones_own_is_not_found(user_id: str | None) -> None:
    hub = HubHarness(users=("ann", "bob"))
    away(hub)
    answer = forget(hub, "d-mac" if user_id else "d-other", user_id=user_id)
    assert answer == Refused(Refusal.DAEMON_NOT_FOUND, "There is no such daemon.")
    assert list(hub.state.daemons) == ["d-mac"]


def test_an_admin_forgets_anybodys() -> None:
    hub = HubHarness(users=("ann", "bob"))
    away(hub, user="bob")
    assert forget(hub) == Done()


def test_one_that_is_connected_is_kept() -> None:
    hub = HubHarness()
    hub.daemon()
    assert why_not(hub) == "mac is connected. Stop it first; `taskyard drain` lets it finish what it runs."


def test_one_that_holds_tasks_is_kept_until_its_lease_is_over() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    hub.run(hub.submit(terms=Terms(on_lost=LostPolicy.FAIL)))
    hub.submit(terms=Terms(on_lost=LostPolicy.FAIL))
    hub.disconnect(daemon)
    said = "mac is away and holds 2 tasks, until it comes back or its lease ends. Try again then."
    assert why_not(hub) == said
    assert why_not(hub.restarted()) == said
    hub.advance(s=LEASE_S)
    assert forget(hub) == Done()


def test_one_that_may_still_run_what_was_taken_from_it_is_kept() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=1000, max_attempts=1)))
    hub.advance(s=1)
    assert task.status is Status.PERMANENTLY_FAILED
    hub.disconnect(daemon)
    assert "mac is away and may still run what was taken from it" in why_not(hub)
    hub.advance(s=LEASE_S)
    assert forget(hub) == Done()


def test_one_that_is_kept_free_for_a_suspect_is_kept() -> None:
    # Given a suspect that waits, and its only daemon emptied for it, which goes away
    hub = HubHarness(Settings(suspects=Suspects(deaths_max=1, hold_after_s=1)))
    hub.daemon(slots=2)
    task = hub.run(hub.submit())
    hub.run(hub.submit())
    daemon = hub.daemon(slots=2, boot="boot-2", inventory=[Held("task-000002", 1)])
    hub.live(s=2)
    assert (task.status, daemon.alone) == (Status.QUEUED, task.id)
    hub.complete(hub.state.tasks["task-000002"])
    hub.run(task)
    hub.disconnect(daemon)
    daemon.holding, held = {}, daemon.holding
    reason = forgetting.in_use_because(hub.state, daemon)
    daemon.holding = held
    assert reason == "mac is kept free for a task that has to run alone. Try again when that has ended."


@pytest.mark.parametrize("target", ["mac", "d-mac"])
def test_one_that_an_open_task_names_is_kept(target: str) -> None:
    hub = HubHarness(users=("ann", "bob"))
    away(hub, shared=True)
    task = hub.submit(target=target, user="bob")
    said = "1 open task names it as the target: mac. Cancel what is not to wait for it, then try again."
    assert why_not(hub) == why_not(hub.restarted()) == said
    other = hub.submit(target=target, scheduled_for=hub.now.wall + 1000)
    assert why_not(hub).startswith("2 open tasks name it")
    hub.cancel(task)
    hub.cancel(other)
    assert forget(hub) == Done()


def test_a_task_that_is_brought_back_names_its_daemon_again() -> None:
    hub = HubHarness()
    away(hub)
    task = hub.submit(target="mac")
    hub.skip(task)
    hub.retry(task)
    assert why_not(hub).startswith("1 open task names it")


def test_who_names_another_users_daemon_keeps_it_not() -> None:
    hub = HubHarness(users=("ann", "bob"))
    away(hub)
    away(hub, "mac-2", user="bob")
    hub.state.daemons["d-mac-2"].record.name = "mac"
    hub.submit(target="mac", user="bob")
    assert forget(hub) == Done()
    assert why_not(hub, "d-mac-2").startswith("1 open task names it")


def test_a_slot_of_an_agent_that_claims_goes_after_those_above_it() -> None:
    hub = HubHarness()
    for session in (1, 2):
        hub.step(JoinDaemon(session, "ann", "d-agent", f"boot-{session}", "agent", slots=1, pulls=True))
    for session in (1, 2):
        hub.step(LeaveDaemon(session, "d-agent"))
    said = "Agents of the name agent claim tasks by more slots than this. Try again when they have left."
    assert why_not(hub, "d-agent.0") == said
    # Housekeeping takes the last first, and sends no event: the coming of a slot had none
    hub.advance(s=LEASE_S)
    tidy(hub, days=0)
    assert hub.state.daemons == {}
    assert hub.batches[-1].forgotten == ["d-agent.1", "d-agent.0"]
    assert told(hub) == []


# Tasks that wait


def test_who_had_one_daemon_of_their_own_waits_for_the_shared_ones() -> None:
    hub = HubHarness(users=("ann", "bob"))
    away(hub)
    task = hub.submit()
    assert forget(hub) == Done()
    hub.daemon("all", user="bob", shared=True)
    assert (task.status, attempt_of(task).daemon_id) == (Status.SCHEDULED, "d-all")


# Housekeeping


def test_one_that_was_not_seen_for_as_long_as_is_kept_is_forgotten() -> None:
    hub = HubHarness()
    away(hub, "old")
    hub.advance(s=20 * 86_400)
    away(hub, "young")
    hub.daemon("here")
    hub.live(s=10.5 * 86_400, step_ms=6 * 3_600_000)
    hub.daemon("here")
    tidy(hub)
    assert list(hub.state.daemons) == ["d-young", "d-here"]
    assert told(hub) == [{"daemon_id": "d-old", "name": "old", "because": "unseen"}]


def test_one_that_was_there_until_the_hub_was_started_anew_has_its_lease_to_come_back() -> None:
    hub = HubHarness()
    hub.daemon()
    hub.disconnect(hub.daemon("old"))
    hub.advance(s=40 * 86_400)
    other = hub.restarted()
    tidy(other)
    assert list(other.state.daemons) == ["d-mac", "d-old"]
    other.advance(s=LEASE_S)
    tidy(other)
    assert other.state.daemons == {}


def test_a_daemon_that_holds_nothing_is_written_down_once_a_day() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    written = len(hub.batches)
    for _ in range(3):
        hub.advance(s=5)
        hub.beat(daemon)
    assert all(batch.is_empty() for batch in hub.batches[written:])
    seen = daemon.record.last_seen_at
    # As if it had said so all day long
    hub.now = Now(seen + DAY_MS, daemon.noted_mono + DAY_MS)
    hub.beat(daemon)
    assert [record.last_seen_at for record in hub.batches[-1].daemons] == [seen + DAY_MS]


def test_a_round_of_housekeeping_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "FORGOTTEN_MAX", 2)
    hub = HubHarness()
    for number in range(3):
        away(hub, f"pod-{number}")
    hub.advance(s=LEASE_S)
    tidy(hub, days=0)
    assert list(hub.state.daemons) == ["d-pod-0"]
    tidy(hub, days=0)
    assert hub.state.daemons == {}


def test_what_something_is_owed_to_is_never_forgotten_by_age() -> None:
    hub = HubHarness()
    away(hub)
    task = hub.submit(target="mac")
    hub.advance(s=40 * 86_400)
    tidy(hub)
    assert list(hub.state.daemons) == ["d-mac"]
    hub.cancel(task)
    tidy(hub)
    assert hub.state.daemons == {}


# Ephemeral ones


def leave_in_good_order(hub: HubHarness, daemon: Daemon) -> None:
    hub.drain(daemon)
    hub.disconnect(daemon)


def test_an_ephemeral_daemon_that_leaves_in_good_order_is_forgotten_at_once() -> None:
    hub = HubHarness()
    leave_in_good_order(hub, hub.daemon("pod", ephemeral=True))
    leave_in_good_order(hub, hub.daemon("mac"))
    assert list(hub.state.daemons) == ["d-mac"]
    assert told(hub) == [{"daemon_id": "d-pod", "name": "pod", "because": "ephemeral"}]
    assert hub.restarted().state.daemons.keys() == {"d-mac"}


def test_an_ephemeral_daemon_that_only_lost_its_connection_has_its_lease_to_come_back() -> None:
    hub = HubHarness()
    daemon = hub.daemon("pod", ephemeral=True)
    task = hub.run(hub.submit())
    hub.disconnect(daemon)
    hub.advance(s=LEASE_S - 1)
    assert list(hub.state.daemons) == ["d-pod"]
    hub.advance(s=1)
    assert hub.state.daemons == {}
    assert (task.status, attempt_of(task).status) == (Status.QUEUED, AttemptStatus.LOST)


def test_an_ephemeral_daemon_whose_silence_ends_its_lease_is_forgotten_with_its_connection() -> None:
    hub = HubHarness()
    hub.daemon("pod", ephemeral=True)
    hub.advance(s=LEASE_S)
    assert hub.state.daemons == {}
    assert [event.name for event in hub.batches[-2].events + hub.batches[-1].events][-2:] == [
        EventName.DAEMON_DISCONNECTED,
        EventName.DAEMON_FORGOTTEN,
    ]


def test_an_ephemeral_daemon_that_leaves_while_it_holds_work_is_forgotten_when_its_lease_is_over() -> None:
    hub = HubHarness()
    daemon = hub.daemon("pod", ephemeral=True)
    hub.run(hub.submit())
    leave_in_good_order(hub, daemon)
    assert list(hub.state.daemons) == ["d-pod"]
    hub.advance(s=LEASE_S)
    assert hub.state.daemons == {}


def test_an_ephemeral_daemon_that_is_still_named_goes_with_the_housekeeping() -> None:
    hub = HubHarness()
    daemon = hub.daemon("pod", ephemeral=True)
    task = hub.submit(a_draft(target="pod", scheduled_for=hub.now.wall + DAY_MS))
    leave_in_good_order(hub, daemon)
    hub.advance(s=LEASE_S)
    tidy(hub)
    assert list(hub.state.daemons) == ["d-pod"]
    hub.cancel(task)
    tidy(hub)
    assert told(hub) == [{"daemon_id": "d-pod", "name": "pod", "because": "ephemeral"}]


# Coming back


def lost_with_its_daemon(hub: HubHarness) -> Task:
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    hub.disconnect(daemon)
    hub.advance(s=LEASE_S)
    assert forget(hub) == Done()
    return task


def come_back(hub: HubHarness, *held: Held) -> list[Effect]:
    return hub.step(JoinDaemon(77, "ann", "d-mac", "boot-1", "mac", inventory=held))


def test_one_that_comes_back_by_its_id_is_a_new_daemon() -> None:
    hub = HubHarness()
    daemon = hub.daemon(capabilities=("gpu",))
    leave_in_good_order(hub, daemon)
    assert forget(hub) == Done()
    [welcome] = hub.of(come_back(hub), Welcome)
    new = hub.state.daemons["d-mac"]
    assert (welcome.daemon_id, new is daemon) == ("d-mac", False)
    assert (new.record.draining, new.record.leaving, new.record.capabilities) == (False, False, ())
    assert hub.batches[-1].daemons == [new.record]
    assert hub.submit().status is Status.SCHEDULED


def test_a_daemon_that_comes_and_is_forgotten_and_comes_within_one_commit_is_there() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    turn = hub.core.turn(hub.now)
    hub.core.decide(turn, LeaveDaemon(daemon.session, daemon.id))
    hub.core.decide(turn, ForgetDaemon(daemon.id))
    hub.core.decide(turn, JoinDaemon(77, "ann", "d-mac", "boot-2", "mac"))
    batch = hub.core.cut(batch_id="b", now=hub.now)
    assert (batch.forgotten, [record.boot_id for record in batch.daemons]) == ([], ["boot-2"])


def test_a_result_of_the_time_before_is_acknowledged_and_kept_as_late() -> None:
    hub = HubHarness()
    task = lost_with_its_daemon(hub)
    hub.daemon("other")
    assert (attempt_of(task).number, attempt_of(task).daemon_id) == (2, "d-other")
    [welcome] = hub.of(come_back(hub, Held(task.id, 1, InventoryState.ENDED)), Welcome)
    assert [judged.verdict for judged in welcome.verdicts] == [InventoryVerdict.SEND_RESULT]
    effects = hub.step(CompleteTask("d-mac", task.id, 1, 77, b'{"result":"late"}'))
    assert hub.of(effects, Acknowledge) == [Acknowledge(77, task.id, 1)]
    assert [(late.task_id, late.attempt) for late in hub.batches[-1].late] == [(task.id, 1)]
    lost = (task.attempts or [])[0]
    assert (lost.status, lost.error and lost.error.code) == (AttemptStatus.LOST, ErrorCode.DAEMON_UNRESPONSIVE)


def test_a_result_that_nothing_newer_has_replaced_is_taken_as_of_any_daemon() -> None:
    hub = HubHarness()
    task = lost_with_its_daemon(hub)
    come_back(hub, Held(task.id, 1, InventoryState.ENDED))
    hub.step(CompleteTask("d-mac", task.id, 1, 77, b'{"result":"done"}'))
    assert task.status is Status.COMPLETED


def test_who_takes_the_id_of_anothers_daemon_that_was_forgotten_gets_nothing_of_its_work() -> None:
    hub = HubHarness(users=("ann", "bob"))
    task = lost_with_its_daemon(hub)
    held = (Held(task.id, 1), Held(task.id, 1, InventoryState.ENDED))
    [welcome] = hub.of(hub.step(JoinDaemon(77, "bob", "d-mac", "boot-1", "mac", inventory=held)), Welcome)
    assert InventoryVerdict.CONTINUE not in [judged.verdict for judged in welcome.verdicts]
    assert task.status is Status.QUEUED
    hub.step(CompleteTask("d-mac", task.id, 1, 77, b'{"result":"theirs"}'))
    assert task.status is Status.QUEUED
    assert [(late.task_id, late.attempt) for late in hub.batches[-1].late] == [(task.id, 1)]


def test_a_result_by_the_tasks_own_token_is_taken_though_its_daemon_is_forgotten() -> None:
    hub = HubHarness()
    task = lost_with_its_daemon(hub)
    hub.step(CompleteTask(None, task.id, 1, outcome=b'{"result":"done"}'))
    assert task.status is Status.COMPLETED
