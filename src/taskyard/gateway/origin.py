"""Whether a request was meant for this hub, and was not sent by somebody else's web page.

A page of another site can make a browser on this machine send requests to 127.0.0.1. Two things give
it away. With DNS rebinding its own name points at our address, so `Host` is a name we do not have.
Otherwise the browser says in `Origin` where the page came from. Both are checked on loopback too, and
both for WebSockets, to which no browser applies its same-origin rule.
"""

import ipaddress
import re
from collections.abc import Mapping
from typing import Final

from taskyard.gateway.call import RequestRefused
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.head import malformed
from taskyard.vocabulary import Refusal

_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::", "[::]", ""})
_REMEMBERED_MAX: Final = 1000
# As RFC 3986 has it, but without a comma: with one it is two fields that a proxy combined.
_HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]*\]|[-.~%!$&'()*+;=\w]*)(?::[0-9]*)?[ \t]*")


class Origins:
    def __init__(self, settings: GatewaySettings) -> None:
        host = settings.host if ":" not in settings.host else f"[{settings.host.strip('[]')}]"
        self._hosts = frozenset(name.lower() for name in (*_LOOPBACK, host, *settings.hosts))
        self._origins = frozenset(origin.lower().rstrip("/").encode() for origin in settings.origins)
        # Bound to every address, any of them may be in `Host`. A bare address cannot be rebound: a page
        # that was loaded from an address is of that address.
        self._takes_addresses = settings.host in _EVERYWHERE
        self._remembered: dict[bytes, bool] = {}

    def check_host(self, headers: Mapping[bytes, bytes]) -> None:
        host = headers.get(b"host", b"")
        known = self._remembered.get(host)
        if known is None:
            if _HOST.fullmatch(host) is None:
                raise malformed("`Host` is no name or address, with or without a port.")
            known = self._is_ours(host.strip())
            if len(self._remembered) < _REMEMBERED_MAX:
                self._remembered[host] = known
        if not known:
            raise RequestRefused(
                Refusal.FORBIDDEN, "This hub is not known by that name; add it to the configured hosts."
            )

    def _is_ours(self, host: bytes) -> bool:
        name = host.decode("latin-1").lower()
        name = name[: name.index("]") + 1] if name.startswith("[") and "]" in name else name.split(":")[0]
        if name in self._hosts:
            return name != ""
        if not self._takes_addresses:
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def check_origin(self, headers: Mapping[bytes, bytes], scheme: str) -> None:
        """Absent is fine: not a browser. Anything else must be this very hub, or listed, to the letter."""
        origin = headers.get(b"origin")
        if origin is None:
            return
        own = scheme.encode() + b"://" + headers.get(b"host", b"").strip()
        origin = origin.strip()
        if origin not in (own, own.lower()) and origin not in self._origins:
            raise RequestRefused(Refusal.FORBIDDEN, "This hub takes no such request from that origin.")
