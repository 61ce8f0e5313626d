"""What the live state says when it is asked for reasons: read on the loop's own thread, and changed by nobody here."""

from collections.abc import Mapping, Sequence

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


def idle_because(core: Core, now: Now, daemon_ids: Sequence[str], viewer: str | None) -> dict[str, str]:
    turn, known = core.turn(now), core.state.daemons
    told = ((id, why_idle(turn, known[id], viewer)) for id in daemon_ids if id in known)
    return {id: reason for id, reason in told if reason is not None}


def overview_of(core: Core, now: Now, user_id: str) -> Overview:
    return overview(core.turn(now), core.state.users[user_id])
