"""The hubs of this yard: which leads, and which stand by."""

from taskyard.gateway.call import Call, Empty, Reply
from taskyard.gateway.views import HubView
from taskyard.wire.fields import instant_of
from taskyard.wire.hubs import HubAnswer


async def list_hubs(call: Call[Empty], _body: Empty) -> Reply:
    return Reply([_answer(view) for view in await call.hub.hubs()])


def _answer(view: HubView) -> HubAnswer:
    return HubAnswer(
        id=view.id,
        address=view.address,
        leader=view.leader,
        epoch=view.epoch,
        since=instant_of(view.since),
        lag_s=view.lag_ms / 1000,
    )
