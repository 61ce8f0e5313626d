"""Pages of a list: an opaque cursor in, a `Link` to the next page out."""

import base64
import binascii
from urllib.parse import quote, urlencode

import msgspec

from taskyard.gateway.call import Headers, RequestRefused
from taskyard.vocabulary import Refusal
from taskyard.wire.problems import FieldError


def place_of(cursor: str | None) -> str | None:
    """Where the last page ended."""
    if cursor is None:
        return None
    try:
        place = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        place = ""
    if not place or not place.isprintable():
        raise bad_cursor()
    return place


def cursor_at(place: str) -> str:
    """What `place_of` reads."""
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def bad_cursor() -> RequestRefused:
    return RequestRefused(
        Refusal.INVALID_INPUT,
        "The cursor is not one of this list; take it from the `Link` header as it is.",
        errors=(FieldError("cursor", "is not one of this list"),),
    )


def link_to_next(path: str, query: object, place: str) -> Headers:
    """The same list, from where this page ends."""
    given = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in msgspec.to_builtins(query).items()
        if value is not None and name != "cursor"
    }
    given["cursor"] = cursor_at(place)
    return [(b"link", f'<{quote(path)}?{urlencode(given)}>; rel="next"'.encode("latin-1"))]
