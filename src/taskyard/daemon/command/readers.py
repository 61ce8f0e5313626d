"""What a program's output says: its result, what it used, and what it complains of. One reader for each shape.

A reader believes only what the program itself says in its own form. The text of a model is a result whatever it says:
an agent that writes about rate limits has not met one.
"""

import re
from collections.abc import Callable, Iterator
from email.utils import formatdate
from typing import Any, Final

import msgspec
from msgspec import Struct

from taskyard.daemon.command.configuration import Shape
from taskyard.daemon.command.streams import plain
from taskyard.daemon.refusals import STATUSES, meant_by

ENVELOPE: Final = frozenset(
    {"result", "summary", "status", "files_changed", "decision_report", "usage", "error"},
)
"""An answer that has nothing but these, and a result or an error among them, says more than its value."""

_decode: Final = msgspec.json.Decoder().decode
_SENT: Final = re.compile(r"^(?:> )?Tokens: ([\d.,]+)([kM]?) sent\b.*?([\d.,]+)([kM]?) received\b", re.MULTILINE)
_COST: Final = re.compile(r"Cost: \$[\d.]+ message, \$([\d.]+) session")
_COUNTED: Final = re.compile(r"^(prompt )?eval count:\s+(\d{1,12}) token", re.MULTILINE)
_UNTIL: Final = re.compile(r"\|(\d{10})\b")
_CODEX_STATUS: Final = re.compile(r"unexpected status (\d{3})\b")
_CLAUDE_STATUSES: Final = {
    # What it calls a refusal for which it tells no status: it knew before it asked.
    "authentication_failed": 401,
    "billing_error": 402,
    "model_not_found": 404,
    "rate_limit": 429,
}
_TIMES: Final = {"": 1, "k": 1_000, "M": 1_000_000}


class Complaint(Struct):
    """The program says itself that it failed."""

    message: str
    code: str | None = None
    retryable: bool | None = None
    retry_after: str | float | None = None


def _refused(said: str, status: object, retry_after: str | None = None) -> Complaint:
    """The program's words, and what they mean if its provider's answer had this status."""
    if not isinstance(status, int) or status not in STATUSES:
        return Complaint(said, retry_after=retry_after)
    code, retryable = meant_by(status, said)
    return Complaint(said, str(code), retryable, retry_after)


class Reading(Struct, kw_only=True):
    value: Any = None
    summary: str | None = None
    status: str | None = None
    files_changed: list[str] | None = None
    decision_report: dict[str, object] | None = None
    usage: dict[str, float] | None = None
    complaint: Complaint | None = None


class Printed(Struct):
    """Both streams as they were at the end; of long ones the last part."""

    stdout: bytes
    stderr: bytes = b""
    missed_bytes: int = 0
    """Of standard output, before what is here."""


def text_of(stream: bytes) -> str:
    """As people would read it."""
    return "\n".join(plain(line) for line in stream.decode("utf-8", "replace").split("\n")).strip()


def read_file(content: bytes) -> Reading:
    """A result that was left in a file. Raises `msgspec.DecodeError`, `UnicodeDecodeError` or `RecursionError`."""
    return _opened(_decode(content))


def read_auto(printed: Printed) -> Reading:
    """The last line if that is JSON with an inside, else all of it: as JSON if it is, else as text."""
    for candidate in (_last_line(printed.stdout), printed.stdout.strip()):
        if isinstance(value := _json(candidate), dict | list):
            return _opened(value)
    return read_text(printed)


def read_text(printed: Printed) -> Reading:
    text = text_of(printed.stdout)
    if printed.missed_bytes:
        text = f"[… {printed.missed_bytes} bytes before this are left out …]\n{text}"
    return Reading(value=text or None)


def read_json(printed: Printed) -> Reading:
    for candidate in (printed.stdout.strip(), _last_line(printed.stdout)):
        try:
            return _opened(_decode(candidate))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return Reading(complaint=Complaint("neither its output nor the last line of it is JSON", "INVALID_RESULT"))


def read_claude(printed: Printed) -> Reading:
    """The record with which Claude Code ends, in `json` as in `stream-json`."""
    records = list(_records(printed.stdout))
    record = next((one for one in reversed(records) if one.get("type") == "result"), None)
    if record is None:
        return Reading(complaint=Complaint("Claude Code ended without its result"))
    reading = Reading(value=record.get("result"), usage=_usage_of_claude(record))
    if record.get("is_error") or str(record.get("subtype", "")).startswith("error"):
        said = record.get("result") or record.get("subtype") or "Claude Code says that it failed"
        until = _UNTIL.search(str(said))
        after = None if until is None else formatdate(int(until[1]), usegmt=True)
        reading.complaint = _refused(str(said), _status_of_claude(record, records), after)
    return reading


def _status_of_claude(record: dict[str, Any], records: list[dict[str, Any]]) -> object:
    if record.get("api_error_status") is not None:
        return record["api_error_status"]
    said = [one.get("error") for one in records if one.get("type") == "assistant"]
    return _CLAUDE_STATUSES.get(str(said[-1])) if said else None


def _usage_of_claude(record: dict[str, Any]) -> dict[str, float] | None:
    counts = record.get("usage")
    counts = counts if isinstance(counts, dict) else {}
    read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return _usage(
        _sum_of(counts.get(name) for name in read), _number(counts.get("output_tokens")), record.get("total_cost_usd")
    )


def read_codex(printed: Printed) -> Reading:
    """The events of `codex exec --json`: the last message is the result, turns say what they used."""
    reading = Reading()
    usages = []
    for record in _records(printed.stdout):
        kind, item = record.get("type"), record.get("item")
        if kind == "item.completed" and isinstance(item, dict) and item.get("type") in _MESSAGES:
            reading.value = item.get("text")
        elif kind == "turn.completed":
            reading.complaint = None
            usages.append(usage if isinstance(usage := record.get("usage"), dict) else {})
        elif kind in ("turn.failed", "error"):
            error = record.get("error")
            said = error.get("message") if isinstance(error, dict) else record.get("message")
            status = _CODEX_STATUS.match(str(said))
            reading.complaint = _refused(str(said or "Codex says that its turn failed"), status and int(status[1]))
    if reading.value is None and reading.complaint is None:
        reading.complaint = Complaint("Codex ended without a message")
    used = (_sum_of(one.get(name) for one in usages) for name in ("input_tokens", "output_tokens"))
    reading.usage = _usage(*used)
    return reading


_MESSAGES: Final = ("agent_message", "assistant_message")


def read_gemini(printed: Printed) -> Reading:
    """The one object of `--output-format json`; what it could not do, it says in the same form on standard error."""
    for stream in (printed.stdout, printed.stderr):
        if (record := _object_in(stream)) is not None and record.keys() & {"response", "error"}:
            return _read_gemini(record)
    return Reading(complaint=Complaint("Gemini CLI ended without its answer"))


def _read_gemini(record: dict[str, Any]) -> Reading:
    reading = Reading(value=record.get("response"), usage=_usage_of_gemini(record.get("stats")))
    error = record.get("error")
    if error is not None:
        inner = error if isinstance(error, dict) else {"message": error}
        code = f" (code {inner['code']})" if "code" in inner else ""
        said = f"{inner.get('type') or 'Error'}: {inner.get('message') or 'unknown'}{code}"
        reading.complaint = _refused(said, inner.get("code"))
    return reading


def _usage_of_gemini(stats: Any) -> dict[str, float] | None:
    models = stats.get("models") if isinstance(stats, dict) else None
    if not isinstance(models, dict):
        return None
    tokens = [one["tokens"] for one in models.values() if isinstance(one, dict) and isinstance(one.get("tokens"), dict)]
    read = _sum_of(one.get("prompt", one.get("input")) for one in tokens)
    return _usage(read, _sum_of(one.get(name) for one in tokens for name in ("candidates", "thoughts")))


def read_aider(printed: Printed) -> Reading:
    """Aider exits with 0 whatever its model answered; only an answer leaves a line about its tokens."""
    reading = read_text(printed)
    counted = _SENT.findall(reading.value or "")
    if not counted:
        reading.complaint = Complaint("aider got no answer of its model; its log says why")
        return reading
    costs = _COST.findall(reading.value)
    reading.usage = _usage(
        sum(_times(number, unit) for number, unit, _, _ in counted),
        sum(_times(number, unit) for _, _, number, unit in counted),
        float(costs[-1]) if costs else None,
    )
    return reading


def read_ollama(printed: Printed) -> Reading:
    """Text; what `--verbose` adds is on standard error."""
    reading = read_text(printed)
    counted = dict(_COUNTED.findall(text_of(printed.stderr)))
    reading.usage = _usage(_number(counted.get("prompt ")), _number(counted.get("")))
    return reading


READERS: Final[dict[Shape, Callable[[Printed], Reading]]] = {
    "auto": read_auto,
    "text": read_text,
    "json": read_json,
    "claude": read_claude,
    "codex": read_codex,
    "gemini": read_gemini,
    "aider": read_aider,
    "ollama": read_ollama,
}


# --- the pieces --------------------------------------------------------------------------------------------


def _opened(value: Any) -> Reading:
    """An answer that says more than its value is taken apart."""
    if not isinstance(value, dict) or value.keys() - ENVELOPE or not value.keys() & {"result", "error"}:
        return Reading(value=value)
    try:
        answer = msgspec.convert(value, _Answer)
    except msgspec.ValidationError:
        return Reading(value=value)
    error, said = answer.error, answer.usage or {}
    return Reading(
        value=answer.result,
        summary=answer.summary,
        status=answer.status,
        files_changed=answer.files_changed,
        decision_report=answer.decision_report,
        usage=_usage(_number(said.get("input_tokens")), _number(said.get("output_tokens")), said.get("cost_usd")),
        complaint=Complaint(error) if isinstance(error, str) else error,
    )


class _Answer(Struct):
    result: Any = None
    summary: str | None = None
    status: str | None = None
    files_changed: list[str] | None = None
    decision_report: dict[str, object] | None = None
    usage: dict[str, Any] | None = None
    error: Complaint | str | None = None


def _last_line(stream: bytes) -> bytes:
    return stream.rstrip().rpartition(b"\n")[2].strip()


def _json(text: bytes) -> Any:
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _records(stream: bytes) -> Iterator[dict[str, Any]]:
    for line in stream.split(b"\n"):
        if line.lstrip().startswith(b"{") and isinstance(record := _json(line), dict):
            yield record


def _object_in(stream: bytes) -> dict[str, Any] | None:
    """The object that begins a line and goes on to the end; what was said before it is left aside."""
    start = 0 if stream.startswith(b"{") else stream.find(b"\n{") + 1
    record = _json(stream[start:].strip()) if stream[start : start + 1] == b"{" else None
    return record if isinstance(record, dict) else None


def _number(value: Any) -> float | None:
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and value >= 0 else None


def _sum_of(values: Iterator[Any]) -> float | None:
    numbers = [number for value in values if (number := _number(value)) is not None]
    return sum(numbers) if numbers else None


def _times(number: str, unit: str) -> int:
    digits = number.replace(",", "").strip(".")
    return round(float(digits) * _TIMES[unit]) if digits.replace(".", "", 1).isdecimal() else 0


def _usage(read: float | None, written: float | None, cost: Any = None) -> dict[str, float] | None:
    """Tokens are whole numbers, whatever was printed."""
    said = {"input_tokens": read, "output_tokens": written}
    usage: dict[str, float] = {name: int(count) for name, count in said.items() if count is not None}
    if (price := _number(cost)) is not None:
        usage["cost_usd"] = price
    return usage or None
