"""The routes of Arvis clients, at their own address without `/v1`. `routes.py` has the others."""

from typing import Any, Final

from taskyard.gateway.call import Empty, OfUser
from taskyard.gateway.rest import jobs, tasks
from taskyard.gateway.route import OWNER, READER, Route, get
from taskyard.gateway.task_routes import ON_ACT
from taskyard.vocabulary import Refusal
from taskyard.wire.jobs import JobAnswer, JobChange
from taskyard.wire.tasks import OkAnswer

JOBS: Final = "/api/queue"

JOB_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get(
        JOBS,
        jobs.list_jobs,
        policy=READER,
        summary="One's tasks as jobs, newest first, of some statuses or of one agent",
        description=(
            "`status` takes `pending`, `running`, `completed` and `failed`, with commas between. "
            "Cancelled and skipped tasks are left out. A page of one agent may be short and still have a next one."
        ),
        query=jobs.JobQuery,
        answer=list[JobAnswer],
    ),
    Route(
        method="PATCH",
        path=f"{JOBS}/{{id}}",
        policy=OWNER,
        handler=jobs.retry,
        summary="Try a failed job again",
        body=JobChange,
        query=OfUser,
        answer=OkAnswer,
        refusals=(*ON_ACT, Refusal.IDEMPOTENCY_KEY_TAKEN),
    ),
    Route(
        method="DELETE",
        path=f"{JOBS}/{{id}}",
        policy=OWNER,
        handler=jobs.cancel,
        summary="Cancel a pending job and what depends on it",
        description="A job that runs stays `running` until its daemon confirms.",
        body=Empty,
        query=tasks.ReasonQuery,
        answer=OkAnswer,
        refusals=ON_ACT,
    ),
)
