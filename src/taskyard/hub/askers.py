"""Who waits for an answer. An answer is given once: by a commit's release, or by a refusal."""

import asyncio
from collections.abc import Container, Iterable
from typing import Final

import msgspec

from taskyard.core.effects import Answer, Effect, Reply
from taskyard.gateway.port import RETRY_AFTER_S, Answered, Unavailable
from taskyard.store.port import RecordDamaged, StoredTask
from taskyard.vocabulary import Refusal

_encode: Final = msgspec.msgpack.Encoder().encode
read_answer: Final = msgspec.msgpack.Decoder(Answer).decode
"""Of what `requests_in` wrote."""


class Askers:
    def __init__(self) -> None:
        self._waiting: dict[int, asyncio.Future[Answered]] = {}
        self._count = 0
        self._names: dict[int, str] = {}
        """Of those that may be asked again by somebody who lost us, until they are answered."""
        self._numbers: dict[str, int] = {}
        self._followers: dict[int, list[asyncio.Future[Answered]]] = {}
        """Those who did ask again."""

    def admit(self, request: str = "") -> tuple[int, "asyncio.Future[Answered]"]:
        """A number to reply to, and what to wait for."""
        self._count += 1
        if request:
            self._names[self._count] = request
            self._numbers[request] = self._count
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._waiting[self._count] = future
        return self._count, future

    def follow(self, request: str) -> "asyncio.Future[Answered] | None":
        """What to wait for if this is being decided or written; None: it was answered, or never came here."""
        number = self._numbers.get(request)
        if number is None:
            return None
        future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self._followers.setdefault(number, []).append(future)
        return future

    def leave(self, number: int) -> None:
        future = self._waiting.pop(number, None)
        if future is not None and not future.done():
            # It was never taken in. Whoever was cut off instead has cancelled this, and may ask again.
            self._forget(number)

    def requests_in(self, effects: Iterable[Effect]) -> list[tuple[str, bytes]]:
        """The answers among these that have to be found again by name, encoded."""
        names = self._names
        if not names:
            return []
        return [
            (names[effect.to], _encode(effect.answer))
            for effect in effects
            if isinstance(effect, Reply) and effect.to in names
        ]

    def answer(self, reply: Reply, tasks: dict[str, StoredTask]) -> None:
        for future in (self._waiting.get(reply.to), *self._forget(reply.to)):
            if future is not None and not future.done():
                future.set_result((reply.answer, tasks))

    def refuse(self, number: int, code: Refusal) -> None:
        self.fail(number, Unavailable(code, RETRY_AFTER_S))

    def fail(self, number: int, error: Unavailable | RecordDamaged) -> None:
        for future in (self._waiting.pop(number, None), *self._forget(number)):
            if future is not None and not future.done():
                future.set_exception(error)

    def refuse_replies(self, effects: Iterable[Effect], code: Refusal) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                self.refuse(effect.to, code)

    def refuse_all(self, code: Refusal, *, but: Container[int] = ()) -> None:
        for number in {**self._waiting, **self._names}:
            if number not in but:
                self.refuse(number, code)

    def _forget(self, number: int) -> "Iterable[asyncio.Future[Answered]]":
        """Its name, if it has one; those who ask for it by that."""
        name = self._names.pop(number, None)
        if name is None:
            return ()
        self._numbers.pop(name, None)
        return self._followers.pop(number, ())
