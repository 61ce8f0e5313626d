"""Directories of other queues, as their documents describe them."""

import json
from pathlib import Path
from typing import Any, Final

CREATED = "2026-03-04T16:51:00Z"
CLAIMED = "2026-03-04T16:55:00Z"
ENDED = "2026-03-04T17:10:00Z"


def written(path: Path, content: Any) -> Path:
    """A file with this JSON in it, or with this text as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
    return path


def a_loki_task(id: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "idempotencyKey": f"key-of-{id}",
        "type": "eng-backend",
        "priority": 8,
        "dependencies": [],
        "payload": {
            "action": "implement",
            "target": f"src/{id}.py",
            "params": {"depth": 2},
            "goal": "Sign-in works",
            "constraints": ["No third-party deps"],
            "context": {"relatedFiles": ["a.ts"], "architectureDecisions": ["ADR-001"], "previousAttempts": "none"},
        },
        "createdAt": CREATED,
        "claimedBy": None,
        "claimedAt": None,
        "timeout": 3600,
        "retries": 0,
        "maxRetries": 3,
        "backoffSeconds": 60,
        "lastError": None,
        "completedAt": None,
        "result": None,
        **fields,
    }


LOKI_STATUSES: Final = {
    "done": "completed",
    "gone": "cancelled",
    "dead": "permanently_failed",
    "runs": "queued",
    "waits": "waiting",
    "retried": "queued",
    "blocked": "blocked",
    "orphan": "blocked",
    "-": "skipped",
}
"""How its tasks stand once they are here."""


def a_loki_directory(root: Path) -> Path:
    """One task in each file, with what they wait for, a breaker that is open, and a configuration."""
    report = {"decision": "JWT", "reasoning": "it is standard"}
    done = {"status": "success", "output": "wrote it", "decisionReport": report}
    queue = root / "queue"
    files = {
        "pending": [
            a_loki_task("waits", dependencies=["runs", "done"]),
            a_loki_task("retried", retries=2, backoffSeconds=120, lastError="timed out", claimedBy="agent-1"),
            a_loki_task("blocked", dependencies=["dead"], priority=3),
            a_loki_task("orphan", dependencies=["never-was"]),
        ],
        "in-progress": [a_loki_task("runs", claimedBy="agent-1", claimedAt=CLAIMED)],
        "completed": [
            a_loki_task("done", claimedBy="agent-2", claimedAt=CLAIMED, completedAt=ENDED, retries=1, result=done)
        ],
        "dead-letter": [a_loki_task("dead", retries=3, lastError="it broke", claimedBy="agent-3", completedAt=ENDED)],
        "cancelled": [a_loki_task("gone", cancelledAt=ENDED, cancelReason="not needed")],
    }
    for name, tasks in files.items():
        written(queue / f"{name}.json", {"tasks": tasks})
    breaker = {"state": "open", "failures": 5, "lastFailure": ENDED, "openedAt": ENDED, "halfOpenAt": None}
    closed = {"state": "closed", "failures": 0, "lastFailure": None, "openedAt": None, "halfOpenAt": None}
    states = {"circuitBreakers": {"eng-backend": breaker, "eng-frontend": closed}}
    written(root / "state" / "circuit-breakers.json", states)
    config = """\
defaults:
  failureThreshold: 5
  cooldownSeconds: 300
  halfOpenAfter: 60

overrides:
  ops-security:
    failureThreshold: 3   # More sensitive for security
"""
    written(root / "config" / "circuit-breakers.yaml", config)
    return root


def a_queued_task(id: str, queue: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": id,
        "queue": queue,
        "model": None,
        "description": f"Analyze {id} of {queue}",
        "goal": "Generate a summary",
        "status": "pending",
        "priority": 0,
        "depends_on": None,
        "on_depends_fail": "block",
        "context_input": None,
        "result": None,
        "result_status": None,
        "result_summary": None,
        "retries": 0,
        "maxRetries": 3,
        "subagent_session": None,
        "added_at": CREATED,
        "started_at": None,
        "completed_at": None,
        **fields,
    }


def a_queue_file(source: str, models: list[str], tasks: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "version": "1.0",
        "source": source,
        "models": models,
        "maxConcurrent": 1,
        "maxRetries": 3,
        "lastId": tasks[-1]["id"] if tasks else None,
        "tasks": tasks,
    }


def a_directory_of_model_queues(root: Path) -> Path:
    """Two queues whose refs overlap, with every status, and an archive."""
    local = [
        a_queued_task("T-001", "ollama-local", status="done", result="42", result_summary="it is 42", retries=1)
        | {"started_at": CLAIMED, "completed_at": ENDED, "subagent_session": "s-1"},
        a_queued_task("T-002", "ollama-local", depends_on="T-001", model="ollama/qwen2.5"),
        a_queued_task("T-003", "ollama-local", status="waiting", depends_on="T-002"),
        a_queued_task("T-004", "ollama-local", status="running", subagent_session="s-4", started_at=CLAIMED),
        a_queued_task("T-005", "ollama-local", status="failed", retries=3, error_message="out of memory"),
        a_queued_task("T-006", "ollama-local", status="blocked", depends_on="T-005", blocked_reason="T-005 failed"),
        a_queued_task("T-007", "ollama-local", status="skipped", skipped_reason="not needed"),
    ]
    remote = [
        a_queued_task("T-001", "ollama-remote", depends_on="T-004", status="waiting", priority=8),
        a_queued_task("T-002", "ollama-remote", on_depends_fail="continue", depends_on="T-005", status="waiting"),
    ]
    written(root / "ollama-local.json", a_queue_file("ollama-local", ["ollama/llama3", "ollama/qwen2.5"], local))
    written(root / "ollama-remote.json", a_queue_file("ollama-remote", ["ollama-remote/llama3:70b"], remote))
    old = a_queued_task("T-000", "ollama-local", status="done", completed_at=ENDED, result_summary="long ago")
    written(root / "archive" / "ollama-local" / "2026-03.json", {"tasks": [old]})
    return root
