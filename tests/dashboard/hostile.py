"""A yard in which everything is named by somebody who means harm: every text that it carries, in the words of each one.

Nothing is added to a payload where a text stands alone: some do harm only from the first letter on.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from taskyard.sdk.client import Client
from tests.dashboard.payloads import PAYLOADS
from tests.dashboard.yard import Yard
from tests.support.wire_client import WireClient

NAMES: Final = [payload for payload in PAYLOADS if payload.isprintable()]
"""Those that the hub takes for the name of a daemon, an ability or a queue."""
AT_A_TIME: Final = 3
"""So many of a kind the overview names."""
FOUND_MAX: Final = 8
SLOTS: Final = 2 * len(PAYLOADS)
"""Some are kept for what is critical."""
REASON: Final = "for a reason"


class Person:
    """Somebody with as many things of a kind as the overview names."""

    def __init__(self, yard: Yard, at: int) -> None:
        self.types: Sequence[str] = PAYLOADS[at : at + AT_A_TIME]
        self.id: str = yard.client.add_user(f"person {at}").id
        key = str(yard.client.add_key(self.id, name="own", scopes=["tasks", "daemon"]).key)
        self.daemons: Sequence[str] = NAMES[at : at + AT_A_TIME]
        for name in self.daemons:
            introduce(yard, name, key=key)
        with yard.hub.client(key=key) as client:
            for payload in self.types:
                client.submit("Wait.", capabilities=[payload])
                client.open_breaker(payload)
            self.held = client.overview().held_by


class HostileYard(Yard):
    """Its tasks are in the order of the payloads, by what they are there for."""

    held: Sequence[Any]
    """Tried once, and then for nobody: who could run it is gone."""
    running: Sequence[Any]
    completed: Sequence[Any]
    failed: Sequence[Any]
    skipped: Sequence[Any]
    cancelled: Sequence[Any]
    gathering: Any
    """Waits for all that have completed, and is told what they brought."""
    people: Sequence[Person]

    def fill(self) -> None:
        self._name_things()
        kinds: Sequence[Callable[[str], dict[str, Any]]] = (
            *(_held, _running, _completed, _failed),
            *(_unwanted, _unwanted),
        )
        made = self.client.submit_batch([kind(payload) for kind in kinds for payload in PAYLOADS]).tasks
        size = len(PAYLOADS)
        parts = [made[at : at + size] for at in range(0, len(made), size)]
        self.held, self.running, self.completed, self.failed, self.skipped, self.cancelled = parts
        for payload, *tasks in zip(PAYLOADS, self.held, self.completed, self.failed, strict=True):
            self._work(payload, *tasks)
        for payload, skipped, cancelled in zip(PAYLOADS, self.skipped, self.cancelled, strict=True):
            self.client.skip(skipped.id, reason=payload)
            self.client.cancel(cancelled.id, reason=payload)
        self.gathering = self.client.submit("Gather.", depends_on=[task.id for task in self.completed])
        for payload in PAYLOADS:
            self.client.open_breaker(payload)
        self.people = [Person(self, at) for at in range(0, len(PAYLOADS), AT_A_TIME)]
        self.until(lambda: all(self._runs(task) for task in self.running), "every task that runs to say how far it is")

    def _runs(self, task: Any) -> bool:
        return self.client.task(task.id).progress is not None

    def named_daemons(self) -> Sequence[Any]:
        """Those of the owner's that have come and gone."""
        return [daemon for daemon in self.client.daemons() if daemon.name in NAMES]

    def _name_things(self) -> None:
        client = self.client
        for payload in PAYLOADS:
            client.add_user(payload)
            client.add_key("local", name=payload, scopes=["tasks"])
            client.put_queue(name_for(payload), models=[payload])
            client.add_schedule(schedule_for(payload), {"input": "Go.", "title": payload, "type": payload}, every="24h")
            client.add_hook(payload, provider="generic", template={"input": payload, "title": payload})
        for name in dict.fromkeys(map(name_for, PAYLOADS)):
            introduce(self, name, capabilities=[name], models=[name], types=[name], version=name)

    def _work(self, payload: str, held: Any, completed: Any, failed: Any) -> None:
        """By agents that call themselves what the tasks are called."""
        client, name = self.client, name_for(payload)
        error: dict[str, Any] = {"code": payload, "message": payload, "details": {payload: payload}}
        if payload in NAMES:
            claim(client, name, held)
            client.checkpoint(held.id, {payload: payload}, attempt=1)
            client.complete(held.id, attempt=1, status="failed", error={**error, "retryable": True})
        claim(client, name, completed)
        brought = {"result": {payload: payload}, "summary": payload, "files_changed": [payload]}
        report = {"decision": payload, "reasoning": payload}
        client.complete(completed.id, attempt=1, **brought, decision_report=report)
        claim(client, name, failed)
        error |= {"message": f"Failed: {payload}", "retryable": False}
        client.complete(failed.id, attempt=1, status="failed", error=error)
        client.review(failed.id, "escalate", to=payload, reason=REASON)


def name_for(payload: str) -> str:
    return payload if payload in NAMES else "plain"


def schedule_for(payload: str) -> str:
    """The nearest that the hub takes for a schedule's name: it stands in addresses."""
    return name_for(payload).replace("/", "\\")


def introduce(yard: Yard, name: str, *, key: str | None = None, **words: Any) -> None:
    """A daemon that says who it is and what it can do, and goes away again; the yard remembers it."""
    with WireClient("127.0.0.1", yard.hub.port, key or yard.hub.key) as daemon:
        daemon.hello(boot_id=name, name=name, **words)


def claim(client: Client, name: str, task: Any) -> None:
    models = [] if task.model is None else [task.model]
    claimed = client.claim(name, types=[task.type], capabilities=task.requirements.capabilities, models=models)
    assert claimed is not None
    assert claimed.task["id"] == task.id


def _held(payload: str) -> dict[str, Any]:
    """Everything that a submission can say in words."""
    return {
        "input": payload,
        "title": payload,
        "type": payload,
        "goal": payload,
        "constraints": [payload],
        "context": {payload: payload},
        "payload": {payload: payload},
        "metadata": {payload: payload},
        "source": {"type": "agent", "id": payload, "channel": payload},
        "model": payload,
        "project_id": payload,
        "correlation_id": payload,
        "idempotency_key": payload,
        "capabilities": [payload],
        "target_daemon": name_for(payload),
        "excluded_daemons": [f"not {payload}"],
        "exclusive": payload,
    }


def _running(payload: str) -> dict[str, Any]:
    """For longer than the longest tour takes on the slowest machine."""
    script = {"lines": [payload], "progress": [[50, payload]], "hold_ms": 3_600_000}
    return {"input": "Go.", "type": "runs", "payload": script, "timeout": 7200}


def group_of(payload: str) -> str:
    """A word by which as many are found as a list to choose from has room for."""
    return f"group{PAYLOADS.index(payload) // FOUND_MAX}"


def _completed(payload: str) -> dict[str, Any]:
    return {
        "input": group_of(payload),
        "title": payload,
        "type": f"ends {name_for(payload)}",
        "capabilities": ["claims"],
    }


def _failed(payload: str) -> dict[str, Any]:
    # Each of a type of its own: enough of one would open its breaker.
    return {"input": "Go.", "title": payload, "type": f"fails {name_for(payload)}", "capabilities": ["claims"]}


def _unwanted(_: str) -> dict[str, Any]:
    return {"input": "Go.", "type": "is not wanted", "capabilities": ["nobody has this"]}
