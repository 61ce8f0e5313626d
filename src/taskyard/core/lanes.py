"""A lane: tasks of one user that no rule can tell apart.

If its head may not run, none behind it may, so only heads are ever looked at. That is why a decision costs the same
with ten tasks waiting and with a million. `lines.py` says which lanes compete, `scheduler.py` who of them runs.

Inside a lane there is a shelf per number (1 to 10, of which a level has four at most), and on it first come, first
served. The head is the oldest of the highest number, unless somebody has waited longer than their level's target:
then the oldest of all.

A task with something of its own (a daemon to avoid, an exclusive key, a suspicion, its age) has a `Special` and
thereby a lane of its own.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappop, heappush, nsmallest
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from taskyard.core.task import Kind, Task
from taskyard.vocabulary import RANK, Level, Status

if TYPE_CHECKING:
    from taskyard.core.lines import Party
    from taskyard.core.state import User

LEFTOVERS_MAX: Final = 64
LOOKS_MAX: Final = 1024
# Tasks looked at one by one where somebody asks how many there are; of more, a sample.
QUEUED: Final = Status.QUEUED

Blocker = tuple[str, ...]
"""The name of what somebody sleeps on, e.g. ("exclusive", user, key)."""


class Special(Struct, frozen=True, gc=False):
    """What sets a task apart from its kind."""

    avoided: tuple[str, ...] = ()
    """Daemons it must not go to for now."""
    shunned: tuple[str, ...] = ()
    """Daemons it had better not go to."""
    exclusive: str | None = None
    suspect: str | None = None
    """Its own id, if it must run alone."""
    aged: bool = False
    """Of level low, and waited so long that it is ordered as normal."""


PLAIN: Final = Special()
LaneKey = tuple[Kind, Level, Special]


def special_of(task: Task) -> Special:
    trouble, exclusive = task.trouble, task.terms.exclusive
    if trouble is None:
        return PLAIN if exclusive is None else Special(exclusive=exclusive)
    return Special(
        avoided=tuple(a.daemon_id for a in trouble.avoid if a.firm),
        shunned=tuple(a.daemon_id for a in trouble.avoid if not a.firm),
        exclusive=exclusive,
        suspect=task.id if trouble.suspect else None,
        aged=trouble.aged,
    )


def key_of(task: Task) -> LaneKey:
    return task.kind, task.level, special_of(task)


class Shelf:
    """Tasks of one number, oldest first. One that left stays behind as a leftover until it surfaces."""

    __slots__ = ("_arrived", "_lane", "_pushed", "_returned", "value")

    def __init__(self, lane: "Lane", value: int) -> None:
        self._lane = lane
        self.value = value
        self._arrived: deque[Task] = deque()
        """Those that came in their order, as nearly all do: taken from the front without any sorting. Who is further
        back has waited less, by the clock."""
        self._returned: list[tuple[str, int, Task]] = []
        """A heap of those that belong before one that came earlier, or came after the clock was set back."""
        self._pushed = 0

    def __len__(self) -> int:
        return len(self._arrived) + len(self._returned)

    def push(self, task: Task) -> None:
        last = self._arrived[-1] if self._arrived else None
        if last is None or (last.id < task.id and (last.queued_at or 0) <= (task.queued_at or 0)):
            self._arrived.append(task)
        else:
            self._push_back(task)

    def _push_back(self, task: Task) -> None:
        # The count parts a task brought back from the store from what its older record left here.
        self._pushed += 1
        heappush(self._returned, (task.id, self._pushed, task))

    def head(self) -> Task | None:
        arrived, returned = self._arrived, self._returned
        while arrived or returned:
            is_arrived = not returned or (bool(arrived) and arrived[0].id < returned[0][0])
            task = arrived[0] if is_arrived else returned[0][2]
            if self._is_here(task):
                return task
            if is_arrived:
                arrived.popleft()
            else:
                heappop(returned)
        return None

    def longest(self) -> Task | None:
        """Who has waited longest: not always the head, for one that came back waits anew in its old place."""
        return min((*islice(self._in_order(), 1), *self._back()), key=age_of, default=None)

    def since(self, before: int, count: int) -> list[Task]:
        """Up to so many of those that arrived and have waited since then or longer, and all that returned and have."""
        arrived = takewhile(lambda task: (task.queued_at or 0) <= before, self._in_order())
        return [*islice(arrived, count), *(task for task in self._back() if (task.queued_at or 0) <= before)]

    def _in_order(self) -> Iterator[Task]:
        """Those that arrived, by age. Who came back may have left something among them, and waits anew."""
        while self._arrived and not self._is_here(self._arrived[0]):
            self._arrived.popleft()
        back = {task_id: None for task_id, _, _ in self._returned}
        return (task for task in self._arrived if task.id not in back and self._is_here(task))

    def _back(self) -> Iterator[Task]:
        return (task for _, _, task in self._returned if self._is_here(task))

    def tidy(self) -> None:
        """Throw out the leftovers."""
        tasks = sorted(self.tasks(), key=_id_of, reverse=True)
        self._arrived, self._returned = deque(), []
        for task in tasks:
            if not self._arrived or (task.queued_at or 0) <= (self._arrived[0].queued_at or 0):
                self._arrived.appendleft(task)
            else:
                self._push_back(task)

    def tasks(self) -> Iterator[Task]:
        """All that wait here, in no order."""
        here = {task.id: task for task in self._arrived if self._is_here(task)}
        here.update((task.id, task) for task in self._back())
        return iter(here.values())

    def before(self, task: Task, aged_before: int) -> int:
        """How many of these go before this task, which waits here or on another shelf; leftovers count too."""
        if _is_aged(task, aged_before):
            return self._earlier(age_of(task))
        if self.value > task.value:
            return len(self)
        return self._older(task.id) if self.value == task.value else self._earlier((aged_before, ""))

    def _older(self, task_id: str) -> int:
        return bisect_left(self._arrived, task_id, key=_id_of) + _sampled(
            self._returned, lambda entry: entry[0] < task_id
        )

    def _earlier(self, age: tuple[int, str]) -> int:
        return bisect_left(self._arrived, age, key=age_of) + _sampled(
            self._returned, lambda entry: age_of(entry[2]) < age
        )

    def _is_here(self, task: Task) -> bool:
        lane = self._lane
        return (
            task.status is QUEUED
            and task.value == self.value
            and task.level is lane.level
            and ((special := special_of(task)) is lane.special or special == lane.special)
        )


class Lane:
    """Alike tasks of one user."""

    __slots__ = ("_shelves", "blocker", "key", "kind", "level", "number", "parties", "rank", "size", "special", "user")

    def __init__(self, user: "User", key: LaneKey, number: int) -> None:
        self.user = user
        self.key = key
        self.number = number
        """Lanes are numbered as they are made."""
        self.kind, self.level, self.special = key
        self.rank = RANK[Level.NORMAL if self.special.aged and self.level is Level.LOW else self.level]
        """Where it is ordered; what it counts as is its level."""
        self.size = 0
        self.blocker: Blocker | None = None
        """What it sleeps on; None while it is in its lines."""
        self.parties: list[Party] = []
        """Where it waits: among its user's own daemons, among the shared ones, or both."""
        self._shelves: list[Shelf] = []
        """Highest number first."""

    def push(self, task: Task) -> None:
        self.size += 1
        self._shelf(task.value).push(task)
        if sum(map(len, self._shelves)) > 2 * self.size + LEFTOVERS_MAX:
            for shelf in self._shelves:
                shelf.tidy()

    def _shelf(self, value: int) -> Shelf:
        for shelf in self._shelves:
            if shelf.value == value:
                return shelf
        shelf = Shelf(self, value)
        self._shelves = sorted((*self._shelves, shelf), key=lambda each: -each.value)
        return shelf

    def heads(self) -> list[Task]:
        """The first of each number, highest number first; the lane must not be empty."""
        return [head for shelf in self._shelves if (head := shelf.head()) is not None]

    def head(self, aged_before: int) -> Task:
        """The next task. Who was queued before `aged_before` has waited longer than their level should."""
        if len(self._shelves) == 1:
            first = self._shelves[0].head()
            assert first is not None, "I5: a lane is gone with its last task"
            return first
        heads = self.heads()
        oldest = min(heads, key=age_of)
        return oldest if age_of(oldest)[0] < aged_before else heads[0]

    def best(self) -> tuple[int, str]:
        """Its place among its user's lanes while nobody is aged: number, then age."""
        head = self.heads()[0]
        return -head.value, head.id

    def eldest(self) -> tuple[int, str]:
        """Its place among its user's lanes by age."""
        return min(age_of(head) for head in self.heads())

    def longest(self) -> Task:
        """Who has waited longest; the lane must not be empty."""
        return min((task for shelf in self._shelves if (task := shelf.longest()) is not None), key=age_of)

    def since(self, before: int, count: int) -> list[Task]:
        """Up to so many of those that have waited since then or longer, the longest first."""
        found = {task.id: task for shelf in self._shelves for task in shelf.since(before, count)}
        return nsmallest(count, found.values(), key=age_of)

    def before(self, task: Task, aged_before: int) -> int:
        """How many of these go before this task, which is ordered at the same level, here or in another lane.

        Tasks that left from the middle are still on their shelf: where there are few, they are looked at one by one;
        among many the share of them is taken off.
        """
        shelved = sum(map(len, self._shelves))
        if self.size < shelved <= LOOKS_MAX:
            place = place_of(task, aged_before)
            return sum(place_of(each, aged_before) < place for each in self.tasks())
        return sum(shelf.before(task, aged_before) for shelf in self._shelves) * self.size // shelved

    def tasks(self) -> Iterator[Task]:
        """All of them, in no order; for explanations and checks, never for a decision."""
        for shelf in self._shelves:
            yield from shelf.tasks()


def age_of(task: Task) -> tuple[int, str]:
    return task.queued_at or 0, task.id


Place = tuple[bool, int, str]


def place_of(task: Task, aged_before: int) -> Place:
    """A task's place among its user's of one level: who waited too long by age, then the others by number and age."""
    is_aged = _is_aged(task, aged_before)
    return not is_aged, (task.queued_at or 0) if is_aged else -task.value, task.id


def _is_aged(task: Task, aged_before: int) -> bool:
    return (task.queued_at or 0) < aged_before


def _id_of(task: Task) -> str:
    return task.id


def _sampled(entries: list[tuple[str, int, Task]], is_meant: Callable[[tuple[str, int, Task]], bool]) -> int:
    """How many of these are meant; of very many only some are asked."""
    step = 1 + len(entries) // LOOKS_MAX
    return step * sum(map(is_meant, entries[::step]))
