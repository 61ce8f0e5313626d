"""What is not about tasks: health, the landing page, the API's own description."""

import html
from typing import Annotated, Final

from msgspec import Meta, Struct

from taskyard.gateway.call import Call, Empty, Reply, RequestRefused
from taskyard.gateway.rest.session import kept
from taskyard.gateway.sign_in import TICKET_CHARS_MAX
from taskyard.vocabulary import Refusal
from taskyard.wire.people import HealthAnswer

HTML: Final = "text/html; charset=utf-8"


class LandingQuery(Struct, forbid_unknown_fields=True):
    ticket: Annotated[str, Meta(max_length=TICKET_CHARS_MAX)] | None = None


async def health(call: Call[Empty], _body: Empty) -> Reply:
    return Reply(HealthAnswer("ok"))


async def readiness(call: Call[Empty], _body: Empty) -> Reply:
    if not await call.hub.takes_work():
        raise RequestRefused(Refusal.STORE_UNAVAILABLE, "The hub does not take work at the moment.", retry_after_s=1)
    return Reply(HealthAnswer("ready"))


async def landing(call: Call[LandingQuery], _body: Empty) -> Reply:
    ticket = call.query.ticket
    if ticket is None:
        return _page("Taskyard is up.", "The API is described at <a href='/api/docs'>/api/docs</a>.")
    session = await call.door.sign_in.exchange(ticket)
    if session is None:
        return _page("This link has been used, or is too old.", "Ask for a new one.", status=401)
    # Away from the address that holds the ticket, so that it is in no history and no `Referer`.
    return Reply(b"", status=303, headers=[kept(call.door, session), (b"location", b"/")], media_type=HTML)


def _page(title: str, text: str, status: int = 200) -> Reply:
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"
    return Reply(f"{head}<h1>{html.escape(title)}</h1><p>{text}</p>".encode(), status=status, media_type=HTML)


async def openapi(call: Call[Empty], _body: Empty) -> Reply:
    return Reply(call.door.description.openapi_json)


async def docs(call: Call[Empty], _body: Empty) -> Reply:
    return Reply(call.door.description.docs_html, media_type=HTML)
