"""A browser's session: begun with a key, ended by forgetting its cookie."""

from taskyard.gateway.auth import TooManyFailures, Unrecognised
from taskyard.gateway.call import Call, Empty, Reply, address_of, not_recognised
from taskyard.gateway.door import Door
from taskyard.gateway.sign_in import cookie_of
from taskyard.wire.people import ShownKey


async def begin(call: Call[Empty], body: ShownKey) -> Reply:
    """The cookie stands for the key, and is never worth more than it: not its ceiling, not its end."""
    try:
        principal = call.door.authenticator.holder_of(body.key, address_of(call.scope))
    except (Unrecognised, TooManyFailures) as failure:
        raise not_recognised(failure) from None
    assert principal.key_id is not None, "whoever holds a key was found by it"
    return Reply(b"", status=204, headers=[kept(call.door, call.door.sign_in.for_key(principal.key_id))])


async def end(call: Call[Empty], _body: Empty) -> Reply:
    secure = call.door.settings.auth.secure_cookie
    return Reply(b"", status=204, headers=[cookie_of("", session_s=0, is_secure=secure)])


def kept(door: Door, session: str) -> tuple[bytes, bytes]:
    """The header by which a browser keeps it for as long as it is good."""
    settings = door.settings.auth
    return cookie_of(session, session_s=settings.session_s, is_secure=settings.secure_cookie)
