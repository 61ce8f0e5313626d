"""Tags of the OpenAPI document: a group of operations for each kind of resource."""

from typing import Final

from msgspec import Struct


class Tag(Struct, frozen=True):
    name: str
    description: str
    resources: tuple[str, ...]
    """The first segments of its addresses, without `/api` and `/api/v1`."""


TAGS: Final = (
    Tag(
        "Tasks",
        "Submit tasks; read, change, cancel and retry them; report on attempts; ask why a task waits.",
        ("tasks", "intake", "why"),
    ),
    Tag("Claims", "Pull tasks without a socket.", ("claim",)),
    Tag("Jobs", "Tasks as Arvis clients list, retry and cancel them.", ("queue",)),
    Tag("Daemons", "The processes that run tasks.", ("daemons",)),
    Tag(
        "Queues",
        "The queues of model sources, the circuit breakers of task types, and backpressure.",
        ("queues", "breakers", "backpressure"),
    ),
    Tag("Dead letters", "Tasks that failed for good, and verdicts on them.", ("dead-letters",)),
    Tag("Schedules", "Recurring tasks.", ("schedules",)),
    Tag("Templates", "Reusable definitions of tasks.", ("templates",)),
    Tag("Hooks", "Inbound webhooks: a signed delivery becomes a task.", ("hooks",)),
    Tag("Notifications", "Outbound webhooks: events are delivered to an address.", ("notifications",)),
    Tag("Events", "What happens, as it happens.", ("events",)),
    Tag("Users", "Users, their keys, plans and limits, and the audit log.", ("users", "keys", "plans", "audit")),
    Tag(
        "Import and export",
        "Tasks from other queues, tasks as JSON lines, and the report.",
        ("import", "export", "report"),
    ),
    Tag(
        "Hub",
        "Health, metrics, hubs, and this description.",
        ("healthz", "readyz", "metrics", "hubs", "openapi.json", "docs"),
    ),
    Tag("Signing in", "Sessions of browsers.", ("session", "")),
)
_TAG_OF: Final = {resource: tag.name for tag in TAGS for resource in tag.resources}


def tag_of(path: str) -> str:
    """The tag of an address. Raises `KeyError` if its resource has none yet."""
    return _TAG_OF[path.removeprefix("/api").removeprefix("/v1").split("/")[1]]
