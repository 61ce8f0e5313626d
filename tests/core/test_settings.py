"""The numbers, with the defaults the specification gives them."""

from taskyard.core.settings import Settings


def test_a_lease_is_30_s_judged_with_20_percent_to_spare() -> None:
    lease = Settings().lease
    assert (lease.heartbeat_s, lease.lease_s, lease.accept_s, lease.start_s) == (5, 30, 5, 30)
    assert lease.judged_ms == 36_000


def test_retries_wait_at_most_600_s_with_20_percent_jitter_and_timeouts_grow_by_half() -> None:
    retry = Settings().retry
    assert (retry.delay_max_s, retry.jitter, retry.timeout_factor) == (600, 0.2, 1.5)
    assert (retry.rate_limit_s, retry.rate_limit_max_s, retry.rate_limit_jitter) == (60, 3600, 0.1)
    assert retry.rate_limit_said_max_s == 24 * 3600


def test_suspicion_begins_with_the_third_death_and_offers_end_with_the_tenth() -> None:
    suspects = Settings().suspects
    assert (suspects.deaths_max, suspects.hold_after_s, suspects.unstarted_max) == (3, 60, 10)
    assert (suspects.avoid_first_s, suspects.avoid_max_s, suspects.avoid_lost_s) == (1, 600, 60)


def test_a_deadline_is_near_at_one_and_a_half_two_and_three_times_the_duration() -> None:
    numbers = Settings().priorities
    assert (numbers.assign_critical_factor, numbers.escalate_factor, numbers.assign_high_factor) == (1.5, 2, 3)
    assert (numbers.estimated_s, numbers.critical_wait_s, numbers.agent_max) == (300, 30, "high")


def test_a_log_is_kept_up_to_5_mebibytes_and_a_daemon_has_five_slots() -> None:
    limits = Settings().limits
    assert (limits.size.log, limits.daemon_slots) == (5 * 1024 * 1024, 5)


def test_a_task_that_does_not_say_has_three_tries_of_five_minutes() -> None:
    retry = Settings().retry
    assert (retry.timeout_s, retry.max_attempts, retry.delay_s) == (300, 3, 30)
