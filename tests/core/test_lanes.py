"""Who waits, in what order, and at what cost."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from taskyard.core import lanes as lanes_module
from taskyard.core.changes import DaemonRecord, UserRecord
from taskyard.core.commands import CompleteTask, SubmitTasks
from taskyard.core.lanes import LEFTOVERS_MAX, PLAIN, Lane, Line, Special, Yard, key_of, order_of, special_of
from taskyard.core.state import Daemon, User
from taskyard.core.task import Avoidance, Kind, Needs, Task, Terms, Trouble
from taskyard.vocabulary import RANK, Level
from tests.support.harness import HubHarness, Status, a_draft

KINDS = {type: Kind(Needs(type)) for type in ("x", "y")}
TERMS = Terms()
USERS = st.sampled_from("abc")


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


def test_a_lane_is_gone_with_its_last_task() -> None:
    hub = HubHarness()
    task = hub.submit()
    hub.cancel(task)
    assert hub.state.users["ann"].lanes == {}
    assert not next(iter(hub.state.yard.lines.values())).is_waiting()


def test_leftovers_of_a_lane_do_not_pile_up() -> None:
    hub = HubHarness()
    keeper = hub.submit()
    for _ in range(20 * LEFTOVERS_MAX):
        hub.cancel(hub.submit())
    lane = hub.state.users["ann"].lanes[key_of(keeper)]
    assert len(lane._arrived) + len(lane._returned) <= LEFTOVERS_MAX + 5


def test_leftovers_of_a_line_do_not_pile_up() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.submit(value=5)
    hub.submit(user="bob", value=5)
    task = hub.submit(value=6)
    for n in range(10 * LEFTOVERS_MAX):
        hub.change(task, level=Level.NORMAL, value=6 + n % 2)
    line = next(iter(hub.state.yard.lines.values()))
    assert len(line._heaps[RANK[Level.NORMAL]]) <= LEFTOVERS_MAX + 5


def test_lines_nobody_waits_in_are_forgotten_once_there_are_many() -> None:
    # Given more kinds of needs than are kept, each waited in once, and one that is still waited in
    hub = HubHarness()
    daemon = hub.daemon(types=("only",), slots=1)
    hub.run(hub.submit(type="only", terms=Terms(exclusive="e")))
    hub.disconnect(hub.daemon("away"))
    sleeper = hub.submit(type="only", terms=Terms(exclusive="e"))
    keeper = hub.submit(type="kept")
    many = lanes_module.LINES_MAX + 10
    for n in range(many):
        hub.core.handle(SubmitTasks("ann", [a_draft(id=f"id{n}", type=f"t{n}")]), hub.now)
        task = hub.state.tasks[f"id{n}"]
        hub.cancel(task)
    assert len(hub.state.yard.lines) <= lanes_module.LINES_MAX
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


def test_a_dispatch_looks_at_a_few_lanes_however_many_tasks_wait() -> None:
    """Counts looks at heads of lanes, which every decision goes through; time would depend on the machine."""

    class Counting(Lane):
        __slots__ = ()
        looks = 0

        def head(self) -> Task:
            Counting.looks += 1
            return super().head()

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
            key = key_of(task)
            if key not in user.lanes:
                # A lane that counts, in the place of a plain one.
                line = hub.state.yard.line_for(user, key)
                lane = user.lanes[key] = Counting(user, key, line)
                lane.push(task)
                line.join(lane)
                hub.state.yard.waiting += 1
            else:
                hub.state.yard.enter(user, task)
        Counting.looks = 0
        hub.core.decide(turn, CompleteTask(None, running.id, 1))
        hub.core.dispatch(turn)
        assert len(hub.sent(turn.effects)) == 1
        return Counting.looks

    few, many = looks_with(100), looks_with(50_000)
    assert many <= few + 5
    assert many < 50


# Against a naive model


class LanesAgainstASort(RuleBasedStateMachine):
    """The model is a list that is sorted anew for every question."""

    def __init__(self) -> None:
        super().__init__()
        self.fleet: dict[str, Daemon] = {}
        self.yard = Yard(self.fleet)
        record = DaemonRecord("d", "a", "d", "b", 0, shared=True)
        self.fleet["d"] = Daemon(record, 0)
        self.users = {name: User(UserRecord(name, name, 0), 0) for name in "abc"}
        self.waiting: list[Task] = []
        self.count = 0

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
        self.yard.enter(self.users[user], task)
        self.waiting.append(task)

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
        self.users[user].served = self.count

    @precondition(lambda self: any(u.live for u in self.users.values()))
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        user = data.draw(st.sampled_from([u for u in self.users.values() if u.live]))
        user.live.popitem()
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
    def rehouse(self, user: str) -> None:
        self.users[user].owns_daemons = True
        self.yard.rehouse(self.users[user])

    @invariant()
    def the_best_lane_is_the_first_of_the_sorted(self) -> None:
        assert self.yard.waiting == len(self.waiting)
        for line in self.yard.lines.values():
            for rank in RANK.values():
                expected = self._first(line, rank)
                best = line.best(rank)
                assert (best.head() if best else None) is expected
                assert best is None or order_of(best) == min(map(order_of, line.awake(rank)))

    def _first(self, line: Line, rank: int) -> Task | None:
        def order(task: Task) -> tuple[int, int, int, str]:
            user = self.users[task.user_id]
            return len(user.live), user.served, -task.value, task.id

        here = []
        for task in self.waiting:
            lane = self.users[task.user_id].lanes[key_of(task)]
            if lane.line is line and lane.blocker is None and RANK[task.level] == rank:
                here.append(task)
        return min(here, key=order, default=None)


LanesAgainstASort.TestCase.settings = settings(max_examples=60, stateful_step_count=40, derandomize=True, deadline=None)
test_lanes_agree_with_a_plain_sort = LanesAgainstASort.TestCase
