"""Agents that pull: a slot for each claim, a lease for each task, and a place of their own among daemons."""

import pytest

from taskyard.core.changes import DaemonRecord
from taskyard.core.claims import CLAIMS_MAX
from taskyard.core.commands import BeatTask, CompleteTask, Draft, ReportProgress, SaveCheckpoint
from taskyard.core.daemon_commands import AcceptTask, Beat, JoinDaemon, LeaveDaemon, StartTask
from taskyard.core.effects import CloseSession, Done, Effect, Execute, Refused, Welcome
from taskyard.core.state import Daemon
from taskyard.core.task import Task, Terms
from taskyard.vocabulary import AttemptStatus, ErrorCode, EventName, Level, Refusal, Status
from taskyard.vocabulary.reasons import Reason
from tests.core.test_holds import codes
from tests.support.harness import HubHarness, a_draft, attempt_of

LEASE_MS = 36_000
"""As the hub judges it."""


def claim(hub: HubHarness, session: int, **fields: object) -> list[Effect]:
    """An agent asks for a task, by a connection of this number."""
    given = {"user_id": "ann", "daemon_id": "d-agent", "boot_id": f"boot-{session}", "name": "agent", "slots": 1}
    return hub.step(JoinDaemon(session=session, pulls=True, **{**given, **fields}))  # type: ignore[arg-type]


def leave(hub: HubHarness, session: int) -> None:
    hub.step(LeaveDaemon(session, "d-agent"))


def slot(hub: HubHarness, number: int = 0) -> Daemon:
    return hub.state.daemons[f"d-agent.{number}"]


def take(hub: HubHarness, task: Task, session: int) -> None:
    """The claim of this connection is answered with the task."""
    attempt = attempt_of(task)
    hub.step(AcceptTask(session, attempt.daemon_id, task.id, attempt.number))
    hub.step(StartTask(session, attempt.daemon_id, task.id, attempt.number))
    leave(hub, session)


def claimed(hub: HubHarness, session: int = 1) -> Task:
    """A task that an agent has and works on."""
    task = hub.submit()
    claim(hub, session)
    take(hub, task, session)
    return task


def test_a_claim_gets_what_waits_and_holds_it_without_a_connection() -> None:
    hub = HubHarness()
    task = hub.submit()
    effects = claim(hub, 1)
    assert [one.daemon_id for one in hub.of(effects, Welcome)] == ["d-agent.0"]
    assert [(one.session, one.task_id) for one in hub.of(effects, Execute)] == [(1, task.id)]
    take(hub, task, 1)
    assert (task.status, slot(hub).session, list(slot(hub).holding)) == (Status.RUNNING, 0, [task.id])
    assert not hub.said(EventName.DAEMON_CONNECTED)
    assert not hub.said(EventName.DAEMON_DISCONNECTED)


def test_each_open_claim_is_a_slot_and_a_free_one_is_used_again() -> None:
    hub = HubHarness()
    first = claimed(hub, 1)
    claim(hub, 2)
    claim(hub, 3)
    assert sorted(hub.state.daemons) == ["d-agent.0", "d-agent.1", "d-agent.2"]
    hub.step(CompleteTask(None, first.id, 1))
    claim(hub, 4)
    assert slot(hub, 0).session == 4
    leave(hub, 3)
    claim(hub, 5)
    assert (slot(hub, 2).session, len(hub.state.daemons)) == (5, 3)


def test_what_bears_the_name_and_claims_nothing_or_is_anothers_is_left_alone() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.step(JoinDaemon(1, "ann", "d-agent.0", "boot-1", "agent"))
    hub.step(LeaveDaemon(1, "d-agent.0"))
    claim(hub, 2, user_id="bob", daemon_id="d-agent")
    leave(hub, 2)
    claim(hub, 3)
    assert [daemon.record.user_id for daemon in hub.state.daemons.values()] == ["ann", "bob", "ann"]
    assert slot(hub, 2).session == 3


def test_a_name_has_so_many_claims_and_no_more() -> None:
    hub = HubHarness()
    for number in range(CLAIMS_MAX):
        id = f"d-agent.{number}"
        held = hub.state.daemons[id] = Daemon(DaemonRecord(id, "ann", "agent", "boot", 0, pulls=True), 0)
        held.session = number + 1
    given = JoinDaemon(CLAIMS_MAX + 1, "ann", "d-agent", "boot", "agent", pulls=True)
    effects = hub.core.handle(given, hub.now)
    assert [effect.code for effect in effects if isinstance(effect, CloseSession)] == ["TOO_MANY_CLAIMS"]
    assert len(hub.state.daemons) == CLAIMS_MAX


def test_a_task_that_a_claim_was_given_too_late_goes_back_at_once_and_loses_nothing() -> None:
    # Given a claim that was given a task at the moment in which nobody waited for it any more
    hub = HubHarness()
    claim(hub, 1)
    task = hub.submit()
    other = hub.daemon()

    # When its connection ends before it has said that it takes it
    leave(hub, 1)

    # Then another one gets it
    assert [attempt.status for attempt in task.attempts or ()] == [AttemptStatus.DRAINED, AttemptStatus.RUNNING]
    assert attempt_of(task).daemon_id == other.id


def test_who_leaves_without_a_slot_changes_nothing() -> None:
    hub = HubHarness()
    leave(hub, 1)
    claim(hub, 1)
    leave(hub, 2)
    assert slot(hub).session == 1


def test_a_word_by_its_token_renews_a_claims_lease() -> None:
    hub = HubHarness()
    task = claimed(hub)
    words = [
        BeatTask(task.id, 1, reply_to=9),
        ReportProgress(None, task.id, 1, percent=1.0, reply_to=9),
        SaveCheckpoint(None, task.id, 1, b"{}", reply_to=9),
    ]
    for word in words * 2:
        hub.advance(ms=LEASE_MS - 1)
        assert hub.ask(word) == Done(task.id)
    assert task.status is Status.RUNNING
    hub.advance(ms=LEASE_MS)
    assert (task.attempts or [])[0].status is AttemptStatus.LOST
    assert (task.attempts or [])[0].error is not None


def test_one_agents_silence_is_not_covered_by_another_of_its_name() -> None:
    hub = HubHarness()
    silent, alive = claimed(hub, 1), claimed(hub, 2)
    hub.advance(ms=LEASE_MS - 1000)
    hub.step(BeatTask(alive.id, 1))
    hub.advance(ms=1000)
    error = attempt_of(silent).error
    assert (attempt_of(silent).status, error and error.code) == (AttemptStatus.LOST, ErrorCode.DAEMON_UNRESPONSIVE)
    assert alive.status is Status.RUNNING


def test_how_long_it_has_run_is_written_down_now_and_then() -> None:
    hub = HubHarness()
    task = claimed(hub)
    before = len([batch for batch in hub.batches if batch.daemons])
    for _ in range(12):
        hub.advance(s=10)
        hub.step(BeatTask(task.id, 1))
    assert len([batch for batch in hub.batches if batch.daemons]) - before == 2


def test_a_heartbeat_says_that_it_was_taken_up_although_nobody_else_did() -> None:
    hub = HubHarness()
    task = hub.submit()
    claim(hub, 1)
    assert task.status is Status.SCHEDULED
    hub.step(BeatTask(task.id, 1))
    assert task.status is Status.RUNNING


def test_an_agent_learns_by_its_next_word_that_its_task_was_cancelled() -> None:
    hub = HubHarness()
    task = claimed(hub)
    hub.cancel(task)
    for word in (
        BeatTask(task.id, 1, reply_to=9),
        ReportProgress(None, task.id, 1, reply_to=9),
        SaveCheckpoint(None, task.id, 1, b"{}", reply_to=9),
    ):
        answer = hub.ask(word)
        assert answer.code is Refusal.STALE_ATTEMPT
    assert task.status is Status.RUNNING
    hub.step(CompleteTask(None, task.id, 1))
    assert task.status is Status.CANCELLED


def test_exclusive_work_that_takes_too_long_is_told_so_and_its_key_is_free_when_its_lease_ends() -> None:
    # Given work that must be alone, so that its time alone ends nothing while its agent may be at it
    hub = HubHarness()
    task = hub.submit(terms=Terms(exclusive="k", timeout_ms=60_000))
    claim(hub, 1)
    take(hub, task, 1)
    hub.advance(s=30)
    assert hub.ask(BeatTask(task.id, 1, reply_to=9)) == Done(task.id)
    hub.advance(s=31)

    # When its agent says after that time that it goes on
    answer = hub.ask(BeatTask(task.id, 1, reply_to=9))

    # Then it is to stop, and its word keeps nothing
    assert isinstance(answer, Refused)
    assert task.status is Status.RUNNING
    hub.advance(ms=LEASE_MS)
    assert (task.attempts or [])[0].status is AttemptStatus.LOST
    assert hub.state.exclusive == {}


def test_a_cancelled_task_that_its_agent_says_nothing_of_ends_with_the_lease() -> None:
    hub = HubHarness()
    task = claimed(hub)
    hub.cancel(task)
    hub.advance(ms=LEASE_MS)
    assert task.status is Status.CANCELLED


def test_a_daemons_own_work_is_not_kept_alive_by_its_token() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.advance(ms=LEASE_MS - 1)
    assert hub.ask(BeatTask(task.id, 1, reply_to=9)) == Done(task.id)
    hub.advance(ms=1)
    assert (task.attempts or [])[0].status is AttemptStatus.LOST


def test_while_it_waits_a_claim_is_kept_alive_like_any_daemon() -> None:
    hub = HubHarness()
    claim(hub, 1)
    for _ in range(5):
        hub.advance(ms=LEASE_MS - 1)
        hub.step(Beat(1, "d-agent.0"))
    assert slot(hub).session == 1
    effects = hub.advance(ms=LEASE_MS)
    assert [one.code for one in hub.of(effects, CloseSession)] == ["LEASE_EXPIRED"]


@pytest.mark.parametrize("claims", [0, 3])
def test_of_the_slots_of_claims_none_is_kept_for_critical_work(claims: int) -> None:
    hub = HubHarness()
    hub.daemon(slots=10)
    for session in range(100, 100 + claims):
        claim(hub, session)
    for _ in range(20):
        hub.submit()
    assert hub.state.running == 8 + claims


def test_a_hub_that_starts_again_gives_a_claim_its_lease_and_hears_its_agent() -> None:
    hub = HubHarness()
    task = claimed(hub)
    later = hub.restarted()
    again = later.state.tasks[task.id]
    later.advance(ms=LEASE_MS - 1)
    assert later.ask(BeatTask(task.id, 1, reply_to=9)) == Done(task.id)
    later.advance(ms=LEASE_MS - 1)
    assert again.status is Status.RUNNING
    later.step(CompleteTask(None, task.id, 1))
    assert again.status is Status.COMPLETED


def gpu(**fields: object) -> Draft:
    return a_draft(capabilities=("gpu",), **fields)  # type: ignore[arg-type]


def test_a_claim_that_cannot_use_it_opens_no_slot_of_the_reserve_to_others() -> None:
    # Given a machine with five slots, one of them for critical work, and an agent that claims something else
    hub = HubHarness()
    hub.daemon(slots=5, capabilities=("gpu",))
    claim(hub, 100)

    # When more comes that only the machine can do
    tasks = [hub.submit(gpu()) for _ in range(6)]

    # Then the reserve stays, why says so, and critical work has it
    assert [task.status for task in tasks] == [Status.SCHEDULED] * 4 + [Status.QUEUED] * 2
    assert codes(hub, tasks[-1]) == [Reason.CRITICAL_RESERVE]
    assert hub.submit(gpu(level=Level.CRITICAL)).status is Status.SCHEDULED

    # And the agent's slot is anybody's who can use it, until it is taken
    assert hub.submit().status is Status.SCHEDULED
    assert slot(hub).holding
    hub.complete(tasks[0])
    assert tasks[4].status is Status.SCHEDULED


def test_a_claim_that_is_taken_opens_no_slot_of_the_reserve_either() -> None:
    hub = HubHarness()
    claim(hub, 100)
    urgent = hub.submit(level=Level.CRITICAL)
    hub.daemon(slots=5)
    tasks = [hub.submit() for _ in range(5)]
    assert list(slot(hub).holding) == [urgent.id]
    assert [task.status for task in tasks] == [Status.SCHEDULED] * 4 + [Status.QUEUED]


def test_who_waits_for_the_reserve_is_given_to_an_agent_that_comes() -> None:
    hub = HubHarness()
    hub.daemon(slots=5)
    tasks = [hub.submit() for _ in range(5)]
    assert tasks[4].status is Status.QUEUED
    claim(hub, 100)
    assert attempt_of(tasks[4]).daemon_id == "d-agent.0"
