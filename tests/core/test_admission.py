"""How much of a submission is taken in: the order of the checks, pending tasks, pressure."""

import pytest

from taskyard.core.commands import Draft
from taskyard.core.effects import Refused, Submitted
from taskyard.core.settings import Depth, Limits, Plan, Rate, Settings
from taskyard.core.task import Terms
from taskyard.vocabulary import HUB_RATE, Level, Profile, Refusal, SourceType
from tests.support.harness import HubHarness, a_draft

PROACTIVE, USER, AGENT = SourceType.PROACTIVE, SourceType.USER, SourceType.AGENT
FEW = Limits(rate={}, user_queue_depth=Depth(warning=5, critical=10), queue_depth=Depth(warning=15, critical=20))


def drafts(count: int, **fields: object) -> list[Draft]:
    return [a_draft(**fields) for _ in range(count)]  # type: ignore[arg-type]


def a_hub(*users: str, limits: Limits = FEW, profile: Profile = Profile.LOCAL) -> HubHarness:
    """Where pending tasks are limited as planned, but not before pressure is."""
    hub = HubHarness(Settings(limits=limits, profile=profile), users=users or ("ann", "bob"), is_metered=True)
    for user in hub.state.users.values():
        user.record.overrides["max_pending"] = 1000
    return hub


def under_pressure() -> HubHarness:
    hub = a_hub()
    hub.submit_all(*drafts(10))
    return hub


def refusal_of(answer: object) -> Refused:
    assert isinstance(answer, Refused), answer
    return answer


# Pending.


def test_fifty_may_be_pending_without_a_plan_and_one_more_is_refused() -> None:
    hub = HubHarness(Settings(limits=Limits(rate={})), is_metered=True)
    hub.submit_all(*drafts(50))
    refused = refusal_of(hub.offer(a_draft()))
    assert refused.code is Refusal.TOO_MANY_PENDING
    assert refused.detail == (
        "You have 50 of at most 50 pending tasks, and this would be 1 more; wait for some to start, or cancel some."
    )


@pytest.mark.parametrize("partial", [False, True])
def test_what_is_said_of_a_batch_that_is_too_large_counts_what_waits_and_what_comes(partial: bool) -> None:
    hub = HubHarness(Settings(limits=Limits(rate={})), is_metered=True)
    hub.submit_all(*drafts(48))
    answer = hub.offer(*drafts(4), partial=partial)
    refused = answer.rejected[0] if isinstance(answer, Submitted) else refusal_of(answer)
    assert refused.detail == (
        "You have 48 of at most 50 pending tasks, and these would be 4 more; "
        "wait for some to start, cancel some, or submit fewer."
    )


def test_what_runs_is_not_pending_and_makes_room() -> None:
    hub = HubHarness(Settings(limits=Limits(rate={})), is_metered=True)
    hub.daemon(slots=3)
    tasks = hub.submit_all(*drafts(50))
    assert isinstance(hub.offer(*drafts(3)), Submitted)
    assert isinstance(hub.offer(a_draft()), Refused)
    hub.cancel(tasks[-1])
    assert isinstance(hub.offer(a_draft()), Submitted)


def test_of_a_partial_batch_as_many_are_taken_as_may_be_pending() -> None:
    hub = HubHarness(Settings(limits=Limits(rate={})), is_metered=True)
    hub.submit_all(*drafts(48))
    answer = hub.offer(*drafts(4), partial=True)
    assert (len(answer.ids), [one.index for one in answer.rejected]) == (2, [2, 3])
    none = hub.offer(*drafts(1), partial=True)
    assert (none.ids, len(none.rejected)) == ((), 1)


# Pressure.


def test_at_critical_proactive_work_is_paused_and_says_when_to_come_again() -> None:
    refused = refusal_of(under_pressure().offer(a_draft(source=PROACTIVE, level=Level.HIGH)))
    assert (refused.code, refused.retry_after_ms) == (Refusal.RATE_LIMITED, 30_000)
    assert (refused.pressure.level, refused.pressure.depth) == ("critical", 10)


def test_at_critical_low_work_is_refused_and_other_work_is_not() -> None:
    hub = under_pressure()
    refused = refusal_of(hub.offer(a_draft(level=Level.LOW)))
    assert (refused.code, refused.retry_after_ms) == (Refusal.BACKPRESSURE, 30_000)
    assert refused.pressure is not None
    assert isinstance(hub.offer(a_draft(value=4)), Refused)
    for level in (None, Level.NORMAL, Level.HIGH, Level.CRITICAL):
        assert isinstance(hub.offer(a_draft(level=level)), Submitted)


def test_at_warning_everything_is_taken() -> None:
    hub = a_hub()
    hub.submit_all(*drafts(9))
    assert isinstance(hub.offer(a_draft(source=PROACTIVE), a_draft(level=Level.LOW)), Submitted)


def test_the_submission_that_makes_the_line_long_is_taken_whole() -> None:
    hub = a_hub()
    assert isinstance(hub.offer(*drafts(30, level=Level.LOW)), Submitted)


def test_nothing_that_waits_is_dropped_and_below_four_fifths_all_is_taken_again() -> None:
    hub = a_hub()
    tasks = hub.submit_all(*drafts(10, level=Level.LOW))
    for task in tasks[:2]:
        hub.cancel(task)
    assert isinstance(hub.offer(a_draft(level=Level.LOW)), Refused)
    hub.cancel(tasks[2])
    assert isinstance(hub.offer(a_draft(level=Level.LOW)), Submitted)


def test_one_users_pressure_refuses_nobody_else() -> None:
    assert isinstance(under_pressure().offer(a_draft(level=Level.LOW), user="bob"), Submitted)


def test_the_hubs_pressure_is_for_all_but_ones_own_machine() -> None:
    hub = a_hub("ann", "bob", "local")
    hub.submit_all(*drafts(9))
    hub.submit_all(*drafts(11), user="local")
    assert refusal_of(hub.offer(a_draft(level=Level.LOW), user="bob")).code is Refusal.BACKPRESSURE
    assert isinstance(hub.offer(a_draft(level=Level.LOW), a_draft(source=PROACTIVE), user="local"), Submitted)


def test_of_a_partial_batch_what_is_not_low_is_taken() -> None:
    answer = under_pressure().offer(
        a_draft(level=Level.LOW), a_draft(), a_draft(source=PROACTIVE), a_draft(level=Level.HIGH), partial=True
    )
    assert len(answer.ids) == 2
    assert [(one.index, one.code) for one in answer.rejected] == [
        (0, Refusal.BACKPRESSURE),
        (2, Refusal.RATE_LIMITED),
    ]


def test_a_low_sub_task_of_a_more_urgent_task_is_no_low_one() -> None:
    hub = a_hub()
    hub.daemon(slots=1)
    parent, other = hub.submit(a_draft(value=9)), hub.submit(a_draft(level=Level.LOW))
    hub.run(parent)
    hub.submit_all(*drafts(9))
    assert isinstance(hub.offer(a_draft(level=Level.LOW, parent_id=parent.id)), Submitted)
    assert isinstance(hub.offer(a_draft(level=Level.LOW, parent_id=other.id)), Refused)
    capped = hub.offer(a_draft(level=Level.LOW, parent_id=parent.id), ceiling=Level.LOW)
    assert isinstance(capped, Refused)
    hub.complete(parent)
    ended = a_draft(level=Level.LOW, parent_id=parent.id)
    assert isinstance(hub.offer(ended, known=hub.known(parent)), Refused)


# The order.


def test_rates_come_before_quotas_and_quotas_before_pressure() -> None:
    limits = Limits(
        rate={PROACTIVE: Rate(per_minute=1, per_hour=1000), HUB_RATE: Rate(per_minute=9, per_hour=1000)},
        user_queue_depth=Depth(warning=1, critical=2),
    )
    plans = {"tiny": Plan(max_pending=3)}
    hub = HubHarness(Settings(limits=limits, plans=plans, profile=Profile.SERVICE), is_metered=True)
    hub.state.users["ann"].record.plan = "tiny"
    hub.submit_all(*drafts(1, source=PROACTIVE), *drafts(1))
    # Too fast, and too long a line: the first is said.
    assert "proactive" in refusal_of(hub.offer(*drafts(1, source=PROACTIVE, level=Level.LOW))).detail
    assert refusal_of(hub.offer(*drafts(1, level=Level.LOW))).code is Refusal.BACKPRESSURE
    hub.submit()
    assert "proactive" in refusal_of(hub.offer(*drafts(1, source=PROACTIVE))).detail
    assert refusal_of(hub.offer(*drafts(1, level=Level.LOW))).code is Refusal.TOO_MANY_PENDING


def test_a_batch_that_is_too_large_for_its_user_is_no_matter_of_its_rate() -> None:
    # Given a user who has used up the rate of this minute, and has room for three more
    limits = Limits(rate={SourceType.USER: Rate(per_minute=5, per_hour=1000)})
    hub = HubHarness(Settings(limits=limits, plans={"tiny": Plan(max_pending=8)}), is_metered=True)
    hub.state.users["ann"].record.plan = "tiny"
    for _ in range(5):
        hub.submit()

    # Then a batch of more is told that it is too large: however long one waits, it is not taken
    assert refusal_of(hub.offer(*drafts(4))).code is Refusal.TOO_MANY_PENDING
    assert refusal_of(hub.offer(*drafts(3))).code is Refusal.RATE_LIMITED


def test_what_is_wrong_in_itself_is_said_first() -> None:
    hub = HubHarness(Settings(limits=Limits(rate={})), is_metered=True)
    hub.submit_all(*drafts(50))
    assert refusal_of(hub.offer(a_draft(depends_on=("T-999",)))).code is Refusal.DEPENDENCY_NOT_FOUND


def test_a_duplicate_is_answered_whatever_the_limits_say() -> None:
    hub = HubHarness(Settings(limits=Limits(rate={})), is_metered=True)
    hub.submit_all(a_draft(key="k", digest="d"), *drafts(49))
    answer = hub.offer(a_draft(key="k", digest="d"))
    assert answer.deduplicated == (True,)


def test_a_refused_submission_changes_nothing() -> None:
    hub = under_pressure()
    before = len(hub.state.tasks), hub.state.users["ann"].number
    assert isinstance(hub.offer(a_draft(), a_draft(level=Level.LOW, terms=Terms())), Refused)
    assert (len(hub.state.tasks), hub.state.users["ann"].number) == before
    assert hub.batches[-1].is_empty()
