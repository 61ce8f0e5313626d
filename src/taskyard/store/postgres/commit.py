"""A batch as one statement: the parts that it needs, under one `WITH`, and a list per column.

Everything is in the statement, so a commit is one round trip and an implicit transaction, and nothing has to be undone
if it fails. What is rare needs to see what other parts did (`past.py`) and takes a transaction of its own.
"""

from collections.abc import Iterable
from functools import lru_cache
from operator import attrgetter
from typing import Final
from zlib import crc32

from taskyard.core.changes import Batch, DaemonRecord, KeyRecord, TaskRow, UserRecord
from taskyard.store.port import REQUESTS_KEPT_MS
from taskyard.store.postgres.arrays import blobs, ids, numbers, texts, words
from taskyard.store.postgres.session import Value
from taskyard.store.postgres.statements import PARTS, Statement, placed
from taskyard.store.postgres.versions import Place, Versions
from taskyard.store.records import checksum, columns_of, encode, encode_events, ended_at, numbered

INLINE_BYTES_MAX: Final = 1_000
# A body or an outcome up to this size lies in its task's row. Larger ones would be copied with each change of the task,
# and leave no room for that on their page.
VARIANTS_MAX: Final = 256

Parameters = dict[str, Value]
_task_of: Final = attrgetter("task")
_record_of: Final = attrgetter("record")


@lru_cache(VARIANTS_MAX)
def statement_of(parts: tuple[str, ...], dropped: str, checks: tuple[str, ...]) -> Statement:
    """The statement of a commit that needs these parts, tells this of dropped answers, and claims these things."""
    written = ",\n".join(PARTS[part] for part in parts)
    told = ", ".join(PARTS[each] for each in ("end_commit", dropped, *checks))
    return placed(f"WITH {written}\n{told}")


class Commit:
    """What a batch writes. `after` is the batch id of the commit it was built upon, `versions` what that left."""

    def __init__(self, batch: Batch, *, after: str, versions: Versions) -> None:
        events = encode_events(batch.events)
        self.parameters: Parameters = {
            "seq": batch.seq,
            "epoch": batch.epoch,
            "batch_id": batch.batch_id,
            "at": batch.at,
            "events": events,
            "events_crc": checksum(events, batch.seq, batch.epoch),
            "after": after,
        }
        self._parts = ["insert_commit"]
        self._dropped = "tell_nothing"
        self._checks: list[str] = []
        self._outcomes = dict(batch.outcomes)
        self._bodies = dict(batch.bodies)
        self.raised = versions.raised_by(batch) if batch.bodies else {}
        self.kept: dict[Place, bytes | None] = {(each.kind, each.name): each.record for each in batch.kept}
        self._add_tasks(batch)
        if self.raised:
            self._add_numbers(versions)
        self._add_contents(batch)
        self._add_people(batch)
        if self.kept:
            self._add_kept(versions)
        self._add_requests(batch, versions)

    @property
    def statement(self) -> Statement:
        return statement_of(tuple(self._parts), self._dropped, tuple(self._checks))

    def _add(self, part: str, **parameters: Value) -> None:
        self._parts.append(part)
        self.parameters.update(parameters)

    # --- tasks ---

    def _add_tasks(self, batch: Batch) -> None:
        if batch.created:
            self._add("insert_task", **self._new_rows(batch.created, "created_"))
        if batch.changed:
            self._add("update_task", changed_count=len(batch.changed), **changed_rows(batch.changed, "changed_"))
            self._checks.append("check_changed")
        if batch.ended:
            unseen = [row for row in batch.ended if row.task.id in self._bodies]
            hot = [row for row in batch.ended if row.task.id not in self._bodies] if unseen else batch.ended
            if hot:
                self._add(
                    "delete_task",
                    gone_count=len(hot),
                    **changed_rows(hot, "ended_"),
                    **self._endings(hot, "ended_", at=batch.at),
                )
                self._checks.append("check_gone")
            if unseen:
                self._add(
                    "insert_history",
                    **self._new_rows(unseen, "unseen_"),
                    **self._endings(unseen, "unseen_", at=batch.at),
                )

    def _new_rows(self, rows: list[TaskRow], prefix: str) -> Parameters:
        id_, user, number, status, level, queue, type_, source, correlation, parent = zip(
            *map(columns_of, map(_task_of, rows)), strict=True
        )
        records = list(map(_record_of, rows))
        bodies = [inline(self._bodies.get(each)) for each in id_]
        return {
            f"{prefix}id": ids(id_),
            f"{prefix}user": words(user),
            f"{prefix}number": numbers(number),
            f"{prefix}status": words(status),
            f"{prefix}level": words(level),
            f"{prefix}queue": words(queue),
            f"{prefix}type": words(type_),
            f"{prefix}source": words(source),
            f"{prefix}correlation": words(correlation),
            f"{prefix}parent": words(parent),
            f"{prefix}record": blobs(records),
            f"{prefix}crc": numbers(list(map(crc32, records))),
            f"{prefix}body": blobs(bodies),
            f"{prefix}body_crc": numbers([None if body is None else crc32(body) for body in bodies]),
        }

    def _endings(self, rows: list[TaskRow], prefix: str, *, at: int) -> Parameters:
        found = [self._outcomes.pop(row.task.id, None) for row in rows]
        self._outcomes.update(
            (row.task.id, outcome)
            for row, outcome in zip(rows, found, strict=True)
            if outcome is not None and len(outcome) > INLINE_BYTES_MAX
        )
        return {
            f"{prefix}outcome": blobs([inline(outcome) for outcome in found]),
            f"{prefix}outcome_crc": numbers([None if outcome is None else crc32(outcome) for outcome in found]),
            f"{prefix}at": numbers([ended_at(row, at=at) for row in rows]),
            f"{prefix}key": words([row.task.key for row in rows]),
        }

    def _add_numbers(self, versions: Versions) -> None:
        passed = [(user_id, versions.numbers[user_id]) for user_id in self.raised if user_id in versions.numbers]
        self._add(
            "raise_number",
            highest_user=words(list(self.raised)),
            highest_number=numbers(list(self.raised.values())),
            highest_crc=numbers([checksum(b"", user_id, number) for user_id, number in self.raised.items()]),
            passed_user=words([user_id for user_id, _ in passed]),
            passed_number=numbers([number for _, number in passed]),
        )

    # --- what belongs to tasks ---

    def _add_contents(self, batch: Batch) -> None:
        large = {id_: body for id_, body in self._bodies.items() if len(body) > INLINE_BYTES_MAX}
        for part, name, contents in (
            ("insert_body", "body", large),
            ("upsert_outcome", "outcome", self._outcomes),
            ("upsert_checkpoint", "checkpoint", dict(batch.checkpoints)),
        ):
            if contents:
                values = list(contents.values())
                self._add(
                    part,
                    **{
                        f"{name}_id": ids(contents),
                        f"{name}_content": blobs(values),
                        f"{name}_crc": numbers(list(map(crc32, values))),
                    },
                )
        if batch.late:
            self._add_late(batch)
        if batch.logs:
            self._add_logs(batch)

    def _add_late(self, batch: Batch) -> None:
        late = list({(each.task_id, each.attempt): each for each in batch.late}.values())
        self._add(
            "upsert_late_result",
            late_task=ids([each.task_id for each in late]),
            late_attempt=numbers([each.attempt for each in late]),
            late_at=numbers([each.at for each in late]),
            late_content=blobs([each.body for each in late]),
            late_crc=numbers([checksum(each.body, each.attempt, each.at) for each in late]),
        )

    def _add_logs(self, batch: Batch) -> None:
        chunks = [(n, chunk, chunk.text.encode()) for n, chunk in numbered(batch.logs, seq=batch.seq)]
        self._add(
            "insert_log_chunk",
            log_task=ids([chunk.task_id for _, chunk, _ in chunks]),
            log_attempt=numbers([chunk.attempt for _, chunk, _ in chunks]),
            log_n=numbers([n for n, _, _ in chunks]),
            log_at=numbers([chunk.at for _, chunk, _ in chunks]),
            log_text=blobs([text for _, _, text in chunks]),
            log_crc=numbers([checksum(text, chunk.attempt, n, chunk.at) for n, chunk, text in chunks]),
        )

    # --- what is rare, or small ---

    def _add_people(self, batch: Batch) -> None:
        self._add_records("upsert_user", "user", batch.users)
        self._add_records("upsert_key", "key", batch.keys)
        self._add_records("upsert_daemon", "daemon", batch.daemons)
        if batch.forgotten:
            self._add("delete_daemon", forgotten_id=words(batch.forgotten))
        if batch.audit:
            entries = [(n, entry.subject, encode(entry)) for n, entry in numbered(batch.audit, seq=batch.seq)]
            self._add(
                "insert_audit",
                audit_n=numbers([n for n, _, _ in entries]),
                audit_subject=words([subject for _, subject, _ in entries]),
                audit_record=blobs([record for _, _, record in entries]),
                audit_crc=numbers([checksum(record, n) for n, _, record in entries]),
            )

    def _add_records(self, part: str, name: str, records: Iterable[UserRecord | KeyRecord | DaemonRecord]) -> None:
        encoded = {record.id: encode(record) for record in records}
        if encoded:
            values = list(encoded.values())
            self._add(
                part,
                **{
                    f"{name}_id": words(list(encoded)),
                    f"{name}_record": blobs(values),
                    f"{name}_crc": numbers(list(map(crc32, values))),
                },
            )

    def _add_kept(self, versions: Versions) -> None:
        written = [(kind, name, record) for (kind, name), record in self.kept.items() if record is not None]
        if written:
            self._add(
                "upsert_kept",
                kept_kind=words([kind for kind, _, _ in written]),
                kept_name=words([name for _, name, _ in written]),
                kept_record=blobs([record for _, _, record in written]),
                kept_crc=numbers([crc32(record) for _, _, record in written]),
            )
        before = versions.before(self.kept)
        if before:
            self._add(
                "delete_kept",
                dropped_kind=words([kind for kind, _, _ in before]),
                dropped_name=words([name for _, name, _ in before]),
                dropped_seq=numbers([seq for _, _, seq in before]),
            )

    def _add_requests(self, batch: Batch, versions: Versions) -> None:
        """As many old answers are dropped as come to twice the new ones: then they never pile up."""
        answers = dict(batch.requests)
        if answers:
            contents = list(answers.values())
            self._add(
                "upsert_request",
                request_name=texts(answers),
                request_answer=blobs(contents),
                request_crc=numbers([checksum(answer, batch.at) for answer in contents]),
            )
            self._add(
                "drop_requests",
                requests_from=versions.answered_from,
                requests_before=batch.at - REQUESTS_KEPT_MS,
                requests_max=2 * len(answers),
            )
            self._dropped = "tell_dropped"


def changed_rows(rows: list[TaskRow], prefix: str = "") -> Parameters:
    """What can change of a task."""
    tasks = list(map(_task_of, rows))
    records = list(map(_record_of, rows))
    return {
        f"{prefix}id": ids([task.id for task in tasks]),
        f"{prefix}status": words([task.status for task in tasks]),
        f"{prefix}level": words([task.level for task in tasks]),
        f"{prefix}record": blobs(records),
        f"{prefix}crc": numbers(list(map(crc32, records))),
    }


def inline(content: bytes | None) -> bytes | None:
    """What lies in the row itself."""
    return content if content is not None and len(content) <= INLINE_BYTES_MAX else None
