"""The routes of daemons, as their owners see them. `routes.py` has the others."""

from typing import Any, Final

from taskyard.gateway.call import Empty, OfUser
from taskyard.gateway.rest import daemons
from taskyard.gateway.route import ANYONE, OWNER, Route, get
from taskyard.gateway.task_routes import V1
from taskyard.vocabulary import Refusal
from taskyard.wire.people import DaemonAnswer
from taskyard.wire.tasks import OkAnswer

DAEMON_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get(
        f"{V1}/daemons",
        daemons.list_daemons,
        policy=ANYONE,
        summary="One's own daemons and the shared ones",
        query=OfUser,
        answer=list[DaemonAnswer],
    ),
    get(
        f"{V1}/daemons/{{id}}",
        daemons.show,
        policy=ANYONE,
        summary="One daemon, by id or name",
        query=OfUser,
        answer=DaemonAnswer,
        refusals=(Refusal.DAEMON_NOT_FOUND,),
    ),
    Route(
        method="POST",
        path=f"{V1}/daemons/{{id}}/drain",
        policy=OWNER,
        handler=daemons.drain,
        summary="Give a daemon nothing new",
        body=Empty,
        query=OfUser,
        answer=OkAnswer,
        refusals=(Refusal.DAEMON_NOT_FOUND,),
    ),
    Route(
        method="POST",
        path=f"{V1}/daemons/{{id}}/resume",
        policy=OWNER,
        handler=daemons.resume,
        summary="Take back that a daemon is to drain; one that is about to end of its own accord is not kept from it",
        body=Empty,
        query=OfUser,
        answer=OkAnswer,
        refusals=(Refusal.DAEMON_NOT_FOUND, Refusal.DAEMON_LEAVING),
    ),
    Route(
        method="DELETE",
        path=f"{V1}/daemons/{{id}}",
        policy=OWNER,
        handler=daemons.forget,
        summary="Forget a daemon that does not come back; of several of a name the one that was away longest",
        body=Empty,
        query=OfUser,
        answer=OkAnswer,
        refusals=(Refusal.DAEMON_NOT_FOUND, Refusal.DAEMON_IN_USE),
    ),
)
