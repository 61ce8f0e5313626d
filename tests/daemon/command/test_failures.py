"""What a program's end means."""

import signal
from typing import Any

import pytest

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.failures import failure_of
from taskyard.daemon.command.readers import Complaint, Reading
from taskyard.daemon.process.launching import Exit, Limit

AGENT = Agent(
    command=("agent",), exit_codes={"3": "INVALID_INPUT", "9": "OUT_OF_LUCK"}, rate_limit_words=("Try Later",)
)


def failure(ended: Exit, stderr: str = "", complaint: Complaint | None = None) -> Any:
    return failure_of(AGENT, ended, Reading(complaint=complaint), stderr.encode())


def test_zero_is_no_failure_whatever_it_muttered() -> None:
    assert failure(Exit(code=0), "429 too many requests; rate limit") is None


@pytest.mark.parametrize(
    ("ended", "code", "message"),
    [
        (Exit(code=1), "EXECUTION_ERROR", "it exited with 1"),
        (Exit(code=3), "INVALID_INPUT", "it exited with 3"),
        (Exit(code=9), "OUT_OF_LUCK", "it exited with 9"),
        (Exit(code=65), "INVALID_INPUT", "it exited with 65"),
        (Exit(code=66), "RESOURCE_NOT_FOUND", "it exited with 66"),
        (Exit(code=75), "TEMPORARY_FAILURE", "it exited with 75"),
        (Exit(code=77), "PERMISSION_DENIED", "it exited with 77"),
        (Exit(code=78), "AGENT_MISCONFIGURED", "it exited with 78"),
        (Exit(code=124), "EXECUTION_TIMEOUT", "it exited with 124"),
        (Exit(code=126), "AGENT_NOT_RUNNABLE", "it exited with 126"),
        (Exit(code=127), "AGENT_NOT_FOUND", "it exited with 127"),
        (Exit(signal=signal.SIGKILL), "AGENT_KILLED", "it was ended by SIGKILL"),
        (Exit(signal=60), "AGENT_KILLED", "it was ended by signal 60"),
        (Exit(signal=signal.SIGKILL, hit=Limit.TIME), "EXECUTION_TIMEOUT", "it went over its limit of time"),
        (Exit(code=0, hit=Limit.FILE_SIZE), "RESOURCE_LIMIT_EXCEEDED", "it went over its limit of file size"),
        (Exit(lost="its keeper died"), "AGENT_LOST", "its keeper died"),
        (Exit(), "AGENT_LOST", "nobody saw how it ended"),
    ],
)
def test_each_end_has_its_code(ended: Exit, code: str, message: str) -> None:
    error = failure(ended)
    assert (error.code, error.message) == (code, message)


def test_the_end_of_standard_error_is_told() -> None:
    error = failure(Exit(code=1), "\n".join(f"line {number}" for number in range(100)) + "\n\x1b[31mboom\x1b[0m\n")
    assert error.message.startswith("it exited with 1\nline 89\n")
    assert error.message.endswith("line 99\nboom")
    assert len(failure(Exit(code=1), "x" * 60_000).message) < 5_000


@pytest.mark.parametrize(
    ("stderr", "after"),
    [
        ("Error: 429 Too Many Requests", None),
        ("rate limit exceeded\nretry-after: 30", 30.0),
        ('{"error": "rate_limit_error", "retry_after": "12.5"}', 12.5),
        ("HTTP 429, Retry-After: Wed, 21 Oct 2026 07:28:00 GMT", "Wed, 21 Oct 2026 07:28:00 GMT"),
        ("please try later", None),
    ],
)
@pytest.mark.parametrize("code", [1, 75])
def test_a_refusal_on_standard_error_is_a_rate_limit(stderr: str, after: object, code: int) -> None:
    error = failure(Exit(code=code), f"starting\n{stderr}\n    at some.js:1\n")
    assert error.code == "RATE_LIMITED"
    assert (error.details or {}).get("retry_after") == after


def test_what_an_exit_code_says_outright_goes_before_what_is_only_found() -> None:
    assert failure(Exit(code=3), "rate limit").code == "INVALID_INPUT"


def test_what_a_program_complains_of_goes_before_its_exit_code() -> None:
    error = failure(Exit(code=1), "noise", Complaint("the model is gone", "NO_MODEL", retryable=False))
    assert (error.code, error.retryable, error.message) == ("NO_MODEL", False, "the model is gone\nnoise")
    assert failure(Exit(code=0), "noise", Complaint("no answer")).message == "no answer"


def test_a_complaint_about_a_limit_is_one() -> None:
    error = failure(Exit(code=1), "", Complaint("usage: too many requests", retry_after="Wed"))
    assert (error.code, error.details) == ("RATE_LIMITED", {"exit_code": 1, "retry_after": "Wed"})
