"""Notifications and their deliveries: as they are asked for, answered, and sent."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from taskyard.vocabulary.notices import DeliveryStatus, NoticeName
from taskyard.wire.fields import Instant
from taskyard.wire.tasks import EventAnswer

Address = Annotated[str, Meta(min_length=1, max_length=2048)]
Notices = Annotated[list[NoticeName], Meta(min_length=1, max_length=len(NoticeName))]
Secret = Annotated[str, Meta(max_length=128)]


class NewNotification(Struct, forbid_unknown_fields=True, kw_only=True):
    url: Address
    events: Notices
    secret: Secret | None = None
    """`whsec_` and 24 to 64 bytes in base64; None: the hub makes one."""
    hub: bool = False
    """Also of what is nobody's own, such as a paused queue: for admins."""


class NotificationChange(Struct, forbid_unknown_fields=True, kw_only=True):
    url: Address | UnsetType = UNSET
    events: Notices | UnsetType = UNSET


class NotificationAnswer(Struct, kw_only=True):
    id: str
    url: str
    events: list[NoticeName]
    hub: bool
    created_at: Instant
    pending: int
    """Deliveries that wait to be sent, or sent again."""
    dead: int
    """Those that were given up and can be sent again."""
    dropped: int
    """Those there was no room to keep."""


class IssuedNotification(NotificationAnswer, kw_only=True):
    secret: str
    """What deliveries are signed with; it is shown here only."""


class DeliveryAnswer(Struct, kw_only=True):
    id: str
    """The `webhook-id`, the same at every try."""
    type: NoticeName
    event_id: str
    task_id: str | None
    ref: str | None
    status: DeliveryStatus
    attempts: int
    created_at: Instant
    next_at: Instant | None
    """When it is sent, or sent again; None: it has ended, or is under way."""
    under_way: bool
    """It is being sent."""
    host_rests_until: Instant | None
    """Its host failed several times in a row, and is left alone until then."""
    ended_at: Instant | None
    answered: int | None
    """The status of the last answer."""
    error: str | None
    """Why the last try was in vain."""


class Notice(Struct, kw_only=True):
    """The body of what is sent."""

    type: NoticeName
    timestamp: Instant
    """When it happened."""
    data: EventAnswer
