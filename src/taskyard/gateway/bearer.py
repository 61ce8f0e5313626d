"""Reading JSON Web Tokens that another system signed.

The algorithm is the configuration's, never the token's; the key is looked up in our own set by `kid`
and must be of the algorithm's kind; `jku` and `x5u` are never followed. What the hub's clock says is
passed in, so that a test can stand still.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import jwt
from msgspec import Struct

from taskyard.vocabulary import Scope

LEEWAY_S: Final = 30
_SCOPES_DEFAULT: Final = frozenset({Scope.TASKS})


class JwtSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    algorithm: Literal["HS256", "RS256", "ES256"]
    secret: str | None = None
    """For HS256, at least 32 bytes."""
    jwks: dict[str, Any] | None = None
    """For RS256 and ES256: the key set itself,"""
    jwks_file: str | None = None
    """or the file it is in, which whoever reads the settings puts in its place."""
    issuer: str | None = None
    audience: str | None = None
    scopes_max: tuple[Scope, ...] = (Scope.TASKS, Scope.AGENT, Scope.DAEMON)
    """What a token may be granted at most; `admin` only if it is listed here."""


class Bearer(Struct, frozen=True):
    subject: str
    scopes: frozenset[Scope]
    expires_at: int


class TokenReader:
    def __init__(self, settings: JwtSettings) -> None:
        self._settings = settings
        self._keys = _keys_of(settings)

    def read(self, token: str, *, now_s: float) -> Bearer | None:
        """None for whatever is wrong with it."""
        try:
            key = self._keys.get(str(jwt.get_unverified_header(token).get("kid", "")))
            if key is None and len(self._keys) == 1:
                key = self._keys.get("")
            claims = None if key is None else self._claims(token, key)
        except (jwt.PyJWTError, ValueError, TypeError):
            return None
        return None if claims is None else _bearer_of(claims, now_s, self._settings)

    def _claims(self, token: str, key: Any) -> dict[str, Any]:
        settings = self._settings
        required = ["exp", "sub"]
        required += ["iss"] if settings.issuer is not None else []
        required += ["aud"] if settings.audience is not None else []
        return jwt.decode(
            token,
            key,
            algorithms=[settings.algorithm],
            issuer=settings.issuer,
            audience=settings.audience,
            options={
                "require": required,
                "verify_aud": settings.audience is not None,
                # Judged below, by the hub's clock.
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )


def _keys_of(settings: JwtSettings) -> dict[str, Any]:
    """By `kid`; a key without one is under the empty name."""
    if settings.algorithm == "HS256":
        if settings.secret is None or len(settings.secret.encode()) < 32:
            raise ValueError("auth.jwt: HS256 needs a secret of at least 32 bytes")
        return {"": settings.secret}
    if settings.jwks is None:
        raise ValueError(f"auth.jwt: {settings.algorithm} needs a key set (jwks)")
    kind = {"RS256": "RSA", "ES256": "EC"}[settings.algorithm]
    keys = {
        str(entry.get("kid", "")): jwt.PyJWK(entry, algorithm=settings.algorithm).key
        for entry in settings.jwks.get("keys", [])
        if entry.get("kty") == kind
    }
    if not keys:
        raise ValueError(f"auth.jwt: the key set has no {kind} key for {settings.algorithm}")
    return keys


def _bearer_of(claims: Mapping[str, Any], now_s: float, settings: JwtSettings) -> Bearer | None:
    expires_s, not_before_s = claims["exp"], claims.get("nbf", 0)
    if not _is_number(expires_s) or not _is_number(not_before_s) or not isinstance(claims["sub"], str):
        return None
    if expires_s + LEEWAY_S <= now_s or not_before_s - LEEWAY_S > now_s:
        return None
    return Bearer(claims["sub"], _scopes_of(claims, settings), round((expires_s + LEEWAY_S) * 1000))


def _scopes_of(claims: Mapping[str, Any], settings: JwtSettings) -> frozenset[Scope]:
    said = claims.get("scope", claims.get("scopes"))
    if said is None:
        return _SCOPES_DEFAULT & frozenset(settings.scopes_max)
    words = said.split() if isinstance(said, str) else said if isinstance(said, list) else []
    return frozenset(scope for scope in settings.scopes_max if scope.value in words)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12
