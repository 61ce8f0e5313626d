"""Commands about notifications. Addresses are checked by the gateway; secrets and ids are minted outside."""

from taskyard.core.told import KEEP, Keep, Told
from taskyard.vocabulary.notices import NoticeName


class CreateNotification(Told):
    notification_id: str
    user_id: str
    url: str
    events: tuple[NoticeName, ...]
    secret: str
    actor: str
    hub: bool = False
    """Also of what is nobody's own; only an admin may ask for it."""
    reply_to: int = 0


class ChangeNotification(Told):
    notification_id: str
    user_id: str
    actor: str
    url: str | Keep = KEEP
    events: tuple[NoticeName, ...] | Keep = KEEP
    reply_to: int = 0


class DeleteNotification(Told):
    notification_id: str
    user_id: str
    actor: str
    reply_to: int = 0


class ResendDelivery(Told):
    """A person's word: send it now, whatever became of it."""

    notification_id: str
    delivery_id: str
    user_id: str
    actor: str
    reply_to: int = 0


class ReportDelivery(Told):
    """How it went, from whoever sends."""

    delivery_id: str
    answered: int | None = None
    """The status of the answer; None: there was none."""
    error: str | None = None
    """None: it was taken."""
    retry_after_ms: int = 0
    """When the receiver wants to be asked again, if it said."""
    reply_to: int = 0
