"""Who waits, in what order, and at what cost."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from taskyard.core import yard as yard_module
from taskyard.core.changes import DaemonRecord, UserRecord
from taskyard.core.commands import CompleteTask, SubmitTasks
from taskyard.core.fairness import take_stock
from taskyard.core.lanes import LEFTOVERS_MAX, PLAIN, Shelf, Special, key_of, special_of
from taskyard.core.lines import Line, order_of
from taskyard.core.state import Daemon, User
from taskyard.core.task import Avoidance, Kind, Needs, Task, Terms, Trouble
from taskyard.core.yard import Yard
from taskyard.vocabulary import RANK, Level
from tests.support.harness import HubHarness, Status, a_draft

KINDS = {type: Kind(Needs(type)) for type in ("x", "y")}
TERMS = Terms()
USERS = st.sampled_from("abc")
AGED_MS = 50


def test_alike_tasks_wait_in_one_lane() -> None:
    hub = HubHarness()
    for n in range(100):
        hub.submit(type="x", value=5 + n % 3)
    assert [lane.size for lane in hub.state.users["ann"].lanes.values()] == [100]


def test_what_any_rule_reads_makes_another_lane() -> None:
    hub = HubHarness(users=("ann", "bob"))
    drafts = [
        a_draft(),
        a_draft(type="x"),
        a_draft(model="m"),
        a_draft(level=Level.HIGH),
        a_draft(capabilities=("gpu",)),
        a_draft(excluded=("d",)),
        a_draft(memory_mb=5),
        a_draft(cpu_intensive=True),
        a_draft(terms=Terms(exclusive="e")),
    ]
    hub.submit_all(*drafts)
    assert len(hub.state.users["ann"].lanes) == len(drafts)
    hub.submit(user="bob")
    assert len(hub.state.users["bob"].lanes) == 1


def test_a_task_with_a_state_of_its_own_leaves_its_lane_for_one_of_its_own() -> None:
    task = HubHarness().submit()
    assert special_of(task) is PLAIN
    task.trouble = Trouble()
    assert special_of(task) == PLAIN
    task.trouble = Trouble(avoid=[Avoidance("a", 1, firm=True), Avoidance("b", 1, firm=False)], suspect=True)
    assert special_of(task) == Special(avoided=("a",), shunned=("b",), suspect=task.id)


def test_leftovers_of_a_lane_do_not_pile_up() -> None:
    hub = HubHarness()
    keeper = hub.submit()
    for _ in range(20 * LEFTOVERS_MAX):
        hub.cancel(hub.submit())
    lane = hub.state.users["ann"].lanes[key_of(keeper)]
    assert sum(map(len, lane._shelves)) <= LEFTOVERS_MAX + 5


def test_lines_nobody_waits_in_are_forgotten_once_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yard_module, "LINES_MAX", 100)
    # Given more kinds of needs than are kept, each waited in once, and one that is still waited in
    hub = HubHarness()
    daemon = hub.daemon(types=("only",), slots=1)
    hub.run(hub.submit(type="only", terms=Terms(exclusive="e")))
    hub.disconnect(hub.daemon("away"))
    sleeper = hub.submit(type="only", terms=Terms(exclusive="e"))
    keeper = hub.submit(type="kept")
    many = yard_module.LINES_MAX + 10
    for n in range(many):
        hub.core.handle(SubmitTasks("ann", [a_draft(id=f"id{n}", type=f"t{n}")]), hub.now)
        task = hub.state.tasks[f"id{n}"]
        hub.cancel(task)
    assert len(hub.state.yard.lines) <= yard_module.LINES_MAX
    # Then those who wait are still found
    hub.daemon("all")
    assert keeper.status is Status.SCHEDULED
    assert all(line in hub.state.yard.lines.values() for line in daemon.lines)
    assert sleeper.status is Status.QUEUED


def test_a_user_who_gets_a_first_daemon_of_their_own_waits_for_it_too() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("shared", user="bob", shared=True, slots=1)
    hub.run(hub.submit(terms=Terms(exclusive="e")))
    asleep, awake = hub.submit(terms=Terms(exclusive="e")), hub.submit()
    # The exclusive lane sleeps once it was looked at.
    hub.daemon("mine", slots=1)
    assert awake.status is Status.SCHEDULED
    assert asleep.status is Status.QUEUED


# Cost


def test_a_dispatch_looks_at_a_few_lanes_however_many_tasks_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts looks at shelves, which every decision goes through; time would depend on the machine."""
    looks, plain = [0], Shelf.head

    def head(shelf: Shelf) -> Task | None:
        looks[0] += 1
        return plain(shelf)

    monkeypatch.setattr(Shelf, "head", head)

    def looks_with(waiting: int) -> int:
        hub = HubHarness(users=[f"u{n}" for n in range(10)])
        hub.daemon(user="u0", shared=True, slots=1)
        running = hub.submit(user="u0")
        turn = hub.core.turn(hub.now)
        for n in range(waiting):
            user = hub.state.users[f"u{n % 10}"]
            task = Task(
                id=f"w{n:06d}",
                user_id=user.id,
                number=n,
                kind=KINDS["x"],
                terms=TERMS,
                created_at=0,
                status=Status.QUEUED,
            )
            hub.state.intern(task)
            hub.state.tasks[task.id] = task
            hub.state.yard.enter(user, task)
        looks[0] = 0
        hub.core.decide(turn, CompleteTask(None, running.id, 1))
        hub.core.dispatch(turn)
        assert len(hub.sent(turn.effects)) == 1
        return looks[0]

    few, many = looks_with(100), looks_with(50_000)
    assert many <= few + 5
    assert many < 50


# Against a naive model


class LanesAgainstASort(RuleBasedStateMachine):
    """The model is a list that is sorted anew for every question."""

    def __init__(self) -> None:
        super().__init__()
        self.yard = Yard()
        self.users = {name: User(UserRecord(name, name, 0), 0) for name in "abc"}
        self.daemons = 0
        self.enlist("a", shared=True)
        self.waiting: list[Task] = []
        self.count = 0
        self.now = 0

    def enlist(self, user: str, *, shared: bool) -> None:
        self.daemons += 1
        record = DaemonRecord(f"d{self.daemons}", user, "d", "b", 0, shared=shared)
        self.yard.enlist(Daemon(record, 0), self.users.values())

    @rule(user=USERS, type=st.sampled_from("xy"), value=st.integers(5, 7), level=st.sampled_from(Level))
    def enter(self, user: str, type: str, value: int, level: Level) -> None:
        self.count += 1
        task = Task(
            id=f"{self.count:04d}",
            user_id=user,
            number=self.count,
            kind=KINDS[type],
            terms=TERMS,
            created_at=0,
            status=Status.QUEUED,
            level=level,
            value=value,
        )
        task.queued_at = self.now
        self.yard.enter(self.users[user], task)
        self.waiting.append(task)

    @rule(ms=st.integers(1, 20))
    def wait(self, ms: int) -> None:
        self.now += ms

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(self.waiting))
        self.yard.leave(self.users[task.user_id], task)
        task.status = Status.CANCELLED
        self.waiting.remove(task)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), level=st.sampled_from(Level), value=st.integers(1, 10))
    def change(self, data: st.DataObject, level: Level, value: int) -> None:
        task = data.draw(st.sampled_from(self.waiting))
        user = self.users[task.user_id]
        self.yard.leave(user, task)
        task.level, task.value = level, value
        self.yard.enter(user, task)
        self.yard.refresh(user)

    @rule(user=USERS)
    def serve(self, user: str) -> None:
        self.count += 1
        self.users[user].live[f"live{self.count}"] = None  # type: ignore[assignment]
        take_stock(self.users[user], served=self.count)

    @precondition(lambda self: any(u.live for u in self.users.values()))
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        user = data.draw(st.sampled_from([u for u in self.users.values() if u.live]))
        user.live.popitem()
        take_stock(user)
        self.yard.refresh(user)

    @precondition(lambda self: any(u.lanes for u in self.users.values()))
    @rule(data=st.data(), name=st.sampled_from("pq"))
    def sleep(self, data: st.DataObject, name: str) -> None:
        awake = [lane for u in self.users.values() for lane in u.lanes.values() if lane.blocker is None]
        if awake:
            self.yard.sleep(data.draw(st.sampled_from(awake)), ("test", name))

    @rule(name=st.sampled_from("pq"))
    def wake(self, name: str) -> None:
        self.yard.wake(("test", name))

    @rule(user=USERS)
    def own_a_daemon(self, user: str) -> None:
        self.enlist(user, shared=False)

    @rule(user=USERS, is_over=st.booleans())
    def regrade(self, user: str, is_over: bool) -> None:
        self.yard.regrade(self.users[user], is_over=is_over)

    @invariant()
    def the_first_of_a_line_is_the_first_of_the_sorted(self) -> None:
        assert self.yard.waiting == len(self.waiting)
        for line in self.yard.lines.values():
            for rank in RANK.values():
                waiting = self._waiting(line, rank)
                party = line.parties[rank].first()
                if party is None:
                    assert not waiting
                    continue
                first = party.first(self.aged_before).head(self.aged_before)
                assert first is min((t for t in waiting if t.user_id == party.user.id), key=self._order)
                assert order_of(party, self.aged_before)[0] == min(map(self._turn, waiting))

    @property
    def aged_before(self) -> int:
        return self.now - AGED_MS

    def _turn(self, task: Task) -> int:
        return self.users[task.user_id].turn

    def _order(self, task: Task) -> tuple[bool, int, str]:
        queued_at = task.queued_at or 0
        is_aged = self._oldest_of_its_number(task) and queued_at < self.aged_before
        return not is_aged, queued_at if is_aged else -task.value, task.id

    def _oldest_of_its_number(self, task: Task) -> bool:
        """Within a number it is first come, first served: only whoever is in front can be too old to wait."""
        lane = self.users[task.user_id].lanes[key_of(task)]
        return task.id == min(t.id for t in lane.tasks() if t.value == task.value)

    def _waiting(self, line: Line, rank: int) -> list[Task]:
        here = []
        for task in self.waiting:
            lane = self.users[task.user_id].lanes[key_of(task)]
            if lane.blocker is None and any(p.line is line and p.rank == rank for p in lane.parties):
                here.append(task)
        return here


def test_a_better_head_goes_first_in_every_pool_also_where_critical_work_counts_as_high() -> None:
    # Given somebody with a daemon of their own, whose critical work waits among the high in the shared pool
    lanes = LanesAgainstASort()
    lanes.enlist("a", shared=False)
    lanes.yard.regrade(lanes.users["a"], is_over=True)
    lanes.enter("a", "x", 5, Level.CRITICAL)
    lanes.enter("a", "x", 5, Level.HIGH)
    lanes.the_first_of_a_line_is_the_first_of_the_sorted()

    # When a high task with a greater number comes, by itself in the pool of their own
    lanes.enter("a", "x", 6, Level.HIGH)

    # Then it is first in both
    lanes.the_first_of_a_line_is_the_first_of_the_sorted()


LanesAgainstASort.TestCase.settings = settings(max_examples=60, stateful_step_count=40, derandomize=True, deadline=None)
test_lanes_agree_with_a_plain_sort = LanesAgainstASort.TestCase
