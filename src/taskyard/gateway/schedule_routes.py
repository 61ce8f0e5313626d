"""The routes of schedules; `routes.py` has the others."""

from typing import Any, Final

from taskyard.gateway.call import Empty, OfUser
from taskyard.gateway.rest import schedules
from taskyard.gateway.route import OWNER, Route, get
from taskyard.gateway.task_routes import V1
from taskyard.vocabulary import Refusal
from taskyard.wire.fields import Instant
from taskyard.wire.schedules import NewSchedule, Preset, RunAnswer, ScheduleAnswer, ScheduleChange
from taskyard.wire.tasks import OkAnswer, TaskAnswer

NO_SCHEDULE: Final = (Refusal.SCHEDULE_NOT_FOUND,)

SCHEDULE_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get(
        f"{V1}/schedules",
        schedules.list_schedules,
        policy=OWNER,
        summary="One's schedules, newest first",
        query=OfUser,
        answer=list[ScheduleAnswer],
    ),
    Route(
        method="POST",
        path=f"{V1}/schedules",
        policy=OWNER,
        handler=schedules.create,
        summary="A new schedule",
        body=NewSchedule,
        query=OfUser,
        answer=ScheduleAnswer,
        status=201,
        refusals=(Refusal.NAME_TAKEN, Refusal.TOO_MANY_SCHEDULES, Refusal.MODEL_NOT_ROUTED, Refusal.TEMPLATE_NOT_FOUND),
    ),
    get(
        f"{V1}/schedules/presets",
        schedules.presets,
        policy=OWNER,
        summary="Times that many schedules go by",
        query=OfUser,
        answer=list[Preset],
    ),
    get(
        f"{V1}/schedules/preview",
        schedules.preview,
        policy=OWNER,
        summary="When a schedule would run that is not written down yet",
        query=schedules.PreviewQuery,
        answer=list[Instant],
    ),
    get(
        f"{V1}/schedules/{{id}}",
        schedules.show,
        policy=OWNER,
        summary="One schedule, by id or name",
        query=OfUser,
        answer=ScheduleAnswer,
        refusals=NO_SCHEDULE,
    ),
    Route(
        method="PATCH",
        path=f"{V1}/schedules/{{id}}",
        policy=OWNER,
        handler=schedules.change,
        summary="Change a schedule; what it is told holds at once",
        body=ScheduleChange,
        query=OfUser,
        answer=ScheduleAnswer,
        refusals=(*NO_SCHEDULE, Refusal.NAME_TAKEN, Refusal.MODEL_NOT_ROUTED, Refusal.TEMPLATE_NOT_FOUND),
    ),
    Route(
        method="DELETE",
        path=f"{V1}/schedules/{{id}}",
        policy=OWNER,
        handler=schedules.delete,
        summary="Remove a schedule; what it made goes on",
        body=Empty,
        query=OfUser,
        answer=OkAnswer,
        refusals=NO_SCHEDULE,
    ),
    Route(
        method="POST",
        path=f"{V1}/schedules/{{id}}/run",
        policy=OWNER,
        handler=schedules.run,
        summary="Run a schedule now, whatever is due when",
        body=Empty,
        query=OfUser,
        answer=TaskAnswer,
        status=201,
        refusals=(
            *NO_SCHEDULE,
            Refusal.TOO_MANY_PENDING,
            Refusal.MONTHLY_LIMIT_REACHED,
            Refusal.MODEL_NOT_ROUTED,
            Refusal.RATE_LIMITED,
            Refusal.BACKPRESSURE,
        ),
    ),
    get(
        f"{V1}/schedules/{{id}}/runs",
        schedules.runs,
        policy=OWNER,
        summary="What became of a schedule's last 50 due runs, newest first",
        query=OfUser,
        answer=list[RunAnswer],
        refusals=NO_SCHEDULE,
    ),
    get(
        f"{V1}/schedules/{{id}}/next",
        schedules.next_runs,
        policy=OWNER,
        summary="When a schedule is due next, also if it is disabled",
        query=schedules.NextQuery,
        answer=list[Instant],
        refusals=NO_SCHEDULE,
    ),
)
