"""Where a hub's socket for daemons is."""

from typing import Final
from urllib.parse import urlsplit, urlunsplit

PATH: Final = "/api/v1/daemons/connect"


def socket_url(hub: str) -> str:
    """`http://host:port` → `ws://host:port/api/v1/daemons/connect`."""
    parts = urlsplit(hub if "://" in hub else f"http://{hub}")
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    return urlunsplit((scheme, parts.netloc, parts.path.rstrip("/") + PATH, "", ""))


def is_local(url: str) -> bool:
    return urlsplit(url).hostname in ("localhost", "127.0.0.1", "::1")
