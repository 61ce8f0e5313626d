"""Every text that a task, a daemon, a schedule or a log can carry, and where `test_texts_are_texts.py` sees it.

The fields are those of the contract's answers. One that is not listed here fails a test: whoever adds a text says where
it is shown, and adds it to a tour.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.support.live import ROOT

NOT_SHOWN: Final = "no page shows it"
MADE_BY_THE_HUB: Final = "the hub makes it: an id, a word of its own, a number"

SEEN: Final[Mapping[str, Mapping[str, str]]] = {
    "TaskAnswer": {
        "title": "held: its page and its name in the queue; dead letters; a graph; the palette; what to wait for",
        "input": "held, under Input",
        "type": "held, under Type; the queue; dead letters; breakers",
        "goal": "held, under Goal",
        "constraints": "held, under What must hold",
        "context": "held, under Context",
        "payload": "held, under Payload",
        "metadata": "held, under Metadata",
        "model": "held, under Model; queues",
        "queue": "held, under Queue; the queue; queues",
        "project_id": "held, under Project",
        "correlation_id": "held, under Correlation",
        "idempotency_key": "held, under Idempotency key",
        "checkpoint": "held, under Checkpoint",
        "result": "completed, under Result; gathering, under Passed on",
        "result_summary": "completed, under Result; gathering, under Passed on",
        "files_changed": "completed, under Files changed",
        "decision_report": "completed, under Decision report",
        "skipped_reason": "skipped ones in the queue",
        "cancel_reason": "cancelled, under How it stands; cancelled ones in the queue",
        "blocked_reason": MADE_BY_THE_HUB,
        "failure_reason": NOT_SHOWN,
        "waiting_for_daemon": "the name of a daemon that is known; the queue shows it of those that are held",
        "assigned_daemon": MADE_BY_THE_HUB,
        "dedupe": MADE_BY_THE_HUB,
        "depends_on": MADE_BY_THE_HUB,
        "id": MADE_BY_THE_HUB,
        "parent_task_id": MADE_BY_THE_HUB,
        "ref": MADE_BY_THE_HUB,
        "truncated": MADE_BY_THE_HUB,
        "user_id": MADE_BY_THE_HUB,
    },
    "SourceAnswer": {"id": "held, under Source", "channel": "held, under Source"},
    "RequirementsAnswer": {
        "capabilities": "held, under Needs, and in why it is held; the overview",
        "target_daemon": "held, under Only on",
        "excluded_daemons": "held, under Not on",
    },
    "ExecutionAnswer": {
        "exclusive": "held, under Alone as",
        "on_lost": MADE_BY_THE_HUB,
        "retry_backoff": MADE_BY_THE_HUB,
    },
    "ErrorAnswer": {
        "code": "held and failed, under What went wrong; dead letters",
        "message": "held and failed, under What went wrong; the queue; dead letters",
        "details": "held and failed, under Details of the error; dead letters",
    },
    "AttemptAnswer": {
        "daemon_name": "held, under Timeline",
        "daemon_id": MADE_BY_THE_HUB,
        "late_result": "the same view as a result, under its own name",
        "usage": "numbers, as numbers",
    },
    "ProgressAnswer": {"message": "running, beside its bar; the queue"},
    "ContextInput": {
        "result": "gathering, under Passed on",
        "result_summary": "gathering, under Passed on",
        "kind": MADE_BY_THE_HUB,
        "note": MADE_BY_THE_HUB,
        "ref": MADE_BY_THE_HUB,
        "result_status": MADE_BY_THE_HUB,
        "source_task": MADE_BY_THE_HUB,
        "warning": MADE_BY_THE_HUB,
    },
    "LogAnswer": {"text": "running, under Log", "cursor": MADE_BY_THE_HUB},
    "ReasonAnswer": {"message": "held, under Why; the queue; the overview", "would_help": "the same"},
    "HeldAnswer": {"message": "the overview", "would_help": "the overview", "example": MADE_BY_THE_HUB},
    "DaemonAnswer": {
        "name": "daemons, in the list and opened; the overview",
        "capabilities": "daemons, under Can do",
        "models": "daemons, under Models",
        "types": "daemons, under Types of task",
        "version": "daemons, under Version",
        "idle_because": MADE_BY_THE_HUB,
        "id": MADE_BY_THE_HUB,
        "user_id": MADE_BY_THE_HUB,
    },
    "ScheduleAnswer": {
        "name": "workflows, in the list and opened",
        "task": "workflows, under Makes: its title, else its input, and its type",
        "cron": "only what is an expression",
        "every": "only what is a duration",
        "timezone": "only what is a zone",
        "probe": NOT_SHOWN,
        "id": MADE_BY_THE_HUB,
        "last_task_id": MADE_BY_THE_HUB,
        "user_id": MADE_BY_THE_HUB,
    },
    "RunAnswer": {"code": MADE_BY_THE_HUB, "ref": MADE_BY_THE_HUB, "task_id": MADE_BY_THE_HUB},
}


def texts_of(schema: str) -> Iterator[str]:
    """The fields of an answer that can be any text, or hold one."""
    contract = json.loads((ROOT / "docs" / "openapi.json").read_text())["components"]["schemas"]
    for name, said in contract[schema]["properties"].items():
        if any(can_be_text(each) for each in said.get("anyOf", [said])):
            yield name


def can_be_text(said: Mapping[str, Any]) -> bool:
    """What is of no type can be anything."""
    kind = said.get("type", None if "$ref" in said else "anything")
    if kind == "array":
        return can_be_text(said["items"])
    kinds = kind if isinstance(kind, list) else [kind]
    return bool({"string", "object", "anything"} & set(kinds)) and "format" not in said and "enum" not in said
