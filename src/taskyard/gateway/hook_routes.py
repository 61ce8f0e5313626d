"""The routes of inbound webhooks; `routes.py` has the others."""

from typing import Any, Final

from taskyard.gateway.call import Empty, OfUser
from taskyard.gateway.rest import hooks
from taskyard.gateway.route import OWNER, SIGNED, Route, get
from taskyard.gateway.task_routes import V1
from taskyard.vocabulary import Refusal
from taskyard.wire.hooks import HookAnswer, HookChange, HookDeliveryAnswer, HookRotation, IssuedHook, NewHook
from taskyard.wire.tasks import OkAnswer

NO_HOOK: Final = (Refusal.HOOK_NOT_FOUND,)

HOOK_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get(
        f"{V1}/hooks",
        hooks.list_hooks,
        policy=OWNER,
        summary="One's inbound webhooks, without their secrets",
        query=OfUser,
        answer=list[HookAnswer],
    ),
    Route(
        method="POST",
        path=f"{V1}/hooks",
        policy=OWNER,
        handler=hooks.create,
        summary="A new inbound webhook; its secret is shown here only",
        body=NewHook,
        query=OfUser,
        answer=IssuedHook,
        status=201,
        refusals=(Refusal.TOO_MANY_HOOKS, Refusal.NAME_TAKEN, Refusal.TEMPLATE_NOT_FOUND),
    ),
    get(
        f"{V1}/hooks/{{id}}",
        hooks.show,
        policy=OWNER,
        summary="One inbound webhook, without its secrets",
        query=OfUser,
        answer=HookAnswer,
        refusals=NO_HOOK,
    ),
    Route(
        method="PATCH",
        path=f"{V1}/hooks/{{id}}",
        policy=OWNER,
        handler=hooks.change,
        summary="Change a webhook's name, template or highest priority",
        body=HookChange,
        query=OfUser,
        answer=HookAnswer,
        refusals=(*NO_HOOK, Refusal.NAME_TAKEN, Refusal.TEMPLATE_NOT_FOUND),
    ),
    Route(
        method="DELETE",
        path=f"{V1}/hooks/{{id}}",
        policy=OWNER,
        handler=hooks.delete,
        summary="Take nothing more in by this webhook; its tasks stay",
        body=Empty,
        query=OfUser,
        answer=OkAnswer,
        refusals=NO_HOOK,
    ),
    Route(
        method="POST",
        path=f"{V1}/hooks/{{id}}/rotate",
        policy=OWNER,
        handler=hooks.rotate,
        summary="Another secret, shown here only; the one until now is good for a while longer",
        body=HookRotation,
        query=OfUser,
        answer=IssuedHook,
        refusals=NO_HOOK,
    ),
    Route(
        method="POST",
        path=f"{V1}/hooks/{{id}}",
        policy=SIGNED,
        handler=hooks.deliver,
        summary="A delivery becomes a task, once; a challenge is given back",
        description="A slash command of Slack gets an empty body, since Slack shows what it gets to the person.",
        body=bytes,
        query=Empty,
        answer=HookDeliveryAnswer,
        status=202,
        again_status=200,
        again_when="to a challenge, or to a slash command of Slack",
        refusals=(
            Refusal.BAD_SIGNATURE,
            Refusal.RATE_LIMITED,
            Refusal.TOO_MANY_PENDING,
            Refusal.MONTHLY_LIMIT_REACHED,
            Refusal.MODEL_NOT_ROUTED,
            Refusal.BACKPRESSURE,
        ),
    ),
)
