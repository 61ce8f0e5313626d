"""One call of the HTTP interface as a tool makes it, and what comes back."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

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
    trace: Mapping[str, str] = {}
    """Trace context, as header fields."""
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


Report = Callable[[float, float, str], Awaitable[None]]
"""Takes what is done, of how much, and a message."""
TRACE_FIELDS = ("traceparent", "tracestate")


class ToolCall:
    """A yard for one call of a tool, whose requests are part of the call's trace."""

    def __init__(self, yard: Yard, meta: Mapping[str, Any], report: Report | None = None) -> None:
        """`meta` is the call's `_meta`; `report` is there if the caller wants to hear of progress."""
        self._yard = yard
        self._trace = {name: meta[name] for name in TRACE_FIELDS if _is_field(meta.get(name))}
        self._report = report
        self.is_of_a_task = yard.is_of_a_task

    @property
    def wants_progress(self) -> bool:
        return self._report is not None

    async def ask(self, ask: Ask) -> Outcome:
        return await self._yard.ask(replace(ask, trace=self._trace) if self._trace else ask)

    async def report(self, done: float, total: float, message: str) -> None:
        if self._report is not None:
            await self._report(done, total, message)


def _is_field(value: object) -> bool:
    """Whether it can be the value of a header field."""
    return isinstance(value, str) and value.isascii() and value.isprintable()


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
