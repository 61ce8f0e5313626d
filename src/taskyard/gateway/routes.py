"""The one table of routes; those of tasks are in `task_routes.py`.

Routing, decoding, authorisation, the OpenAPI document and the tests' matrix of callers are all derived
from this table.
"""

from typing import Any, Final

from taskyard.gateway import events
from taskyard.gateway.agent_routes import AGENT_ROUTES
from taskyard.gateway.call import Empty, OfUser
from taskyard.gateway.daemon_routes import DAEMON_ROUTES
from taskyard.gateway.exchange_routes import EXCHANGE_ROUTES
from taskyard.gateway.hook_routes import HOOK_ROUTES
from taskyard.gateway.job_routes import JOB_ROUTES
from taskyard.gateway.notification_routes import NOTIFICATION_ROUTES
from taskyard.gateway.page_routes import PAGE_ROUTES
from taskyard.gateway.rest import (
    audit,
    breakers,
    dead_letters,
    hubs,
    metrics,
    people,
    plans,
    pressure,
    queues,
    why,
)
from taskyard.gateway.route import (
    ADMIN,
    ANYONE,
    OWNER,
    READER,
    Policy,
    Route,
    get,
)
from taskyard.gateway.schedule_routes import SCHEDULE_ROUTES
from taskyard.gateway.task_routes import NO_TASK, ON_ACT, TASK_ROUTES, V1
from taskyard.gateway.template_routes import TEMPLATE_ROUTES
from taskyard.vocabulary import Refusal, Scope
from taskyard.wire import people as bodies
from taskyard.wire.breakers import BreakerAnswer
from taskyard.wire.frames import Backpressure
from taskyard.wire.hubs import HubAnswer
from taskyard.wire.metrics import HistoryAnswer, MetricsAnswer
from taskyard.wire.plans import LimitsAnswer, PlanAnswer
from taskyard.wire.queues import QueueAnswer, QueueChange
from taskyard.wire.tasks import (
    OkAnswer,
    TaskAnswer,
)
from taskyard.wire.why import HeldOfUserAnswer, OverviewAnswer

OTHER_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get(
        f"{V1}/why",
        why.overview,
        policy=READER,
        summary="How many of one's tasks run and wait, and what holds most of them back",
        query=OfUser,
        answer=OverviewAnswer,
    ),
    get(
        f"{V1}/why/everybody",
        why.everybody,
        policy=ADMIN,
        summary="What holds back the most tasks of those who have most to wait for, and whose they are",
        query=Empty,
        answer=list[HeldOfUserAnswer],
    ),
    get(
        f"{V1}/queues",
        queues.list_queues,
        policy=ANYONE,
        summary="The queues, with their state and one's own tasks in them",
        query=OfUser,
        answer=list[QueueAnswer],
    ),
    Route(
        method="PUT",
        path=f"{V1}/queues/{{id}}",
        policy=ADMIN,
        handler=queues.put,
        summary="Set what a queue serves and how many it runs; this wins over the file",
        body=QueueChange,
        query=OfUser,
        answer=QueueAnswer,
    ),
    Route(
        method="DELETE",
        path=f"{V1}/queues/{{id}}",
        policy=ADMIN,
        handler=queues.delete,
        summary="Remove what was set here; what the file says holds again",
        description="A queue that is not in the file is gone.",
        body=Empty,
        query=OfUser,
        answer=OkAnswer,
        refusals=(Refusal.QUEUE_NOT_FOUND, Refusal.QUEUE_IN_USE),
    ),
    Route(
        method="POST",
        path=f"{V1}/queues/{{id}}/pause",
        policy=ADMIN,
        handler=queues.pause,
        summary="Start nothing more of a queue; what runs goes on",
        body=Empty,
        query=OfUser,
        answer=QueueAnswer,
        refusals=(Refusal.QUEUE_NOT_FOUND,),
    ),
    Route(
        method="POST",
        path=f"{V1}/queues/{{id}}/resume",
        policy=ADMIN,
        handler=queues.resume,
        summary="Go on with a paused queue",
        body=Empty,
        query=OfUser,
        answer=QueueAnswer,
        refusals=(Refusal.QUEUE_NOT_FOUND,),
    ),
    get(
        f"{V1}/breakers",
        breakers.list_breakers,
        policy=READER,
        summary="One's breakers that count failures or hold tasks back, newest first",
        query=OfUser,
        answer=list[BreakerAnswer],
    ),
    Route(
        method="POST",
        path=f"{V1}/breakers/{{id}}/reset",
        policy=OWNER,
        handler=breakers.reset,
        summary="Close the breaker of a type of task; a closed one stays closed",
        body=Empty,
        query=OfUser,
        answer=BreakerAnswer,
    ),
    Route(
        method="POST",
        path=f"{V1}/breakers/{{id}}/open",
        policy=OWNER,
        handler=breakers.force_open,
        summary="Hold a type of task back for its cool-down",
        body=Empty,
        query=OfUser,
        answer=BreakerAnswer,
    ),
    get(
        f"{V1}/dead-letters",
        dead_letters.list_dead_letters,
        policy=OWNER,
        summary="Tasks that failed for good, with what they have in common",
        query=dead_letters.DeadLetterQuery,
        answer=list[TaskAnswer],
    ),
    get(
        f"{V1}/dead-letters/patterns",
        dead_letters.list_patterns,
        policy=OWNER,
        summary="What the newest thousand dead letters have in common, the most frequent first",
        query=OfUser,
        answer=list[bodies.PatternAnswer],
    ),
    get(
        f"{V1}/dead-letters/reviews",
        audit.reviews_of_day,
        policy=OWNER,
        summary="The verdicts of a day, newest first",
        query=audit.DayQuery,
        answer=list[bodies.AuditAnswer],
    ),
    Route(
        method="POST",
        path=f"{V1}/dead-letters/review",
        policy=OWNER,
        handler=dead_letters.review_pattern,
        summary="One verdict for all dead letters of a pattern, or for up to 500 by name",
        body=bodies.PatternReview,
        query=OfUser,
        answer=bodies.PatternReviewAnswer,
    ),
    Route(
        method="POST",
        path=f"{V1}/dead-letters/{{id}}/review",
        policy=OWNER,
        handler=dead_letters.review,
        summary="A verdict on a dead letter",
        body=bodies.Review,
        query=OfUser,
        answer=TaskAnswer,
        refusals=ON_ACT,
    ),
    get(
        f"{V1}/dead-letters/{{id}}/reviews",
        audit.reviews,
        policy=OWNER,
        summary="The verdicts on a dead letter so far",
        query=OfUser,
        answer=list[bodies.AuditAnswer],
        refusals=NO_TASK,
    ),
    get(
        f"{V1}/backpressure",
        pressure.show,
        policy=READER,
        summary="How long the line is: one's own or the hub's, whichever is worse",
        query=OfUser,
        answer=Backpressure,
    ),
    get(
        f"{V1}/events",
        events.stream,
        policy=OWNER,
        summary="What happens, as it happens (server-sent events)",
        description=(
            "`Last-Event-ID` resumes without a gap. After an id that is no longer kept, the first event is "
            "`resync`: read again what you show."
        ),
        query=events.EventQuery,
        answer=str,
        media_type="text/event-stream",
    ),
    get(
        f"{V1}/users/me",
        people.me,
        policy=ANYONE,
        summary="Who this key belongs to, and what it may do",
        query=Empty,
        answer=bodies.MeAnswer,
    ),
    get(
        f"{V1}/users/me/limits",
        plans.limits,
        policy=ANYONE,
        summary="What one may have, has used, and when the month begins anew",
        query=OfUser,
        answer=LimitsAnswer,
        refusals=(Refusal.USER_NOT_FOUND,),
    ),
    get(
        f"{V1}/users",
        people.list_users,
        policy=ADMIN,
        summary="All users; with `usage` also what each has running and waiting, and has used this month",
        query=people.UsersQuery,
        answer=list[bodies.UserAnswer],
    ),
    Route(
        method="POST",
        path=f"{V1}/users",
        policy=ADMIN,
        handler=people.create_user,
        summary="A new user",
        body=bodies.NewUser,
        query=Empty,
        answer=bodies.UserAnswer,
        status=201,
        refusals=(Refusal.NAME_TAKEN,),
    ),
    Route(
        method="PATCH",
        path=f"{V1}/users/{{id}}",
        policy=ADMIN,
        handler=people.change_user,
        summary="Change a user's name, plan or limits",
        body=bodies.UserChange,
        query=Empty,
        answer=bodies.UserAnswer,
        refusals=(Refusal.USER_NOT_FOUND, Refusal.NAME_TAKEN),
    ),
    get(
        f"{V1}/users/{{id}}/keys",
        people.list_keys,
        policy=ADMIN,
        summary="A user's keys, without their secrets",
        query=Empty,
        answer=list[bodies.KeyAnswer],
        refusals=(Refusal.USER_NOT_FOUND,),
    ),
    Route(
        method="POST",
        path=f"{V1}/users/{{id}}/keys",
        policy=ADMIN,
        handler=people.create_key,
        summary="A new key; it is shown here only",
        body=bodies.NewKey,
        query=Empty,
        answer=bodies.IssuedKey,
        status=201,
        refusals=(Refusal.USER_NOT_FOUND,),
    ),
    Route(
        method="DELETE",
        path=f"{V1}/keys/{{id}}",
        policy=ADMIN,
        handler=people.revoke_key,
        summary="Revoke a key; what is connected with it is cut off",
        body=Empty,
        query=Empty,
        answer=OkAnswer,
        refusals=(Refusal.KEY_NOT_FOUND,),
    ),
    get(
        f"{V1}/plans",
        plans.list_plans,
        policy=ADMIN,
        summary="The plans that users can have",
        query=Empty,
        answer=list[PlanAnswer],
    ),
    get(
        f"{V1}/plans/{{id}}",
        plans.show,
        policy=ADMIN,
        summary="One plan, by its name",
        query=Empty,
        answer=PlanAnswer,
        refusals=(Refusal.PLAN_NOT_FOUND,),
    ),
    get(
        f"{V1}/audit",
        audit.audit,
        policy=ADMIN,
        summary="Who did what, newest first",
        query=audit.AuditQuery,
        answer=list[bodies.AuditAnswer],
    ),
    get(
        f"{V1}/metrics",
        metrics.show,
        policy=ADMIN,
        summary="How the hub does: depths, rates, times, daemons",
        query=Empty,
        answer=MetricsAnswer,
    ),
    get(
        f"{V1}/metrics/history",
        metrics.history,
        policy=ADMIN,
        summary="How the hub did, step by step; a step that nobody wrote down is left out",
        query=metrics.HistoryQuery,
        answer=HistoryAnswer,
    ),
    get(
        f"{V1}/hubs",
        hubs.list_hubs,
        policy=ADMIN,
        summary="The hubs of this yard that were there within a day, and which of them leads",
        query=Empty,
        answer=list[HubAnswer],
    ),
)

ROUTES: Final = (
    *TASK_ROUTES,
    *DAEMON_ROUTES,
    *OTHER_ROUTES,
    *HOOK_ROUTES,
    *EXCHANGE_ROUTES,
    *AGENT_ROUTES,
    *NOTIFICATION_ROUTES,
    *SCHEDULE_ROUTES,
    *TEMPLATE_ROUTES,
    *JOB_ROUTES,
    *PAGE_ROUTES,
)
SOCKET_PATH: Final = f"{V1}/daemons/connect"
SOCKET_POLICY: Final = Policy(scopes=frozenset({Scope.DAEMON}))
