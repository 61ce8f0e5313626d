"""One life: a hub, its daemons, its users, and what befalls them. The seed decides everything.

A life has two halves. In the first, faults strike and the checkers look after every step. Then the world heals, and
everything must come to an end within a bounded time: a yard that does nothing would keep every promise of the
first half.
"""

from collections.abc import Callable

from taskyard.core.changes import Batch
from taskyard.core.commands import Command, Draft
from taskyard.core.effects import Answer
from taskyard.core.settings import Breakers, Lease, Queue, Settings, Suspects
from taskyard.core.task import Task
from taskyard.vocabulary import ENDED, HOOK_KEY_PREFIX, EventName, Status
from tests.simulation import checkers, mirror
from tests.simulation.clockwork import Clockwork
from tests.simulation.faults import Faults
from tests.simulation.fleet import GoodDaemon
from tests.simulation.forgetters import Forgetters
from tests.simulation.history import Acked, History, Violation
from tests.simulation.hostile import HostileDaemon
from tests.simulation.network import End, Wire
from tests.simulation.notices import Notices
from tests.simulation.people import MODELS, TYPES, Person
from tests.simulation.shell import WALL_OFFSET, Hub
from tests.simulation.timetables import Timetables

USERS = ("ann", "bob")
QUIET_EVERY = 150
"""Steps between looks for a quiet point to compare memory with disk at."""
BUSY_MS = 600
LONG_MS = 8_000
LONG_ODDS = 0.2
"""So much of the work takes long in every life: where all of it is short, faults would find nothing under way."""
HEALED_MS_MAX = 20 * 60_000
"""How long it may take until everything has ended, once nothing more befalls it: the longest of a thousand take six
minutes."""
JUMPED_MS_MAX = 3 * 3_600_000
"""The same where the hub's calendar was set back: what was to begin by it waits until that instant comes again."""
HEALED_STEPS_MAX = 150_000
DAY_MS = 24 * 3_600_000


class World:
    def __init__(self, seed: int, faults: Faults | None = None) -> None:
        self.seed = seed
        self.clock = clock = Clockwork(seed)
        self.faults = faults or Faults.swarm(clock.rng)
        self.history = History(clock)
        self.notices = Notices(self)
        self.timetables = Timetables(self)
        self.history.on = {
            **checkers.MOMENTS,
            "committed": (*checkers.COMMITTED, self._follow, self.notices.committed, self.timetables.committed),
        }
        self.work_ms = clock.rng.choice((300, 2_000, LONG_MS))
        self.act_ms = clock.rng.choice((200, 600, 1_500))
        queues = {name: Queue(models=(name,), max_concurrent=3) for name in MODELS}
        breakers = Breakers(failure_threshold=clock.rng.choice((2, 3, 5)), half_open_after=5.0, cooldown=20.0)
        settings = Settings(
            lease=Lease(), suspects=Suspects(hold_after_s=20), queues=queues, cascade_rows_max=2, breakers=breakers
        )
        self.hub = Hub(clock, self.history, self.faults, settings)
        self.people = [Person(self, user_id) for user_id in USERS]
        self.daemons = self._good_daemons()
        self.daemons[-1].ephemeral = self.faults.ephemeral
        self.forgetters = Forgetters(self)
        self.liars = [HostileDaemon(self, f"liar{n}", USERS[n % 2]) for n in range(self.faults.hostile)]
        self.is_healed = False
        self._ends_within_ms = HEALED_MS_MAX
        self.sudden: dict[str, bool] = {}
        """Tasks that daemons do not survive; True: not even their first step."""
        self._out: dict[str, int] = {}
        """Types of work that fail, until when."""
        self._minted = 0
        self._wires: dict[int, Wire] = {}
        self._sessions = 0
        self._asked = 0

    def _good_daemons(self) -> list[GoodDaemon]:
        rng = self.clock.rng
        first = GoodDaemon(self, "shared", USERS[0], slots=rng.randint(2, 5), shared=True, types=())
        others = [
            GoodDaemon(
                self,
                f"own{number}",
                rng.choice(USERS),
                slots=rng.randint(1, 4),
                shared=rng.random() < 0.3,
                types=rng.choice(((), ("general",), ("code", "general"))),
            )
            for number in range(rng.randint(1, 3))
        ]
        return [first, *others]

    def mint(self) -> str:
        self._minted += 1
        return f"t{self._minted:06d}"

    def work_takes_ms(self) -> int:
        return self.clock.about(LONG_MS if self.clock.happens(LONG_ODDS) else self.work_ms)

    # Between the parts

    def dial(self, daemon: End, user_id: str) -> Wire | None:
        hub, clock = self.hub, self.clock
        is_known = any(person.user_id == user_id and person.is_known for person in self.people)
        if not hub.is_up or hub.is_shut or not is_known or clock.happens(self.faults.dial_fails):
            return None
        self._sessions += 1
        delay_ms = 200 if self.faults.slow_network and clock.happens(0.3) else 5
        wire = Wire(clock, self._sessions, hub, daemon, delay_ms=delay_ms)
        self._wires = {n: w for n, w in self._wires.items() if w.is_open_at["hub"] or w.is_open_at["daemon"]}
        self._wires[wire.number] = wire
        hub.accept(wire, user_id)
        return wire

    def ask(self, command: Command, then: Callable[[Answer | None], None]) -> None:
        """A person's request; `then` hears the answer, or None when nobody knows."""
        self._asked += 1
        number = self._asked
        command.reply_to = number  # type: ignore[union-attr]
        if self.clock.happens(self.faults.answer_lost):
            self.history.answers[number] = lambda _: then(None)
        else:
            self.history.answers[number] = then
        if not self.hub.tell(command):
            self.history.answer(number, None)

    def acknowledged(self, task_id: str, draft: Draft, acked: Acked) -> None:
        """A client was told that this task is there; with a key, always the same one while it lives."""
        history = self.history
        if task_id not in history.durable:
            raise Violation(f"{task_id} was acknowledged and is not on disk")
        if acked.key is not None:
            self._same_as_before(task_id, acked)
        history.acked.setdefault(task_id, acked)

    def _same_as_before(self, task_id: str, acked: Acked) -> None:
        for other_id, other in self.history.acked.items():
            if other_id != task_id and (other.user_id, other.key) == (acked.user_id, acked.key):
                task = self.history.durable[other_id]
                is_archived = other_id in self.hub.store._disk.archive
                if self._is_named_by(task) and not is_archived:
                    raise Violation(f"key {acked.key}: {other_id} ({task.status}) and {task_id} were made of it")

    def _is_named_by(self, task: Task) -> bool:
        """Whether its key names this task: for a day also after it was cancelled or skipped."""
        if (task.key or "").startswith(HOOK_KEY_PREFIX):
            return True
        if task.status in (Status.CANCELLED, Status.SKIPPED):
            return self.hub.now.wall - (task.completed_at or task.created_at) < DAY_MS
        return task.status is not Status.STALE

    def _follow(self, history: History, batch: Batch) -> None:
        """People follow the events, and some change their mind the moment a task goes out."""
        sent = [e for e in batch.events if e.name is EventName.TASK_SCHEDULED and e.task_id in history.acked]
        for event in sent if not self.is_healed else ():
            if self.clock.happens(0.06):
                person = next(p for p in self.people if p.user_id == event.user_id)
                self.clock.later(self.clock.between(0, 10), person.cancel, event.task_id)

    # Faults

    def _plan(self, mean_ms: int, fault: Callable[[], None]) -> None:
        """In a busy yard a life is short: its troubles come closer together."""
        if mean_ms:
            mean_ms = mean_ms * min(self.act_ms, BUSY_MS) // BUSY_MS
            self.clock.later(self.clock.about(mean_ms), self._strike, mean_ms, fault)

    def _strike(self, mean_ms: int, fault: Callable[[], None]) -> None:
        if not self.is_healed:
            self.history.struck(fault.__name__.strip("_"))
            fault()
            self.clock.later(self.clock.about(mean_ms), self._strike, mean_ms, fault)

    def _crash_hub(self) -> None:
        self.hub.crash()

    def _pause_hub(self) -> None:
        self.hub.pause(self.clock.between(100, 60_000))

    def _jump_wall(self) -> None:
        self.history.jumped_at = self.history.jumped_at or self.clock.now
        self.hub.wall_offset += self.clock.rng.choice((-3_600_000, 3_600_000, -5_000, 5_000))

    def _cut_wire(self) -> None:
        wires = [wire for wire in self._wires.values() if wire.is_open_at["daemon"]]
        if not wires:
            return
        wire = self.clock.rng.choice(wires)
        if self.clock.happens(self.faults.half_open):
            wire.go_half_open()
        elif self.clock.happens(self.faults.one_way):
            wire.lose_one_way()
        else:
            wire.cut()

    def _crash_daemon(self) -> None:
        self.clock.rng.choice(self.daemons).crash()

    def _put_daemon_to_sleep(self) -> None:
        self.clock.rng.choice(self.daemons).sleep(self.clock.between(1_000, 90_000))

    def _drain_daemon(self) -> None:
        self.clock.rng.choice(self.daemons).drain()

    def _put_a_type_out_of_order(self) -> None:
        self._out[self.clock.rng.choice(TYPES)] = self.clock.now + self.clock.between(2_000, 15_000)

    def is_out(self, type: str) -> bool:
        return not self.is_healed and self.clock.now < self._out.get(type, 0)

    # A life

    def begin(self) -> None:
        faults = self.faults
        self.hub.boot()
        for person in self.people:
            person.arrive()
        for daemon in self.daemons:
            daemon.boot()
        for liar in self.liars:
            liar.boot()
        self.notices.begin()
        self.timetables.begin()
        self.forgetters.begin()
        self._plan(faults.hub_crash_ms, self._crash_hub)
        self._plan(faults.hub_pause_ms, self._pause_hub)
        self._plan(faults.wall_jump_ms, self._jump_wall)
        self._plan(faults.cut_ms, self._cut_wire)
        self._plan(faults.daemon_crash_ms, self._crash_daemon)
        self._plan(faults.daemon_sleep_ms, self._put_daemon_to_sleep)
        self._plan(faults.daemon_drain_ms, self._drain_daemon)
        self._plan(faults.outage_ms, self._put_a_type_out_of_order)

    def suffer(self, steps: int) -> None:
        """The first half."""
        end = self.clock.steps + steps
        while self.clock.steps < end and self.clock.step():
            if self.clock.steps % QUIET_EVERY == 0:
                self.look_if_quiet()

    def heal(self) -> None:
        """No more faults, no more wishes; liars are shown out, and a clock that was behind is set right."""
        self.is_healed = True
        self.hub.faults = self.faults = Faults()
        self._ends_within_ms = JUMPED_MS_MAX if self.history.jumped_at else HEALED_MS_MAX
        self.history.jumped_at = self.history.jumped_at or self.clock.now
        self.hub.wall_offset = max(self.hub.wall_offset, WALL_OFFSET)
        for person in self.people:
            person.is_done = True
        for liar in self.liars:
            liar.leave()

    def recover(self) -> None:
        """The second half: run until nothing is left to do, or fail."""
        start_ms, start = self.clock.now, self.clock.steps
        while not self.is_drained():
            is_late = self.clock.now - start_ms > self._ends_within_ms or self.clock.steps - start > HEALED_STEPS_MAX
            if is_late or not self.clock.step():
                raise Violation(f"not drained {self.clock.now - start_ms} ms after the last fault: {self.unfinished()}")
            if self.clock.steps % QUIET_EVERY == 0:
                self.look_if_quiet()
        self.look_if_quiet()
        self.history.check("drained", self.hub.core.state)

    def is_drained(self) -> bool:
        if self.history.running or not self._is_quiet():
            return False
        return not self.unfinished()

    def unfinished(self) -> list[str]:
        """What still has to come to an end, and which daemon still owes or is not back."""
        tasks = self.hub.core.state.tasks.values() if self.hub.is_up else ()
        left = [f"{t.id} {t.status}" for t in tasks if t.status not in ENDED and t.status is not Status.BLOCKED]
        for daemon in self.daemons:
            if not daemon.is_alive or not daemon.machine.welcomed or daemon.machine.ledger.ended or daemon.work:
                left.append(f"{daemon.name} is not back or owes results")
        return [*left, *(self.notices.left(self.hub.core.state) if self.hub.is_up else ())]

    def _is_quiet(self) -> bool:
        hub = self.hub
        if not hub.is_up or hub.is_shut or hub.paused_from is not None or not hub.committer.idle:
            return False
        state = hub.core.state
        is_due = hub.core.next_due_ms(hub.now) == 0
        return not (is_due or hub.has_unwritten() or state.ledger.touched)

    def look_if_quiet(self) -> None:
        if self._is_quiet():
            mirror.compare(self.hub)
            self.history.check("quiet", self.hub.core.state)
