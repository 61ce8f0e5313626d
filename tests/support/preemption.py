"""Yards in which a critical task finds no room."""

from taskyard.core.effects import CancelWork, Effect
from taskyard.core.settings import Settings, Shares
from taskyard.core.task import Task, Terms
from taskyard.vocabulary import CancelReason, DependsPolicy
from tests.support.harness import HubHarness, Level

CRITICAL, HIGH, NORMAL, LOW = Level.CRITICAL, Level.HIGH, Level.NORMAL, Level.LOW
NO_RESERVE = Shares(critical_reserve=0)
GOING_ON = Terms(on_depends_fail=DependsPolicy.CONTINUE)


def running(hub: HubHarness, *, level: Level = LOW, **fields: object) -> Task:
    return hub.run(hub.submit(level=level, **fields))  # type: ignore[arg-type]


def a_full_machine(*, ran_s: float = 10, slots: int = 1, **settings: object) -> tuple[HubHarness, list[Task]]:
    """One daemon whose slots are all taken by low tasks that have run for so long, the youngest last."""
    hub = HubHarness(Settings(shares=NO_RESERVE, **settings))  # type: ignore[arg-type]
    hub.daemon(slots=slots)
    low = []
    for _ in range(slots):
        low.append(running(hub))
        hub.live(s=1)
    hub.live(s=ran_s - 1)
    return hub, low


def told(hub: HubHarness, effects: list[Effect] | None = None) -> list[str]:
    """Who was told to make room."""
    found = hub.of(hub.effects if effects is None else effects, CancelWork)
    return [each.task_id for each in found if each.reason is CancelReason.PREEMPTED]


def who_makes_room(hub: HubHarness, **urgent: object) -> list[str]:
    """Who is told to, while a critical task waits that came when all others had run for a while."""
    hub.live(s=10)
    hub.submit(level=CRITICAL, **urgent)  # type: ignore[arg-type]
    hub.live(s=30)
    return told(hub)
