"""The ASGI application: every request passes here, in this order, and nothing is skipped on the way.

host → (the dashboard's files) → route → origin → caller → policy → body (bounded, timed) → query → handler → answer

It is one flat application rather than a stack of middlewares: a stack costs more per request than all
that is done here, and hides the order, which is what matters. What goes wrong anywhere below becomes
`application/problem+json`; what nobody foresaw becomes a 500 that tells the caller nothing.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from functools import partial
from math import ceil
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec

from taskyard.core.outcomes import OVER
from taskyard.gateway import docs_page, openapi, plain_json
from taskyard.gateway.answers import deny, gone, send_reply, send_stream
from taskyard.gateway.asgi import KNOWN, LATE, SHORT_CUT, Receive, Scope, Send
from taskyard.gateway.auth import NOBODY, Principal, TooManyFailures, Unrecognised
from taskyard.gateway.bodies import read_body
from taskyard.gateway.call import (
    Call,
    Headers,
    Reply,
    RequestRefused,
    Stream,
    address_of,
    not_recognised,
    record_damaged,
)
from taskyard.gateway.daemon_socket import DaemonSocket
from taskyard.gateway.dashboard import PLACE, Dashboard
from taskyard.gateway.door import Deadlines, Description, Door, GatewaySettings
from taskyard.gateway.head import fields_of, malformed
from taskyard.gateway.origin import Origins
from taskyard.gateway.pages import bad_cursor
from taskyard.gateway.port import RETRY_AFTER_S, Hub, Unavailable
from taskyard.gateway.rewound import rewound
from taskyard.gateway.route import Policy, Route, TokenUse
from taskyard.gateway.routes import ROUTES, SOCKET_PATH, SOCKET_POLICY
from taskyard.gateway.sign_in import REQUEST_HEADER
from taskyard.gateway.sizes import bytes_max
from taskyard.store.port import BadCursor, RecordDamaged
from taskyard.vocabulary import Refusal
from taskyard.vocabulary import Scope as KeyScope
from taskyard.wire import problems
from taskyard.wire.invalid import faults_in, sentence_of

WRAPS, BATCH_WRAPS = 1, 3
# What stands around a field's value: the object; in a batch also the list and the batch itself.
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
READS: Final = frozenset({"GET", "HEAD"})
API: Final = "/api/"
TICKET: Final = re.compile(rb"(?:^|&)ticket=")
ESCAPED_SLASH: Final = re.compile(rb"%2f", re.IGNORECASE)
ROUTE: Final = "taskyard.route"
# Where a request's method and path, as the table has them, are noted once they are known.
NO_ROUTE: Final = ("", "")
# Raised below instead of an answer. Any other exception is a fault of ours.
REFUSED: Final = (RequestRefused, BadCursor, Unavailable, RecordDamaged)
NOTHING_THERE: Final = "There is nothing at this address."

log = logging.getLogger(__name__)
_encoder: Final = msgspec.json.Encoder()


class GatewayApp:
    def __init__(self, door: Door, dashboard: Dashboard) -> None:
        self.door = door
        door.answer = self._told
        self._dashboard = dashboard
        self._origins = Origins(door.settings)
        self._by_path: dict[str, dict[str, Route[Any, Any]]] = {}
        for route in ROUTES:
            self._by_path.setdefault(route.place, {})[route.method] = route

    def adopt(self, settings: GatewaySettings) -> None:
        """Other settings hold from the next request on; where it listens cannot be among them."""
        self.door.adopt(settings)
        self._origins = Origins(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)

    # HTTP.

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._told(scope, receive)
        except asyncio.CancelledError:
            # The server stops and waits no longer. Its own answer would be a fault, which nobody sends again.
            code = Refusal.NO_LEADER if scope["method"] in SAFE else Refusal.OUTCOME_UNKNOWN
            answer = _unavailable(Unavailable(code, RETRY_AFTER_S), self.door.hub)
        if isinstance(answer, Stream) and scope["http_version"] == "1.0":
            # It would be sent in chunks, which HTTP/1.0 has not.
            await answer.chunks.aclose()  # type: ignore[attr-defined]
            answer = _refusal(malformed("A stream of events needs HTTP/1.1."))
        status = 200 if isinstance(answer, Stream) else answer.status
        self.door.requests[*scope.get(ROUTE, NO_ROUTE), status // 100] += 1
        if isinstance(answer, Stream):
            await send_stream(answer, scope, receive, send)
        else:
            await send_reply(answer, send)

    async def _told(self, scope: Scope, receive: Receive) -> Reply | Stream:
        """What the caller is told, be it a problem."""
        try:
            return await self._answer(scope, receive)
        except REFUSED as refused:
            return self._refused(refused, scope)
        except Exception:
            # A fault of ours stays one caller's, who is answered all the same.
            log.exception("a request failed", extra={"method": scope["method"]})
            return _fault()

    def _refused(self, refused: RequestRefused | BadCursor | Unavailable | RecordDamaged, scope: Scope) -> Reply:
        """The problem that this is, and a note of it for metrics and for the connection's end."""
        if isinstance(refused, RecordDamaged):
            self.door.hub.damage.note(str(refused))
            return _refusal(record_damaged(refused))
        if isinstance(refused, Unavailable):
            return _unavailable(refused, self.door.hub)
        if isinstance(refused, BadCursor):
            return _refusal(bad_cursor())
        self.door.malformed += refused.code is Refusal.BAD_REQUEST
        scope[LATE] = refused.code is Refusal.REQUEST_TIMEOUT
        return _refusal(refused)

    async def _answer(self, scope: Scope, receive: Receive) -> Reply | Stream:
        headers = fields_of(scope)
        self._origins.check_host(headers)
        page = self._page(scope, headers)
        if page is not None:
            return page
        methods, id = self._methods_at(scope)
        if not methods:
            return self._nothing_at(scope, headers)
        route = _route_of(methods, scope["method"])
        scope[ROUTE] = (route.method, route.path)
        if scope["method"] not in SAFE:
            self._origins.check_origin(headers, scope["scheme"])
        principal = NOBODY
        if not route.policy.public:
            principal = await self._caller(scope, headers)
            scope[KNOWN] = True
            _authorise(principal, route.policy)
            if principal.by_cookie and scope["method"] not in SAFE and REQUEST_HEADER not in headers:
                raise RequestRefused(Refusal.FORBIDDEN, "A request by cookie needs the header X-Taskyard-Request: 1.")
        query = _query(route.query, scope["query_string"])
        if route.method in SAFE:
            raw, body = b"", route.empty_body
        else:
            most = bytes_max(self.door.size, is_batch=route.is_batch)
            raw = await read_body(headers, receive, most, self.door.deadlines.body_s)
            body = _body(route, raw)
        call = Call(
            door=self.door,
            principal=principal,
            path=scope["path"],
            id=id,
            query=query,
            headers=headers,
            scope=scope,
            raw=raw,
            gone=partial(gone, receive),
        )
        await call.hear_of_named()
        return await route.handler(call, body)

    def _page(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Reply | None:
        """Of the dashboard. A one-time link is none, though it is of the first page's address."""
        if not _may_be_page(scope) or (scope["path"] == "/" and TICKET.search(scope["query_string"])):
            return None
        page = self._dashboard.answer(scope, headers)
        if page is not None:
            scope[ROUTE] = PLACE
        return page

    def _nothing_at(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Reply:
        """People get a page, programs a problem."""
        page = self._dashboard.nothing_here(headers) if _may_be_page(scope) else None
        if page is None:
            raise RequestRefused(Refusal.NOT_FOUND, NOTHING_THERE)
        scope[ROUTE] = PLACE
        return page

    def _methods_at(self, scope: Scope) -> tuple[dict[str, Route[Any, Any]] | None, str]:
        """What can be done at an address, and whom it names."""
        path, id = scope["path"], ""
        has_escapes = ESCAPED_SLASH.search(scope.get("raw_path") or b"") is not None
        methods = None if has_escapes else self._by_path.get(path)
        if methods is None or "{id}" in path:
            parts = _segments(scope["raw_path"]) if has_escapes else path.split("/", 5)
            if len(parts) > 4 and parts[4]:
                id, parts[4] = parts[4], "{id}"
                methods = self._by_path.get("/".join(parts))
                if methods is None and "/" in parts[-1]:
                    # A name may hold slashes, which come here decoded: its end is where the last word begins.
                    within, _, last = parts[5].rpartition("/")
                    id, parts[5] = f"{id}/{within}", last
                    methods = self._by_path.get("/".join(parts))
            elif len(parts) == 4 and parts[3]:
                # An address without a version is one segment shorter.
                id, parts[3] = parts[3], "{id}"
                methods = self._by_path.get("/".join(parts))
        return methods, id

    async def _caller(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Principal:
        try:
            return await self.door.authenticator.recognise(headers, address_of(scope))
        except (Unrecognised, TooManyFailures) as failure:
            raise not_recognised(failure) from None

    # WebSocket.

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        try:
            principal = await self._socket_caller(scope)
        except REFUSED as refused:
            await deny(self._refused(refused, scope), send)
            return
        short_cut = scope.get("extensions", {}).get(SHORT_CUT)
        await DaemonSocket(self.door, principal, receive, send, short_cut).serve()

    async def _socket_caller(self, scope: Scope) -> Principal:
        headers = fields_of(scope)
        self._origins.check_host(headers)
        self._origins.check_origin(headers, {"ws": "http", "wss": "https"}[scope["scheme"]])
        if scope["path"] != SOCKET_PATH:
            raise RequestRefused(Refusal.NOT_FOUND, NOTHING_THERE)
        principal = await self._caller(scope, headers)
        _authorise(principal, SOCKET_POLICY)
        return principal


def _may_be_page(scope: Scope) -> bool:
    return scope["method"] in READS and not scope["path"].startswith(API)


def _route_of(methods: Mapping[str, Route[Any, Any]], method: str) -> Route[Any, Any]:
    route = methods.get("GET" if method == "HEAD" else method)
    if route is None:
        allowed = ", ".join(sorted({*methods, *(("HEAD",) if "GET" in methods else ())}))
        raise RequestRefused(
            Refusal.METHOD_NOT_ALLOWED,
            f"Possible here: {allowed}.",
            headers=((b"allow", allowed.encode()),),
        )
    return route


def _segments(raw_path: bytes) -> list[str]:
    """An escaped slash is part of a name: decoded, `T-1%2Flog` would be another address."""
    parts = [unquote(part) for part in raw_path.decode("latin-1").split("/")]
    return parts[:5] + ["/".join(parts[5:])] * (len(parts) > 5)


def _authorise(principal: Principal, policy: Policy) -> None:
    if principal.attempt is not None:
        if policy.token is TokenUse.CALLBACK:
            return
        if policy.token is TokenUse.SUBTASKS:
            if KeyScope.AGENT in principal.scopes:
                return
            raise RequestRefused(Refusal.STALE_ATTEMPT, OVER)
        raise RequestRefused(Refusal.FORBIDDEN, "A task's token does not open this.")
    if not policy.scopes & principal.scopes:
        needed = " or ".join(sorted(policy.scopes))
        raise RequestRefused(Refusal.FORBIDDEN, f"This needs a key with the scope {needed}.")


def _body(route: Route[Any, Any], raw: bytes) -> Any:
    if route.body is bytes:
        return raw
    if not raw:
        if route.empty_body is None:
            raise RequestRefused(Refusal.INVALID_INPUT, "A JSON body is needed.")
        return route.empty_body
    plain_json.check(raw, wraps=BATCH_WRAPS if route.is_batch else WRAPS)
    body = _decoded(route, raw)
    plain_json.check_names(raw, route.shape)
    return body


def _decoded(route: Route[Any, Any], raw: bytes) -> Any:
    try:
        return route.decoder.decode(raw)
    except msgspec.ValidationError as error:
        salvaged = None if route.salvage is None else route.salvage(raw)
        if salvaged is not None:
            return salvaged
        raise _invalid(error, route.body) from None
    except (msgspec.DecodeError, UnicodeError):
        raise plain_json.not_json() from None
    except RecursionError:
        raise plain_json.too_deep() from None


def _query(kind: Any, raw: bytes) -> Any:
    if not raw:
        return kind()
    try:
        pairs = parse_qsl(raw.decode("latin-1"), keep_blank_values=True, max_num_fields=50, errors="strict")
    except (ValueError, UnicodeError):
        raise RequestRefused(Refusal.INVALID_INPUT, "The query string cannot be read.") from None
    given = dict(pairs)
    if len(given) != len(pairs):
        raise RequestRefused(Refusal.INVALID_INPUT, "Each query parameter may be given once.")
    if any("\0" in value for value in given.values()):
        raise plain_json.nul_inside()
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise _invalid(error, kind) from None


def _invalid(error: msgspec.ValidationError, kind: Any) -> RequestRefused:
    faults = faults_in(str(error), kind)
    return RequestRefused(Refusal.INVALID_INPUT, " ".join(map(sentence_of, faults)), errors=faults)


# Answers.


def _refusal(refused: RequestRefused) -> Reply:
    body = problems.problem(
        refused.code,
        refused.detail,
        errors=refused.errors,
        kept=refused.kept,
        retry_after=refused.retry_after_s,
        backpressure=refused.backpressure,
    )
    headers: Headers = list(refused.headers)
    if refused.retry_after_s is not None:
        headers.append((b"retry-after", str(ceil(refused.retry_after_s)).encode()))
    return Reply(body, status=body.status, headers=headers, media_type=problems.MEDIA_TYPE)


def _unavailable(unavailable: Unavailable, hub: Hub) -> Reply:
    code = Refusal(unavailable.code)
    why = rewound(hub)
    if why is not None and code is not Refusal.OUTCOME_UNKNOWN:
        return _refusal(why)
    detail = problems.PROBLEMS[code].title + "; try again."
    return _refusal(RequestRefused(code, detail, retry_after_s=unavailable.retry_after_s))


def _fault() -> Reply:
    body = problems.Problem(
        status=500, title="A fault of the hub", detail="The hub failed; its log says why.", code=problems.INTERNAL
    )
    return Reply(body, status=500, media_type=problems.MEDIA_TYPE)


def build_app(
    hub: Hub, settings: GatewaySettings, dashboard: Dashboard | None = None, deadlines: Deadlines | None = None
) -> GatewayApp:
    """The application for one hub. `app.door` has the sign-in link and what is to be closed at the end."""
    return GatewayApp(Door(hub, settings, _describe, deadlines or Deadlines()), dashboard or Dashboard())


def _describe() -> Description:
    document = openapi.document(ROUTES)
    return Description(_encoder.encode(document), docs_page.page(document))
