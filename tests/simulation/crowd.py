"""A crowd on a small fleet: many users, plans, queues and levels, limits that change, daemons that come and go.

Where `world.py` hurts the hub, this one tempts it: every step is decided by the real core, and every single start is
judged by figures counted anew from the live attempts, and by a naive look at everybody who waits. The rules themselves
are asked as the product asks them; what is checked here is that no start passes them by, that nobody who could start
sleeps on, and whose turn it was.
"""

import random
from collections.abc import Callable
from typing import Final, TypeVar
from unittest.mock import patch

from taskyard.core import scheduler
from taskyard.core.changes import UserRecord
from taskyard.core.commands import (
    BeginWait,
    CancelTask,
    ChangeSettings,
    Command,
    CompleteTask,
    Draft,
    FailTask,
    ResumeQueue,
    SubmitTasks,
    Tick,
)
from taskyard.core.daemon_commands import AcceptTask, Beat, ConfirmCancel, Held, JoinDaemon, LeaveDaemon, StartTask
from taskyard.core.effects import CancelWork
from taskyard.core.hub import Core
from taskyard.core.lanes import Lane
from taskyard.core.settings import Breakers, Limits, Plan, Preemption, Queue, Rate, Retry, Settings, Shares, Suspects
from taskyard.core.state import Daemon, Now, State, Turn, User
from taskyard.core.task import Attempt, Failure, Kind, Needs, Task, Terms
from taskyard.vocabulary import ENDED, HELD, HUB_RATE, CancelReason, Level, SourceType, Status
from tests.simulation.crowd_acts import QUEUES, Acts, Disk
from tests.simulation.crowd_judges import (
    a_suspect_runs_alone,
    is_suspect,
    it_was_their_turn,
    may_be_told_to_go,
    no_limit_is_exceeded,
    nobody_sleeps_who_could_start,
)
from tests.simulation.history import Violation
from tests.support.invariants import check_invariants

START_MS: Final = 1_800_000_000_000
STEPS: Final = 400
INVARIANTS_EVERY: Final = 25
IDLE_MS_MAX: Final = 60_000
"""How long nothing may begin or end in a yard that is left in peace and has open tasks: breakers open for 8 s at most,
and what runs has five minutes, so that work that waits for itself is seen."""
FREE_RATE: Final = Rate(per_minute=10**9, per_hour=10**9)
PLANS: Final = {
    "one": Plan(max_concurrent_agents=1, max_pending=10**6),
    "three": Plan(max_concurrent_agents=3, max_pending=10**6),
    "many": Plan(max_concurrent_agents=40, max_pending=10**6),
}
TYPES: Final = ("code", "mail", "report")
MODELS: Final = (None, None, "m1", "m2")


def some_settings(rng: random.Random) -> Settings:
    return Settings(
        limits=Limits(
            running_total=rng.choice((3, 8, 1000)),
            running_per_user=rng.choice((2, 20)),
            running_per_source={SourceType.WEBHOOK: rng.choice((1, 5)), SourceType.USER: 15},
            rate={**dict.fromkeys(SourceType, FREE_RATE), HUB_RATE: FREE_RATE},
        ),
        shares=Shares(
            critical_reserve=rng.choice((0.0, 0.2, 0.5)), low_max=rng.choice((1, 5)), strict=rng.random() < 0.2
        ),
        queues={"local": Queue(models=("m1",)), "cloud": Queue(models=("m2",), max_concurrent=rng.choice((1, 3)))},
        plans=PLANS,
        retry=Retry(rate_limit_s=5.0),
        breakers=Breakers(failure_threshold=rng.choice((1, 3)), half_open_after=2.0, cooldown=8.0),
        preemption=Preemption(min_run_s=rng.choice((0.0, 2.0))),
        suspects=Suspects(deaths_max=2, hold_after_s=3.0, avoid_lost_s=5.0),
    )


Act = Callable[[], None]


class Crowd(Acts):
    """One life. `step` does one thing that could happen."""

    levels: tuple[Level, ...] = tuple(Level)
    """Of what is submitted, each as often as it is named."""
    beat_ms = 0
    """How long a daemon says nothing. A heartbeat has much looked at anew, and so hides what nobody woke."""
    types = TYPES
    plans = tuple(PLANS)

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.disk = Disk()
        self._handed: str | None = None
        self.rng = random.Random(seed)
        self.now = Now(START_MS, 1_000)
        self.state = State(self.settings(), cluster_id="c", epoch=1, seq=0)
        self.core = Core(self.state, self.rng)
        self.grants = self.told = self.alone = 0
        """Starts, low tasks that were told to go, and starts of suspects."""
        self.steps = 0
        self._ids = self._sessions = 0
        self._is_flooding = True
        for n in range(self.rng.choice((2, 5, 12))):
            record = UserRecord(f"u{n}", f"u{n}", START_MS, self.rng.choice((None, *PLANS)), {"max_pending": 10**6})
            self.state.users[record.id] = User(record, 0)
            self.state.names[record.name] = record.id
        for n in range(self.rng.choice((1, 3, 5))):
            self._join(f"d{n}", slots=self.rng.choice((1, 3, 10)))

    def settings(self) -> Settings:
        return some_settings(self.rng)

    # --- the world -----------------------------------------------------------------------------------------

    def decide(self, command: Command) -> None:
        turn = self.core.turn(self.now)
        judged, noted = self._judged_grant(scheduler.grant), self._noted_start(scheduler.next_start)
        with patch.object(scheduler, "grant", judged), patch.object(scheduler, "next_start", noted):
            self.core.decide(turn, command)
            self.core.dispatch(turn)
            while self.state.echoes:
                self.core.dispatch(turn)
        batch = self.core.cut(batch_id="b", now=self.now)
        self.disk.write(batch)
        self.core.forget(through_seq=batch.seq)
        cancels = [effect for effect in turn.effects if isinstance(effect, CancelWork)]
        if not isinstance(command, JoinDaemon):
            # A daemon that comes back is told once more, whatever has become of the reasons.
            for effect in [each for each in cancels if each.reason is CancelReason.PREEMPTED]:
                self.told += 1
                may_be_told_to_go(turn, self.state.tasks[effect.task_id])
        for effect in cancels:
            if self.rng.random() < 0.6:
                self._confirm(effect, is_alone=len(cancels) == 1 and not isinstance(command, JoinDaemon))
            else:
                self._unconfirmed.append(effect)
        if self.core.next_due_ms(self.now) != 0:
            # Everything that is due has happened: what waits now, waits.
            nobody_sleeps_who_could_start(self.core.turn(self.now))

    def _confirm(self, told: CancelWork, *, is_alone: bool) -> None:
        """It stops at once. If it had to make room, and nothing else has changed, who needed it has it now."""
        task = self.state.tasks.get(told.task_id)
        attempt = None if task is None else task.newest
        urgent_id = None if attempt is None or told.reason is not CancelReason.PREEMPTED else attempt.yields_to
        daemon_id = "" if attempt is None else attempt.daemon_id
        self.decide(ConfirmCancel(daemon_id, told.task_id, told.attempt, told.session))
        if is_alone and urgent_id is not None and self.state.tasks[urgent_id].status not in HELD:
            raise Violation(f"{told.task_id} went, and {urgent_id} has not started")

    def _judged_grant(self, grant: Callable[..., None]) -> Callable[..., None]:
        def judged(turn: Turn, lane: Lane, task: Task, daemon: Daemon, **how: object) -> None:
            if not how.get("in_place") and task.id != self._handed:
                it_was_their_turn(turn, lane, daemon)
            grant(turn, lane, task, daemon, **how)
            self.grants += 1
            self.alone += is_suspect(task)
            attempt = task.newest
            assert attempt is not None
            no_limit_is_exceeded(turn.state, task, attempt, daemon)
            a_suspect_runs_alone(task, attempt, daemon)

        return judged

    def _noted_start(self, next_start: Callable[[Turn, str], object]) -> Callable[[Turn, str], object]:
        """For whom room was made goes before whose turn it is."""

        def noted(turn: Turn, task_id: str) -> object:
            self._handed = task_id
            return next_start(turn, task_id)

        return noted

    def acts(self) -> dict[Act, float]:
        """What may happen next, and how often."""
        arrivals: dict[Act, float] = {self._submit: 6, self._have_a_child: 3, self._press: 4, self._change: 1}
        return {
            **(arrivals if self._is_flooding else {}),
            self._begin: 8,
            self._end: 12,
            self._fail: 3,
            self._cancel: 1,
            self._flap: 1,
            self._wait: 4,
            self._end_wait: 1,
            self._stop: 3,
            self._reject: 0.5,
            self._say_of_a_queue: 1,
            self._say_of_a_breaker: 0.3,
            self._change_plan: 0.5,
            self._crash: 0.5,
            self._restart: 0.3,
        }

    def step(self) -> None:
        self.steps += 1
        acts = self.acts()
        self.rng.choices(list(acts), weights=list(acts.values()))[0]()
        if self.steps % INVARIANTS_EVERY == 0:
            check_invariants(self.state)

    def _join(self, name: str, *, slots: int) -> None:
        self._sessions += 1
        owner = self.rng.choice(list(self.state.users))
        shared = name == "d0" or self.rng.random() < 0.4
        known = self.state.daemons.get(name)
        if known is not None:
            owner, shared, slots = known.record.user_id, known.record.shared, known.record.slots
        boot = "boot" if known is None else known.record.boot_id
        held = [] if known is None else [Held(t.id, t.newest.number) for t in known.holding.values() if t.newest]
        types = tuple(self.rng.sample(TYPES, self.rng.choice((0, 1, 2)))) if name != "d0" else ()
        if known is not None:
            types = known.record.types
        self.decide(
            JoinDaemon(self._sessions, owner, name, boot, name, shared, slots=slots, types=types, inventory=tuple(held))
        )

    def _submit(self) -> None:
        rng = self.rng
        user = rng.choice(list(self.state.users))
        drafts = []
        for _ in range(rng.choice((1, 1, 3, 20))):
            self._ids += 1
            kind = Kind(Needs(rng.choice(TYPES), rng.choice(MODELS)), source=rng.choice(list(SourceType)))
            exclusive = rng.choice((None, None, None, "key"))
            draft = Draft(f"t{self._ids:06d}", kind, Terms(exclusive=exclusive, retry_delay_ms=1000), b"{}")
            draft.level = rng.choice(self.levels)
            drafts.append(draft)
        self.decide(SubmitTasks(user, drafts))

    def _held(self) -> list[tuple[Daemon, Task, Attempt]]:
        return [
            (daemon, task, task.newest)
            for daemon in self.state.daemons.values()
            for task in daemon.holding.values()
            if task.newest is not None and daemon.session
        ]

    def _begin(self) -> None:
        for daemon, task, attempt in self._held():
            if task.status is Status.SCHEDULED:
                name = (daemon.session, daemon.id, task.id, attempt.number)
                self.decide(AcceptTask(*name))
                self.decide(StartTask(*name))

    def _end(self) -> None:
        held = self._held()
        if held:
            daemon, task, attempt = self.rng.choice(held)
            self.decide(CompleteTask(daemon.id, task.id, attempt.number, daemon.session, b"{}"))

    def _fail(self) -> None:
        held = self._held()
        if held:
            daemon, task, attempt = self.rng.choice(held)
            error = self.rng.choice(
                (
                    Failure("BOOM", "it broke"),
                    Failure("RATE_LIMITED", "too many requests"),
                    Failure("INVALID_INPUT", "no"),
                )
            )
            self.decide(FailTask(daemon.id, task.id, attempt.number, error, daemon.session))

    def _cancel(self) -> None:
        open_ones = [t for t in self.state.tasks.values() if t.status not in ENDED]
        if open_ones:
            task = self.rng.choice(open_ones)
            self.decide(CancelTask(task.user_id, task.id))

    def _flap(self) -> None:
        daemon = self.rng.choice(list(self.state.daemons.values()))
        if daemon.session:
            self.decide(LeaveDaemon(daemon.session, daemon.id))
        else:
            self._join(daemon.id, slots=0)

    def _change(self) -> None:
        if self._is_flooding:
            self.decide(ChangeSettings(self.settings()))

    def _wait(self) -> None:
        self.pass_time(self.rng.choice((10, 500, 3_000)))

    def pass_time(self, ms: int) -> None:
        """Daemons that are there keep their leases; what is due is due."""
        self.now = Now(self.now.wall + ms, self.now.mono + ms)
        for daemon in list(self.state.daemons.values()):
            if daemon.session and self.now.mono - daemon.seen_mono >= self.beat_ms:
                held = tuple(Held(t.id, t.newest.number) for t in daemon.holding.values() if t.newest)
                self.decide(Beat(daemon.session, daemon.id, running=held))
        self.decide(Tick())

    # --- and then it is left in peace ----------------------------------------------------------------------

    def _waits_for_parts(self, task: Task, attempt: Attempt) -> bool:
        """Whether a running task has sub-tasks to wait for. One that needs a daemon for itself is not waited for."""
        if attempt.yields_to is not None or task.cancel_requested_at is not None:
            return False
        children = [self.state.tasks[child_id] for child_id in self.state.children.get(task.id, ())]
        if not any(not is_suspect(child) for child in children):
            return False
        if task.id not in self.state.waits:
            self.decide(BeginWait(task.id, attempt.number, "drain"))
        return True

    def drain(self) -> None:
        """No more arrivals, everybody there: everything must end, and soon. Parents wait for their sub-tasks."""
        self._is_flooding = False
        for queue in QUEUES:
            self.decide(ResumeQueue(queue, "admin"))
        for daemon in list(self.state.daemons.values()):
            if not daemon.session:
                self._join(daemon.id, slots=0)
        moved = (0, 0, self.now.mono)
        for _ in range(4_000):
            left = sum(t.status not in ENDED for t in self.state.tasks.values())
            if not left:
                return
            if moved[:2] != (self.grants, left):
                moved = self.grants, left, self.now.mono
            if self.now.mono - moved[2] > IDLE_MS_MAX:
                raise Violation(f"nothing began or ended in {IDLE_MS_MAX} ms: {self._left()}")
            self._begin()
            for daemon, task, attempt in self._held():
                if task.status in HELD and daemon.session and not self._waits_for_parts(task, attempt):
                    self.decide(CompleteTask(daemon.id, task.id, attempt.number, daemon.session, b"{}"))
            due = self.core.next_due_ms(self.now)
            self.pass_time(max(min(due if due is not None else 1000, 2_000), 1))
        raise Violation(f"these never end: {self._left()}")

    def _left(self) -> str:
        """How many are open, and some of them: those that run first."""
        left = sorted(
            (t for t in self.state.tasks.values() if t.status not in ENDED), key=lambda t: t.status not in HELD
        )
        return f"{len(left)} tasks, such as {[(t.id, t.status, t.parent_id, t.kind) for t in left[:3]]}"


C = TypeVar("C", bound=Crowd)


def live(seed: int, steps: int = STEPS, kind: type[C] = Crowd) -> C:  # type: ignore[assignment]
    crowd = kind(seed)
    for _ in range(steps):
        crowd.step()
    crowd.drain()
    check_invariants(crowd.state)
    return crowd
