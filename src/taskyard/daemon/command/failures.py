"""Why a program's end is a failure: by its own complaint, its exit code, its signal, its standard error."""

import re
import signal
from collections.abc import Sequence
from typing import Final

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.readers import Complaint, Reading, text_of
from taskyard.daemon.outcome import cut_text
from taskyard.daemon.process.launching import Exit, Limit
from taskyard.daemon.task import TaskError
from taskyard.vocabulary import ErrorCode
from taskyard.vocabulary.rate_limits import says_rate_limited

EXECUTION_ERROR: Final = "EXECUTION_ERROR"
EXIT_CODES: Final = {
    # As BSD's sysexits.h has them.
    65: ErrorCode.INVALID_INPUT,
    66: ErrorCode.RESOURCE_NOT_FOUND,
    75: "TEMPORARY_FAILURE",
    77: ErrorCode.PERMISSION_DENIED,
    78: "AGENT_MISCONFIGURED",
    # As shells, `timeout` and `env` have them. These are this machine's fault: another daemon may do better.
    124: ErrorCode.EXECUTION_TIMEOUT,
    126: "AGENT_NOT_RUNNABLE",
    127: "AGENT_NOT_FOUND",
}
TEMPORARY: Final = frozenset({EXECUTION_ERROR, "TEMPORARY_FAILURE"})
"""Codes that say too little to stand against what is found on standard error."""
SHOWN_LINES: Final = 12
SHOWN_BYTES: Final = 4 * 1024
STDERR_BYTES_MAX: Final = 64 * 1024

_AFTER: Final = re.compile(
    r"retry[-_ ]?after[\"']?\s*[:=]\s*[\"']?([A-Za-z]{3}, [^\"'\n]{10,40}GMT|\d{1,9}(?:\.\d{1,6})?)", re.IGNORECASE
)


def failure_of(agent: Agent, ended: Exit, reading: Reading, stderr: bytes) -> TaskError | None:
    """None: it did its work."""
    complaint = reading.complaint
    if ended.code == 0 and ended.hit is None and complaint is None:
        return None
    lines = [line for line in text_of(stderr).split("\n") if line.strip()]
    code, said = _said(agent, ended)
    details: dict[str, object] = {}
    if ended.code is not None:
        details["exit_code"] = ended.code
    if complaint is not None:
        code, said = complaint.code or code, complaint.message
        lines = [] if ended.code == 0 else lines
    line = _refusal_in(agent, complaint, lines) if code in TEMPORARY else None
    if line is not None or code == ErrorCode.RATE_LIMITED:
        code, said = ErrorCode.RATE_LIMITED, line or said
        after = (complaint.retry_after if complaint else None) or _after_in(said, lines)
        if after is not None:
            details["retry_after"] = after
    retryable = complaint.retryable if complaint else None
    return TaskError(code, _told(said, lines), retryable=retryable, details=details or None)


def _said(agent: Agent, ended: Exit) -> tuple[str, str]:
    """The error's code, and what happened in a few words."""
    if ended.hit is not None:
        code = ErrorCode.EXECUTION_TIMEOUT if ended.hit is Limit.TIME else "RESOURCE_LIMIT_EXCEEDED"
        return code, f"it went over its limit of {ended.hit.replace('_', ' ')}"
    if ended.signal is not None:
        return "AGENT_KILLED", f"it was ended by {_name_of(ended.signal)}"
    if ended.code is None:
        return "AGENT_LOST", ended.lost or "nobody saw how it ended"
    code = agent.exit_codes.get(str(ended.code)) or EXIT_CODES.get(ended.code) or EXECUTION_ERROR
    return code, f"it exited with {ended.code}"


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _refusal_in(agent: Agent, complaint: Complaint | None, lines: Sequence[str]) -> str | None:
    """The last line in which its provider refuses for now: of its complaint, or of its standard error."""
    words = [word.lower() for word in agent.rate_limit_words]
    candidates = [*lines, *([complaint.message] if complaint is not None else [])]
    for line in reversed(candidates):
        if says_rate_limited(line) or any(word in line.lower() for word in words):
            return line
    return None


def _after_in(refusal: str, lines: Sequence[str]) -> str | float | None:
    """When to come back, as a header would say it; what is said in words, the hub reads from the message."""
    for line in (refusal, *reversed(lines)):
        if (found := _AFTER.search(line)) is not None:
            return found[1] if found[1][0].isalpha() else float(found[1])
    return None


def _told(said: str, lines: Sequence[str]) -> str:
    """What happened, and the end of what it said itself."""
    shown = "\n".join(line for line in lines[-SHOWN_LINES:] if line != said)
    return cut_text(said, SHOWN_BYTES) + (f"\n{cut_text(shown, SHOWN_BYTES)}" if shown else "")
