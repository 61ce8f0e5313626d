"""Taskyard: a durable, fair task queue for AI agents."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taskyard.daemon.daemon import Daemon
    from taskyard.daemon.task import Result, TaskError
    from taskyard.sdk.async_client import AsyncClient
    from taskyard.sdk.async_proactive import AsyncProactiveSubmitter
    from taskyard.sdk.client import Client
    from taskyard.sdk.errors import (
        BadAddress,
        BadAnswer,
        Conflict,
        CredentialsMissing,
        Damaged,
        HubUnreachable,
        Invalid,
        Limited,
        NotAllowed,
        NotFound,
        Refused,
        TaskStuck,
        TaskyardError,
        Unavailable,
        WaitTimeout,
    )
    from taskyard.sdk.proactive import ProactiveSubmitter
    from taskyard.sdk.task import SubmittedBefore
    from taskyard.sdk.webhooks import verify

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncProactiveSubmitter",
    "BadAddress",
    "BadAnswer",
    "Client",
    "Conflict",
    "CredentialsMissing",
    "Daemon",
    "Damaged",
    "HubUnreachable",
    "Invalid",
    "Limited",
    "NotAllowed",
    "NotFound",
    "ProactiveSubmitter",
    "Refused",
    "Result",
    "SubmittedBefore",
    "TaskError",
    "TaskStuck",
    "TaskyardError",
    "Unavailable",
    "WaitTimeout",
    "__version__",
    "verify",
]


def __getattr__(name: str) -> object:
    """The public names load what they need when first asked for: a client never pays for the daemon."""
    match name:
        case "Client":
            from taskyard.sdk.client import Client

            return Client
        case "AsyncClient":
            from taskyard.sdk.async_client import AsyncClient

            return AsyncClient
        case "ProactiveSubmitter":
            from taskyard.sdk.proactive import ProactiveSubmitter

            return ProactiveSubmitter
        case "AsyncProactiveSubmitter":
            from taskyard.sdk.async_proactive import AsyncProactiveSubmitter

            return AsyncProactiveSubmitter
        case "Daemon":
            from taskyard.daemon.daemon import Daemon

            return Daemon
        case "Result" | "TaskError":
            from taskyard.daemon import task

            return getattr(task, name)
        case "SubmittedBefore":
            from taskyard.sdk.task import SubmittedBefore

            return SubmittedBefore
        case "verify":
            from taskyard.sdk.webhooks import verify

            return verify
        case _ if name in __all__:
            from taskyard.sdk import errors

            return getattr(errors, name)
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
