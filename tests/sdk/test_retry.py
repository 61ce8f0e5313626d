import pytest

from taskyard.sdk.errors import BadAnswer, HubUnreachable, Limited, TaskyardError, Unavailable
from taskyard.sdk.retry import CANDID, NEVER, RetryPolicy

POLICY = RetryPolicy(attempts_max=5, delay_s=0.1, delay_s_max=0.5, retry_after_s_max=30)
UNREACHED = HubUnreachable("nobody", sent=False)
BROKEN = HubUnreachable("gone in the middle", sent=True)


def unavailable(retry_after: float | None) -> Unavailable:
    return Unavailable(code="NO_LEADER", status=503, detail="", retry_after=retry_after)


def limited(retry_after: float | None) -> Limited:
    return Limited(code="RATE_LIMITED", status=429, detail="", retry_after=retry_after)


@pytest.mark.parametrize(("attempt", "most"), [(1, 0.1), (2, 0.2), (3, 0.4), (4, 0.5)])
def test_the_pause_is_drawn_from_an_interval_that_doubles_to_its_most(attempt: int, most: float) -> None:
    for dice in (0.0, 0.5, 0.999):
        pause_s = POLICY.pause_s(BROKEN, attempt=attempt, idempotent=True, dice=dice)
        assert pause_s == pytest.approx(dice * most)


@pytest.mark.parametrize(
    ("error", "idempotent", "again"),
    [
        (UNREACHED, False, True),
        (UNREACHED, True, True),
        (BROKEN, True, True),
        (BROKEN, False, False),
        (unavailable(2.0), True, True),
        (unavailable(2.0), False, False),
        (unavailable(None), True, False),
        (unavailable(31.0), True, False),
        (limited(2.0), True, True),
        (limited(2.0), False, False),
        (limited(None), True, False),
        (limited(31.0), True, False),
        (Limited(code="TOO_MANY_PENDING", status=400, detail=""), True, False),
        (BadAnswer("what?"), True, False),
    ],
)
def test_only_what_is_safe_and_can_help_is_repeated(error: TaskyardError, idempotent: bool, again: bool) -> None:
    pause_s = POLICY.pause_s(error, attempt=1, idempotent=idempotent, dice=0.0)
    assert (pause_s is not None) is again


def test_the_hubs_own_word_on_when_to_come_back_is_kept() -> None:
    pause_s = POLICY.pause_s(unavailable(2.0), attempt=1, idempotent=True, dice=0.5)
    assert pause_s == pytest.approx(2.05)


def test_who_would_rather_hear_of_a_limit_than_wait_for_it_hears_of_it() -> None:
    assert CANDID.pause_s(limited(0.1), attempt=1, idempotent=True, dice=0.0) is None
    assert CANDID.pause_s(unavailable(0.1), attempt=1, idempotent=True, dice=0.0) is not None


def test_repeating_has_an_end() -> None:
    assert POLICY.pause_s(UNREACHED, attempt=5, idempotent=True, dice=0.0) is None
    assert NEVER.pause_s(UNREACHED, attempt=1, idempotent=True, dice=0.0) is None
