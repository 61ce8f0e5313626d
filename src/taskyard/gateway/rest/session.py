"""A browser's session: begun with a key or by a link that a key asked for, ended by forgetting its cookie."""

from taskyard.gateway.auth import TooManyFailures, Unrecognised
from taskyard.gateway.call import Call, Empty, Reply, RequestRefused, address_of, not_recognised
from taskyard.gateway.door import Door
from taskyard.gateway.sign_in import cookie_of
from taskyard.vocabulary import Refusal
from taskyard.wire.fields import instant_of
from taskyard.wire.people import ShownKey, SignInLink


async def begin(call: Call[Empty], body: ShownKey) -> Reply:
    """The cookie stands for the key, and is never worth more than it: not its ceiling, not its end."""
    try:
        principal = await call.door.authenticator.holder_of(body.key, address_of(call.scope))
    except (Unrecognised, TooManyFailures) as failure:
        raise not_recognised(failure) from None
    assert principal.key_id is not None, "whoever holds a key was found by it"
    return Reply(b"", status=204, headers=[kept(call.door, call.door.sign_in.for_key(principal.key_id))])


async def link(call: Call[Empty], _body: Empty) -> Reply:
    """Only the key itself may: a session that could ask for the next one would have no end."""
    principal = call.principal
    if principal.key_id is None or principal.by_cookie:
        raise RequestRefused(Refusal.FORBIDDEN, "A sign-in link is made with a key, not in a session.")
    ticket, expires_at = call.door.sign_in.ticket_for_key(principal.key_id)
    return Reply(SignInLink(path=f"/?ticket={ticket}", expires_at=instant_of(expires_at)), status=201)


async def end(call: Call[Empty], _body: Empty) -> Reply:
    secure = call.door.settings.auth.secure_cookie
    return Reply(b"", status=204, headers=[cookie_of("", session_s=0, is_secure=secure)])


def kept(door: Door, session: str) -> tuple[bytes, bytes]:
    """The header by which a browser keeps it for as long as it is good."""
    settings = door.settings.auth
    return cookie_of(session, session_s=settings.session_s, is_secure=settings.secure_cookie)
