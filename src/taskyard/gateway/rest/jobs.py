"""Tasks for Arvis clients: list, retry a failed one, cancel a pending one. What is possible is decided for tasks."""

from typing import Final

import msgspec
from msgspec import Struct

from taskyard.gateway.call import Call, Empty, OfUser, Reply, refuse_fields
from taskyard.gateway.pages import link_to_next, place_of
from taskyard.gateway.present import task_answer
from taskyard.gateway.rest import tasks
from taskyard.store.paging import cursor_of
from taskyard.store.port import StoredTask, TaskFilter
from taskyard.vocabulary import Status
from taskyard.wire.fields import PAGE, Limit, Name
from taskyard.wire.jobs import JobAnswer, JobChange, JobStatus
from taskyard.wire.problems import FieldError
from taskyard.wire.tasks import OkAnswer, TaskAnswer

STATUSES: Final = {
    JobStatus.PENDING: (Status.PENDING, Status.WAITING, Status.BLOCKED, Status.QUEUED),
    JobStatus.RUNNING: (Status.SCHEDULED, Status.RUNNING),
    JobStatus.COMPLETED: (Status.COMPLETED,),
    JobStatus.FAILED: (Status.FAILED, Status.TIMEOUT, Status.PERMANENTLY_FAILED, Status.STALE),
}
JOB_STATUS: Final = {status: word for word, statuses in STATUSES.items() for status in statuses}
EXAMINED_AT_ONCE: Final = 100
EXAMINED_MAX: Final = 100 * EXAMINED_AT_ONCE
"""Tasks that one page of an agent's jobs is picked from. Agents have no index, so a page may be short."""
TOO_LATE: Final = "DEADLINE_PASSED: the deadline passed before it could start."


class JobQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    status: Name | None = None
    agent: Name | None = None
    limit: Limit = PAGE
    cursor: Name | None = None


class Agent(Struct):
    """Of a task's metadata, what names its agent."""

    agent: str | None = None


_agent: Final = msgspec.json.Decoder(Agent)


async def list_jobs(call: Call[JobQuery], _body: Empty) -> Reply:
    query = call.query
    wanted = TaskFilter(
        user_id=call.users(query.user),
        statuses=_statuses(query.status),
        before=place_of(query.cursor),
        limit=query.limit + 1 if query.agent is None else EXAMINED_AT_ONCE,
        shows_damaged=True,
    )
    jobs, after = await _page(call, wanted)
    return Reply(jobs, headers=[] if after is None else link_to_next(call.path, query, after))


async def _page(call: Call[JobQuery], wanted: TaskFilter) -> tuple[list[JobAnswer], str | None]:
    """A page of jobs, and the cursor of the next page; None: there is none."""
    agent, page = call.query.agent, list[JobAnswer]()
    for _ in range(EXAMINED_MAX // EXAMINED_AT_ONCE):
        found = await call.hub.read(lambda reader: reader.tasks(wanted))
        for stored in found:
            if len(page) == call.query.limit:
                return page, wanted.before
            job = job_answer(stored)
            if agent is None or job.agent == agent:
                call.note_damaged([stored])
                page.append(job)
            wanted.before = cursor_of(stored, user_id=wanted.user_id)
        if len(found) < wanted.limit:
            return page, None
    return page, wanted.before


def _statuses(said: str | None) -> tuple[Status, ...]:
    words = list(JobStatus) if said is None else said.split(",")
    unknown = [word for word in words if word not in set(JobStatus)]
    if unknown:
        message = f"unknown: {', '.join(unknown)}; known are {', '.join(JobStatus)}"
        raise refuse_fields([FieldError("status", message)])
    return tuple(dict.fromkeys(status for word in words for status in STATUSES[JobStatus(word)]))


def job_answer(stored: StoredTask) -> JobAnswer:
    task, answer = stored.task, task_answer(stored)
    return JobAnswer(
        id=answer.id,
        ref=answer.ref,
        agent=_agent_of(answer),
        type=answer.type,
        status=JOB_STATUS[task.status],
        priority=task.value,
        attempts=sum(attempt.series == task.series for attempt in task.attempts or ()),
        max_attempts=task.terms.max_attempts,
        error=TOO_LATE if task.status is Status.STALE else answer.failure_reason or answer.blocked_reason,
        retry_after=answer.not_before if task.status is Status.PENDING else None,
        created_at=answer.created_at,
        started_at=answer.started_at,
        completed_at=answer.completed_at,
    )


def _agent_of(answer: TaskAnswer) -> str:
    try:
        return _agent.decode(answer.metadata).agent or answer.queue
    except msgspec.ValidationError:
        # An `agent` that is no text names no agent.
        return answer.queue


async def retry(call: Call[OfUser], _body: JobChange) -> Reply:
    await tasks.retry(call, Empty())
    return Reply(OkAnswer())


async def cancel(call: Call[tasks.ReasonQuery], _body: Empty) -> Reply:
    await tasks.cancel(call, Empty())
    return Reply(OkAnswer())
