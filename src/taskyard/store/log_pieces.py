"""How both databases ask for a task's log, and what a row of it is."""

from collections.abc import Sequence
from typing import Any

from taskyard.store.port import LogPiece, RecordDamaged
from taskyard.store.records import verified


def log_asked(task_id: str, attempt: int | None, after: tuple[int, int], bytes_max: int) -> dict[str, str | int | None]:
    after_attempt, after_n = after
    return {
        "task_id": task_id,
        "attempt": attempt,
        "after_attempt": after_attempt,
        "after_n": after_n,
        "bytes_max": bytes_max,
    }


def log_piece(task_id: str, row: Sequence[Any]) -> LogPiece:
    attempt, n, at, text, crc = row
    name = f"the log of task {task_id}"
    try:
        return LogPiece(attempt, n, at, verified(text, crc, attempt, n, at, of=name).decode())
    except UnicodeDecodeError as error:
        raise RecordDamaged(f"{name} cannot be read: {error}") from error
