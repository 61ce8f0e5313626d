"""`GET /api/v1/tasks/{id}/graph`: what a task is tied to."""

from typing import Literal

from msgspec import Struct, field

from taskyard.vocabulary import Status


class GraphNode(Struct, kw_only=True):
    id: str
    ref: str
    title: str | None
    """Or how its input begins."""
    status: Status
    type: str


class GraphEdge(Struct, kw_only=True):
    """A dependency and who waits for it, or a task and its sub-task."""

    from_: str = field(name="from")
    to: str
    kind: Literal["dependency", "subtask"]


class GraphAnswer(Struct, kw_only=True):
    nodes: list[GraphNode]
    """The task itself first, then the nearest."""
    edges: list[GraphEdge]
    truncated: bool
    """There are more."""
