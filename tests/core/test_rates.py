"""Token buckets: exact, bounded, and the same after a restart."""

from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st

from taskyard.core.changes import UserRecord
from taskyard.core.commands import Draft
from taskyard.core.effects import Refused, Submitted
from taskyard.core.rates import HOUR_MS, MINUTE_MS, ask, bucket_name, charge
from taskyard.core.settings import Limits, Rate, Settings
from taskyard.core.state import Now, State, Turn, User
from taskyard.core.yard_commands import ChangeSettings
from taskyard.vocabulary import HUB_RATE, Keeps, Profile, Refusal, SourceType
from tests.support.harness import HubHarness, a_draft

WALL = 1_800_000_000_000
PROACTIVE = SourceType.PROACTIVE


class Clock:
    """A turn at any instant, over one state."""

    def __init__(self) -> None:
        self.state = State(Settings(), cluster_id="c", epoch=1, seq=0)
        self.state.users["u"] = User(UserRecord("u", "u", 0), 0)

    def at(self, ms: int) -> Turn:
        return Turn(self.state, Now(WALL + ms, ms), None)  # type: ignore[arg-type]


class Model:
    """The same in fractions: so many tokens, refilled continuously, never more than the burst."""

    def __init__(self, per: int, period_ms: int, burst: int) -> None:
        self.per, self.period_ms, self.burst = per, period_ms, burst
        self.tokens, self.seen_ms = Fraction(burst), 0

    def refill(self, at: int) -> None:
        refilled = self.tokens + Fraction((at - self.seen_ms) * self.per, self.period_ms)
        self.tokens, self.seen_ms = min(Fraction(self.burst), refilled), at

    def has_room(self, cost: int) -> bool:
        return self.tokens >= min(cost, self.burst)


RATES = st.builds(
    Rate,
    per_minute=st.integers(1, 200),
    per_hour=st.integers(1, 2000),
    burst=st.one_of(st.none(), st.integers(1, 300)),
)
STEPS = st.lists(st.tuples(st.integers(0, 200_000), st.integers(1, 400)), min_size=1, max_size=30)


@settings(deadline=None)
@given(RATES, STEPS)
@example(Rate(per_minute=7, per_hour=10_000), [(0, 7), (60_000, 7)])
def test_a_bucket_takes_exactly_what_its_rate_allows(rate: Rate, steps: list[tuple[int, int]]) -> None:
    clock, at = Clock(), 0
    models = (
        Model(rate.per_minute, MINUTE_MS, rate.per_minute if rate.burst is None else rate.burst),
        Model(rate.per_hour, HOUR_MS, rate.per_hour),
    )
    for passed_ms, cost in steps:
        at += passed_ms
        turn = clock.at(at)
        verdict = ask(turn, "b", rate, cost, partial=False)
        for model in models:
            model.refill(at)
        has_room = all(model.has_room(cost) for model in models)
        assert (verdict.takes == cost) is has_room
        if has_room:
            charge(turn, "b", rate, cost)
            for model in models:
                model.tokens -= cost


@settings(deadline=None)
@given(RATES, STEPS)
def test_who_waits_as_long_as_told_passes_and_who_comes_a_millisecond_earlier_does_not(
    rate: Rate, steps: list[tuple[int, int]]
) -> None:
    clock, at = Clock(), 0
    for passed_ms, cost in steps:
        at += passed_ms
        verdict = ask(clock.at(at), "b", rate, cost, partial=False)
        if verdict.takes < cost:
            at += verdict.wait_ms - 1
            assert ask(clock.at(at), "b", rate, cost, partial=False).takes == 0
            at += 1
            assert ask(clock.at(at), "b", rate, cost, partial=False).takes == cost
        charge(clock.at(at), "b", rate, cost)


@settings(deadline=None)
@given(RATES, STEPS)
def test_of_a_part_as_many_are_taken_as_there_is_room_for(rate: Rate, steps: list[tuple[int, int]]) -> None:
    clock, at = Clock(), 0
    for passed_ms, cost in steps:
        at += passed_ms
        turn = clock.at(at)
        verdict = ask(turn, "b", rate, cost, partial=True)
        if verdict.takes:
            assert ask(turn, "b", rate, verdict.takes, partial=False).takes == verdict.takes
            charge(turn, "b", rate, verdict.takes)
        if verdict.takes < cost:
            assert ask(turn, "b", rate, 1, partial=False).takes == 0
            at += verdict.wait_ms
            assert ask(clock.at(at), "b", rate, cost - verdict.takes, partial=False).takes == cost - verdict.takes


def test_after_a_quiet_time_an_hour_takes_twice_its_number_and_every_later_one_its_number() -> None:
    # Given somebody who submits whenever one more passes
    clock, rate = Clock(), Rate(per_minute=60, per_hour=10)
    taken_at, at = [], 0
    while at < 4 * HOUR_MS:
        verdict = ask(clock.at(at), "b", rate, 1, partial=False)
        if verdict.takes:
            charge(clock.at(at), "b", rate, 1)
            taken_at.append(at)
        at += verdict.wait_ms

    # Then what the full bucket held comes once, on top of what flows in
    by_hour = [sum(hour * HOUR_MS < at <= (hour + 1) * HOUR_MS for at in taken_at) for hour in range(3)]
    assert (taken_at.count(0), by_hour) == (10, [10, 10, 10])


def test_a_calendar_that_goes_back_locks_nobody_out() -> None:
    clock, rate = Clock(), Rate(per_minute=60, per_hour=3600)
    charge(clock.at(0), "b", rate, 60)
    back = -10 * HOUR_MS
    assert ask(clock.at(back), "b", rate, 1, partial=False).wait_ms == 1000
    assert ask(clock.at(back + 1000), "b", rate, 1, partial=False).takes == 1


def test_a_changed_rate_holds_at_once_and_the_bucket_is_full_when_it_would_have_been() -> None:
    clock, old, new = Clock(), Rate(per_minute=60, per_hour=3600), Rate(per_minute=7, per_hour=3600)
    charge(clock.at(0), "b", old, 60)
    assert ask(clock.at(59_999), "b", new, 7, partial=False).wait_ms == 1
    assert ask(clock.at(60_000), "b", new, 7, partial=False).takes == 7


def test_buckets_that_are_full_again_are_forgotten_on_disk_too() -> None:
    clock, rate = Clock(), Rate(per_minute=60, per_hour=3600)
    for n in range(10):
        charge(clock.at(n), f"b{n}", rate, 1)
    clock.state.ledger.kept.clear()
    for n in range(5):
        charge(clock.at(HOUR_MS + n), "new", rate, 1)
    assert list(clock.state.buckets) == ["new"]
    assert clock.state.ledger.kept[Keeps.BUCKET, "b9"] is None


# Through intake.


def of(source: SourceType, count: int) -> list[Draft]:
    return [a_draft(source=source) for _ in range(count)]


def a_metered_hub(*, profile: Profile = Profile.SERVICE, users: tuple[str, ...] = ("ann", "bob")) -> HubHarness:
    hub = HubHarness(Settings(profile=profile), users=users, is_metered=True)
    for name in users:
        hub.state.users[name].record.overrides["max_pending"] = 1_000_000
    return hub


def test_a_user_and_a_source_have_a_bucket_of_their_own() -> None:
    hub = a_metered_hub()
    hub.submit_all(*of(PROACTIVE, 100))
    refused = hub.offer(*of(PROACTIVE, 1))
    assert (refused.code, refused.retry_after_ms) == (Refusal.RATE_LIMITED, 1200)
    assert refused.pressure is not None
    assert isinstance(hub.offer(*of(SourceType.USER, 60)), Submitted)
    assert isinstance(hub.offer(*of(PROACTIVE, 100), user="bob"), Submitted)


def test_an_hour_has_a_limit_of_its_own() -> None:
    rate = {SourceType.USER: Rate(per_minute=60, per_hour=10)}
    hub = HubHarness(Settings(limits=Limits(rate=rate)), is_metered=True)
    hub.submit_all(*of(SourceType.USER, 10))
    refused = hub.offer(*of(SourceType.USER, 1))
    assert refused.retry_after_ms == HOUR_MS // 10


def test_a_batch_larger_than_the_burst_passes_on_a_full_bucket_and_leaves_it_below_empty() -> None:
    hub = a_metered_hub()
    hub.submit_all(*of(PROACTIVE, 150))
    refused = hub.offer(*of(PROACTIVE, 1))
    assert refused.retry_after_ms == 51 * 1200


def test_what_is_refused_or_was_there_already_costs_nothing() -> None:
    hub = a_metered_hub()
    hub.submit_all(a_draft(source=PROACTIVE, key="k", digest="d"), *of(PROACTIVE, 99))
    assert isinstance(hub.offer(*of(PROACTIVE, 5)), Refused)
    again = hub.offer(a_draft(source=PROACTIVE, key="k", digest="d"))
    assert again.deduplicated == (True,)
    hub.advance(ms=1200)
    assert isinstance(hub.offer(*of(PROACTIVE, 1)), Submitted)


def test_of_mixed_sources_all_or_nothing_is_charged() -> None:
    hub = a_metered_hub()
    hub.submit_all(*of(PROACTIVE, 100))
    assert isinstance(hub.offer(*of(SourceType.USER, 1), *of(PROACTIVE, 1)), Refused)
    assert bucket_name("ann", SourceType.USER) not in hub.state.buckets


def test_a_partial_batch_is_taken_as_far_as_there_is_room() -> None:
    hub = a_metered_hub()
    hub.submit_all(*of(PROACTIVE, 97))
    answer = hub.offer(*of(PROACTIVE, 5), *of(SourceType.USER, 1), partial=True)
    assert len(answer.ids) == 4
    assert [(one.index, one.code) for one in answer.rejected] == [(3, Refusal.RATE_LIMITED), (4, Refusal.RATE_LIMITED)]


def test_what_depends_on_what_was_left_out_is_left_out_and_not_paid_for() -> None:
    hub = a_metered_hub()
    hub.submit_all(*of(PROACTIVE, 100))
    answer = hub.offer(
        a_draft(source=PROACTIVE, name="a"),
        a_draft(depends_on=("a",)),
        a_draft(source=PROACTIVE, key="k", digest="d"),
        a_draft(source=PROACTIVE, key="k", digest="d"),
        partial=True,
    )
    assert answer.ids == ()
    limited, heir = Refusal.RATE_LIMITED, Refusal.DEPENDENCY_NOT_FOUND
    assert [one.code for one in answer.rejected] == [limited, heir, limited, limited]
    assert bucket_name("ann", SourceType.USER) not in hub.state.buckets


def test_the_hub_has_a_rate_for_all_users_together() -> None:
    users = tuple(f"u{n}" for n in range(10))
    hub = a_metered_hub(users=users)
    for user in users[:8]:
        hub.submit_all(*of(SourceType.USER, 60), user=user)
    hub.submit_all(*of(SourceType.USER, 20), user="u8")
    refused = hub.offer(*of(SourceType.USER, 1), user="u9")
    assert (refused.code, refused.retry_after_ms) == (Refusal.RATE_LIMITED, 120)
    hub.advance(ms=120)
    assert isinstance(hub.offer(*of(SourceType.USER, 1), user="u9"), Submitted)


def test_in_the_local_profile_the_hubs_rate_is_off_and_others_keep_theirs() -> None:
    hub = a_metered_hub(profile=Profile.LOCAL)
    hub.submit_all(*of(PROACTIVE, 100))
    assert isinstance(hub.offer(*of(PROACTIVE, 1)), Refused)
    assert HUB_RATE not in hub.state.buckets


def test_ones_own_machine_is_not_throttled_unless_its_user_has_a_plan() -> None:
    hub = HubHarness(Settings(profile=Profile.LOCAL), users=("local",), is_metered=True)
    hub.submit_all(*of(PROACTIVE, 1500), user="local")
    hub.submit_all(*of(PROACTIVE, 1500), user="local")
    assert hub.state.buckets == {}
    planned = HubHarness(Settings(profile=Profile.LOCAL), users=("local",), is_metered=True)
    planned.state.users["local"].record.plan = "enterprise"
    planned.submit_all(*of(PROACTIVE, 100), user="local")
    assert isinstance(planned.offer(*of(PROACTIVE, 1), user="local"), Refused)


def test_in_a_service_the_local_user_is_like_everybody() -> None:
    hub = a_metered_hub(users=("local",))
    hub.submit_all(*of(SourceType.USER, 60), user="local")
    assert isinstance(hub.offer(*of(SourceType.USER, 1), user="local"), Refused)


def test_a_source_without_a_rate_is_not_limited() -> None:
    hub = HubHarness(Settings(profile=Profile.SERVICE, limits=Limits(rate={})), is_metered=True)
    hub.state.users["ann"].record.overrides["max_pending"] = 1_000_000
    assert isinstance(hub.offer(*of(PROACTIVE, 1000)), Submitted)
    assert hub.state.buckets == {}


def test_a_restart_forgives_nothing() -> None:
    hub = a_metered_hub()
    hub.submit_all(*of(PROACTIVE, 100))
    hub.advance(ms=1199)
    other = hub.restarted()
    assert isinstance(other.offer(*of(PROACTIVE, 1)), Refused)
    other.advance(ms=1)
    assert isinstance(other.offer(*of(PROACTIVE, 1)), Submitted)


def test_a_rate_that_is_changed_holds_from_the_next_submission_on() -> None:
    hub = a_metered_hub()
    hub.submit_all(*of(PROACTIVE, 100))
    wider = {PROACTIVE: Rate(per_minute=50, per_hour=500, burst=200)}
    hub.step(ChangeSettings(Settings(limits=Limits(rate=wider))))
    assert isinstance(hub.offer(*of(PROACTIVE, 100)), Submitted)
