"""The hub's loop: gather, decide, commit, release.

Commands are decided the moment they arrive, into the batch being gathered. When the writer is free the batch is cut
and handed to it; while it writes, the next one gathers. So an idle hub commits each command at once, and a busy one
commits many together, without a timer in between. What a commit releases leaves in `Outbox`, in order.

A failed commit makes memory a lie: everything undurable is dropped, its askers get 503, intake closes, the store is
probed until it answers, the state is loaded anew, and every daemon's socket is closed so that it comes back with its
list. A broken store (an I/O error, a corrupt page) stops the process: what failed once must not be believed when
it later succeeds.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

from taskyard.core.commands import (
    Command,
    HearEnded,
    Known,
    SubmitTasks,
    Tick,
)
from taskyard.core.effects import Effect, Reply
from taskyard.core.hub import Core
from taskyard.core.lookups import ROUNDS_MAX, Lookup, merge, missing
from taskyard.core.recovery import restore
from taskyard.core.settings import Settings
from taskyard.core.state import Now, State
from taskyard.gateway.port import Unavailable
from taskyard.hub.askers import RETRY_AFTER_S, Answered
from taskyard.hub.clock import read_clock
from taskyard.hub.ids import Mint, mint_secret
from taskyard.hub.observe import Log
from taskyard.hub.outbox import Outbox
from taskyard.hub.readers import Readers
from taskyard.store.committer import Committer, Release
from taskyard.store.port import Identity, Image, Reader, Store, StoreBroken, StoreUnavailable
from taskyard.vocabulary import Refusal

T = TypeVar("T")

STOP_TURNS_MAX, STOP_TURN_S = 100, 0.02
INBOX_COMMANDS_MAX: Final = 10_000
INBOX_BYTES_MAX: Final = 64 * 1024 * 1024
URGENT_COMMANDS_MAX: Final = 100_000
# What daemons say while the disk stalls; the one that says more is cut off and comes back with its list.
COMMANDS_PER_TURN_MAX: Final = 500
# About 5 ms of decisions, then the sockets get their turn.
GATHERED_ROWS_MAX: Final = 4096
GATHERED_BYTES_MAX: Final = 32 * 1024 * 1024
# What one batch may hold before the inbox waits for the commit: 20 to 40 ms of writing.
RELEASES_MAX: Final = 4
# Commits whose effects wait for bodies before the next commit waits too.
TEND_EVERY: Final = 64
# Commits between two looks at the store's log: a look costs as much as a small commit.
SLEEP_S_MAX: Final = 60.0
LAG_MS: Final = 250
PROBE_FIRST_S, PROBE_MAX_S = 0.1, 5.0


class Loop:
    """The only writer of its store, the only owner of its core."""

    def __init__(self, store: Store, settings: Settings, log: Log, outbox: Outbox, readers: Readers) -> None:
        self._store = store
        self._settings = settings
        self._log = log
        self._outbox = outbox
        self._readers = readers
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._mint = Mint()
        self._urgent: deque[Command] = deque()
        self._inbox: deque[Command] = deque()
        self._inbox_bytes = 0
        self._gathered: list[Effect] = []
        self._reading: dict[int, int] = {}
        """Look-ups under way: the sequence number each began at."""
        self._looks = 0
        self._turn_is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._untended = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_open = False
        self.failure: asyncio.Future[None]
        """Set when the store is broken: whoever runs the hub must stop the process."""

    async def start(self, *, new_era: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self.failure = self._loop.create_future()
        self._identity = await self._write(partial(self._store.open, new_era=new_era))
        await self._reload()

    async def stop(self) -> None:
        """Commit what was decided, let it out, close."""
        self.is_open = False
        if self._timer is not None:
            self._timer.cancel()
        for _ in range(STOP_TURNS_MAX):
            self._commit()
            if self._committer.idle:
                break
            await asyncio.sleep(STOP_TURN_S)
        self._refuse_all(Refusal.STORE_UNAVAILABLE)
        await self._outbox.close()
        self._readers.close()
        await self._write(self._store.close)
        self._writer.shutdown()

    @property
    def identity(self) -> Identity:
        return Identity(self._identity.cluster_id, self._identity.epoch, self._committer.durable_seq)

    @property
    def core(self) -> Core:
        """For views and checks; nothing outside this file may change it."""
        return self._core

    async def ask(self, command: Command) -> Answered:
        """The answer, once committed."""
        if not self.is_open:
            raise Unavailable(Refusal.STORE_UNAVAILABLE, RETRY_AFTER_S)
        is_new_work = isinstance(command, SubmitTasks)
        if isinstance(command, SubmitTasks):
            self._weigh(command)
        number, answer = self._outbox.askers.admit()
        command.reply_to = number  # type: ignore[union-attr]
        try:
            self._take(command, self._inbox if is_new_work else self._urgent)
            return await answer
        finally:
            self._outbox.askers.leave(number)

    def tell(self, command: Command) -> None:
        """Nobody waits; effects come through the daemon's session."""
        if not self.is_open:
            return
        if len(self._urgent) >= URGENT_COMMANDS_MAX:
            self._outbox.cut_off(getattr(command, "session", 0))
            return
        self._take(command, self._urgent)

    # Gather.

    def _weigh(self, command: SubmitTasks) -> None:
        """New work is refused when more is waiting to be decided than fits; whatever ends work never is."""
        waiting = sum(len(draft.body) for draft in command.drafts) + self._inbox_bytes
        if len(self._inbox) >= INBOX_COMMANDS_MAX or waiting > INBOX_BYTES_MAX:
            raise Unavailable(Refusal.OVERLOADED, RETRY_AFTER_S)
        self._inbox_bytes = waiting

    def _take(self, command: Command, inbox: deque[Command]) -> None:
        inbox.append(command)
        if not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._decide)

    async def _look_up(self, command: Command, lookup: Lookup) -> None:
        """Read what the core no longer holds, then decide; meanwhile the core forgets nothing newer."""
        self._looks += 1
        number, core = self._looks, self._core
        self._reading[number] = self._committer.durable_seq
        try:
            wanted: Lookup | None = lookup
            for _ in range(ROUNDS_MAX):
                if wanted is not None:
                    found = await self._readers.read(partial(_known, wanted))
                    command.known = merge(command.known, wanted, found)  # type: ignore[union-attr]
                    wanted = missing(core.state, command)
            if core is self._core and self.is_open:
                turn = core.turn(read_clock())
                core.decide(turn, command)
                self._gathered += turn.effects
                self._decide()
        finally:
            del self._reading[number]

    # Decide.

    def _decide(self) -> None:
        """One turn: the commands at hand, then whatever may start, then the commit if the writer is free."""
        self._turn_is_due = False
        if not self.is_open:
            return
        core = self._core
        turn = core.turn(read_clock())
        left = COMMANDS_PER_TURN_MAX
        while left and (inbox := self._urgent or self._inbox) and self._has_room(inbox):
            left -= 1
            command = inbox.popleft()
            if inbox is self._inbox and isinstance(command, SubmitTasks):
                self._inbox_bytes -= sum(len(draft.body) for draft in command.drafts)
            lookup = missing(core.state, command)
            if lookup is None:
                core.decide(turn, command)
            else:
                self._spawn(self._look_up(command, lookup))
        core.dispatch(turn)
        self._gathered += turn.effects
        self._commit()
        if not left and not self._turn_is_due:
            self._turn_is_due = True
            self._loop.call_soon(self._decide)
        self._set_timer(turn.now)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _has_room(self, inbox: deque[Command]) -> bool:
        """New work waits for the disk; what ends work never does."""
        ledger = self._core.state.ledger
        is_small = len(ledger.touched) < GATHERED_ROWS_MAX and ledger.bodies_bytes < GATHERED_BYTES_MAX
        return inbox is self._urgent or is_small

    def _set_timer(self, now: Now) -> None:
        due_ms = self._core.next_due_ms(now)
        delay = SLEEP_S_MAX if due_ms is None else min(due_ms / 1000, SLEEP_S_MAX)
        at = self._loop.time() + delay
        if self._timer is not None:
            if self._timer_at <= at and self._timer_at > self._loop.time():
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_at(at, self._on_timer)

    def _on_timer(self) -> None:
        """Something is due. How late this call is, is how long the hub could hear nobody."""
        self._timer = None
        lag_ms = round((self._loop.time() - self._timer_at) * 1000)
        if self.is_open:
            self._urgent.append(Tick(lag_ms if lag_ms > LAG_MS else 0))
            self._decide()

    # Commit.

    def _commit(self) -> None:
        if not self._committer.idle or self._outbox.backlog >= RELEASES_MAX:
            return
        now = read_clock()
        batch = self._core.cut(batch_id=self._mint.id(), now=now)
        effects, self._gathered = self._gathered, []
        begun = self._committer.begin(batch, effects)
        if isinstance(begun, Release):
            if effects:
                self._outbox.put(begun)
            return
        writing = self._loop.run_in_executor(self._writer, self._store.write, begun)
        writing.add_done_callback(self._on_written)

    def _on_written(self, writing: asyncio.Future[None]) -> None:
        error = writing.exception()
        if error is None:
            release = self._committer.committed()
            self._outbox.put(release)
            self._core.forget(through_seq=min(self._reading.values(), default=release.seq))
            self._decide()
            self._untended += 1
            if self._committer.idle and self._untended >= TEND_EVERY:
                self._untended = 0
                self._spawn(self._tend())
        elif isinstance(error, StoreUnavailable):
            self._log.say("store.unavailable", level="error", reason=str(error))
            self._drop_all()
            self._spawn(self._recover())
        else:
            self._fail(error)

    async def _tend(self) -> None:
        """While nobody waits for the writer: let the store put its log in order."""
        try:
            await self._write(self._store.tend)
        except StoreUnavailable as error:
            self._log.say("store.untended", level="warning", reason=str(error))
        except StoreBroken as error:
            self._fail(error)

    def resume(self) -> None:
        """The outbox has room again."""
        if self.is_open:
            self._commit()

    def _drop_all(self) -> None:
        """Nothing undurable may be seen: refuse whoever waits for it."""
        self.is_open = False
        for effect in self._committer.failed():
            if isinstance(effect, Reply):
                self._outbox.askers.refuse(effect.to, Refusal.OUTCOME_UNKNOWN)
        self._gathered.clear()
        self._refuse_all(Refusal.STORE_UNAVAILABLE)

    def _refuse_all(self, code: Refusal) -> None:
        self._urgent.clear()
        self._inbox.clear()
        self._inbox_bytes = 0
        self._outbox.askers.refuse_all(code)

    def _fail(self, error: BaseException) -> None:
        self.is_open = False
        self._log.say("store.broken", level="critical", reason=str(error))
        if not self.failure.done():
            self.failure.set_exception(error)

    async def _recover(self) -> None:
        """Probe until the store takes a commit again, then begin from what it holds."""
        wait_s = PROBE_FIRST_S
        while True:
            await asyncio.sleep(wait_s)
            try:
                await self._write(self._store.probe)
                await self._reload()
            except StoreUnavailable:
                wait_s = min(wait_s * 2, PROBE_MAX_S)
                continue
            except StoreBroken as error:
                self._fail(error)
                return
            self._log.say("store.recovered")
            self._outbox.close_sessions()
            return

    async def _reload(self) -> None:
        """The state as the store holds it, and everything that follows from it."""
        image = await self._write(self._store.load)
        await self._outbox.drain()
        self._core = Core(_state_of(image, self._settings, self._identity), random.Random(mint_secret()))
        self._committer = Committer(durable_seq=image.identity.seq)
        self._outbox.begin(self._identity, image.users, image.keys)
        self._gathered = []
        self.is_open = True
        self._take(HearEnded(), self._urgent)

    async def _write(self, work: Callable[[], T]) -> T:
        return await self._loop.run_in_executor(self._writer, work)


def _known(lookup: Lookup, reader: Reader) -> Known:
    return reader.known(user_id=lookup.user_id, ids=lookup.ids, refs=lookup.refs, keys=lookup.keys)


def _state_of(image: Image, settings: Settings, identity: Identity) -> State:
    state = State(settings, cluster_id=identity.cluster_id, epoch=identity.epoch, seq=image.identity.seq)
    restore(
        state,
        read_clock(),
        users=image.users,
        numbers=image.numbers,
        keys=image.keys,
        daemons=image.daemons,
        tasks=image.tasks,
        log_bytes=image.log_bytes,
    )
    return state
