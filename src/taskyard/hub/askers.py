"""Who waits for an answer. An answer is given once: by a commit's release, or by a refusal."""

import asyncio
from collections.abc import Container, Iterable
from typing import Final

import msgspec

from taskyard.core.effects import Answer, Effect, Reply
from taskyard.gateway.port import Unavailable
from taskyard.store.port import StoredTask
from taskyard.vocabulary import Refusal

RETRY_AFTER_S = 1

Answered = tuple[Answer, dict[str, StoredTask]]

_encode: Final = msgspec.msgpack.Encoder().encode
read_answer: Final = msgspec.msgpack.Decoder(Answer).decode
"""Of what `requests_in` wrote."""


class Askers:
    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Answered]] = {}
        self._count = 0
        self._requests: dict[int, str] = {}
        """Of those that may be asked again of another hub: under which name."""

    def admit(self, request: str = "") -> tuple[int, "asyncio.Future[Answered]"]:
        """A number to reply to, and what to wait for."""
        self._count += 1
        if request:
            self._requests[self._count] = request
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._waiting[self._count] = future
        return self._count, future

    def leave(self, number: int) -> None:
        self._waiting.pop(number, None)

    def requests_in(self, effects: Iterable[Effect]) -> list[tuple[str, bytes]]:
        """The answers among these that have to be found again by name, encoded."""
        requests = self._requests
        if not requests:
            return []
        return [
            (requests.pop(effect.to), _encode(effect.answer))
            for effect in effects
            if isinstance(effect, Reply) and effect.to in requests
        ]

    def answer(self, reply: Reply, tasks: dict[str, StoredTask]) -> None:
        future = self._waiting.get(reply.to)
        if future is not None and not future.done():
            future.set_result((reply.answer, tasks))

    def refuse(self, number: int, code: Refusal) -> None:
        future = self._waiting.pop(number, None)
        self._requests.pop(number, None)
        if future is not None and not future.done():
            future.set_exception(Unavailable(code, RETRY_AFTER_S))

    def refuse_all(self, code: Refusal, *, but: Container[int] = ()) -> None:
        for number in list(self._waiting):
            if number not in but:
                self.refuse(number, code)
