"""Who is connected, what they hold, and what their lists and their silence mean."""

import pytest

from taskyard.core.commands import Tick
from taskyard.core.daemon_commands import Beat, DrainDaemon, Held, JoinDaemon, LeaveDaemon, ResumeDaemon, Seen
from taskyard.core.effects import AcknowledgeBeat, CancelWork, CloseSession, Done, Effect, Welcome
from taskyard.core.settings import Lease, Limits, Settings
from taskyard.core.task import Task, Terms
from taskyard.core.yard_commands import ChangeSettings
from taskyard.vocabulary import (
    EPOCHS_PER_ERA,
    SESSIONS_PER_GATEWAY,
    AttemptStatus,
    CancelReason,
    EventName,
    Refusal,
)
from tests.support.harness import ErrorCode, HubHarness, InventoryState, Level, Status, a_draft, attempt_of


def closed(hub: HubHarness, effects: list[Effect]) -> list[str]:
    return [close.code for close in hub.of(effects, CloseSession)]


def join(hub: HubHarness, **fields: object) -> list[Effect]:
    given = {"session": 50, "user_id": "ann", "daemon_id": "d-mac", "boot_id": "boot-1", "name": "mac"}
    return hub.step(JoinDaemon(**{**given, **fields}))  # type: ignore[arg-type]


# Joining


def test_a_daemon_is_welcomed_and_known_as_it_says_it_is() -> None:
    hub = HubHarness()
    daemon = hub.daemon(capabilities=("gpu",), models=("m",), types=("t",), memory_mb=100, version="1")
    assert hub.of(hub.effects, Welcome) == [Welcome(1, daemon.id, ())]
    record = daemon.record
    assert (record.capabilities, record.models, record.types, record.memory_mb) == (("gpu",), ("m",), ("t",), 100)
    assert (record.draining, record.connected_at) == (False, hub.now.wall)
    assert hub.batches[-1].daemons == [record]
    assert [e.data for e in hub.said(EventName.DAEMON_CONNECTED)] == [
        {"daemon_id": "d-mac", "name": "mac", "capabilities": ["gpu"]}
    ]


def test_a_daemon_that_names_no_slots_has_five() -> None:
    hub = HubHarness()
    join(hub)
    assert hub.state.daemons["d-mac"].record.slots == 5
    configured = HubHarness(Settings(limits=Limits(daemon_slots=9)))
    join(configured)
    assert configured.state.daemons["d-mac"].record.slots == 9


def test_a_newer_connection_supersedes_the_older() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    effects = join(hub)
    assert closed(hub, effects) == ["SUPERSEDED"]
    assert daemon.session == 50
    hub.step(LeaveDaemon(1, daemon.id))
    assert daemon.session == 50


def test_the_overtaken_hello_of_a_dead_process_pushes_nobody_out() -> None:
    hub = HubHarness()
    join(hub, session=50, boot_id="boot-2")
    assert closed(hub, join(hub, session=49, boot_id="boot-1")) == ["SUPERSEDED"]
    assert hub.state.daemons["d-mac"].session == 50


def test_a_daemon_that_comes_through_another_gateway_is_taken_in_whatever_number_its_session_has() -> None:
    hub = HubHarness()
    far = 3 * SESSIONS_PER_GATEWAY + 7
    join(hub, session=far)
    assert closed(hub, join(hub, session=5)) == ["SUPERSEDED"], "the old connection, not the new one"
    assert hub.state.daemons["d-mac"].session == 5
    join(hub, session=far + 1)
    assert hub.state.daemons["d-mac"].session == far + 1


def test_a_daemon_that_says_hello_again_on_its_socket_keeps_it() -> None:
    hub = HubHarness()
    join(hub)
    effects = join(hub)
    assert closed(hub, effects) == []
    assert [welcome.session for welcome in hub.of(effects, Welcome)] == [50]


def test_another_users_daemon_id_is_not_taken_over() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon()
    assert closed(hub, join(hub, user_id="bob")) == ["DAEMON_NOT_FOUND"]
    assert hub.state.daemons["d-mac"].record.user_id == "ann"


def test_two_processes_with_one_identity_are_found_out() -> None:
    hub = HubHarness()
    hub.daemon()
    codes = [closed(hub, join(hub, session=50 + n, boot_id=f"boot-{n}")) for n in range(2, 7)]
    assert codes[:3] == [["SUPERSEDED"]] * 3
    assert codes[3] == ["CLONED_IDENTITY"]
    hub.advance(s=61)
    assert closed(hub, join(hub, session=99, boot_id="boot-9")) in ([], ["SUPERSEDED"])


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        (None, []),
        (Seen("c1", 1, 0), []),
        (Seen("c1", 1, 1000), ["HUB_REWOUND"]),
        (Seen("c1", 2, 0), ["HUB_REWOUND"]),
        (Seen("another", 9, 1000), []),
    ],
)
def test_a_hub_that_was_restored_from_an_older_copy_is_noticed(seen: Seen | None, code: list[str]) -> None:
    hub = HubHarness()
    assert closed(hub, join(hub, seen=seen)) == code


def test_a_hub_that_goes_on_from_an_older_copy_on_purpose_is_accepted() -> None:
    hub = HubHarness()
    hub.state.epoch = EPOCHS_PER_ERA + 1
    assert closed(hub, join(hub, seen=Seen("c1", 7, 1000))) == []


# Coming back


def test_disconnecting_ends_nothing() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    hub.disconnect(daemon)
    assert (task.status, daemon.session) == (Status.RUNNING, 0)
    assert hub.said(EventName.DAEMON_DISCONNECTED)[0].data == {
        "daemon_id": daemon.id,
        "name": "mac",
        "affected_tasks": 1,
    }


def test_what_the_same_process_does_not_list_is_lost_at_once() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.daemon()
    lost = (task.attempts or [])[0]
    assert lost.status is AttemptStatus.LOST
    assert lost.error.code == ErrorCode.DAEMON_DISCONNECTED


def test_what_a_new_process_does_not_list_died_with_the_old_one() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.daemon(boot="boot-2")
    lost = (task.attempts or [])[0]
    assert lost.error.code == ErrorCode.DAEMON_CRASHED
    assert attempt_of(task).boot_id == "boot-2"


def test_what_died_with_its_daemon_is_not_timed_out_while_that_is_away() -> None:
    # Given a last try whose daemon's process died, and is away for longer than the try may run
    hub = HubHarness()
    task = hub.overdue_while_away()
    assert task.status is Status.RUNNING
    # When the next process comes without it
    hub.daemon(boot="boot-2")
    # Then it was lost, which counts as a death and as no try
    first, *_ = task.attempts or ()
    assert (first.status, first.error.code if first.error else None) == (AttemptStatus.LOST, ErrorCode.DAEMON_CRASHED)
    assert (task.trouble.deaths, task.status) == (1, Status.SCHEDULED)


def test_what_ran_too_long_while_its_daemon_was_away_is_stopped_when_that_is_back() -> None:
    hub = HubHarness()
    task = hub.overdue_while_away()
    hub.daemon(inventory=[Held(task.id, 1)])
    hub.advance(ms=0)
    assert task.status is Status.PERMANENTLY_FAILED
    assert [told.reason for told in hub.of(hub.effects, CancelWork)] == [CancelReason.TIMEOUT]


def test_slots_given_up_but_not_listed_any_more_are_free() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    task = hub.run(hub.submit(terms=Terms(timeout_ms=1000, retry_delay_ms=60_000)))
    hub.advance(s=1)
    daemon = hub.daemon(slots=1)
    assert (daemon.active, task.status) == (0, Status.PENDING)


# Leases


def test_a_lease_is_judged_with_a_fifth_to_spare() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.advance(ms=35_999)
    assert task.status is Status.RUNNING
    effects = hub.advance(ms=1)
    assert closed(hub, effects) == ["LEASE_EXPIRED"]
    lost = attempt_of(task)
    assert (task.status, lost.status, lost.error.code) == (
        Status.QUEUED,
        AttemptStatus.LOST,
        ErrorCode.DAEMON_UNRESPONSIVE,
    )


def test_a_daemon_is_judged_by_the_lease_it_was_promised_until_it_comes_anew() -> None:
    # Given a daemon that was promised 30 s, and a lease that becomes shorter than its heartbeats are apart
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    short = Lease(heartbeat_s=0.5, lease_s=2)
    hub.step(ChangeSettings(Settings(lease=short)))

    # When it goes on as it was told
    for _ in range(3):
        hub.advance(s=5)
        hub.beat(daemon, task)
    assert task.status is Status.RUNNING

    # Then only once it comes anew it is told, and judged by, the new one
    effects = join(hub, inventory=(Held(task.id, 1, InventoryState.RUNNING),))
    (welcome,) = hub.of(effects, Welcome)
    assert welcome.lease == short
    hub.advance(ms=2399)
    assert task.status is Status.RUNNING
    hub.advance(ms=1)
    assert attempt_of(task).status is AttemptStatus.LOST


def test_each_heartbeat_renews_the_lease_and_is_answered() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    for _ in range(5):
        hub.advance(s=30)
        assert hub.beat(daemon, task)[-1] == AcknowledgeBeat(daemon.session)
    assert task.status is Status.RUNNING


def test_a_lease_ends_also_for_a_daemon_that_went_away() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    hub.disconnect(daemon)
    effects = hub.advance(s=36)
    assert (task.status, closed(hub, effects)) == (Status.QUEUED, [])


def test_the_hubs_own_lag_is_added_to_every_lease_and_every_clock() -> None:
    # Given two daemons, one at work and one with an offer it has answered, which the hub could not hear
    hub = HubHarness()
    hub.daemon()
    running, offered = hub.run(hub.submit()), hub.submit()
    hub.advance(s=4)
    # When the hub was away for half an hour
    hub.now = type(hub.now)(hub.now.wall + 1_800_000, hub.now.mono + 1_800_000)
    hub.step(Tick(lag_ms=1_800_000))
    # Then nobody is held to account for it
    assert (running.status, offered.status) == (Status.RUNNING, Status.SCHEDULED)
    hub.accept(offered)
    hub.advance(s=31)
    assert running.status is Status.RUNNING
    hub.advance(s=1)
    assert running.status is Status.QUEUED


def test_lag_never_lets_a_lease_reach_into_the_future() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    hub.step(Tick(lag_ms=10**9))
    assert daemon.seen_mono == hub.now.mono


# Heartbeats


def test_what_a_heartbeat_does_not_list_is_lost() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit()
    hub.beat(daemon)
    assert attempt_of(task).number == 1
    hub.accept(task)
    hub.beat(daemon)
    assert (task.attempts or [])[0].status is AttemptStatus.LOST


def test_a_heartbeat_brings_load_and_memory_up_to_date() -> None:
    hub = HubHarness()
    daemon = hub.daemon(memory_mb=64)
    hub.beat(daemon, load=0.5, memory_free_mb=10)
    assert (daemon.load, daemon.memory_free_mb) == (0.5, 10)
    hub.beat(daemon, load=1e300)
    assert (daemon.load, daemon.memory_free_mb) == (100.0, 64)
    hub.beat(daemon, load=-1.0)
    assert daemon.load == 0.0


def test_a_heartbeat_of_an_older_connection_is_not_heard() -> None:
    hub = HubHarness()
    hub.daemon()
    daemon = hub.daemon()
    assert hub.step(Beat(1, daemon.id)) == []
    assert hub.step(Beat(1, "d-unknown")) == []
    assert hub.step(LeaveDaemon(1, "d-unknown")) == []


def test_memory_that_is_free_again_lets_a_task_start() -> None:
    hub = HubHarness()
    daemon = hub.daemon(memory_mb=4000)
    hub.beat(daemon, memory_free_mb=100)
    task = hub.submit(memory_mb=2000)
    assert task.status is Status.QUEUED
    hub.beat(daemon, memory_free_mb=3000)
    assert task.status is Status.SCHEDULED


# Draining


def test_a_draining_daemon_gets_nothing_new_and_finishes_what_it_has() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    hub.drain(daemon)
    assert hub.submit().status is Status.QUEUED
    hub.complete(task)
    assert task.status is Status.COMPLETED
    assert hub.said(EventName.DAEMON_DRAINING) != []


def test_a_network_that_blinks_does_not_undo_a_drain_and_a_new_process_does() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    hub.drain(daemon)
    hub.daemon()
    assert hub.submit().status is Status.QUEUED
    hub.daemon(boot="boot-2")
    assert hub.submit().status is Status.SCHEDULED


def test_a_drain_that_is_taken_back_lets_work_start_at_once() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    hub.ask(DrainDaemon(daemon.id, user_id="ann", actor="ann"))
    task = hub.submit()
    assert task.status is Status.QUEUED
    assert hub.ask(ResumeDaemon(daemon.id, user_id="ann", actor="ann")) == Done()
    assert [(a.actor, a.action, a.subject) for a in hub.batches[-1].audit] == [("ann", "daemon.resume", daemon.id)]
    assert task.status is Status.SCHEDULED
    # And once more is nothing more
    assert hub.ask(ResumeDaemon(daemon.id)) == Done()
    assert [e.data for e in hub.said(EventName.DAEMON_RESUMED)] == [{"daemon_id": "d-mac", "name": "mac"}]


def test_a_daemon_that_is_about_to_end_is_not_kept_from_it() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    hub.drain(daemon)
    # Nor when its connection blinked, or somebody else wants it to drain too
    for _ in range(2):
        answer = hub.ask(ResumeDaemon(daemon.id))
        assert answer.code is Refusal.DAEMON_LEAVING
        hub.ask(DrainDaemon(daemon.id))
        daemon = hub.daemon()
    assert hub.submit().status is Status.QUEUED
    # A new process of it is another matter
    daemon = hub.daemon(boot="boot-2")
    hub.ask(DrainDaemon(daemon.id))
    assert hub.ask(ResumeDaemon(daemon.id)) == Done()


def test_a_person_drains_and_resumes_only_their_own_daemon_and_an_admin_any() -> None:
    hub = HubHarness(users=("ann", "bob"))
    daemon = hub.daemon()
    for command in (DrainDaemon, ResumeDaemon):
        for wrong in (command(daemon.id, user_id="bob"), command("d-none", user_id="ann")):
            assert hub.ask(wrong).code is Refusal.DAEMON_NOT_FOUND
        assert daemon.record.draining is (command is ResumeDaemon)
        assert hub.ask(command(daemon.id, user_id="ann", actor="ann")) == Done()
        assert daemon.record.draining is (command is DrainDaemon)
    assert hub.ask(DrainDaemon(daemon.id, actor="root")) == Done()
    audit = [(a.actor, a.action, a.subject) for batch in hub.batches for a in batch.audit]
    assert audit[0] == ("ann", "daemon.drain", daemon.id)


def test_an_older_connection_cannot_drain() -> None:
    hub = HubHarness()
    hub.daemon()
    daemon = hub.daemon()
    assert hub.step(DrainDaemon(daemon.id, session=1)) == []
    assert not daemon.record.draining


# Targets


def waiting_for(task: Task) -> str | None:
    return task.trouble.waiting_for_daemon if task.trouble is not None else None


def test_a_task_whose_target_goes_away_says_that_it_waits_for_it() -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    hub.run(hub.submit())
    task, behind = hub.submit(target="mac"), hub.submit()
    hub.disconnect(daemon)
    assert (waiting_for(task), waiting_for(behind)) == ("mac", None)
    assert [e.task_id for e in hub.said(EventName.TASK_WAITING_FOR_DAEMON)] == [task.id]


def test_a_target_that_drains_is_not_away() -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    hub.run(hub.submit())
    task = hub.submit(target="mac")
    hub.drain(daemon)
    assert waiting_for(task) is None


def test_a_daemon_whose_owner_has_another_changes_only_its_own_line() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("shared", user="bob", shared=True, slots=1)
    hub.run(hub.submit(user="bob"))
    waiting = hub.submit(level=Level.HIGH)
    assert waiting.status is Status.QUEUED
    own = hub.daemon("own", slots=1)
    assert (waiting.status, attempt_of(waiting).daemon_id) == (Status.SCHEDULED, own.id)
    assert hub.submit_all(a_draft())[0].status is Status.QUEUED


def test_withdrawn_work_is_told_with_its_time_to_stop() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    effects = hub.step(Beat(daemon.session, daemon.id, running=[Held("unknown", 1)]))
    assert [(c.task_id, c.grace_ms) for c in hub.of(effects, CancelWork)] == [("unknown", 10_000)]


# Exclusive keys: taken until nothing of the work is alive


EXCLUSIVE = Terms(exclusive="repo", timeout_ms=40_000, retry_delay_ms=60_000)


def test_the_key_of_a_task_that_timed_out_is_taken_until_its_daemon_says_it_stopped() -> None:
    hub = HubHarness()
    hub.daemon()
    task, other = hub.run(hub.submit(terms=EXCLUSIVE)), hub.submit(terms=EXCLUSIVE)
    hub.live(s=40)
    assert (task.status, other.status) == (Status.RUNNING, Status.QUEUED)
    assert len(hub.of(hub.effects, CancelWork)) == 1
    # It is told again while it does not answer.
    hub.live(s=10)
    assert len(hub.of(hub.effects, CancelWork)) == 2
    hub.confirm_cancel(task)
    assert attempt_of(task).status is AttemptStatus.TIMEOUT
    assert (task.status, other.status) == (Status.PENDING, Status.SCHEDULED)


def test_the_key_of_a_task_that_was_not_started_is_taken_until_its_daemon_says_it_let_go() -> None:
    hub = HubHarness()
    hub.daemon()
    task, other = hub.submit(terms=EXCLUSIVE), hub.submit(terms=EXCLUSIVE)
    hub.accept(task)
    hub.live(s=30)
    assert (task.status, other.status) == (Status.SCHEDULED, Status.QUEUED)
    hub.confirm_cancel(task)
    assert attempt_of(task).status is AttemptStatus.REJECTED
    assert other.status is Status.SCHEDULED


@pytest.mark.parametrize("has_it", [True, False])
def test_the_key_of_a_task_that_was_not_accepted_is_taken_until_its_daemons_list_tells(has_it: bool) -> None:
    hub = HubHarness()
    hub.daemon()
    task, other = hub.submit(terms=EXCLUSIVE), hub.submit(terms=EXCLUSIVE)
    hub.advance(s=5)
    assert (task.status, other.status) == (Status.SCHEDULED, Status.QUEUED)
    hub.daemon(inventory=[Held(task.id, 1)] if has_it else ())
    if has_it:
        assert (task.status, other.status) == (Status.RUNNING, Status.QUEUED)
    else:
        assert (attempt_of(task).status, other.status) == (AttemptStatus.REJECTED, Status.SCHEDULED)
