"""What an agent is told of its task."""

from typing import Any

import pytest

from taskyard.daemon.prompt import ATTEMPTS_MAX, PART_BYTES_MAX, prompt_of
from taskyard.daemon.task import Task


def a_task(**given: Any) -> Task:
    return Task(id="t1", **{"input": "Translate it.", **given})


def test_a_task_that_is_only_its_input_is_its_input() -> None:
    assert prompt_of(a_task()) == "Translate it."


def test_every_part_stands_under_its_heading_and_what_is_absent_does_not() -> None:
    prompt = prompt_of(
        a_task(title="A letter", goal="It reads well.", constraints=["in English", "short"], payload={"n": 1})
    )
    assert prompt == (
        "# Title\n\nA letter\n\n"
        "# Goal\n\nIt reads well.\n\n"
        "# Constraints\n\n- in English\n- short\n\n"
        "# Task\n\nTranslate it.\n\n"
        '# Data that belongs to the task\n\n{\n  "n": 1\n}\n'
    )


def test_results_of_earlier_tasks_are_told_with_their_names() -> None:
    results = [
        {"source_task": "x", "ref": "T-007", "result_status": "partial", "result_summary": "half", "result": {"a": 1}},
        {"source_task": None, "ref": None, "warning": "The last answer had no decision report."},
        "as it is",
    ]
    prompt = prompt_of(a_task(context_input=results))
    assert '## T-007\nIt ended with partial.\nhalf\n{\n  "a": 1\n}\n\n' in prompt
    assert "## A remark of the hub\nThe last answer had no decision report.\n\nas it is\n" in prompt


def test_the_last_attempts_and_the_checkpoint_are_told() -> None:
    # Given a task that was tried more often than is worth telling
    error = {"code": "EXECUTION_ERROR", "message": "no such file"}
    attempts = [{"number": n, "status": "failed", "error": error} for n in range(1, ATTEMPTS_MAX + 3)]
    attempts += [{"number": 99, "status": "lost", "error": None}]

    # When it is put into words
    prompt = prompt_of(a_task(previous_attempts=attempts, checkpoint={"page": 3}))

    # Then the last ones are there with their errors, and where they had got to
    assert "- 3 earlier ones are left out\n- attempt 4: failed, EXECUTION_ERROR: no such file\n" in prompt
    assert "- attempt 99: lost\n" in prompt
    assert '{\n  "page": 3\n}' in prompt


@pytest.mark.parametrize("status", ["rate_limited", "rejected"])
def test_an_attempt_that_was_refused_is_not_told(status: str) -> None:
    attempts = [{"number": 1, "status": status, "error": {"code": "RATE_LIMITED", "message": "slow down"}}]
    assert prompt_of(a_task(previous_attempts=attempts)) == prompt_of(a_task())


@pytest.mark.parametrize("odd", [{"a": 1}, "text", 7])
def test_what_has_another_shape_than_expected_is_told_as_it_is(odd: Any) -> None:
    told = "text" if odd == "text" else '"a": 1' if odd != 7 else "7"
    for name in ("constraints", "context_input", "previous_attempts", "checkpoint", "context", "goal"):
        assert told in prompt_of(a_task(**{name: odd}))


def test_what_is_too_long_is_cut_with_a_note() -> None:
    prompt = prompt_of(a_task(input="x" * (PART_BYTES_MAX + 1)))
    assert len(prompt) <= PART_BYTES_MAX
    assert prompt.endswith(f"… [cut from {PART_BYTES_MAX + 1} bytes]")
