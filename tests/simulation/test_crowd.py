"""Adversarial crowds: no start beyond a limit, nobody passed over, nobody forgotten."""

import random
from collections.abc import Callable
from typing import Any, Final
from unittest.mock import patch

import pytest

from taskyard.core import aftermath, attempts, counts, hub, in_place, limits, placement, preemption, scheduler
from taskyard.core.changes import UserRecord
from taskyard.core.commands import CompleteTask, Draft, SubmitTasks
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.effects import Execute
from taskyard.core.hub import Core
from taskyard.core.lanes import Lane
from taskyard.core.lines import Pool
from taskyard.core.settings import Limits, Rate, Settings
from taskyard.core.state import Daemon, Now, State, Turn, User
from taskyard.core.task import Attempt, Kind, Task, Terms
from taskyard.core.yard import Yard
from taskyard.vocabulary import HUB_RATE, Level, SourceType, Status
from tests.simulation.crowd import START_MS, Crowd, live
from tests.simulation.leaving_crowd import LeavingCrowd
from tests.simulation.rough_crowd import RoughCrowd

SEEDS: Final = range(1, 9)
"""The soak has hundreds of both kinds."""
LEAVING_SEEDS: Final = (1, 3, 7)
KEPT: Final = (1216, 1223)
ROUGH_KEPT: Final = (20, 21, 478, 658, 744, 2089, 5631)
# Crowds that have found a mistake in the core, once each.
SEARCHED: Final = (*KEPT, 6, 3, *range(1, 41))
ROUGH_SEARCHED: Final = (658, 744, 20, 21, *range(1, 41))
"""Some mistakes show in few crowds. In the first of each, every mistake shows today."""
FREE: Final = Rate(per_minute=10**9, per_hour=10**9)
OPEN: Final = Settings(
    limits=Limits(
        running_per_user=1000,
        running_per_source={},
        rate={**dict.fromkeys(SourceType, FREE), HUB_RATE: FREE},
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*SEEDS, *KEPT])
def test_no_crowd_gets_past_a_limit_and_every_crowd_is_served(seed: int) -> None:
    crowd = live(seed)
    assert crowd.grants > 50


@pytest.mark.slow
def test_no_rough_crowd_gets_past_a_limit_and_every_one_is_served() -> None:
    """One test for all: what counts is also how much has to go, and how much runs alone."""
    seeds = [*SEEDS, *ROUGH_KEPT]
    crowds = [lived_roughly(seed) for seed in seeds]
    assert sum(crowd.told for crowd in crowds) > 2 * len(seeds)
    assert sum(crowd.alone for crowd in crowds) > 2 * len(seeds)


@pytest.mark.slow
def test_no_task_waits_in_vain_where_daemons_are_forgotten_and_come_anew() -> None:
    crowds = [live(seed, kind=LeavingCrowd) for seed in LEAVING_SEEDS]
    assert sum(crowd.forgotten for crowd in crowds) > 2 * len(crowds)
    assert sum(crowd.refused for crowd in crowds) > 2 * len(crowds)


def lived_roughly(seed: int) -> Crowd:
    try:
        return live(seed, kind=RoughCrowd)
    except AssertionError as error:
        raise AssertionError(f"rough crowd {seed}: {error}") from error


# --- mistakes that must be seen ----------------------------------------------------------------------------


def forget_one_rule(rule: object) -> Any:
    rules = tuple(each for each in limits.LANE_RULES if each is not rule)
    return patch.object(scheduler, "LANE_RULES", rules)


def forget_the_queues_limit() -> Any:
    rules = tuple(rule for rule in limits.LINE_RULES if rule is not limits.queue_has_room)
    return patch.object(scheduler, "LINE_RULES", rules)


def forget_who_starved_for_a_level() -> Any:
    def wake_daemon(self: Yard, daemon: Daemon) -> None:
        for line in daemon.lines:
            if line.is_waiting():
                self.look_at(line)

    return patch.object(Yard, "wake_daemon", wake_daemon)


def count_a_slot_twice_when_it_is_given_back() -> Any:
    def twice(state: State, task: Task, attempt: Attempt, daemon: Daemon, change: int) -> None:
        counts.count(state, task, attempt, daemon, change)
        if change < 0 and state.users[task.user_id].running.total > 0:
            state.users[task.user_id].running.total -= 1

    return patch.object(attempts, "count", twice)


def forget_who_waits_for_a_level_to_ask_for_room() -> Any:
    def wake_pool(self: Yard, pool: Pool) -> None:
        for line in pool.starved.values():
            self.look_at(line)
        pool.starved = {}

    return patch.object(Yard, "_wake_pool", wake_pool)


def give_the_room_to_anybody() -> Any:
    def hand_over(turn: Turn) -> None:
        turn.state.made_room = {}

    return patch.object(scheduler, "_hand_over", hand_over)


def keep_sub_tasks_from_a_daemon_that_is_emptied() -> Any:
    takes_in = in_place._takes_in

    def careful(host: Daemon, parent: Task, lane: Lane) -> bool:
        return host.alone in (None, parent.id) and takes_in(host, parent, lane)

    return patch.object(in_place, "_takes_in", careful)


MISTAKES: Final[dict[str, Callable[[], Any]]] = {
    "forget to wake who waited for room": lambda: patch.object(attempts, "wake_room", lambda state, task, daemon: None),
    "no user limit": lambda: forget_one_rule(limits.user_has_room),
    "no source limit": lambda: forget_one_rule(limits.source_has_room),
    "no low cap": lambda: forget_one_rule(limits.low_has_room),
    "no queue limit": forget_the_queues_limit,
    "let anybody use the critical reserve": lambda: patch.object(
        scheduler, "levels_with_room", lambda turn, pool: (0, 1, 2, 3)
    ),
    "let the hub run more than it may": lambda: patch.object(scheduler, "hub_has_room", lambda turn: None),
    "forget whose turn came nearer": lambda: patch.object(Yard, "refresh", lambda self, user: None),
    "starved for ever": forget_who_starved_for_a_level,
    "given back twice": count_a_slot_twice_when_it_is_given_back,
    "forget who waits in the pool that was left": lambda: patch.object(
        Yard, "_vacate", lambda self, pool, daemon, users: None
    ),
    "forget who sleeps beside a waiting parent": lambda: patch.object(
        Yard, "sleep_place", lambda self, parent_id, blocker: None
    ),
    "forget that more is kept for critical work": lambda: patch.object(hub, "reserve_changed", lambda state: None),
    "room of a level": forget_who_waits_for_a_level_to_ask_for_room,
}
ROUGH_MISTAKES: Final[dict[str, Callable[[], Any]]] = {
    "let a suspect have company": lambda: patch.object(placement, "is_not_held", lambda lane, daemon: None),
    "let a suspect wait for ever": lambda: patch.object(scheduler, "watch_suspect", lambda turn, task: None),
    "keep a daemon for a suspect that is held": lambda: patch.object(scheduler, "let_go", lambda turn, task: None),
    "let the young make room": lambda: patch.object(preemption, "ms_of", lambda seconds: 0),
    "let one go whose going does not help": lambda: patch.object(
        preemption, "_helps", lambda turn, lane, lines, low: True
    ),
    "not handed over": give_the_room_to_anybody,
    "forget that a low task runs now": lambda: patch.object(aftermath, "ON_START", ()),
    "hold what a breaker's probe waits for": lambda: patch.object(
        in_place, "_is_tried_with", lambda state, parent, hold: False
    ),
    "let a parent wait for a daemon that waits for its end": keep_sub_tasks_from_a_daemon_that_is_emptied,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MISTAKES, *ROUGH_MISTAKES])
def test_a_mistake_in_the_policy_is_seen(name: str) -> None:
    is_rough = name in ROUGH_MISTAKES
    seeds, kind = (ROUGH_SEARCHED, RoughCrowd) if is_rough else (SEARCHED, Crowd)
    for seed in seeds:
        with (MISTAKES | ROUGH_MISTAKES)[name]():
            try:
                live(seed, kind=kind)
            except AssertionError:
                return
    pytest.fail(f"it survived {len(seeds)} crowds: a judge is missing")


# --- bounds ------------------------------------------------------------------------------------------------


class Fair:
    """A shared fleet, users with a backlog, and work that ends in any order."""

    def __init__(self, users: int, slots: int, seed: int = 1) -> None:
        self.rng = random.Random(seed)
        self.now = Now(START_MS, 1_000)
        self.state = State(OPEN, cluster_id="c", epoch=1, seq=0)
        self.core = Core(self.state, self.rng)
        self.starts: dict[str, int] = {}
        self.running: list[Execute] = []
        self._ids = 0
        for n in range(users):
            record = UserRecord(f"u{n}", f"u{n}", START_MS, None, {"max_pending": 10**9})
            self.state.users[record.id] = User(record, 0)
        self._decide(JoinDaemon(1, "u0", "d", "boot", "d", shared=True, slots=slots))

    def _decide(self, command: object) -> None:
        turn = self.core.turn(self.now)
        self.core.decide(turn, command)  # type: ignore[arg-type]
        self.core.dispatch(turn)
        for effect in turn.effects:
            if isinstance(effect, Execute):
                self.running.append(effect)
                owner = self.state.tasks[effect.task_id].user_id
                self.starts[owner] = self.starts.get(owner, 0) + 1
        self.core.forget(through_seq=self.core.cut(batch_id="b", now=self.now).seq)

    def submit(self, user: str, count: int, level: Level = Level.NORMAL) -> list[str]:
        drafts = []
        for _ in range(count):
            self._ids += 1
            draft = Draft(f"t{self._ids:07d}", Kind(), Terms(), b"{}")
            draft.level = level
            drafts.append(draft)
        for first in range(0, count, 1000):
            self._decide(SubmitTasks(user, drafts[first : first + 1000]))
        return [draft.id for draft in drafts]

    def end_one(self) -> None:
        done = self.running.pop(self.rng.randrange(len(self.running)))
        self._decide(CompleteTask(done.daemon_id, done.task_id, done.attempt, done.session, b"{}"))


def jain(shares: list[int]) -> float:
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares))


def test_equal_users_get_equal_shares_whatever_their_backlog() -> None:
    fair = Fair(users=20, slots=10)
    for n in range(20):
        fair.submit(f"u{n}", 100 + 40 * n)
    for _ in range(1500):
        fair.end_one()
    assert jain(list(fair.starts.values())) >= 0.98


def test_one_user_with_a_hundred_thousand_tasks_among_a_thousand_users() -> None:
    """The bound: whoever runs nothing is served before anybody gets a second slot."""
    # Given a flood that fills the fleet
    fair = Fair(users=1000, slots=50)
    fair.submit("u0", 100_000)

    # When 999 others bring one task each
    others = [fair.submit(f"u{n}", 1)[0] for n in range(1, 1000)]
    before = fair.starts["u0"]
    for _ in range(len(others)):
        fair.end_one()

    # Then every slot that came free was theirs
    assert all(fair.state.tasks.get(i) is None or fair.state.tasks[i].status is not Status.QUEUED for i in others)
    assert fair.starts["u0"] == before


@pytest.mark.parametrize("level", [Level.HIGH, Level.NORMAL])
def test_low_work_starts_within_its_bound_however_much_is_above_it(level: Level) -> None:
    """The bound: once as many slots came free as the pool has, low runs its share."""
    fair = Fair(users=5, slots=20)
    for n in range(4):
        fair.submit(f"u{n}", 500, level)
    low = fair.submit("u4", 2, Level.LOW)
    for _ in range(20):
        fair.end_one()
    assert all(fair.state.tasks[i].status is not Status.QUEUED for i in low if i in fair.state.tasks)


def test_endless_critical_work_of_one_user_leaves_the_shared_fleet_to_others() -> None:
    fair = Fair(users=3, slots=20)
    fair.submit("u0", 2000, Level.CRITICAL)
    normal = fair.submit("u1", 7)
    low = fair.submit("u2", 2, Level.LOW)
    for _ in range(40):
        fair.end_one()
    waiting = [i for i in (*normal, *low) if i in fair.state.tasks and fair.state.tasks[i].status is Status.QUEUED]
    assert not waiting
