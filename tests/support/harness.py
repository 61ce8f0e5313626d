"""A core with a fake clock, fake dice and fake daemons, spoken to in the domain's words.

Every step also checks the invariants of `core/README.md` from scratch, so that a test says only what is
special about it. Steps are cut into batches at once and kept, so that a test can look at what would be on disk.
"""

import random
from collections.abc import Sequence
from copy import copy
from typing import TypeVar

from msgspec.json import Decoder

from taskyard.core.changes import Batch, Event, Kept, UserRecord
from taskyard.core.commands import (
    CancelTask,
    ChangeTask,
    Command,
    CompleteTask,
    Draft,
    FailTask,
    Known,
    RetryTask,
    ReviewTask,
    SkipTask,
    SubmitTasks,
    Tick,
)
from taskyard.core.daemon_commands import (
    AcceptTask,
    Beat,
    ConfirmCancel,
    DrainDaemon,
    Held,
    JoinDaemon,
    LeaveDaemon,
    RejectTask,
    StartTask,
)
from taskyard.core.effects import Answer, CancelWork, CloseSession, Effect, Execute, Reply, Submitted, Welcome
from taskyard.core.hub import Core
from taskyard.core.recovery import restore
from taskyard.core.settings import Settings
from taskyard.core.state import Daemon, Now, State, User
from taskyard.core.task import Attempt, Failure, Kind, Needs, Task, Terms
from taskyard.vocabulary import (
    AttemptStatus,
    ErrorCode,
    EventName,
    InventoryState,
    Level,
    ResultStatus,
    SourceType,
    Status,
    Verdict,
)
from tests.support.invariants import check_invariants
from tests.support.room import ROOM, without_rates

E = TypeVar("E")
_decode = Decoder(Task).decode
START_WALL = 1_800_000_000_000
START_MONO = 50_000


def a_draft(
    *,
    type: str = "general",
    model: str | None = None,
    capabilities: tuple[str, ...] = (),
    target: str | None = None,
    excluded: tuple[str, ...] = (),
    memory_mb: int = 0,
    cpu_intensive: bool = False,
    source: SourceType = SourceType.USER,
    terms: Terms | None = None,
    **fields: object,
) -> Draft:
    """A submission; `id` is filled in by the harness unless given."""
    needs = Needs(type, model, capabilities, target, excluded, memory_mb, cpu_intensive)
    return Draft(
        id=str(fields.pop("id", "")),
        kind=Kind(needs, source=source),
        terms=terms or Terms(),
        body=b"{}",
        **fields,  # type: ignore[arg-type]
    )


class HubHarness:
    def __init__(
        self, settings: Settings | None = None, *, users: Sequence[str] = ("ann",), is_metered: bool = False
    ) -> None:
        """`is_metered`: rates and pending tasks are limited as in the settings, else not at all."""
        settings = settings or Settings()
        settings = settings if is_metered else without_rates(settings)
        self.state = State(settings, cluster_id="c1", epoch=1, seq=0)
        self.core = Core(self.state, random.Random(7))
        self.now = Now(START_WALL, START_MONO)
        self.effects: list[Effect] = []
        self.batches: list[Batch] = []
        self.bodies: dict[str, bytes] = {}
        self._ids = 0
        self._sessions = 0
        for name in users:
            granted = {} if is_metered else dict(ROOM)
            self.state.users[name] = User(UserRecord(name, name, self.now.wall, overrides=granted), 0)
            self.state.names[name] = name

    # Steps

    def step(self, command: Command) -> list[Effect]:
        """Decide one command, start what may start, cut the batch, check everything."""
        turn = self.core.turn(self.now)
        self.core.decide(turn, command)
        self.core.dispatch(turn)
        while self.state.echoes:
            self.core.dispatch(turn)
        effects = turn.effects
        batch = self.core.cut(batch_id=f"b{len(self.batches)}", now=self.now)
        self.batches.append(batch)
        self.core.forget(through_seq=batch.seq - 1)
        self.effects += effects
        check_invariants(self.state)
        return effects

    def ask(self, command: Command) -> Answer:
        command.reply_to = 99  # type: ignore[union-attr]
        replies = [e for e in self.step(command) if isinstance(e, Reply)]
        assert len(replies) == 1, f"one answer, not {replies}"
        return replies[0].answer

    def advance(self, *, ms: int = 0, s: float = 0) -> list[Effect]:
        """Let time pass; timers act at their instants, in order."""
        end = Now(self.now.wall + ms + round(s * 1000), self.now.mono + ms + round(s * 1000))
        effects: list[Effect] = []
        while (wait := self.core.next_due_ms(self.now)) is not None and self.now.mono + wait <= end.mono:
            self.now = Now(self.now.wall + wait, self.now.mono + wait)
            effects += self.step(Tick())
        self.now = end
        return effects + self.step(Tick())

    # People

    def submit(self, *drafts: Draft, user: str = "ann", **fields: object) -> Task:
        """Submit (one plain task unless told otherwise) and return the last one."""
        return self.submit_all(*(drafts or (a_draft(**fields),)), user=user)[-1]  # type: ignore[arg-type]

    def submit_all(self, *drafts: Draft, user: str = "ann", **options: object) -> list[Task]:
        answer = self.offer(*drafts, user=user, **options)
        assert isinstance(answer, Submitted), answer
        return [self.state.tasks[task_id] for task_id in answer.ids]

    def offer(self, *drafts: Draft, user: str = "ann", **options: object) -> Answer:
        for draft in drafts:
            self._ids += 1
            draft.id = draft.id or f"task-{self._ids:06d}"
        return self.ask(SubmitTasks(user, list(drafts), **options))  # type: ignore[arg-type]

    def cancel(self, task: Task, **fields: object) -> Answer:
        return self.ask(CancelTask(task.user_id, task.id, known=self.known(task), **fields))  # type: ignore[arg-type]

    def skip(self, task: Task, **fields: object) -> Answer:
        return self.ask(SkipTask(task.user_id, task.id, known=self.known(task), **fields))  # type: ignore[arg-type]

    def retry(self, task: Task, **fields: object) -> Answer:
        fields.setdefault("known", self.known(task))
        return self.ask(RetryTask(task.user_id, task.id, **fields))  # type: ignore[arg-type]

    def change(self, task: Task, **fields: object) -> Answer:
        return self.ask(ChangeTask(task.user_id, task.id, known=self.known(task), **fields))  # type: ignore[arg-type]

    def review(self, task: Task, verdict: Verdict, **fields: object) -> Answer:
        fields.setdefault("known", self.known(task))
        return self.ask(ReviewTask(task.user_id, task.id, verdict, "so it is", "ann", **fields))  # type: ignore[arg-type]

    # Daemons

    def daemon(
        self,
        name: str = "mac",
        *,
        user: str = "ann",
        slots: int = 5,
        boot: str = "boot-1",
        inventory: Sequence[Held] = (),
        **fields: object,
    ) -> Daemon:
        """Connect (or reconnect) a daemon."""
        self._sessions += 1
        self.step(
            JoinDaemon(
                self._sessions,
                user,
                f"d-{name}",
                boot,
                name,
                slots=slots,
                inventory=inventory,
                **fields,  # type: ignore[arg-type]
            )
        )
        return self.state.daemons[f"d-{name}"]

    def overdue_while_away(self) -> Task:
        """A last try that may run a second, and whose daemon has been away for two."""
        daemon = self.daemon()
        task = self.run(self.submit(terms=Terms(timeout_ms=1000, max_attempts=1)))
        self.disconnect(daemon)
        self.advance(s=2)
        return task

    def disconnect(self, daemon: Daemon) -> list[Effect]:
        return self.step(LeaveDaemon(daemon.session, daemon.id))

    def drain(self, daemon: Daemon) -> list[Effect]:
        return self.step(DrainDaemon(daemon.id, daemon.session))

    def beat(self, daemon: Daemon, *running: Task, **fields: object) -> list[Effect]:
        held = [Held(t.id, attempt_of(t).number) for t in running]
        return self.step(Beat(daemon.session, daemon.id, running=held, **fields))  # type: ignore[arg-type]

    def live(self, *, s: float, step_ms: int = 5000, starting: bool = False) -> list[Effect]:
        """Let time pass while every daemon that is connected sends its heartbeats, and starts what it is given."""
        effects, left_ms = [], round(s * 1000)
        while left_ms > 0:
            effects += self.advance(ms=min(left_ms, step_ms))
            left_ms -= step_ms
            for daemon in self.state.daemons.values():
                for task in list(daemon.holding.values()) if starting else ():
                    self.run(task)
                if daemon.session:
                    effects += self.beat(daemon, *daemon.holding.values())
        return effects

    def await_offer(self, task: Task, *, within_s: int = 1000) -> int:
        """Let time pass until the task is given to a daemon; how many seconds that took."""
        for waited in range(within_s):
            if task.status is Status.SCHEDULED:
                return waited
            self.live(s=1)
        raise AssertionError(f"{task.ref} is still {task.status}")

    def run(self, task: Task) -> Task:
        """Its daemon accepts and starts it."""
        self.accept(task)
        self.start(task)
        return task

    def accept(self, task: Task, *, attempt: int | None = None) -> list[Effect]:
        return self.step(AcceptTask(*self._speaker(task), task.id, attempt or attempt_of(task).number))

    def start(self, task: Task, *, attempt: int | None = None) -> list[Effect]:
        return self.step(StartTask(*self._speaker(task), task.id, attempt or attempt_of(task).number))

    def complete(self, task: Task, *, attempt: int | None = None, **fields: object) -> list[Effect]:
        session, daemon_id = self._speaker(task, attempt)
        number = attempt or attempt_of(task).number
        fields.setdefault("outcome", b'{"result":"done"}')
        return self.step(CompleteTask(daemon_id, task.id, number, session, **fields))  # type: ignore[arg-type]

    def fail(
        self, task: Task, *, code: str = "BOOM", message: str = "it broke", attempt: int | None = None, **fields: object
    ) -> list[Effect]:
        session, daemon_id = self._speaker(task, attempt)
        error = Failure(code, message, fields.pop("retryable", None))  # type: ignore[arg-type]
        number = attempt or attempt_of(task).number
        return self.step(FailTask(daemon_id, task.id, number, error, session, **fields))  # type: ignore[arg-type]

    def reject(self, task: Task, **fields: object) -> list[Effect]:
        return self.step(RejectTask(*self._speaker(task), task.id, attempt_of(task).number, **fields))  # type: ignore[arg-type]

    def confirm_cancel(self, task: Task, *, attempt: int | None = None) -> list[Effect]:
        session, daemon_id = self._speaker(task, attempt)
        return self.step(ConfirmCancel(daemon_id, task.id, attempt or attempt_of(task).number, session))

    def _speaker(self, task: Task, attempt: int | None = None) -> tuple[int, str]:
        spoken = next(a for a in task.attempts or () if attempt in (None, a.number)) if attempt else attempt_of(task)
        return self.state.daemons[spoken.daemon_id].session or 1, spoken.daemon_id

    # Looking

    def of(self, effects: list[Effect], kind: type[E]) -> list[E]:
        return [e for e in effects if isinstance(e, kind)]

    def sent(self, effects: list[Effect] | None = None) -> list[tuple[str, int]]:
        """(task id, attempt) of every `task.execute` among these effects."""
        return [(e.task_id, e.attempt) for e in self.of(self.effects if effects is None else effects, Execute)]

    def order(self, count: int) -> list[str]:
        """The ids in the order in which one slot serves so many."""
        self.daemon(slots=1)
        served = []
        for _ in range(count):
            task_id = self.sent()[-1][0]
            served.append(task_id)
            self.complete(self.state.tasks[task_id])
        return served

    def events(self, task: Task | None = None) -> list[str]:
        return [e.name for b in self.batches for e in b.events if task is None or e.task_id == task.id]

    def said(self, name: EventName, task: Task | None = None) -> list[Event]:
        """The events of this name, whole."""
        found = [e for b in self.batches for e in b.events if e.name is name]
        return [e for e in found if task is None or e.task_id == task.id]

    def hot(self) -> dict[str, bytes]:
        """The records of open tasks as they would be on disk now."""
        records: dict[str, bytes] = {}
        for batch in self.batches:
            for row in (*batch.created, *batch.changed, *batch.revived):
                records[row.task.id] = row.record
            for row in (*batch.ended, *batch.amended):
                records.pop(row.task.id, None)
        return records

    def kept(self) -> list[Kept]:
        """What the policies have on disk."""
        records: dict[tuple[str, str], Kept] = {}
        for batch in self.batches:
            for each in batch.kept:
                records.pop((each.kind, each.name), None)
                if each.record is not None:
                    records[each.kind, each.name] = each
        return [records[place] for place in sorted(records)]

    def restarted(self) -> "HubHarness":
        """Another hub, started from what this one has on disk, at the same instant."""
        other = HubHarness(self.state.settings, users=())
        other.now = self.now
        other.state = State(self.state.settings, cluster_id="c1", epoch=2, seq=self.state.ledger.seq - 1)
        other.core = Core(other.state, random.Random(7))
        other._ids, other._sessions = self._ids, self._sessions
        restore(
            other.state,
            self.now,
            users=[copy(user.record) for user in self.state.users.values()],
            numbers={user.id: user.number for user in self.state.users.values()},
            keys=list(self.state.api_keys.values()),
            daemons=[copy(daemon.record) for daemon in self.state.daemons.values()],
            tasks=[_decode(record) for record in self.hot().values()],
            log_bytes=dict(self.state.log_bytes),
            kept=self.kept(),
        )
        check_invariants(other.state)
        return other

    def known(self, *tasks: Task) -> Known:
        """What the shell would have looked up for tasks the core has forgotten."""
        return Known(tasks={t.id: t for t in tasks}, asked=dict.fromkeys(t.id for t in tasks))


def attempt_of(task: Task) -> Attempt:
    attempt = task.newest
    assert attempt is not None, f"{task.ref} has no attempt"
    return attempt


__all__ = [
    "AttemptStatus",
    "CancelWork",
    "CloseSession",
    "ErrorCode",
    "EventName",
    "HubHarness",
    "InventoryState",
    "Level",
    "ResultStatus",
    "Status",
    "Verdict",
    "Welcome",
    "a_draft",
    "attempt_of",
]
