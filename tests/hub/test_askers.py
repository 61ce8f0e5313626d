"""Whoever asks is answered once."""

import asyncio

from taskyard.core.effects import Done, Reply
from taskyard.gateway.port import Unavailable
from taskyard.hub.askers import Askers
from taskyard.vocabulary import Refusal


def test_an_answer_is_given_once() -> None:
    async def scenario() -> None:
        askers = Askers()
        number, answer = askers.admit()
        askers.answer(Reply(number, Done("t_1")), {})
        askers.answer(Reply(number, Done("t_2")), {})
        askers.refuse(number, Refusal.OUTCOME_UNKNOWN)
        assert await answer == (Done("t_1"), {})

    asyncio.run(scenario())


def test_after_a_refusal_an_answer_finds_nobody() -> None:
    async def scenario() -> None:
        askers = Askers()
        number, answer = askers.admit()
        askers.refuse(number, Refusal.OUTCOME_UNKNOWN)
        askers.answer(Reply(number, Done()), {})
        error = answer.exception()
        assert isinstance(error, Unavailable)
        assert error.code == Refusal.OUTCOME_UNKNOWN

    asyncio.run(scenario())


def test_all_are_refused_but_those_whose_answer_is_on_its_way() -> None:
    async def scenario() -> None:
        askers = Askers()
        (kept, leaving), (_, refused) = askers.admit(), askers.admit()
        askers.refuse_all(Refusal.STORE_UNAVAILABLE, but={kept})
        assert not leaving.done()
        assert isinstance(refused.exception(), Unavailable)

    asyncio.run(scenario())


def test_one_who_left_hears_nothing() -> None:
    async def scenario() -> None:
        askers = Askers()
        number, answer = askers.admit()
        answer.cancel()
        askers.answer(Reply(number, Done()), {})
        askers.refuse(number, Refusal.OUTCOME_UNKNOWN)
        askers.leave(number)
        askers.refuse_all(Refusal.OUTCOME_UNKNOWN)
        assert answer.cancelled()

    asyncio.run(scenario())
