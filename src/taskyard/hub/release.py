"""What leaves the hub after a commit: answers, frames, events. In the order of the commits, never before one.

Releases form one line. A release that sends tasks first loads their bodies; those behind it wait, so that nothing
overtakes (a `cancel_task` never passes its `task.execute`). Bodies that came in a moment ago are still in memory
(`Bodies`, bounded); the rest is read in one go. While a commit is written, what will leave with it is read and written
down (`packed`), so that it leaves the moment it may.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from taskyard.core.commands import FailTask
from taskyard.core.effects import (
    Acknowledge,
    AcknowledgeBeat,
    AskProbe,
    CancelWork,
    CloseSession,
    Contradicted,
    Effect,
    Execute,
    Progressed,
    Reply,
    SignalPressure,
    SlowDown,
    Welcome,
)
from taskyard.core.settings import Settings
from taskyard.core.task import Failure, Task
from taskyard.gateway.daemon_positions import sealed_position
from taskyard.gateway.orders import execute_frame
from taskyard.gateway.pressure import shown
from taskyard.hub.tokens import Tokens
from taskyard.store.committer import Release
from taskyard.store.port import Identity, Load, Reader
from taskyard.vocabulary import ErrorCode, Status
from taskyard.wire import frames

BODIES_BYTES_MAX: Final = 32 * 1024 * 1024
# A burst of some hundred thousand small tasks starts without reading one: a drain of them is 5 to 10 % faster for it.
BODY_OVERHEAD_BYTES: Final = 128
# What a body costs beside itself, its place in the table above all. Small ones would otherwise be many too many.
HandedContext = Callable[[Task, int], str]
"""The trace context (`traceparent`) under which an attempt at a task works."""
CLOSE_CODES: Final = {
    "SUPERSEDED": frames.CLOSE_SUPERSEDED,
    "HUB_REWOUND": frames.CLOSE_REWOUND,
    "CLONED_IDENTITY": frames.CLOSE_SUPERSEDED,
    "DAEMON_NOT_FOUND": frames.CLOSE_UNAUTHENTICATED,
}


class Bodies:
    """Bodies of tasks that wait, as many as there is room for: who came first leaves first, and is not read again."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}
        self._bytes = 0

    def keep(self, bodies: dict[str, bytes]) -> None:
        whole = sum(map(len, bodies.values())) + len(bodies) * BODY_OVERHEAD_BYTES
        if self._bytes + whole <= BODIES_BYTES_MAX:
            self._bodies.update(bodies)
            self._bytes += whole
            return
        for task_id, body in bodies.items():
            cost = len(body) + BODY_OVERHEAD_BYTES
            if self._bytes + cost <= BODIES_BYTES_MAX:
                self._bodies[task_id] = body
                self._bytes += cost

    def take(self, task_id: str) -> bytes | None:
        body = self._bodies.pop(task_id, None)
        if body is not None:
            self._bytes -= len(body) + BODY_OVERHEAD_BYTES
        return body

    def drop(self, task_ids: list[str]) -> None:
        held = self._bodies
        for task_id in task_ids:
            if task_id in held:
                self.take(task_id)


class Packed(Struct):
    """What a release lets out, by where it goes."""

    outgoing: dict[int, list[bytes]]
    """Messages to daemons, by session; gone from here when they are sent."""
    closing: list[CloseSession]
    replies: list[Reply]
    progressed: list[Progressed]
    probes: list[AskProbe]
    undeliverable: list[tuple[Execute, str]]
    """Work of which a parent is damaged, with what is: it is not sent."""
    contradicted: list[Contradicted]


class Parcel:
    """A release and the loads of the tasks it sends: what is at hand at once, the rest when it is filled."""

    def __init__(self, release: Release, bodies: Bodies) -> None:
        self.release = release
        self.loads: dict[str, Load] = {}
        self.fetching: asyncio.Future[None] | None = None
        """Set while `fetch` is under way."""
        self.packed: Packed | None = None
        """Set once it is ready to leave; it does not before its commit."""
        self._plain: dict[str, Task] = {}
        """Tasks of which only the body is missing."""
        self._others: list[str] = []
        """Tasks that bring more: what they depended on, a checkpoint."""
        batch = release.batch
        fresh = dict(batch.bodies)
        sent = [effect.task_id for effect in release.effects if isinstance(effect, Execute)]
        if sent:
            self._sort(sent, fresh, bodies)
        # Most were taken when they were sent; what ended otherwise must not hold its place for ever.
        ended = [row.task.id for row in batch.ended]
        bodies.drop(ended)
        if fresh:
            for task_id in ended:
                fresh.pop(task_id, None)
            bodies.keep(fresh)

    def _sort(self, sent: list[str], fresh: dict[str, bytes], bodies: Bodies) -> None:
        batch = self.release.batch
        rows = {row.task.id: row.task for rows in (batch.created, batch.changed, batch.revived) for row in rows}
        for task_id in sent:
            task, body = rows.get(task_id), fresh.pop(task_id, None) or bodies.take(task_id)
            if task is None or task.depends is not None or task.checkpoint:
                self._others.append(task_id)
            elif body is None:
                self._plain[task_id] = task
            else:
                self.loads[task_id] = Load(task, body, None, [])

    @property
    def is_complete(self) -> bool:
        return not self._plain and not self._others

    @property
    def lacks_bodies(self) -> bool:
        return bool(self._plain)

    def fetch(self, reader: Reader) -> None:
        """The bodies that are missing. They never change, so this need not wait for the commit."""
        found = reader.bodies(tuple(self._plain))
        self.loads.update((i, Load(task, found[i], None, [])) for i, task in self._plain.items())
        self._plain = {}

    def fill(self, reader: Reader) -> None:
        """Once committed, on a reading thread: everything that is still missing, in one go."""
        if self._plain:
            self.fetch(reader)
        if self._others:
            self.loads.update(reader.loads(tuple(self._others)))
            self._others = []


def packed(parcel: Parcel, frames: "Frames") -> Packed:
    """All of it is at hand."""
    release, loads, frame_of = parcel.release, parcel.loads, frames.of
    found = Packed({}, [], [], [], [], [], [])
    frames.reach(release)
    outgoing = found.outgoing
    for effect in release.effects:
        # The frequent ones first: this runs per task.
        if isinstance(effect, Execute):
            # One that ended before its body was read (cancelled in a later commit) is not sent.
            damage = damage_of(loads.get(effect.task_id))
            if damage is not None:
                found.undeliverable.append((effect, damage))
            elif effect.task_id in loads:
                outgoing.setdefault(effect.session, []).append(frame_of(effect, release.seq, loads))
        elif isinstance(effect, Reply):
            found.replies.append(effect)
        elif isinstance(effect, Progressed):
            found.progressed.append(effect)
        elif isinstance(effect, AskProbe):
            found.probes.append(effect)
        elif isinstance(effect, Contradicted):
            found.contradicted.append(effect)
        else:
            outgoing.setdefault(effect.session, []).append(frame_of(effect, release.seq, loads))
            if isinstance(effect, CloseSession):
                found.closing.append(effect)
    return found


def damage_of(load: Load | None) -> str | None:
    """What is damaged of the results that a task is to be given, if anything is."""
    if load is None or not load.parents:
        return None
    given = {part.id for part in load.task.depends or () if part.outcome is Status.COMPLETED}
    return next((one.damaged for one in load.parents if one.damaged is not None and one.task.id in given), None)


def failed(sent: Execute, damage: str) -> FailTask:
    """The attempt fails for good, as if its daemon had found out: without the result it would do something else."""
    error = Failure(ErrorCode.DEPENDENCY_DAMAGED, f"It cannot be told what it depends on: {damage}.", retryable=False)
    return FailTask(sent.daemon_id, sent.task_id, sent.attempt, error)


class Frames:
    """Effects as the encoded messages of the daemon protocol."""

    def __init__(
        self, identity: Identity, settings: Settings, tokens: Tokens, handed_context: HandedContext | None = None
    ) -> None:
        self._identity = identity
        self._handed_context = handed_context
        self.settings = settings
        """Those that hold: others are put here when they change."""
        self._tokens = tokens
        self._sealed: tuple[str, str] = ("", "")
        """The batch id that was sealed last, and its seal: most messages of a commit tell the same position."""
        self._batch_id = ""

    def reach(self, release: Release) -> None:
        """From here on messages are of this commit."""
        self._batch_id = release.batch_id

    def _seal(self, seq: int) -> str | None:
        """The position of this commit, as daemons return it; None: its epoch's takeover is not known."""
        if not self._identity.takeover:
            return None
        if self._sealed[0] != self._batch_id or not self._batch_id:
            position = replace(self._identity, seq=seq, batch_id=self._batch_id)
            self._sealed = (self._batch_id, sealed_position(self._tokens.seal, position))
        return self._sealed[1]

    def of(self, effect: Effect, seq: int, loads: dict[str, Load]) -> bytes:
        """The message of an effect that goes to a daemon. The frequent ones first: this runs per task."""
        identity = self._identity
        if isinstance(effect, Execute):
            load, token = loads[effect.task_id], self._tokens.make(effect.task_id, effect.attempt)
            handed = self._handed_context
            context = load.task.traceparent if handed is None else handed(load.task, effect.attempt)
            return execute_frame(load, effect.attempt, effect.timeout_ms, token, traceparent=context)
        if isinstance(effect, Acknowledge):
            place = (identity.cluster_id, identity.epoch, seq, self._seal(seq))
            return frames.encode(frames.Ack(effect.task_id, effect.attempt, *place))
        if isinstance(effect, AcknowledgeBeat):
            return frames.encode(frames.HeartbeatAck(identity.cluster_id, identity.epoch, seq, self._seal(seq)))
        if isinstance(effect, CancelWork):
            grace_s = effect.grace_ms / 1000
            return frames.encode(frames.CancelTask(effect.task_id, effect.attempt, effect.reason, grace_s))
        if isinstance(effect, SlowDown):
            return frames.encode(frames.SlowDown(effect.queue, effect.wait_ms / 1000))
        if isinstance(effect, Welcome):
            return frames.encode(self._welcome(effect, seq))
        if isinstance(effect, SignalPressure):
            return frames.encode(shown(effect.signal))
        assert isinstance(effect, CloseSession), f"{type(effect).__name__} does not go to a daemon"
        return frames.encode(frames.Error(effect.code, effect.message))

    def _welcome(self, effect: Welcome, seq: int) -> frames.Welcome:
        return frames.Welcome(
            protocol=frames.PROTOCOL,
            daemon_id=effect.daemon_id,
            heartbeat_s=effect.lease.heartbeat_s,
            lease_s=effect.lease.lease_s,
            inventory=[
                frames.Judgement(judged.held.task_id, judged.held.attempt, judged.verdict) for judged in effect.verdicts
            ],
            cluster_id=self._identity.cluster_id,
            epoch=self._identity.epoch,
            seq=seq,
            sealed=self._seal(seq),
        )
