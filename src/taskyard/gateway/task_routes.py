"""The routes of tasks: what is submitted, asked and told about one. `routes.py` has the others."""

from typing import Any, Final

from taskyard.gateway.call import Empty, OfUser
from taskyard.gateway.rest import (
    bulk,
    callbacks,
    graph,
    intake,
    plans,
    submit,
    task_log,
    tasks,
    why,
)
from taskyard.gateway.route import (
    ATTEMPT,
    OWNER,
    READER,
    READER_OR_TOKEN,
    Route,
    get,
)
from taskyard.vocabulary import Refusal
from taskyard.wire.bulk import BulkAct, BulkAnswer
from taskyard.wire.graph import GraphAnswer
from taskyard.wire.intake import Intake, IntakeAnswer
from taskyard.wire.plans import QueueStatusAnswer
from taskyard.wire.submission import (
    Batch,
    Change,
    CheckpointReport,
    Completion,
    HeartbeatReport,
    ProgressReport,
    Submission,
)
from taskyard.wire.tasks import (
    BatchAnswer,
    CancelAnswer,
    CountsAnswer,
    EventAnswer,
    LogAnswer,
    OkAnswer,
    TaskAnswer,
)
from taskyard.wire.why import WhyAnswer

NO_TASK: Final = (Refusal.TASK_NOT_FOUND,)
_READ: Final = (*NO_TASK, Refusal.STALE_ATTEMPT)
ON_ACT: Final = (Refusal.TASK_NOT_FOUND, Refusal.INVALID_TRANSITION, Refusal.TASK_ALREADY_COMPLETED)
_INTAKE: Final = (
    Refusal.DEPENDENCY_NOT_FOUND,
    Refusal.DEPENDENCY_CYCLE,
    Refusal.MODEL_NOT_ROUTED,
    Refusal.IDEMPOTENCY_KEY_REUSED,
    Refusal.TASK_NOT_FOUND,
    Refusal.STALE_ATTEMPT,
    Refusal.TOO_MANY_PENDING,
    Refusal.MONTHLY_LIMIT_REACHED,
    Refusal.RATE_LIMITED,
    Refusal.BACKPRESSURE,
)
_SUBMISSION: Final = (*_INTAKE, Refusal.TEMPLATE_NOT_FOUND)
_CALLBACK: Final = (Refusal.TASK_NOT_FOUND, Refusal.STALE_ATTEMPT, Refusal.INVALID_TRANSITION)
V1: Final = "/api/v1"

TASK_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        method="POST",
        path=f"{V1}/tasks",
        policy=READER_OR_TOKEN,
        handler=submit.submit,
        summary="Submit a task; 200 if the same was submitted before",
        description=(
            "The answer comes when the task is on disk. If none comes, send the request again with the same "
            "`Idempotency-Key`: no second task is made. `description` is accepted in place of `input`. A "
            "`template` may have what is left out."
        ),
        body=Submission,
        query=OfUser,
        answer=TaskAnswer,
        status=201,
        again_status=200,
        refusals=_SUBMISSION,
    ),
    Route(
        method="POST",
        path=f"{V1}/tasks/batch",
        policy=READER_OR_TOKEN,
        handler=submit.submit_batch,
        summary="Submit up to 1,000 tasks, all or none unless `partial`",
        description=(
            "Tasks of a batch depend on each other by `name`. An `Idempotency-Key` names the whole batch: a "
            "repetition answers as the first did."
        ),
        body=Batch,
        query=OfUser,
        answer=BatchAnswer,
        status=201,
        again_status=200,
        is_batch=True,
        salvage=submit.salvage,
        refusals=_SUBMISSION,
    ),
    Route(
        method="POST",
        path=f"{V1}/tasks/bulk",
        policy=OWNER,
        handler=bulk.act,
        summary="Cancel, retry, skip or reprioritise up to 500 tasks, each by itself, or foresee it",
        body=BulkAct,
        query=OfUser,
        answer=BulkAnswer,
    ),
    Route(
        method="POST",
        path=f"{V1}/intake",
        policy=OWNER,
        handler=intake.take,
        summary="Read a chat message: add its tasks, do its commands, and answer in its language",
        body=Intake,
        query=OfUser,
        answer=IntakeAnswer,
        refusals=_INTAKE,
    ),
    get(
        f"{V1}/tasks",
        tasks.list_tasks,
        policy=READER,
        summary="One's tasks, newest first; a search may need several pages to look at all of them",
        query=tasks.TaskQuery,
        answer=list[TaskAnswer],
    ),
    get(
        f"{V1}/tasks/counts",
        tasks.count,
        policy=READER,
        summary="How many of one's tasks there are of each status",
        query=OfUser,
        answer=CountsAnswer,
    ),
    get(
        f"{V1}/tasks/queue-status",
        plans.queue_status,
        policy=READER,
        summary="How many of one's tasks run and wait, and whether one more would start",
        query=OfUser,
        answer=QueueStatusAnswer,
        refusals=(Refusal.USER_NOT_FOUND,),
    ),
    get(
        f"{V1}/tasks/{{id}}",
        tasks.show,
        policy=READER_OR_TOKEN,
        summary="A whole task; with `wait_s`, once it has ended or the time is up",
        description="While a sub-task is awaited with its parent's token, it may run in the parent's place.",
        query=tasks.ShowQuery,
        answer=TaskAnswer,
        refusals=_READ,
    ),
    Route(
        method="DELETE",
        path=f"{V1}/tasks/{{id}}",
        policy=OWNER,
        handler=tasks.cancel,
        summary="Cancel a task and what depends on it",
        description=(
            "A running task stays `running`, with `cancel_requested_at`, until its daemon confirms or its lease ends."
        ),
        body=Empty,
        query=tasks.ReasonQuery,
        answer=CancelAnswer,
        refusals=ON_ACT,
    ),
    Route(
        method="PATCH",
        path=f"{V1}/tasks/{{id}}",
        policy=OWNER,
        handler=tasks.change,
        summary="Change priority, deadline or time of a task that has not started",
        body=Change,
        query=OfUser,
        answer=TaskAnswer,
        refusals=ON_ACT,
    ),
    Route(
        method="POST",
        path=f"{V1}/tasks/{{id}}/retry",
        policy=OWNER,
        handler=tasks.retry,
        summary="Begin a new series of attempts",
        description="Earlier attempts are kept.",
        body=Empty,
        query=OfUser,
        answer=TaskAnswer,
        refusals=(*ON_ACT, Refusal.IDEMPOTENCY_KEY_TAKEN),
    ),
    Route(
        method="POST",
        path=f"{V1}/tasks/{{id}}/skip",
        policy=OWNER,
        handler=tasks.skip,
        summary="Leave a task out",
        description="What depends on it is blocked, skipped or goes on, as its `on_depends_fail` says.",
        body=Empty,
        query=tasks.ReasonQuery,
        answer=TaskAnswer,
        refusals=ON_ACT,
    ),
    Route(
        method="POST",
        path=f"{V1}/tasks/{{id}}/complete",
        policy=ATTEMPT,
        handler=callbacks.complete,
        summary="An attempt ended",
        description=(
            "Only the newest attempt's result counts. An older one is kept on its attempt: 409 `STALE_ATTEMPT` "
            "with `kept`."
        ),
        body=Completion,
        query=OfUser,
        answer=OkAnswer,
        refusals=_CALLBACK,
    ),
    Route(
        method="POST",
        path=f"{V1}/tasks/{{id}}/progress",
        policy=ATTEMPT,
        handler=callbacks.progress,
        summary="News of a running attempt",
        body=ProgressReport,
        query=OfUser,
        answer=OkAnswer,
        refusals=_CALLBACK,
    ),
    Route(
        method="POST",
        path=f"{V1}/tasks/{{id}}/checkpoint",
        policy=ATTEMPT,
        handler=callbacks.checkpoint,
        summary="Keep what a later attempt can go on from",
        description="The newest checkpoint replaces the one before.",
        body=CheckpointReport,
        query=OfUser,
        answer=OkAnswer,
        refusals=_CALLBACK,
    ),
    Route(
        method="POST",
        path=f"{V1}/tasks/{{id}}/heartbeat",
        policy=ATTEMPT,
        handler=callbacks.heartbeat,
        summary="A running attempt is alive",
        description="Send it more often than every `lease_s` seconds, or the attempt is lost.",
        body=HeartbeatReport,
        query=OfUser,
        answer=OkAnswer,
        refusals=_CALLBACK,
    ),
    get(
        f"{V1}/tasks/{{id}}/why",
        why.why,
        policy=READER_OR_TOKEN,
        summary="Why a task is not running, what would change it, and when",
        query=OfUser,
        answer=WhyAnswer,
        refusals=_READ,
    ),
    get(
        f"{V1}/tasks/{{id}}/graph",
        graph.show,
        policy=READER,
        summary="What a task is tied to by dependencies and sub-tasks, up to 200 of the nearest",
        query=OfUser,
        answer=GraphAnswer,
        refusals=NO_TASK,
    ),
    get(
        f"{V1}/tasks/{{id}}/events",
        tasks.task_events,
        policy=READER_OR_TOKEN,
        summary="What happened to a task, in order",
        query=OfUser,
        answer=list[EventAnswer],
        refusals=_READ,
    ),
    get(
        f"{V1}/tasks/{{id}}/log",
        task_log.task_log,
        policy=READER_OR_TOKEN,
        summary="What a task's attempts wrote, a megabyte at a time, and on from any piece of it",
        query=task_log.LogQuery,
        answer=list[LogAnswer],
        refusals=_READ,
    ),
)
