"""What the live state says when it is asked for reasons: read on the loop's own thread, and changed by nobody here."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from taskyard.core.dependencies import heirs_of
from taskyard.core.forecast import Forecast, forecast
from taskyard.core.hub import Core
from taskyard.core.idle import Overview, overview, why_idle
from taskyard.core.state import Now
from taskyard.core.why import Why, why

TIES_MAX: Final = 1_000
# Several times what is shown of them, so that whoever shows them knows that there are more.


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


def heirs(core: Core, task_ids: Sequence[str]) -> list[str]:
    """Of those that are still held: what has ended has no heirs left to cancel."""
    return heirs_of(core.state, *task_ids)


def ties(core: Core, task_ids: Sequence[str]) -> list[str]:
    """In order, each once; of a task with very many, no more than these are looked at."""
    state = core.state
    named = (chain(state.dependants.get(one, ()), state.children.get(one, ())) for one in task_ids)
    found: dict[str, None] = {}
    for tied in chain.from_iterable(named):
        found[tied] = None
        if len(found) == TIES_MAX:
            break
    return list(found)


def overview_of(core: Core, now: Now, user_id: str) -> Overview:
    return overview(core.turn(now), core.state.users[user_id])
