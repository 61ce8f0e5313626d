"""The records themselves: defaults, refs, and what a waiting task costs."""

import sys

from msgspec.json import decode, encode

from taskyard.core.task import Attempt, Kind, Needs, Task, Terms, ms_of
from taskyard.vocabulary import Backoff, DependsPolicy, LostPolicy, Status, ref_of


def test_a_ref_has_three_digits_at_least() -> None:
    assert [ref_of(n) for n in (1, 42, 999, 1000, 123456)] == ["T-001", "T-042", "T-999", "T-1000", "T-123456"]


def test_seconds_become_milliseconds_rounded() -> None:
    assert [ms_of(s) for s in (0, 1.5, 0.0004, 0.0006)] == [0, 1500, 0, 1]


def test_a_task_runs_for_300_s_three_times_30_s_apart_exponentially_unless_it_says_otherwise() -> None:
    terms = Terms()
    assert (terms.timeout_ms, terms.max_attempts, terms.retry_delay_ms) == (300_000, 3, 30_000)
    assert terms.backoff is Backoff.EXPONENTIAL
    assert terms.on_depends_fail is DependsPolicy.BLOCK
    assert terms.on_lost is LostPolicy.REQUEUE
    assert not terms.decision_report
    assert Needs().type == "general"
    assert Kind().queue == "default"


def test_the_newest_attempt_is_the_last() -> None:
    task = Task(id="t", user_id="u", number=1, kind=Kind(), terms=Terms(), created_at=0)
    assert task.newest is None
    attempts = [Attempt(number=n, daemon_id="d", daemon_name="d", boot_id="b", assigned_at=0) for n in (1, 2)]
    task.attempts = attempts
    assert task.newest is attempts[1]


def test_an_old_row_decodes_into_a_newer_record() -> None:
    row = b'{"id":"t","user_id":"u","number":7,"kind":{},"terms":{},"created_at":5,"unknown":1}'
    task = decode(row, type=Task)
    assert (task.ref, task.status, task.value) == ("T-007", Status.PENDING, 5)
    assert decode(encode(task), type=Task) == task


def test_a_waiting_task_costs_well_under_a_thousand_bytes() -> None:
    task = Task(id="0" * 36, user_id="u" * 36, number=1, kind=Kind(), terms=Terms(), created_at=0)
    assert sys.getsizeof(task) < 400
