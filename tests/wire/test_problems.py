"""Problems: one row per refusal, and the body made of it."""

import msgspec
import pytest

from taskyard.vocabulary import Refusal
from taskyard.wire.problems import PROBLEMS, FieldError, names_a_task, problem


@pytest.mark.parametrize("refusal", Refusal)
def test_every_refusal_has_a_status_and_a_title(refusal: Refusal) -> None:
    row = PROBLEMS[refusal]
    assert 400 <= row.status < 600
    assert row.title


def test_a_problem_is_what_the_caller_reads() -> None:
    body = problem(Refusal.INVALID_INPUT, "no", errors=(FieldError("a", "b"),))
    assert msgspec.json.encode(body) == (
        b'{"status":422,"title":"The request is not valid","detail":"no","code":"INVALID_INPUT",'
        b'"errors":[{"path":"a","message":"b"}]}'
    )
    assert msgspec.json.encode(problem(Refusal.STALE_ATTEMPT, "late", kept=True)) == (
        b'{"status":409,"title":"The attempt is over","detail":"late","code":"STALE_ATTEMPT","kept":true}'
    )


@pytest.mark.parametrize(
    ("name", "is_one"), [("T-001", True), ("T-001/log", True), ("queue-status", False), ("", False)]
)
def test_a_word_of_the_address_is_no_tasks_name(name: str, is_one: bool) -> None:
    assert names_a_task(name) is is_one
