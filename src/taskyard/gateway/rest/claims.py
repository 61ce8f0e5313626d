"""`POST /claim`: one task for an agent that has no socket.

To the core a claim is a daemon's connection with one slot that ends with the answer. So it is made here: a session that
is attached like a socket's, joins, is kept alive while the caller waits, and takes the first order that it gets.
"""

import asyncio
from hashlib import blake2b
from typing import Final

from taskyard.core.daemon_commands import AcceptTask, Beat, Held, JoinDaemon, LeaveDaemon, StartTask
from taskyard.gateway.auth import Principal
from taskyard.gateway.call import Call, Empty, Reply, RequestRefused
from taskyard.gateway.port import RETRY_AFTER_S, Hub, Unavailable
from taskyard.vocabulary import Refusal
from taskyard.wire import frames
from taskyard.wire.claims import Claim, ClaimAnswer
from taskyard.wire.problems import FieldError

NOTHING_STATUS: Final = 204
ANSWER_S: Final = 5.0
# How long beyond the caller's own time the hub may take to say anything at all.
_NAME_BYTES: Final = 15
_TOO_MANY: Final = "TOO_MANY_CLAIMS"


async def claim(call: Call[Empty], body: Claim) -> Reply:
    """Answers when there is a task, or with nothing when the time is up."""
    _check_names(body)
    session = ClaimSession(call.hub, call.principal, body, next(call.door.session_ids))
    call.door.enter(session)
    try:
        order = await session.order(body.wait_s, call)
    finally:
        call.door.leave(session)
    return Reply(b"", status=NOTHING_STATUS) if order is None else Reply(order)


def _check_names(body: Claim) -> None:
    """As of daemons: they are shown in tables and logs."""
    if not all(name.isprintable() for name in (body.name, *body.capabilities, *body.types, *body.models)):
        message = "names are printable"
        raise RequestRefused(Refusal.INVALID_INPUT, f"`name`: {message}", errors=(FieldError("name", message),))


class ClaimSession:
    """What the hub holds of a claim, in the place of a socket."""

    def __init__(self, hub: Hub, principal: Principal, body: Claim, id: int) -> None:
        self.id = id
        self.principal = principal
        self._hub = hub
        self._body = body
        self._daemon_id = _daemon_id(hub, principal.user_id, body)
        self._welcome: frames.Welcome | None = None
        self._order: frames.TaskExecute | None = None
        self._refusal: Exception | None = None
        self._unacknowledged = 0
        """Heartbeats that the hub has not answered. It answers in order, and once all before is written."""
        self._news = asyncio.Event()

    async def order(self, wait_s: float, call: Call[Empty]) -> ClaimAnswer | None:
        """A task, once there is one; None when the time is up or nobody waits any more."""
        gone = asyncio.ensure_future(call.gone())
        self._hub.attach(self)
        self._join()
        try:
            await self._settled(wait_s, gone)
            if self._order is not None and not gone.done():
                taken = self._taken(self._order)
                await self._written(gone)
                return taken
        finally:
            # What was given and not taken goes back to its queue by this.
            self._hub.tell(LeaveDaemon(self.id, self._daemon_id))
            self._hub.detach(self)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
        if self._refusal is not None:
            raise self._refusal
        return None

    async def _settled(self, wait_s: float, gone: "asyncio.Future[None]") -> None:
        """Until there is an order or a refusal, nobody waits, or the time is up; but not before the hub has answered:
        with its welcome comes what was there already."""
        loop = asyncio.get_running_loop()
        until = loop.time() + wait_s
        while self._order is None and self._refusal is None and not gone.done():
            left_s = until - loop.time()
            if left_s <= 0 and self._welcome is not None:
                return
            if left_s <= -ANSWER_S:
                raise Unavailable(Refusal.NO_LEADER, RETRY_AFTER_S)
            beat_s = self._hub.settings.lease.heartbeat_s
            await self._news_within(beat_s if self._welcome is None else min(beat_s, left_s), gone)
            if self._welcome is not None:
                self._beat(self._welcome.daemon_id)

    async def _written(self, gone: "asyncio.Future[None]") -> None:
        """Until it is written that the work began. If the hub goes first, the agent's first word tells the next one."""
        loop = asyncio.get_running_loop()
        until = loop.time() + ANSWER_S
        while self._unacknowledged > 0 and self._refusal is None and not gone.done() and loop.time() < until:
            await self._news_within(until - loop.time(), gone)

    def _beat(self, daemon_id: str, *running: Held) -> None:
        self._unacknowledged += 1
        self._hub.tell(Beat(self.id, daemon_id, running=running))

    async def _news_within(self, seconds: float, gone: "asyncio.Future[None]") -> None:
        self._news.clear()
        news = asyncio.ensure_future(self._news.wait())
        await asyncio.wait((news, gone), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        news.cancel()

    def _join(self) -> None:
        body = self._body
        self._hub.tell(
            JoinDaemon(
                session=self.id,
                user_id=self.principal.user_id,
                daemon_id=self._daemon_id,
                boot_id=self._hub.mint(),
                name=body.name,
                capabilities=tuple(body.capabilities),
                models=tuple(body.models),
                types=tuple(body.types),
                slots=1,
                pulls=True,
            )
        )

    def _taken(self, order: frames.TaskExecute) -> ClaimAnswer:
        welcome = self._welcome
        assert welcome is not None, "nobody is sent work before it is welcome"
        attempt_of = self._hub.attempt_of(order.token)
        assert attempt_of is not None, "a token that we made is ours"
        about = (self.id, welcome.daemon_id, *attempt_of)
        self._hub.tell(AcceptTask(*about))
        self._hub.tell(StartTask(*about))
        self._beat(welcome.daemon_id, Held(*attempt_of))
        return ClaimAnswer(
            task=order.task,
            attempt=order.attempt,
            token=order.token,
            lease_s=welcome.lease_s,
            timeout=order.timeout,
            context_input=order.context_input,
            checkpoint=order.checkpoint,
            previous_attempts=order.previous_attempts,
        )

    # As the hub sees it.

    def send(self, messages: list[bytes]) -> None:
        for encoded in messages:
            for message in frames.decode_to_daemon(encoded):
                if isinstance(message, frames.Welcome):
                    self._welcome = message
                elif isinstance(message, frames.TaskExecute):
                    self._order = message
                elif isinstance(message, frames.HeartbeatAck):
                    self._unacknowledged -= 1
                elif isinstance(message, frames.Error) and message.code == _TOO_MANY:
                    self._refusal = RequestRefused(Refusal.OVERLOADED, message.message, retry_after_s=RETRY_AFTER_S)
        self._news.set()

    def close(self, code: int, reason: str) -> None:
        self._refusal = self._refusal or Unavailable(Refusal.NO_LEADER, RETRY_AFTER_S)
        self._news.set()

    def rejoin(self) -> None:
        self._welcome, self._unacknowledged = None, 0
        self._join()

    # As the door sees it.

    def show_out(self) -> None:
        self._refusal = RequestRefused(Refusal.UNAUTHENTICATED, "This key has ended.")
        self._news.set()

    def send_home(self) -> None:
        self.close(frames.CLOSE_RESTARTING, "the hub stops")


def _daemon_id(hub: Hub, user_id: str, body: Claim) -> str:
    """The same for agents that are alike: their slots are one another's. Sealed, so that nobody else can take it."""
    said = [user_id, body.name, *(sorted(names) for names in (body.capabilities, body.types, body.models))]
    return f"d_{blake2b(hub.seal('claim', repr(said)).encode(), digest_size=_NAME_BYTES).hexdigest()}"
