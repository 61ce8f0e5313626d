"""Whether to slow down."""

from taskyard.gateway.call import Call, Empty, OfUser, Reply
from taskyard.gateway.pressure import shown


async def show(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply(shown(await call.hub.pressure(call.user_id(call.query.user))))
