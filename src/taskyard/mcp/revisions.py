"""The revisions of the protocol whose requirements are kept, of those that are agreed on by `initialize`.

The library would agree to older ones too. 2025-03-26 requires batches, which are not taken; 2024-11-05 has another HTTP
transport, with an address of its own for events. A client that asks for one of these is offered the newest instead.
Revisions without `initialize`, from 2026-07-28 on, are the library's to accept or refuse.
"""

from collections.abc import Mapping
from typing import Any, Final

NEWEST: Final = "2025-11-25"
OVER_HTTP: Final = ("2025-06-18", NEWEST)
OVER_STDIO: Final = ("2024-11-05", *OVER_HTTP)
NOT_OVER_HTTP: Final = ("2024-11-05", "2025-03-26")
"""What a request's header may name and is refused for."""
UNSUPPORTED: Final = -32022
INITIALIZE: Final = "initialize"
_ASKED: Final = "protocolVersion"


def offered(params: Mapping[str, Any] | None, kept: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The parameters of an `initialize`, asking for a revision that is kept."""
    if params is None or params.get(_ASKED) in kept or not isinstance(params.get(_ASKED), str):
        return params
    return {**params, _ASKED: NEWEST}


def unsupported(version: str) -> dict[str, Any]:
    """The answer to a request under a revision that is not kept over HTTP."""
    data = {"supported": list(OVER_HTTP), "requested": version}
    return {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": UNSUPPORTED, "message": "Unsupported protocol version", "data": data},
    }
