"""The hub's loop: gather, decide, commit, release.

Commands are decided the moment they arrive, into the batch being gathered. When the writer is free the batch is cut
and handed to it; while it writes, the next one gathers. So an idle hub commits each command at once, and a busy one
commits many together, without a timer in between. What a commit releases leaves in `Outbox`, in order.

A failed commit makes memory a lie: everything undurable is dropped, its askers get 503, intake closes, the store is
probed until it answers, the state is loaded anew, and every daemon's socket is closed so that it comes back with its
list. A broken store (an I/O error, a corrupt page) stops the process: what failed once must not be believed when
it later succeeds. So does a mistake of our own in the middle of a decision: half of it must never be committed.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import partial
from typing import Final, TypeVar

from msgspec.structs import replace

from taskyard.core.changes import Batch
from taskyard.core.commands import Command, HearEnded, SubmitTasks, Tick
from taskyard.core.effects import Effect
from taskyard.core.hub import Core
from taskyard.core.lookups import Lookup
from taskyard.core.settings import Settings
from taskyard.core.state import Now
from taskyard.gateway.port import RETRY_AFTER_S, Answered, Unavailable
from taskyard.hub.alarm import Alarm
from taskyard.hub.beside import Beside
from taskyard.hub.chores import Chores
from taskyard.hub.clock import read_stopwatch
from taskyard.hub.ids import Mint, mint_secret
from taskyard.hub.inbox import Inbox, has_room
from taskyard.hub.interpreter import settle_again
from taskyard.hub.looks import Looks
from taskyard.hub.observe import Log
from taskyard.hub.outbox import Outbox
from taskyard.hub.readers import Readers
from taskyard.hub.revisit import events_between, newest_id, state_of
from taskyard.store.committer import Committer, Release
from taskyard.store.port import Identity, RecordDamaged, Store, StoreBroken, StoreFenced, StoreUnavailable
from taskyard.store.rewind import Sighting
from taskyard.vocabulary import Refusal

T = TypeVar("T")

COMMANDS_PER_TURN_MAX: Final = 100
# About 1 ms of decisions, then the sockets and the writer get their turn.
PROBE_FIRST_S, PROBE_MAX_S = 0.1, 5.0


class Phase(Enum):
    """Closed: not yet, not now (the store is away), or not any more. Stopping: what was decided is still committed."""

    CLOSED, OPEN, STOPPING, FAILED = range(4)


class Loop:
    """The only writer of its store, the only owner of its core."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        log: Log,
        outbox: Outbox,
        readers: Readers,
        *,
        mint: Mint,
        clock: Callable[[], Now],
    ) -> None:
        self._store = store
        self._settings = settings
        self._log = log
        self._outbox = outbox
        outbox.on_room, outbox.on_undeliverable = self._decide, self.tell
        self._readers = readers
        self._mint = mint
        self._clock = clock
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._phase = Phase.CLOSED
        self._is_retiring = False
        self._inbox = Inbox()
        self._gathered: list[Effect] = []
        self._looks = Looks(readers)
        self._turn_is_due = False
        self._alarm = Alarm(partial(self._decide, is_due=True))
        self._writing: asyncio.Future[None] | None = None
        self.beside = Beside(self.fail)
        """What runs until it ends or the hub does; should it fail, so does the hub."""
        self._chores = Chores(self.beside, self._looks, log, tend=partial(self._write, store.tend))
        self.on_commit: Callable[[Batch, float], None] = lambda batch, took_s: None
        """Called with what the store took, and how long that was."""
        self._began_writing = 0.0
        self.failure: asyncio.Future[None]
        """Set when the process must be stopped by whoever runs the hub."""
        self.deposed: asyncio.Future[None]
        """Done when another hub leads: this loop decides nothing more."""

    async def start(self, *, new_era: bool, seen: Sequence[Sighting], on_open: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self.failure = self._loop.create_future()
        self.deposed = self._loop.create_future()
        self._identity = await self._write(partial(self._store.open, new_era=new_era, seen=seen))
        self._committer = Committer(durable_seq=self._identity.seq, durable_id=self._identity.batch_id)
        on_open()
        await self._reload()

    async def stop(self) -> None:
        """Commit what was decided, let it out, close."""
        self._alarm.cancel()
        if self._phase is Phase.OPEN:
            self._phase = Phase.STOPPING
            await self._finish()
            self._phase = Phase.CLOSED
        await self.beside.close()
        self._outbox.refuse(Refusal.STORE_UNAVAILABLE)
        await self._outbox.close()
        # A reader may wait for a server that says nothing; whoever else lives in this process does not.
        await asyncio.to_thread(self._readers.close)
        await self._write(self._store.close)
        self._writer.shutdown()

    async def retire(self) -> None:
        """Commit what was decided, let it out, and decide nothing more: another hub is to lead."""
        if self._phase is Phase.OPEN:
            self._phase, self._is_retiring = Phase.STOPPING, True
            await self._finish()
            self.depose("it was told to stop")

    async def _finish(self) -> None:
        """What was decided is committed, and leaves."""
        while self._phase is Phase.STOPPING:
            try:
                self._commit()
            except Exception as error:  # noqa: BLE001 - whoever stops us would not close the rest
                self.fail(error)
                return
            if self._writing is not None:
                await asyncio.wait((self._writing,))  # its callback was added first, and has been called by then
            elif self._outbox.backlog:
                await self._outbox.drain()
            else:
                return

    def adopt(self, settings: Settings) -> None:
        """These are in force and committed; a state that is loaded anew has them too."""
        self._settings = settings

    @property
    def is_open(self) -> bool:
        return self._phase is Phase.OPEN

    @property
    def identity(self) -> Identity:
        committer = self._committer
        return replace(self._identity, seq=committer.durable_seq, batch_id=committer.durable_id)

    @property
    def core(self) -> Core:
        """For views and checks; nothing outside this file may change it."""
        return self._core

    async def ask(self, command: Command, request: str = "") -> Answered:
        """The answer, once committed; under the name of `request` it can be looked up afterwards."""
        if not self.is_open:
            raise Unavailable(self._away, RETRY_AFTER_S)
        number, answer = self._outbox.askers.admit(request)
        command.reply_to = number  # type: ignore[union-attr]
        try:
            if not isinstance(command, SubmitTasks):
                self._inbox.hurry(command)
            elif not self._inbox.submit(command):
                raise Unavailable(Refusal.OVERLOADED, RETRY_AFTER_S)
            self._decide_soon()
            return await answer
        finally:
            self._outbox.askers.leave(number)

    @property
    def _away(self) -> Refusal:
        """Why nothing is taken in: the store is away, or it is somebody else's turn to lead."""
        return Refusal.NO_LEADER if self._is_retiring or self.deposed.done() else Refusal.STORE_UNAVAILABLE

    def tell(self, command: Command) -> None:
        """Nobody waits; effects come through the daemon's session."""
        if not self.is_open:
            return
        if self._inbox.hear(command):
            self._decide_soon()
        else:
            self._outbox.cut_off(getattr(command, "session", 0))

    @property
    def backlog(self) -> int:
        return self._inbox.urgent

    def fail(self, error: BaseException) -> None:
        """Nothing more is decided or committed: only a new process can be believed, with what is on disk."""
        self._phase = Phase.FAILED
        if self.failure.done():
            return
        self._log.fault("store.broken" if isinstance(error, StoreBroken) else "hub.failed", error)
        self.failure.set_exception(error)
        self._outbox.refuse(Refusal.OUTCOME_UNKNOWN)

    def depose(self, reason: str) -> None:
        """Another hub leads, or may: nothing more is decided here. What is being written is the next one's to find."""
        if self.deposed.done() or self._phase is Phase.FAILED:
            return
        self._log.say("hub.deposed", level="warning", reason=reason)
        self.deposed.set_result(None)
        self._drop_all(Refusal.NO_LEADER, in_flight=Refusal.OUTCOME_UNKNOWN)

    def _decide_soon(self) -> None:
        if not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._decide)

    def _decide(self, *, is_due: bool = False) -> None:
        """One turn: what is due, the commands at hand, whatever may start, then the commit if the writer is free."""
        self._turn_is_due = False
        if not self.is_open:
            return
        try:
            self._take_turn(is_due=is_due)
        except Exception as error:  # noqa: BLE001 - the loop called us, and would go on with what is half decided
            self.fail(error)

    def _take_turn(self, *, is_due: bool) -> None:
        core, inbox = self._core, self._inbox
        turn = core.turn(self._clock())
        jump_ms = self._alarm.jump_ms(turn.now)
        if jump_ms:
            # What came due by it is settled as if it had been missed; no attempt and no lease goes by the calendar.
            self._log.say("clock.jumped", level="warning", by_s=jump_ms // 1000)
        if (lag_ms := self._alarm.lag_ms(turn.now)) or is_due:
            # Whatever woke us: before anyone is judged late, the time we slept is taken off.
            core.decide(turn, Tick(lag_ms))
        left, room = COMMANDS_PER_TURN_MAX, partial(has_room, core.state.ledger)
        while left and (command := inbox.take(room)) is not None:
            left -= 1
            lookup = self._looks.wanted(core.state, command)
            if lookup is None:
                core.decide(turn, command)
            else:
                inbox.look_up(command)
                self.beside.run(self._look_up(command, lookup))
        core.dispatch(turn)
        self._gathered += turn.effects
        self._commit()
        if not left:
            self._decide_soon()
        self._alarm.set(turn.now, core.next_due_ms(turn.now), heartbeat_s=self._settings.lease.heartbeat_s)

    async def _look_up(self, command: Command, lookup: Lookup) -> None:
        """Read what the core no longer holds, then decide."""
        inbox, core = self._inbox, self._core
        try:
            with self._looks.since(self._committer.durable_seq):
                await self._looks.learn(core, command, lookup)
                if core is self._core and self.is_open and self._outbox.reaches(command):
                    turn = core.turn(self._clock())
                    core.decide(turn, command)
                    self._gathered += turn.effects
        except StoreUnavailable as error:
            self._log.say("store.unread", level="warning", reason=str(error))
            self._give_up(core, command)
        except RecordDamaged as damaged:
            if damaged.task_id in core.state.tasks:
                raise
            # A daemon is not answered: it keeps what it told, for a hub that can read the record.
            self._outbox.askers.fail(getattr(command, "reply_to", 0), damaged)
        finally:
            inbox.looked_up(command)
        self._decide()

    def _give_up(self, core: Core, command: Command) -> None:
        """It could not be looked up: whoever said it says it again."""
        if isinstance(command, HearEnded):
            self._loop.call_later(PROBE_FIRST_S, self._hear_ended, core)
            return
        self._outbox.askers.refuse(getattr(command, "reply_to", 0), Refusal.STORE_UNAVAILABLE)
        self._outbox.cut_off(getattr(command, "session", 0))

    def _hear_ended(self, core: Core) -> None:
        if self.is_open and core is self._core:
            self._inbox.hurry(HearEnded())
            self._decide_soon()

    def _commit(self) -> None:
        """Hand the writer what was gathered, if it is free."""
        release = self._begin()
        if release is not None:
            self._outbox.put(release)
        self._outbox.pack()

    def _begin(self) -> Release | None:
        """As `_commit`; what needs no writing, and may leave at once, is returned."""
        if not self._committer.idle or self._outbox.is_full:
            return None
        batch = self._core.cut(batch_id=self._mint.id(), now=self._clock())
        effects, self._gathered = self._gathered, []
        if not batch.is_empty():
            # What changed nothing may be decided again; what did is answered as it was.
            batch.requests = self._outbox.askers.requests_in(effects)
        begun = self._committer.begin(batch, effects)
        if isinstance(begun, Release):
            return begun if effects else None
        self._began_writing = read_stopwatch()
        self._writing = self._loop.run_in_executor(self._writer, self._store.writing(begun))
        self._writing.add_done_callback(self._on_written)
        release = self._committer.in_flight
        assert release is not None, "a batch is being written"
        self._outbox.prepare(release)
        return None

    def _on_written(self, writing: "asyncio.Future[None]") -> None:
        self._writing = None
        error = writing.exception()
        if self._phase is Phase.FAILED or self.deposed.done():
            return
        if error is None:
            self._release()
        elif isinstance(error, StoreFenced):
            self.depose(str(error))
        elif isinstance(error, StoreUnavailable):
            self._log.say("store.unavailable", level="error", reason=str(error))
            self._drop_all(Refusal.STORE_UNAVAILABLE, in_flight=Refusal.OUTCOME_UNKNOWN)
        else:
            self.fail(error)

    def _release(self) -> None:
        took_s = read_stopwatch() - self._began_writing
        release = self._committer.committed()
        try:
            self._outbox.send_work(release)
            # The writer goes on with what was gathered meanwhile, before we turn to what else may leave now.
            following = self._begin()
            self._outbox.put(release)
            if following is not None:
                self._outbox.put(following)
            self._outbox.pack()
            self._looks.note(release.batch)
            self._core.forget(through_seq=self._looks.seen_by_all(release.seq))
            self.on_commit(release.batch, took_s)
        except Exception as error:  # noqa: BLE001 - the loop called us, and some may have been told and others not
            self.fail(error)
            return
        self._decide()
        self._chores.after_commit(is_free=self._committer.idle and self.is_open)

    def _drop_all(self, code: Refusal, *, in_flight: Refusal) -> None:
        """Nothing undurable may be seen: refuse whoever waits for it, then begin from what the store holds."""
        is_over = self._phase is Phase.STOPPING or self.deposed.done()
        self._phase = Phase.CLOSED
        self._outbox.askers.refuse_replies(() if self._committer.idle else self._committer.failed(), in_flight)
        self._gathered, self._inbox = [], Inbox()
        self._outbox.refuse(code)
        if not is_over:
            self.beside.run(self._recover())

    async def _recover(self) -> None:
        """Probe until the store takes a commit again, then begin anew."""
        wait_s = PROBE_FIRST_S / 2
        while self._phase is Phase.CLOSED and not self.deposed.done():
            wait_s = min(wait_s * 2, PROBE_MAX_S)
            await asyncio.sleep(wait_s)
            try:
                await self._write(self._store.probe)
                await self._reload()
            except StoreFenced as error:
                self.depose(str(error))
                return
            except StoreUnavailable:
                continue
            self._log.say("store.recovered")
            self._outbox.close_sessions()
            settle_again()

    async def _reload(self) -> None:
        """The state as the store holds it, and everything that follows from it."""
        image = await self._write(self._store.load)
        here = self.identity
        # A commit whose answer was lost may have happened: then this is all that anyone hears of it.
        missed = await self._readers.read(partial(events_between, here, image.identity.seq))
        self._mint.pass_by(await self._readers.read(newest_id))
        await self._outbox.drain()
        state = state_of(image, self._settings, self._identity, self._clock())
        self._core = Core(state, random.Random(mint_secret()))
        self._committer = Committer(durable_seq=image.identity.seq, durable_id=image.identity.batch_id)
        self._inbox = Inbox()
        self._alarm.reset(self._clock())
        self._outbox.begin(self._identity, image.users, image.keys, missed)
        if self._phase is Phase.CLOSED:
            self._phase = Phase.OPEN
        self._hear_ended(self._core)
        self._chores.begin()

    async def write_beside(self, work: Callable[[Store], T]) -> T:
        """Something small that is of no batch, between two of them. Raises as `Store.write` does."""
        return await self._write(partial(work, self._store))

    async def _write(self, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._writer, work)
