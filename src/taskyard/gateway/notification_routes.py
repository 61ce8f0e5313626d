"""The routes of notifications, as a part of the table in `routes.py`."""

from typing import Any, Final

from taskyard.gateway.call import Empty, OfUser
from taskyard.gateway.rest import notifications
from taskyard.gateway.route import OWNER, Route, get
from taskyard.gateway.task_routes import V1
from taskyard.vocabulary import Refusal
from taskyard.wire import notifications as bodies
from taskyard.wire.tasks import OkAnswer

NO_NOTIFICATION: Final = (Refusal.NOTIFICATION_NOT_FOUND,)
PLACE: Final = f"{V1}/notifications"

NOTIFICATION_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    get(
        PLACE,
        notifications.list_notifications,
        policy=OWNER,
        summary="Which of one's events are told to which addresses",
        query=OfUser,
        answer=list[bodies.NotificationAnswer],
    ),
    Route(
        method="POST",
        path=PLACE,
        policy=OWNER,
        handler=notifications.create,
        summary="Have events told to an address; the secret they are signed with is shown here only",
        body=bodies.NewNotification,
        query=OfUser,
        answer=bodies.IssuedNotification,
        status=201,
        refusals=(Refusal.TOO_MANY_NOTIFICATIONS,),
    ),
    get(
        f"{PLACE}/{{id}}",
        notifications.show,
        policy=OWNER,
        summary="One notification, and how many of its deliveries wait",
        query=OfUser,
        answer=bodies.NotificationAnswer,
        refusals=NO_NOTIFICATION,
    ),
    Route(
        method="PATCH",
        path=f"{PLACE}/{{id}}",
        policy=OWNER,
        handler=notifications.change,
        summary="Change its address or its events",
        body=bodies.NotificationChange,
        query=OfUser,
        answer=bodies.NotificationAnswer,
        refusals=NO_NOTIFICATION,
    ),
    Route(
        method="DELETE",
        path=f"{PLACE}/{{id}}",
        policy=OWNER,
        handler=notifications.delete,
        summary="Tell nothing more, and forget what was still to be told",
        body=Empty,
        query=OfUser,
        answer=OkAnswer,
        refusals=NO_NOTIFICATION,
    ),
    get(
        f"{PLACE}/{{id}}/deliveries",
        notifications.list_deliveries,
        policy=OWNER,
        summary="What was sent, is to be, or was given up",
        query=notifications.DeliveryQuery,
        answer=list[bodies.DeliveryAnswer],
        refusals=NO_NOTIFICATION,
    ),
    Route(
        method="POST",
        path=f"{PLACE}/{{id}}/deliveries/{{delivery_id}}/resend",
        policy=OWNER,
        handler=notifications.resend,
        summary="Send a delivery now, under the same id, whatever became of it",
        body=Empty,
        query=OfUser,
        answer=bodies.DeliveryAnswer,
        refusals=(*NO_NOTIFICATION, Refusal.DELIVERY_NOT_FOUND),
    ),
)
