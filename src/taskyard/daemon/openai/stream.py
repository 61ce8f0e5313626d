"""The bytes of an answer as they come, and what they say: no I/O.

An event stream's lines are joined over chunks, each bounded. A stream has ended well if the model said that it has
finished; whatever else it ends with is an answer that was cut off.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
# One delta is a few hundred bytes. Some servers send a whole answer as one.
DONE: Final = b"[DONE]"
TOKENS_MAX: Final = 2**53
_TOOL_CALLS: Final = ("tool_calls", "function_call")
"""Where calls of tools are, today and in older servers; as the reason to end they have the same names."""

_decode: Final = msgspec.json.Decoder().decode


class BadAnswer(Exception):
    """What came is not what such an endpoint says; the message says what."""


class TooLong(Exception):
    """The answer, or one line of it, is longer than is taken."""


class Lines:
    """Chunks in, the payloads of `data:` lines out."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._rest += chunk
        whole: list[bytearray] = []
        if b"\n" in chunk:
            *whole, self._rest = self._rest.split(b"\n")
        if len(self._rest) > LINE_BYTES_MAX:
            raise TooLong(f"one line of it is longer than {LINE_BYTES_MAX} bytes")
        for line in whole:
            if line.startswith(b"data:"):
                yield bytes(line[5:].strip())

    def end(self) -> Iterator[bytes]:
        """Some servers leave out the last line's end."""
        return self.feed(b"\n")


class Completion:
    """What was said so far."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._parts: list[str] = []
        self._bytes = 0
        self.characters = 0
        self.finish_reason: str | None = None
        self.calls_tools = False
        """The model called a tool, and expects to be asked again with what the tool said."""
        self.is_done = False
        """The stream said that nothing follows."""
        self.usage: dict[str, float] | None = None
        self.error: Any = None
        """What the endpoint complained of in the middle."""

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def take(self, payload: bytes) -> str:
        """One event; what it adds to the answer."""
        if not payload:
            return ""
        if payload == DONE:
            self.is_done = True
            return ""
        return self.take_object(read(payload), "delta")

    def take_object(self, said: dict[str, Any], part: str) -> str:
        """`part` is where the words are: `delta` in a stream, `message` in an answer that is whole."""
        if said.get("error"):
            self.error = said["error"]
        self.usage = _usage(said.get("usage")) or self.usage
        choices = said.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(first, dict):
            return ""
        reason = first.get("finish_reason")
        if isinstance(reason, str):
            self.finish_reason = reason
            self.calls_tools = self.calls_tools or reason in _TOOL_CALLS
        words = first.get(part)
        if not isinstance(words, dict):
            return ""
        if any(words.get(name) for name in _TOOL_CALLS):
            self.calls_tools = True
        text = words.get("content")
        return self._add(text) if isinstance(text, str) and text else ""

    def _add(self, text: str) -> str:
        self._bytes += len(text.encode("utf-8", "replace"))
        if self._bytes > self._bytes_max:
            raise TooLong(f"it is longer than {self._bytes_max} bytes")
        self._parts.append(text)
        self.characters += len(text)
        return text


def read(content: bytes) -> dict[str, Any]:
    try:
        said = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadAnswer(f"a part of the answer is not JSON ({error})") from error
    if not isinstance(said, dict):
        raise BadAnswer("a part of the answer is not a JSON object")
    return said


def _usage(said: Any) -> dict[str, float] | None:
    """In our words. What makes no sense as a number is left out: it is not worth a failure."""
    if not isinstance(said, dict):
        return None
    usage: dict[str, float] = {}
    for theirs, ours in (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens")):
        number = said.get(theirs)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= TOKENS_MAX:
            usage[ours] = number
    cost = said.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost <= TOKENS_MAX:
        usage["cost_usd"] = float(cost)
    return usage or None
