"""The people: they submit, cancel, retry, skip, review, change, and remember what they were told.

An answer can fail to come (the hub died, or it got lost on the way). With a key a submission is then repeated until
it is answered; without one nobody knows, and nobody counts on it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import json
from msgspec.structs import replace

from taskyard.core.commands import (
    Archive,
    Arrival,
    CancelTask,
    ChangeTask,
    Command,
    Draft,
    ImportTasks,
    RetryTask,
    ReviewTask,
    SkipTask,
    SubmitTasks,
)
from taskyard.core.effects import Answer, Done, Imported, Refused, Submitted
from taskyard.core.task import Attempt, Kind, Needs, Terms
from taskyard.core.yard_commands import CreateUser
from taskyard.vocabulary import (
    HOOK_KEY_PREFIX,
    AttemptStatus,
    Backoff,
    DependsPolicy,
    Level,
    LostPolicy,
    Refusal,
    Status,
    Verdict,
)
from tests.simulation.history import Acked, Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

MODELS = ("llama", "qwen")
"""Each with a queue of its own: one that cools down, if need be for an hour by a clock set back, does not stop all."""
TYPES = ("general", "general", "code")
"""Each as often as it is named."""
OPEN_MAX = 40
ACTS_PER_IMPORT = 40
RECENT = 30
Answered = Callable[[Answer | None], None]

LIMITS = (Refusal.TOO_MANY_PENDING, Refusal.RATE_LIMITED, Refusal.BACKPRESSURE)
"""Too much came in: nothing is wrong with it, and who is told when comes again then."""


class Person:
    def __init__(self, world: "World", user_id: str) -> None:
        self.world = world
        self.clock = world.clock
        self.user_id = user_id
        self.own: list[str] = []
        """Tasks whose creation was acknowledged, oldest first."""
        self.keys: dict[str, str] = {}
        """Those of acknowledged tasks, with what each was made of."""
        self.key_of: dict[str, str] = {}
        """By task."""
        self.is_done = False
        self._made = 0
        self._acts = 0
        self.is_known = False

    def arrive(self) -> None:
        """Until the hub knows this user there is nothing to do."""
        self._ask(CreateUser(self.user_id, self.user_id, "root"), self._arrived)

    def _arrived(self, answer: Answer | None) -> None:
        if answer is None:
            self.clock.later(1_000, self.arrive)
        else:
            self.is_known = True
            self.act()

    def act(self) -> None:
        """One thing, then a while of nothing."""
        if self.is_done:
            return
        self._acts += 1
        if self._acts % ACTS_PER_IMPORT == 0:
            self._bring(self._arrivals())
        dice = self.clock.rng.random()
        if dice < 0.6 and self._open() < OPEN_MAX:
            self._submit()
        elif dice < 0.95 and self.own:
            self._meddle()
        elif dice >= 0.95:
            wall = self.world.hub.now.wall
            self._ask(Archive(wall - self.clock.between(0, 20_000), wall - 60_000))
        self.clock.later(20 + self.clock.about(self.world.act_ms), self.act)

    def _open(self) -> int:
        state = self.world.history.state
        return len(state.tasks) if state is not None else 0

    # Submitting

    def _submit(self) -> None:
        if self.keys and self.clock.happens(0.2):
            key = self.clock.rng.choice(list(self.keys))
            self._offer([self._draft(key=key, digest=self.keys[key])])
            return
        size = self.clock.rng.choice((1, 1, 1, 2, 4))
        drafts: list[Draft] = []
        for index in range(size):
            depends = [f"n{other}" for other in range(index) if self.clock.happens(0.5)]
            drafts.append(self._draft(name=f"n{index}", depends_on=(*depends, *self._old_ones())))
        if self.clock.happens(0.5):
            for draft in drafts:
                self._made += 1
                # Every third as a webhook's delivery has it, which outlives whatever becomes of its task.
                prefix = HOOK_KEY_PREFIX if self._made % 3 == 0 else ""
                draft.key, draft.digest = f"{prefix}k{self._made}", f"digest-{self._made}"
        self._offer(drafts)

    def _old_ones(self) -> list[str]:
        if not self.own or self.clock.happens(0.7):
            return []
        pool = self.own if self.clock.happens(0.5) else self.own[-RECENT:]
        return [self.clock.rng.choice(pool)]

    def _draft(self, **fields: object) -> Draft:
        rng, wall = self.clock.rng, self.world.hub.now.wall
        type, model = rng.choice(TYPES), rng.choice((None, *MODELS))
        needs = Needs(type, model, cpu_intensive=rng.random() < 0.1)
        return Draft(
            id="",
            kind=Kind(needs),
            terms=self._terms(),
            body=b"",
            level=rng.choice((None, None, Level.CRITICAL, Level.HIGH, Level.LOW)),
            deadline=wall + self.clock.between(5_000, 120_000) if rng.random() < 0.06 else None,
            sla=wall + self.clock.between(1_000, 60_000) if rng.random() < 0.05 else None,
            scheduled_for=wall + self.clock.between(100, 30_000) if rng.random() < 0.08 else None,
            **fields,  # type: ignore[arg-type]
        )

    def _terms(self) -> Terms:
        rng = self.clock.rng
        return Terms(
            timeout_ms=self.clock.between(5_000, 60_000),
            max_attempts=self.clock.between(1, 3),
            retry_delay_ms=self.clock.between(50, 4_000),
            backoff=rng.choice((Backoff.LINEAR, Backoff.EXPONENTIAL)),
            decision_report=rng.random() < 0.1,
            on_lost=LostPolicy.FAIL if rng.random() < 0.08 else LostPolicy.REQUEUE,
            on_depends_fail=rng.choice(tuple(DependsPolicy)),
            exclusive=rng.choice(("workspace", "browser")) if rng.random() < 0.2 else None,
            estimated_ms=self.clock.between(500, 20_000),
        )

    def _offer(self, drafts: list[Draft]) -> None:
        """Each try is a new request: the gateway mints new ids and the bodies carry them."""
        ids = [self.world.mint() for _ in drafts]
        made = [replace(d, id=i, body=body_of(i, d.terms, d.kind)) for d, i in zip(drafts, ids, strict=True)]
        self._ask(SubmitTasks(self.user_id, made), lambda answer: self._offered(made, answer))

    def _offered(self, drafts: list[Draft], answer: Answer | None) -> None:
        if isinstance(answer, Submitted):
            for draft, task_id in zip(drafts, answer.ids, strict=True):
                self.world.acknowledged(task_id, draft, Acked(self.user_id, draft.key, draft.digest))
                self.own.append(task_id)
                if draft.key is not None and draft.digest is not None:
                    self.keys[draft.key] = draft.digest
                    self.key_of[task_id] = draft.key
            if self.clock.happens(0.1):
                # On second thoughts: it may be on its way to a daemon this very moment.
                self.clock.later(self.clock.between(0, 20), self.cancel, self.own[-1])
        elif answer is None and drafts[0].key is not None:
            self.clock.later(200 + self.clock.about(2_000), self._offer, drafts)
        elif isinstance(answer, Refused) and answer.code in LIMITS:
            if answer.retry_after_ms is not None:
                self.clock.later(answer.retry_after_ms, self._offer, drafts)
        elif isinstance(answer, Refused):
            self._complain(answer)

    def _complain(self, refused: Refused) -> None:
        """Dependencies are only ever named that were acknowledged: they cannot be unknown."""
        if refused.code not in (Refusal.INVALID_INPUT, Refusal.IDEMPOTENCY_KEY_REUSED):
            raise Violation(f"a submission that names only acknowledged tasks was refused: {refused}")

    # Importing

    def _arrivals(self) -> list[Arrival]:
        """One that is done, one that was left out, and two that wait for them, of which one was tried already."""
        done, out, ready, stuck = (self.world.mint() for _ in range(4))
        wall = self.world.hub.now.wall
        tried = Attempt(1, "elsewhere", "elsewhere", "imported", wall, status=AttemptStatus.FAILED)
        succeeded = replace(tried, status=AttemptStatus.SUCCESS)
        return [
            _arrival(stuck, Status.WAITING, wall, depends_on=(out, ready)),
            _arrival(ready, Status.RUNNING, wall, attempts=[tried], depends_on=(done,)),
            _arrival(done, Status.COMPLETED, wall, attempts=[succeeded]),
            _arrival(out, Status.SKIPPED, wall),
        ]

    def _bring(self, arrivals: list[Arrival], *, was_answered: bool = False) -> None:
        """Unlike a submission it can always be repeated: it is known by its ids."""
        copies = [
            replace(one, draft=replace(one.draft), attempts=[replace(a) for a in one.attempts]) for one in arrivals
        ]
        command = ImportTasks(self.user_id, "elsewhere", copies, self.user_id)
        self._ask(command, lambda answer: self._brought(arrivals, answer, was_answered=was_answered))

    def _brought(self, arrivals: list[Arrival], answer: Answer | None, *, was_answered: bool) -> None:
        if isinstance(answer, Imported):
            if was_answered and not all(answer.there):
                raise Violation(f"an import that was acknowledged was not recognised: {answer}")
            for one in arrivals:
                self.world.acknowledged(one.draft.id, one.draft, Acked(self.user_id, None, None))
            if not was_answered:
                self.own += [one.draft.id for one in arrivals]
                self.clock.later(self.clock.about(20_000), lambda: self._bring(arrivals, was_answered=True))
        elif answer is None:
            self.clock.later(200 + self.clock.about(2_000), lambda: self._bring(arrivals, was_answered=was_answered))
        elif not isinstance(answer, Refused) or answer.code not in LIMITS:
            raise Violation(f"an import of what is whole in itself was refused: {answer}")

    # Meddling

    def _meddle(self) -> None:
        rng = self.clock.rng
        task_id = rng.choice(self.own[-RECENT:] if rng.random() < 0.85 else self.own)
        self._meddle_with(task_id)
        if rng.random() < 0.2:
            # Two windows are open, or two minds.
            self.clock.later(self.clock.between(0, 30), self._meddle_with, task_id)

    def _meddle_with(self, task_id: str) -> None:
        rng, wall = self.clock.rng, self.world.hub.now.wall
        dice = rng.random()
        if dice < 0.35:
            self.cancel(task_id)
        elif dice < 0.6:
            self._ask(RetryTask(self.user_id, task_id))
        elif dice < 0.7:
            self._skip(task_id)
        elif dice < 0.85:
            self._review(task_id)
        elif dice < 0.93:
            self._ask(ChangeTask(self.user_id, task_id, level=rng.choice(tuple(Level))))
        else:
            at = wall + self.clock.between(-1_000, 20_000)
            self._ask(ChangeTask(self.user_id, task_id, scheduled_for=at))

    def cancel(self, task_id: str) -> None:
        self.world.history.cancels.setdefault(task_id, False)
        self._ask(CancelTask(self.user_id, task_id), lambda answer: self._cancelled(task_id, answer))

    def _review(self, task_id: str) -> None:
        verdict = self.clock.rng.choice(tuple(Verdict))
        until = self.world.hub.now.wall + self.clock.between(100, 10_000)
        if verdict is Verdict.DISCARD:
            self.world.history.cancels.setdefault(task_id, False)
        self._ask(ReviewTask(self.user_id, task_id, verdict, "so", self.user_id, until=until, to="boss"))

    def _skip(self, task_id: str) -> None:
        def skipped(answer: Answer | None) -> None:
            if isinstance(answer, Done) and self.clock.happens(0.3):
                self.clock.later(self.clock.about(10_000), self._repeat, task_id)

        self._ask(SkipTask(self.user_id, task_id), skipped)

    def _cancelled(self, task_id: str, answer: Answer | None) -> None:
        if isinstance(answer, Done):
            task = self.world.history.durable[task_id]
            if task.status is not Status.CANCELLED and task.cancel_requested_at is None:
                raise Violation(f"{task_id}: its cancellation was acknowledged and is not on disk")
            self.world.history.cancels[task_id] = True
            if self.clock.happens(0.3):
                self.clock.later(self.clock.about(10_000), self._repeat, task_id)

    def _repeat(self, task_id: str) -> None:
        """A request that was on its way all the time arrives after all."""
        key = self.key_of.get(task_id)
        if key is not None and not self.is_done:
            self._offer([self._draft(key=key, digest=self.keys[key])])

    def _ask(self, command: Command, then: Answered | None = None) -> None:
        self.world.ask(command, then or _nothing)


def _arrival(
    task_id: str, status: Status, wall: int, *, attempts: list[Attempt] | None = None, **fields: object
) -> Arrival:
    terms = Terms(max_attempts=3)
    draft = Draft(task_id, Kind(), terms, body_of(task_id, terms, Kind()), **fields)  # type: ignore[arg-type]
    return Arrival(draft, status, wall, attempts=attempts or [])


def body_of(task_id: str, terms: Terms, kind: Kind) -> bytes:
    """What the daemon will be sent: its input is its own id, so that a mix-up shows."""
    return json.encode({"type": kind.needs.type, "input": task_id, "execution": {"exclusive": terms.exclusive}})


def _nothing(answer: Answer | None) -> None:
    """Whatever it says."""
