"""The invariants of `core/README.md`, recomputed from scratch. Cheap enough to run after every step of a small yard."""

from collections.abc import Callable, Container

from taskyard.core.due_runs import next_run_of
from taskyard.core.fairness import SERVED_BITS
from taskyard.core.lanes import key_of
from taskyard.core.lifecycle import UNHELD
from taskyard.core.placement import standing_of
from taskyard.core.state import State
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import ENDED, HELD, AttemptStatus, Level, Status
from tests.support.counts import counted, recounted

OWNERS: dict[Due, Callable[[State], Container[str] | None]] = {
    Due.LEASE: lambda state: state.daemons,
    Due.AGEING: lambda state: state.users,
    Due.PREEMPTION: lambda state: state.users,
    Due.DELIVERY: lambda state: state.deliveries,
    Due.SCHEDULE: lambda state: state.schedules,
    Due.SCHEDULE_PROBE: lambda state: state.schedules,
    Due.SCHEDULE_ASK: lambda state: state.schedules,
    Due.WAKE: lambda state: None,
}
"""Whose a timer is, where it is not a task's."""


def check_invariants(state: State) -> None:
    for check in CHECKS:
        check(state)


def i1_open_tasks_are_in_a_lasting_status(state: State) -> None:
    for task in state.tasks.values():
        assert task.status not in (Status.FAILED, Status.TIMEOUT), f"I1: {task.ref} rests in {task.status}"


def i2_a_held_task_is_held_once(state: State) -> None:
    holders: dict[str, str] = {}
    for daemon in state.daemons.values():
        for task_id, task in daemon.holding.items():
            assert task_id not in holders, f"I2: {task.ref} is held by {holders[task_id]} and {daemon.id}"
            holders[task_id] = daemon.id
            attempt = task.newest
            assert attempt is not None, f"I2: {task.ref} is held without an attempt"
            assert attempt.daemon_id == daemon.id, f"I2: {task.ref} is held by {daemon.id}, not by its attempt's daemon"
            assert attempt.status is AttemptStatus.RUNNING, f"I2: {task.ref} holds a slot with an ended attempt"
    for task in state.tasks.values():
        assert (task.status in HELD) == (task.id in holders), (
            f"I2: {task.ref} is {task.status}, held: {task.id in holders}"
        )


def i3_slots_are_derived(state: State) -> None:
    for user in state.users.values():
        live = {t.id for t in state.tasks.values() if t.user_id == user.id and t.status in HELD}
        assert set(user.live) == live, "I3: a user's live tasks are the held ones"
        unheld = sum(t.user_id == user.id and t.status in UNHELD for t in state.tasks.values())
        assert user.pending == unheld, "I3: a user's pending tasks are the open ones that nobody holds"
        assert user.turn >> SERVED_BITS == len(live), "I3: whose turn it is follows from what they run"
    held = {
        (t.user_id, t.terms.exclusive): t.id for t in state.tasks.values() if t.status in HELD and t.terms.exclusive
    }
    assert state.exclusive == held, "I3: an exclusive key is held by the task that runs under it"
    assert set(state.begun) == {t.id for t in state.tasks.values() if t.status in HELD}, "I3: only held tasks run"
    assert counted(state) == recounted(state), "I3: every count follows from the live attempts"
    probes = {r.probe: (r.queue, r.pool) for r in state.cooling.values() if r.probe is not None}
    assert state.probes == probes, "I3: a probe is one of a queue that cooled down"
    assert all(task_id in state.begun for task_id in probes), "I3: a probe is held"
    for daemon in state.daemons.values():
        busy = sum(t.kind.needs.cpu_intensive for t in daemon.holding.values())
        assert daemon.cpu_intensive == busy, "I3: cpu-intensive work is counted from what is held"
    i3_places_follow_from_the_attempts(state)
    i3_the_roomiest_daemon_follows_from_what_they_hold(state)


def i3_tasks_that_name_a_daemon_are_listed(state: State) -> None:
    for user in state.users.values():
        named: dict[str, set[str]] = {}
        for task in state.tasks.values():
            target = task.kind.needs.target
            if target is not None and task.user_id == user.id and task.status not in ENDED:
                named.setdefault(target, set()).add(task.id)
        found = {name: set(tasks) for name, tasks in user.targeted.items()}
        assert found == named, "I3: an open task is listed under the daemon that it names"


def i3_the_roomiest_daemon_follows_from_what_they_hold(state: State) -> None:
    for pool in state.yard.pools.values():
        best = min((standing_of(daemon) for daemon in pool.daemons.values() if daemon.has_room()), default=None)
        found = pool.roomiest()
        assert (None if found is None else standing_of(found)) == best, "I3: a pool knows its roomiest daemon"


def i3_places_follow_from_the_attempts(state: State) -> None:
    live = list(state.live_attempts())
    standing = [(attempt.in_place, task.id) for task, attempt in live if attempt.in_place is not None]
    assert sorted(standing) == sorted(state.standing.items()), "I3: one at most runs in each place"
    assert all(parent in state.begun for parent, _ in standing), "I3: a place is that of a held task"
    for daemon in state.daemons.values():
        beyond = sum(attempt.beyond for _, attempt in live if attempt.daemon_id == daemon.id)
        assert daemon.beyond == beyond, "I3: what takes no slot is counted from what is held"
    assert all(parent in state.begun for parent in state.waits), "I3: only held tasks wait"
    told = {attempt.yields_to: task.id for task, attempt in live if attempt.yields_to is not None}
    assert state.preempting == told, "I3: who makes room for whom follows from what they were told"


def i3_breakers_let_one_probe_through(state: State) -> None:
    for user in state.users.values():
        for breaker in user.breakers.values():
            is_open = breaker.opened_at is not None
            assert is_open or breaker.failures, "I3: a closed breaker that counts nothing is not kept"
            assert breaker.probe is None or is_open, "I3: a closed breaker has no probe"
            assert breaker.probe is None or breaker.probe in user.live, "I3: a probe is held"


def i4_only_the_newest_attempt_is_live(state: State) -> None:
    for task in state.tasks.values():
        numbers = [a.number for a in task.attempts or ()]
        assert numbers == list(range(1, len(numbers) + 1)), f"I4: attempt numbers of {task.ref}: {numbers}"
        live = [a.number for a in task.attempts or () if a.status is AttemptStatus.RUNNING]
        assert live == (numbers[-1:] if task.status in HELD else []), f"I4: live attempts of {task.ref}: {live}"


def i5_ready_tasks_are_in_their_lane(state: State) -> None:
    waiting = 0
    for user in state.users.values():
        assert user.waiting == sum(lane.size for lane in user.lanes.values()), "I5: a user knows how many wait"
        for key, lane in user.lanes.items():
            tasks = list(lane.tasks())
            waiting += len(tasks)
            assert len(tasks) == lane.size > 0, f"I5: lane of {lane.size} holds {len(tasks)}"
            assert all(key_of(t) == key for t in tasks), "I5: a task waits in the lane its key names"
            seats = [party.line for party in user.parties.values() if lane in party.lanes()]
            known = {id(party.line) for party in lane.parties}
            assert set(map(id, seats)) == known, "I5: a lane knows where it waits"
            expected = state.yard.lines_for(user, key) if lane.blocker is None else []
            assert set(map(id, seats)) == set(map(id, expected)), "I5: a lane is in its lines while it is awake"
    for line in state.yard.lines.values():
        assert line.waiting == list(map(len, line.parties)), "I5: a line knows how many wait in it"
    queued = sum(t.status is Status.QUEUED for t in state.tasks.values())
    assert waiting == queued == state.yard.waiting, f"I5: {queued} queued, {waiting} in lanes"


def i6_keys_name_tasks(state: State) -> None:
    for (user_id, key), task_id in state.keys.items():
        task = state.tasks[task_id]
        assert (task.user_id, task.key) == (user_id, key), "I6: a key names its task"
    for task in state.tasks.values():
        if task.key is not None and task.status not in ENDED:
            assert state.keys[task.user_id, task.key] == task.id, f"I6: the key of open {task.ref} is known"


def i7_timers_follow_from_the_rows(state: State) -> None:
    wall, mono = state.timers.plan(Clock.WALL), state.timers.plan(Clock.MONO)
    for due, whose in (*wall, *mono):
        known = OWNERS[due](state) if due in OWNERS else state.tasks
        assert known is None or whose in known, f"I7: a timer of {due.name} for {whose}, who is not here"
    for user in state.users.values():
        low = [lane for lane in user.lanes.values() if lane.level is Level.LOW and not lane.special.aged]
        oldest = min((lane.eldest()[0] for lane in low), default=0)
        aged_at = oldest + round(state.settings.ageing.low_s * 1000)
        assert not low or wall[Due.AGEING, user.id] <= aged_at, f"I7: low tasks of {user.id} will not grow old"
        for lane in user.lanes.values():
            if lane.blocker is not None and lane.blocker[0] == "breaker":
                breaker = user.breakers[lane.blocker[2]]
                is_woken = breaker.probe is not None or wall[Due.WAKE, lane.blocker] <= breaker.half_open_at
                assert is_woken, f"I7: what sleeps on the breaker of {breaker.type} will not be woken"
    for task in state.tasks.values():
        is_open = task.status not in ENDED
        begins = task.not_before if task.status is Status.PENDING else None
        assert begins is None or wall.get((Due.BEGIN, task.id)) == begins, f"I7: {task.ref} will not begin"
        ends = wall.get((Due.DEADLINE, task.id))
        assert ends in (None, task.deadline), f"I7: {task.ref} keeps a deadline it does not have"
        assert is_open or ends is None, f"I7: {task.ref} has ended and waits for its deadline"


def i8_waiting_tasks_hear(state: State) -> None:
    for task in state.tasks.values():
        if task.status in (Status.WAITING, Status.BLOCKED):
            for dependency in task.depends or ():
                if dependency.outcome is None:
                    assert task.id in state.dependants.get(dependency.id, {}), f"I8: {task.ref} hears its dependencies"
    for task_id, heirs in state.dependants.items():
        assert heirs, f"I8: nobody listens to {task_id}"
        for heir_id in heirs:
            heir = state.tasks[heir_id]
            assert heir.status not in ENDED, f"I8: {heir.ref} has ended and still listens"
            assert task_id in {d.id for d in heir.depends or ()}, f"I8: {heir.ref} does not depend on {task_id}"
    for parent_id, children in state.children.items():
        for child_id in children:
            child = state.tasks[child_id]
            assert child.parent_id == parent_id, f"I8: {child.ref} is no sub-task of {parent_id}"
            assert child.status not in ENDED, f"I8: {child.ref} has ended"


def i9_schedules_come_due(state: State) -> None:
    wall, mono = state.timers.plan(Clock.WALL), state.timers.plan(Clock.MONO)
    assert set(state.schedules) == set(state.schedule_runs), "I9: a schedule knows what became of it"
    names = {(record.user_id, record.name): record.id for record in state.schedules.values()}
    assert state.schedule_names == names, "I9: a name means one schedule"
    for record in state.schedules.values():
        due, runs = wall.get((Due.SCHEDULE, record.id)), state.schedule_runs[record.id]
        assert due == next_run_of(state, record), f"I9: {record.name} comes due when it should"
        waits = runs.probing is not None and not runs.probing.is_answered
        assert waits == ((Due.SCHEDULE_PROBE, record.id) in mono), f"I9: {record.name} waits for a probe for ever"
    unfinished: dict[str, set[str]] = {}
    for task in state.tasks.values():
        if task.schedule_id in state.schedules and task.status not in ENDED:
            unfinished.setdefault(task.schedule_id or "", set()).add(task.id)
    found = {schedule_id: set(tasks) for schedule_id, tasks in state.unfinished.items()}
    assert found == unfinished, "I9: a schedule knows what it made and is unfinished"


CHECKS = (
    i1_open_tasks_are_in_a_lasting_status,
    i2_a_held_task_is_held_once,
    i3_slots_are_derived,
    i3_breakers_let_one_probe_through,
    i3_tasks_that_name_a_daemon_are_listed,
    i4_only_the_newest_attempt_is_live,
    i5_ready_tasks_are_in_their_lane,
    i6_keys_name_tasks,
    i7_timers_follow_from_the_rows,
    i8_waiting_tasks_hear,
    i9_schedules_come_due,
)
