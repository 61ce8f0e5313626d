"""One call of the HTTP interface as a tool makes it, and what comes back."""

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

from msgspec import Struct

from taskyard.wire.problems import names_a_task

API = "/api/v1"
_OF_HTTP = frozenset({"status", "title"})


class Ask(Struct, frozen=True, kw_only=True):
    method: str
    path: str
    query: Mapping[str, Any] = {}
    body: Mapping[str, Any] | None = None
    token: str | None = None
    """A task's token to call with, instead of the credential that the agent came with."""
    wait_s: float = 0.0
    """How long the hub may take on purpose."""
    idempotent: bool = True
    """Whether a second arrival changes nothing that the first did not."""


class Outcome(Struct, frozen=True):
    """What an agent is told: an answer, or a problem with its `code` and `detail`."""

    value: Any
    is_error: bool = False


class Yard(Protocol):
    """Carries calls to a hub, as somebody."""

    @property
    def is_of_a_task(self) -> bool:
        """Whether that somebody is the agent that runs a task, by its token."""

    async def ask(self, ask: Ask) -> Outcome: ...


class NoSuchTask(Exception):
    """What was given as a task's name can be none."""


def of_task(task: str, word: str = "") -> str:
    """The path of a task, or of something about it."""
    if not names_a_task(task):
        raise NoSuchTask
    return f"{API}/tasks/{quote(task, safe='')}" + (f"/{word}" if word else "")


def claim_path() -> str:
    return f"{API}/claim"


def refusal(problem: Mapping[str, Any]) -> Outcome:
    """What the hub said no with, without what is HTTP's."""
    return Outcome({name: value for name, value in problem.items() if name not in _OF_HTTP}, is_error=True)


def problem(code: str, detail: str) -> Outcome:
    """A problem that is found before any hub is asked."""
    return Outcome({"code": code, "detail": detail}, is_error=True)
