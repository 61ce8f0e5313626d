"""One call to the hub, as a value, and what comes of its answer.

A builder (`sdk/requests.py`) makes a `Request`; a client carries it; `settle` turns what came back into the
answer or into an exception. Both clients are thin because everything that could differ between them is
decided without I/O.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from taskyard.sdk.errors import BadAnswer, Invalid, refusal
from taskyard.vocabulary import Refusal

API: Final = "/api/v1"
PAGE: Final = 200
# Of a long list, at a time: 4 times the hub's default, well under its most (500), so that the first ones are still on
# screen at once.
PERSONAL: Final = tuple(
    f"{API}/{name}"
    for name in (
        "tasks",
        "intake",
        "import",
        "export",
        "report",
        "daemons",
        "dead-letters",
        "breakers",
        "events",
        "hooks",
        "schedules",
        "templates",
        "notifications",
        "backpressure",
        "queues",
        "users/me/limits",
        "why",
    )
)
"""Where an admin may name another user whose things are meant."""

T = TypeVar("T")


class Request(Struct, Generic[T], kw_only=True):
    method: str
    path: str
    answer: type[T]
    query: Mapping[str, str | int | float | None] = {}
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    idempotent: bool
    """Whether a second arrival changes nothing that the first did not."""
    may_be_nothing: bool = False
    """Whether an answer without a body is None, and not the answer that says nothing."""
    wait_s: float = 0.0
    """How long the hub may take on purpose, on top of what any call takes."""
    waits_for_limits: bool = True
    """False: a limit is told at once, also where the client's policy waits it out."""

    @property
    def target(self) -> str:
        """Path and query, as they stand in the request line."""
        asked = {name: value for name, value in self.query.items() if value is not None}
        return f"{self.path}?{urlencode(asked)}" if asked else self.path


class Calls(Protocol):
    """What carries a request: the client that waits."""

    def call(self, request: Request[T]) -> T: ...

    def _pages(self, request: Request[list[T]]) -> Iterator[T]: ...


class AsyncCalls(Protocol):
    async def call(self, request: Request[T]) -> T: ...

    def _pages(self, request: Request[list[T]]) -> AsyncIterator[T]: ...


encode: Final = msgspec.json.Encoder().encode


def get(path: str, answer: type[T], **query: str | int | float | None) -> Request[T]:
    return Request(method="GET", path=API + path, answer=answer, query=query, idempotent=True)


def send(method: str, path: str, answer: type[T], body: Mapping[str, Any] | None, *, idempotent: bool) -> Request[T]:
    return Request(
        method=method,
        path=API + path,
        answer=answer,
        headers={} if body is None else {"Content-Type": "application/json"},
        body=None if body is None else encode(body),
        idempotent=idempotent,
    )


def segment(name: str) -> str:
    """A name as part of an address. Without one it would be another address, and the hub would know nothing there."""
    if not name:
        raise Invalid(code=Refusal.INVALID_INPUT, status=422, detail="The name is empty; say which one is meant.")
    return quote(name, safe="")


def given(**fields: Any) -> dict[str, Any]:
    """The fields that were named; None means left out."""
    return {name: value for name, value in fields.items() if value is not None}


_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def settle(request: Request[T], status: int, headers: Mapping[str, str], body: bytes) -> T:
    """The answer of a call; `Refused` if the hub said no, `BadAnswer` if it is none that we know."""
    if status >= 400:
        raise refusal(status, headers, body)
    if status >= 300:
        raise BadAnswer(f"{request.method} {request.path} was redirected ({status}); is this the hub's address?")
    decoder = _decoders.get(request.answer)
    if decoder is None:
        decoder = _decoders[request.answer] = msgspec.json.Decoder(request.answer)
    try:
        answer: T = decoder.decode(body or (b"null" if request.may_be_nothing else b"{}"))
    except msgspec.DecodeError as error:
        raise BadAnswer(f"{request.method} {request.path} did not answer as a hub does: {error}") from error
    return answer


def next_page(request: Request[list[T]], headers: Mapping[str, str]) -> Request[list[T]] | None:
    """The request for the page after this one, or None at the end.

    Only the cursor is taken from the link: the key goes to the hub it belongs to and nowhere else.
    """
    for link in headers.get("Link", "").split(","):
        address, _, parameters = link.partition(";")
        if 'rel="next"' in parameters.replace(" ", ""):
            cursor = parse_qs(urlsplit(address.strip(" <>")).query).get("cursor")
            if cursor:
                return msgspec.structs.replace(request, query={**request.query, "cursor": cursor[0]})
    return None


def on_behalf(request: Request[T], user: str | None) -> Request[T]:
    """The same about another user's things; what belongs to nobody stays as it is."""
    if user is None or not request.path.startswith(PERSONAL):
        return request
    return msgspec.structs.replace(request, query={**request.query, "user": user})
