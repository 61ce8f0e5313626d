"""One request as a handler sees it, and what a handler gives back."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec import Struct

from taskyard.core.effects import Refused
from taskyard.gateway.asgi import Scope
from taskyard.gateway.auth import Principal, TooManyFailures, Unrecognised
from taskyard.gateway.news import user_called
from taskyard.gateway.port import Hub
from taskyard.gateway.pressure import shown
from taskyard.store.port import RecordDamaged, StoredTask
from taskyard.vocabulary import EVERYBODY, Refusal
from taskyard.vocabulary import Scope as KeyScope
from taskyard.wire.frames import Backpressure
from taskyard.wire.problems import NO_SUCH_TASK, FieldError

if TYPE_CHECKING:
    from taskyard.gateway.door import Door

Headers = list[tuple[bytes, bytes]]


class RequestRefused(Exception):
    """The answer is a problem. Raised anywhere below the app, told by the app."""

    def __init__(
        self,
        code: Refusal,
        detail: str,
        *,
        errors: tuple[FieldError, ...] = (),
        kept: bool = False,
        retry_after_s: float | None = None,
        backpressure: Backpressure | None = None,
        headers: tuple[tuple[bytes, bytes], ...] = (),
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.errors = errors
        self.kept = kept
        self.retry_after_s = retry_after_s
        self.backpressure = backpressure
        self.headers = headers


def refuse(refused: Refused) -> RequestRefused:
    """What the core said no to, as the caller reads it."""
    errors = (FieldError(refused.field, refused.detail),) if refused.field else ()
    return RequestRefused(
        refused.code,
        refused.detail,
        errors=errors,
        kept=refused.kept,
        retry_after_s=None if refused.retry_after_ms is None else refused.retry_after_ms / 1000,
        backpressure=None if refused.pressure is None else shown(refused.pressure),
    )


def refuse_fields(
    faults: Iterable[FieldError], code: Refusal = Refusal.INVALID_INPUT, *, below: str = ""
) -> RequestRefused:
    """What is wrong with fields of a body; `below` is the path to the object that has them."""
    named = tuple(FieldError(f"{below}.{one.path}".strip("."), one.message) for one in faults)
    return RequestRefused(code, "; ".join(f"`{one.path}` {one.message}" for one in named), errors=named)


NOT_KNOWN: Final = "This key is not known here, or has ended."
NONE_SHOWN: Final = "This needs a key; send it as `Authorization: Bearer …`."


def address_of(scope: Scope) -> str:
    """Where a request comes from."""
    client = scope.get("client")
    return client[0] if client else ""


def not_recognised(failure: Unrecognised | TooManyFailures) -> RequestRefused:
    if isinstance(failure, TooManyFailures):
        detail = "Too many attempts with a wrong key from this address."
        return RequestRefused(Refusal.RATE_LIMITED, detail, retry_after_s=failure.retry_after_s)
    # Who sent one knows how; what is to be done about it depends on where theirs came from.
    detail = NOT_KNOWN if failure.shown else NONE_SHOWN
    return RequestRefused(Refusal.UNAUTHENTICATED, detail, headers=((b"www-authenticate", b"Bearer"),))


def task_not_found() -> RequestRefused:
    """The same for a task that is another's and one that never was."""
    return RequestRefused(Refusal.TASK_NOT_FOUND, NO_SUCH_TASK)


def record_damaged(damaged: RecordDamaged) -> RequestRefused:
    what = str(damaged)
    return RequestRefused(
        Refusal.RECORD_DAMAGED,
        f"{what[0].upper()}{what[1:]}. Restore the database from a backup to read it again; `taskyard doctor --deep` "
        "lists every damaged record.",
    )


class Empty(Struct, forbid_unknown_fields=True):
    """No body, or `{}`."""


class OfUser(Struct, forbid_unknown_fields=True):
    """The query of routes that take no other: an admin may name the user whose things are meant."""

    user: str | None = None


SECURITY: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; style-src 'unsafe-inline'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""What every answer of the API tells a browser; the dashboard's files have words of their own."""


class Reply(Struct):
    """`value` is encoded as JSON; bytes are sent as they are, of the type given."""

    value: object
    status: int = 200
    headers: Headers = []
    media_type: str = "application/json"
    security: tuple[tuple[bytes, bytes], ...] = SECURITY


class Stream(Struct):
    """An answer without an end. The app closes `chunks` when the reader goes away."""

    chunks: AsyncIterator[bytes]
    media_type: str = "text/event-stream"


Q = TypeVar("Q")


class Call(Generic[Q]):
    """A request whose caller is known and whose parts are decoded."""

    __slots__ = ("door", "gone", "headers", "hub", "id", "path", "principal", "query", "raw", "scope")

    def __init__(
        self,
        *,
        door: "Door",
        principal: Principal,
        path: str,
        id: str,
        query: Q,
        headers: Mapping[bytes, bytes],
        scope: Scope,
        raw: bytes,
        gone: Callable[[], Coroutine[None, None, None]],
    ) -> None:
        self.door = door
        self.hub: Hub = door.hub
        self.principal = principal
        self.path = path
        self.id = id
        """What stands for `{id}` in the path."""
        self.query = query
        self.headers = headers
        self.scope = scope
        """As the server gave it: for whoever asks this gateway again in the caller's place."""
        self.raw = raw
        """The body as it came, where it matters which fields were named: a decoded one has them all."""
        self.gone = gone
        """Returns when the caller has hung up."""

    def note_damaged(self, found: Iterable[StoredTask]) -> None:
        """Count those that are shown as damaged."""
        for stored in found:
            if stored.damaged is not None:
                self.hub.damage.note(stored.damaged)

    async def hear_of_named(self) -> None:
        """Before anything else, so that `user_id` knows whom an admin names, though another gateway just made them."""
        named = getattr(self.query, "user", None)
        if named not in (None, EVERYBODY) and KeyScope.ADMIN in self.principal.scopes:
            await user_called(self.hub, named)

    def user_id(self, named: str | None) -> str:
        """Whose things this call is about: the caller's, or those of the user an admin named."""
        principal = self.principal
        if named is None or named == principal.user_id:
            return principal.user_id
        if KeyScope.ADMIN not in principal.scopes:
            raise RequestRefused(Refusal.FORBIDDEN, "Only an admin may name another user.")
        user = self.hub.directory.user(named) or self.hub.directory.user_by_name(named)
        if user is None:
            raise RequestRefused(Refusal.USER_NOT_FOUND, "There is no such user.")
        return user.id

    def users(self, named: str | None) -> str | None:
        """The same for lists, where `*` means everybody's: None."""
        if named == EVERYBODY and KeyScope.ADMIN in self.principal.scopes:
            return None
        return self.user_id(named)
