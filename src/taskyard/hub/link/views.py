"""The looks at a leader's live state that a gateway may ask for: what each takes, and what it shows.

The names are those of `gateway.port.Hub`. Both ends of a link read this table, so a view that is added there is added
here; `tests/hub/test_link.py` holds the two together.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from taskyard.core.effects import Signal
from taskyard.core.forecast import Forecast
from taskyard.core.idle import Overview
from taskyard.core.why import Why
from taskyard.gateway import views
from taskyard.gateway.figures import Figures
from taskyard.vocabulary.notices import DeliveryStatus

_TYPES: Final[dict[str, tuple[Any, Any]]] = {
    "daemons": (tuple[()], list[views.DaemonView]),
    "why": (tuple[str, dict[str, str]], Why | None),
    "forecast": (tuple[str], Forecast | None),
    "idle_because": (tuple[list[str], str | None], dict[str, str]),
    "overview": (tuple[str], Overview),
    "heirs": (tuple[list[str]], list[str]),
    "ties": (tuple[list[str]], list[str]),
    "queues": (tuple[str | None], list[views.QueueView]),
    "breakers": (tuple[str | None], list[views.BreakerView]),
    "breaker": (tuple[str, str], views.BreakerView),
    "schedules": (tuple[str | None], list[views.ScheduleView]),
    "schedule": (tuple[str, str], views.ScheduleView | None),
    "hooks": (tuple[str | None], list[views.HookView]),
    "receiver": (tuple[str], views.Receiver | None),
    "templates": (tuple[str | None, list[str] | None], list[views.TemplateView]),
    "usage": (tuple[str], views.UsageView),
    "usages": (tuple[list[str]], dict[str, views.UsageView]),
    "notifications": (tuple[str], list[views.NotificationView]),
    "deliveries": (tuple[str, str, DeliveryStatus | None, str | None, int], list[views.DeliveryView] | None),
    "delivery": (tuple[str, str, str], views.DeliveryView | None),
    "figures": (tuple[()], Figures),
    "progress": (tuple[list[str]], dict[str, views.ProgressView]),
    "pressure": (tuple[str], Signal),
    "hubs": (tuple[()], list[views.HubView]),
    "redeem": (tuple[str, int], bool),
    "ended": (tuple[str, float], None),
    "takes_work": (tuple[()], bool),
    "caught_up": (tuple[()], None),
}

Decode = Callable[[bytes], Any]

ARGUMENTS: Final[dict[str, Decode]] = {
    name: msgspec.msgpack.Decoder(takes).decode for name, (takes, _) in _TYPES.items()
}
VALUES: Final[dict[str, Decode]] = {name: msgspec.msgpack.Decoder(shows).decode for name, (_, shows) in _TYPES.items()}


class LiveViews:
    """All of them, for whoever has to ask somebody else."""

    async def _look(self, name: str, *arguments: object) -> Any:
        raise NotImplementedError

    async def daemons(self) -> list[views.DaemonView]:
        return await self._look("daemons")  # type: ignore[no-any-return]

    async def why(self, task_id: str, names: Mapping[str, str]) -> Why | None:
        return await self._look("why", task_id, dict(names))  # type: ignore[no-any-return]

    async def forecast(self, task_id: str) -> Forecast | None:
        return await self._look("forecast", task_id)  # type: ignore[no-any-return]

    async def idle_because(self, daemon_ids: Sequence[str], viewer: str | None) -> dict[str, str]:
        return await self._look("idle_because", list(daemon_ids), viewer)  # type: ignore[no-any-return]

    async def overview(self, user_id: str) -> Overview:
        return await self._look("overview", user_id)  # type: ignore[no-any-return]

    async def heirs(self, task_ids: Sequence[str]) -> list[str]:
        return await self._look("heirs", list(task_ids))  # type: ignore[no-any-return]

    async def ties(self, task_ids: Sequence[str]) -> list[str]:
        return await self._look("ties", list(task_ids))  # type: ignore[no-any-return]

    async def queues(self, user_id: str | None) -> list[views.QueueView]:
        return await self._look("queues", user_id)  # type: ignore[no-any-return]

    async def breakers(self, user_id: str | None) -> list[views.BreakerView]:
        return await self._look("breakers", user_id)  # type: ignore[no-any-return]

    async def breaker(self, user_id: str, type: str) -> views.BreakerView:
        return await self._look("breaker", user_id, type)  # type: ignore[no-any-return]

    async def schedules(self, user_id: str | None) -> list[views.ScheduleView]:
        return await self._look("schedules", user_id)  # type: ignore[no-any-return]

    async def schedule(self, user_id: str, schedule: str) -> views.ScheduleView | None:
        return await self._look("schedule", user_id, schedule)  # type: ignore[no-any-return]

    async def hooks(self, user_id: str | None) -> list[views.HookView]:
        return await self._look("hooks", user_id)  # type: ignore[no-any-return]

    async def receiver(self, hook_id: str) -> views.Receiver | None:
        return await self._look("receiver", hook_id)  # type: ignore[no-any-return]

    async def templates(self, user_id: str | None, names: Sequence[str] | None) -> list[views.TemplateView]:
        return await self._look("templates", user_id, None if names is None else list(names))  # type: ignore[no-any-return]

    async def usage(self, user_id: str) -> views.UsageView:
        return await self._look("usage", user_id)  # type: ignore[no-any-return]

    async def usages(self, user_ids: Sequence[str]) -> dict[str, views.UsageView]:
        return await self._look("usages", list(user_ids))  # type: ignore[no-any-return]

    async def notifications(self, user_id: str) -> list[views.NotificationView]:
        return await self._look("notifications", user_id)  # type: ignore[no-any-return]

    async def deliveries(
        self,
        user_id: str,
        notification_id: str,
        status: DeliveryStatus | None,
        before: str | None,
        limit: int,
    ) -> list[views.DeliveryView] | None:
        return await self._look("deliveries", user_id, notification_id, status, before, limit)  # type: ignore[no-any-return]

    async def delivery(self, user_id: str, notification_id: str, delivery_id: str) -> views.DeliveryView | None:
        return await self._look("delivery", user_id, notification_id, delivery_id)  # type: ignore[no-any-return]

    async def figures(self) -> Figures:
        return await self._look("figures")  # type: ignore[no-any-return]

    async def progress(self, task_ids: Sequence[str]) -> dict[str, views.ProgressView]:
        return await self._look("progress", list(task_ids))  # type: ignore[no-any-return]

    async def hubs(self) -> list[views.HubView]:
        return await self._look("hubs")  # type: ignore[no-any-return]

    async def pressure(self, user_id: str) -> Signal:
        return await self._look("pressure", user_id)  # type: ignore[no-any-return]

    async def redeem(self, ticket_id: str, expires_at: int) -> bool:
        return await self._look("redeem", ticket_id, expires_at)  # type: ignore[no-any-return]

    async def ended(self, task_id: str, wait_s: float) -> None:
        await self._look("ended", task_id, wait_s)

    async def takes_work(self) -> bool:
        return await self._look("takes_work")  # type: ignore[no-any-return]

    async def caught_up(self) -> None:
        await self._look("caught_up")
