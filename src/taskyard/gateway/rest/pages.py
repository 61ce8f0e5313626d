"""What is not about tasks: health, the landing page, the API's own description."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from taskyard.gateway.call import Call, Empty, Reply, RequestRefused
from taskyard.gateway.rest.session import kept
from taskyard.gateway.rewound import rewound
from taskyard.gateway.sign_in import TICKET_CHARS_MAX
from taskyard.vocabulary import Refusal
from taskyard.wire.people import HealthAnswer

HTML: Final = "text/html; charset=utf-8"


class LandingQuery(Struct, forbid_unknown_fields=True):
    ticket: Annotated[str, Meta(max_length=TICKET_CHARS_MAX)] = ""


async def health(call: Call[Empty], _body: Empty) -> Reply:
    return Reply(HealthAnswer("ok"))


async def readiness(call: Call[Empty], _body: Empty) -> Reply:
    why = rewound(call.hub)
    if why is not None:
        raise why
    if not await call.hub.takes_work():
        raise RequestRefused(Refusal.STORE_UNAVAILABLE, "The hub does not take work at the moment.", retry_after_s=1)
    return Reply(HealthAnswer("ready", call.hub.damage.count))


async def landing(call: Call[LandingQuery], _body: Empty) -> Reply:
    """Without a ticket nobody comes here: then the dashboard answers at this address."""
    session = await call.door.sign_in.exchange(call.query.ticket)
    if session is None:
        return _spent()
    # Away from the address that holds the ticket, so that it is in no history and no `Referer`.
    return Reply(b"", status=303, headers=[kept(call.door, session), (b"location", b"/")], media_type=HTML)


def _spent() -> Reply:
    title = "This link has been used, or is too old."
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
    text = "<a href='/'>Sign in with a key</a>, or have <code>taskyard dashboard</code> print a new link."
    return Reply(f"{head}<h1>{title}</h1><p>{text}</p>".encode(), status=401, media_type=HTML)


async def openapi(call: Call[Empty], _body: Empty) -> Reply:
    return Reply(call.door.description.openapi_json)


async def docs(call: Call[Empty], _body: Empty) -> Reply:
    return Reply(call.door.description.docs_html, media_type=HTML)
