"""Who is asking: API keys, task tokens, JSON Web Tokens, and the browser's session.

A principal is made from the credential alone; nothing a request says about itself adds to it. API keys
carry 256 random bits, so they are kept as plain SHA-256 and found by it: there is nothing to guess,
and an unknown key costs the same work as a known one.

The limit on failed attempts per address guards against the load of guessing, not against its success:
a valid credential passes even from an address that has failed too often. Locking the address instead
would let any process on a machine lock out that machine's own daemon.
"""

import hashlib
import hmac
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from taskyard.core.changes import KeyRecord
from taskyard.core.priority import lower_of
from taskyard.gateway.bearer import JwtSettings, TokenReader
from taskyard.gateway.news import catch_up, key_of, user_called
from taskyard.gateway.port import Directory, Hub
from taskyard.gateway.sign_in import COOKIE, KeySession, Session, SignIn
from taskyard.vocabulary import ENDED, Level, PriorityScale, Scope, SourceType

KEY_PREFIX: Final = "tyk_"
CREDENTIAL_CHARS_MAX: Final = 8192
_NO_HASH: Final = "0" * 64


class AuthSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    jwt: JwtSettings | None = None
    failures_per_minute: int = 30
    addresses_max: int = 10_000
    session_s: int = 12 * 3600
    ticket_s: int = 600
    secure_cookie: bool = False
    """Set behind TLS."""


class Principal(Struct, frozen=True, kw_only=True):
    """Whoever was recognised, and all they may do."""

    user_id: str
    actor: str
    scopes: frozenset[Scope]
    key_id: str | None = None
    max_priority: Level | None = None
    priority_scale: PriorityScale | None = None
    sources: tuple[SourceType, ...] | None = None
    expires_at: int | None = None
    attempt: tuple[str, int] | None = None
    """With a task's token: the task and attempt it speaks for."""
    by_cookie: bool = False


NOBODY: Final = Principal(user_id="", actor="", scopes=frozenset())


class Unrecognised(Exception):
    """No credential, or one that opens nothing. The message never says which part was wrong."""

    def __init__(self, *, shown: bool) -> None:
        super().__init__("not recognised")
        self.shown = shown
        """Whether there was one."""


class TooManyFailures(Exception):
    def __init__(self, retry_after_s: int) -> None:
        super().__init__("too many failed attempts from this address")
        self.retry_after_s = retry_after_s


class Failures:
    """Failed attempts per address and minute, in a table that cannot grow."""

    def __init__(self, *, per_minute: int, addresses_max: int) -> None:
        self._per_minute = per_minute
        self._addresses_max = addresses_max
        self._minute = 0
        self._counts: dict[str, int] = {}

    def is_over(self, address: str, now_ms: int) -> bool:
        self._turn(now_ms)
        return self._counts.get(address, 0) >= self._per_minute

    def note(self, address: str, now_ms: int) -> None:
        self._turn(now_ms)
        if address in self._counts or len(self._counts) < self._addresses_max:
            self._counts[address] = self._counts.get(address, 0) + 1

    def _turn(self, now_ms: int) -> None:
        minute = now_ms // 60_000
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def principal_of_key(key: KeyRecord) -> Principal:
    return Principal(
        user_id=key.user_id,
        actor=f"key:{key.id}",
        scopes=frozenset(key.scopes),
        key_id=key.id,
        max_priority=key.max_priority,
        priority_scale=key.priority_scale,
        sources=key.sources,
        expires_at=key.expires_at,
    )


class Authenticator:
    def __init__(self, hub: Hub, settings: AuthSettings, sign_in: SignIn) -> None:
        self._hub = hub
        self._sign_in = sign_in
        self.adopt(settings)

    def adopt(self, settings: AuthSettings) -> None:
        """Whoever failed too often in this minute may try anew."""
        self._jwt = None if settings.jwt is None else TokenReader(settings.jwt)
        self._failures = Failures(per_minute=settings.failures_per_minute, addresses_max=settings.addresses_max)

    @property
    def _directory(self) -> Directory:
        return self._hub.directory

    async def recognise(self, headers: Mapping[bytes, bytes], address: str) -> Principal:
        """Raises `Unrecognised` or `TooManyFailures`; `Unavailable` if only the hub that leads could say who it is."""
        credential = _bearer(headers)
        if credential is not None:
            principal = self._of_key(credential)
            if principal is not None:
                return principal
        return await self._otherwise(credential, headers, address)

    async def _otherwise(self, credential: str | None, headers: Mapping[bytes, bytes], address: str) -> Principal:
        now = self._hub.now_ms()
        is_over = self._failures.is_over(address, now)
        if credential is None:
            principal = await self._of_cookie(headers)
        elif credential.startswith(KEY_PREFIX):
            principal = None if is_over else await self._of_new_key(credential)
        else:
            principal = await self._of_token(credential)
            # Only a signature is costly to check, or a new key to ask for: there an address can run out of tries.
            if principal is None and not is_over:
                principal = await self._of_jwt(credential)
        if principal is not None:
            return principal
        if credential is not None:
            self._failures.note(address, self._hub.now_ms())
        raise _unknown(now, is_over=is_over, shown=bool(credential))

    async def holder_of(self, key: str, address: str) -> Principal:
        """Whoever shows a key in a body. Raises as `recognise` does, and a wrong one counts as it does there."""
        now = self._hub.now_ms()
        is_over = self._failures.is_over(address, now)
        principal = self._of_key(key) or (None if is_over else await self._of_new_key(key))
        if principal is not None:
            return principal
        self._failures.note(address, self._hub.now_ms())
        raise _unknown(now, is_over=is_over, shown=True)

    def is_valid(self, principal: Principal) -> bool:
        """Whether a credential that was good still is: asked for as long as a connection lives."""
        if principal.expires_at is not None and principal.expires_at <= self._hub.now_ms():
            return False
        if principal.key_id is not None:
            key = self._directory.key(principal.key_id)
            return key is not None and key.revoked_at is None
        return self._directory.user(principal.user_id) is not None

    def _of_key(self, credential: str) -> Principal | None:
        digest = hash_of(credential)
        key = self._directory.key_by_hash(digest)
        stored = _NO_HASH if key is None else key.hash
        if not hmac.compare_digest(stored, digest) or key is None:
            return None
        principal = principal_of_key(key)
        return principal if self.is_valid(principal) else None

    async def _of_new_key(self, credential: str) -> Principal | None:
        """One that another gateway may have issued a moment ago."""
        await catch_up(self._hub)
        return self._of_key(credential)

    async def _of_token(self, credential: str) -> Principal | None:
        """A task's token dies with its task; whether its attempt is still current the core decides."""
        spoken_for = self._hub.attempt_of(credential)
        if spoken_for is None:
            return None
        task_id, attempt = spoken_for
        stored = await self._hub.read(lambda reader: reader.find(user_id=None, task=task_id))
        if stored is None:
            return None
        newest = stored.task.newest
        is_current = newest is not None and newest.number == attempt and stored.task.status not in ENDED
        return Principal(
            user_id=stored.task.user_id,
            actor=f"task:{task_id}",
            scopes=frozenset({Scope.AGENT}) if is_current else frozenset(),
            # Whoever submitted the task under a ceiling has not lifted it by handing the task to an agent.
            max_priority=lower_of(self._hub.settings.priorities.agent_max, stored.task.ceiling),
            sources=(SourceType.AGENT,),
            attempt=spoken_for,
        )

    async def _of_jwt(self, credential: str) -> Principal | None:
        if self._jwt is None:
            return None
        bearer = self._jwt.read(credential, now_s=self._hub.now_ms() / 1000)
        if bearer is None:
            return None
        user = await user_called(self._hub, bearer.subject)
        if user is None:
            return None
        return Principal(
            user_id=user.id,
            actor=f"user:{user.id}",
            scopes=bearer.scopes,
            max_priority=self._hub.settings.priorities.agent_max if Scope.AGENT in bearer.scopes else None,
            expires_at=bearer.expires_at,
        )

    async def _of_cookie(self, headers: Mapping[bytes, bytes]) -> Principal | None:
        raw = headers.get(b"cookie")
        if raw is None or len(raw) > CREDENTIAL_CHARS_MAX:
            return None
        try:
            morsel = SimpleCookie(raw.decode("latin-1")).get(COOKIE)
        except CookieError:
            return None
        session = None if morsel is None else self._sign_in.session(morsel.value)
        principal = await self._of_key_session(session) if isinstance(session, KeySession) else _of_session(session)
        return principal if principal is not None and self.is_valid(principal) else None

    async def _of_key_session(self, session: KeySession) -> Principal | None:
        """All that the key may do as it stands now, and nothing that it may not."""
        key = await key_of(self._hub, session.key_id)
        if key is None:
            return None
        ends = session.expires_at if key.expires_at is None else min(session.expires_at, key.expires_at)
        return replace(principal_of_key(key), expires_at=ends, by_cookie=True)


def _of_session(session: Session | None) -> Principal | None:
    if session is None:
        return None
    return Principal(
        user_id=session.user_id,
        actor=f"user:{session.user_id}",
        scopes=session.scopes,
        expires_at=session.expires_at,
        by_cookie=True,
    )


def _unknown(now_ms: int, *, is_over: bool, shown: bool) -> Unrecognised | TooManyFailures:
    return TooManyFailures(60 - now_ms // 1000 % 60) if is_over else Unrecognised(shown=shown)


def _bearer(headers: Mapping[bytes, bytes]) -> str | None:
    raw = headers.get(b"authorization")
    if raw is None:
        return None
    scheme, _, credential = raw.decode("latin-1").partition(" ")
    if scheme.lower() != "bearer" or len(credential) > CREDENTIAL_CHARS_MAX:
        return ""
    return credential.strip()
