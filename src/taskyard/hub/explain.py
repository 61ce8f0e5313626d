"""What the live state says when it is asked for reasons: read on the loop's own thread, and changed by nobody here."""

from collections.abc import Mapping

from taskyard.core.forecast import Forecast, forecast
from taskyard.core.hub import Core
from taskyard.core.idle import Overview, overview, why_idle
from taskyard.core.state import Now
from taskyard.core.why import Why, why


def why_of(core: Core, now: Now, task_id: str, names: Mapping[str, str]) -> Why | None:
    task = core.state.tasks.get(task_id)
    return None if task is None else why(core.turn(now), task, names)


def forecast_of(core: Core, now: Now, task_id: str) -> Forecast | None:
    task = core.state.tasks.get(task_id)
    return None if task is None else forecast(core.turn(now), task)


def idle_because(core: Core, now: Now, daemon_id: str, viewer: str | None) -> str | None:
    daemon = core.state.daemons.get(daemon_id)
    return None if daemon is None else why_idle(core.turn(now), daemon, viewer)


def overview_of(core: Core, now: Now, user_id: str) -> Overview:
    return overview(core.turn(now), core.state.users[user_id])
