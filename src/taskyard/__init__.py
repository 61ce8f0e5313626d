"""Taskyard: a durable, fair task queue for AI agents."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskyard.daemon.daemon import Daemon
    from taskyard.sdk.async_client import AsyncClient
    from taskyard.sdk.client import Client

__version__ = "0.1.0"

__all__ = ["AsyncClient", "Client", "Daemon", "__version__"]


def __getattr__(name: str) -> object:
    """The public names load what they need when first asked for: a client never pays for the daemon."""
    match name:
        case "Client":
            from taskyard.sdk.client import Client

            return Client
        case "AsyncClient":
            from taskyard.sdk.async_client import AsyncClient

            return AsyncClient
        case "Daemon":
            from taskyard.daemon.daemon import Daemon

            return Daemon
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
