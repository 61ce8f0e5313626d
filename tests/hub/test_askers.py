"""Whoever asks is answered once."""

from taskyard.core.effects import Done, Reply
from taskyard.gateway.port import Unavailable
from taskyard.hub.askers import Askers
from taskyard.vocabulary import Refusal


async def test_an_answer_is_given_once() -> None:
    askers = Askers()
    number, answer = askers.admit()
    askers.answer(Reply(number, Done("t_1")), {})
    askers.answer(Reply(number, Done("t_2")), {})
    askers.refuse(number, Refusal.OUTCOME_UNKNOWN)
    assert await answer == (Done("t_1"), {})


async def test_after_a_refusal_an_answer_finds_nobody() -> None:
    askers = Askers()
    number, answer = askers.admit()
    askers.refuse(number, Refusal.OUTCOME_UNKNOWN)
    askers.answer(Reply(number, Done()), {})
    error = answer.exception()
    assert isinstance(error, Unavailable)
    assert error.code == Refusal.OUTCOME_UNKNOWN


async def test_all_are_refused_but_those_whose_answer_is_on_its_way() -> None:
    askers = Askers()
    (kept, leaving), (_, refused) = askers.admit(), askers.admit()
    askers.refuse_all(Refusal.STORE_UNAVAILABLE, but={kept})
    assert not leaving.done()
    assert isinstance(refused.exception(), Unavailable)


async def test_one_who_left_hears_nothing() -> None:
    askers = Askers()
    number, answer = askers.admit()
    answer.cancel()
    askers.answer(Reply(number, Done()), {})
    askers.refuse(number, Refusal.OUTCOME_UNKNOWN)
    askers.leave(number)
    askers.refuse_all(Refusal.OUTCOME_UNKNOWN)
    assert answer.cancelled()


async def test_whoever_asks_again_is_answered_with_the_first_also_if_that_one_was_cut_off() -> None:
    askers = Askers()
    number, first = askers.admit("r_1")
    again = askers.follow("r_1")
    assert again is not None
    first.cancel()
    askers.leave(number)
    late = askers.follow("r_1")
    assert late is not None
    askers.answer(Reply(number, Done("t_1")), {})
    assert await again == await late == (Done("t_1"), {})


async def test_whoever_asks_again_for_what_is_refused_is_refused_too() -> None:
    askers = Askers()
    number, first = askers.admit("r_1")
    again = askers.follow("r_1")
    assert again is not None
    first.cancel()
    askers.leave(number)
    askers.refuse_all(Refusal.OUTCOME_UNKNOWN)
    assert isinstance(again.exception(), Unavailable)


async def test_a_name_is_kept_until_it_is_answered_and_no_longer() -> None:
    askers = Askers()
    (answered, _), (refused, _), (unheard, _) = (askers.admit(name) for name in ("r_1", "r_2", "r_3"))
    replies = [Reply(number, Done()) for number in (answered, refused, unheard)]
    assert [name for name, _ in askers.requests_in(replies)] == ["r_1", "r_2", "r_3"]
    # While it is written, it can still be asked for.
    assert askers.follow("r_1") is not None
    askers.answer(replies[0], {})
    askers.refuse(refused, Refusal.OUTCOME_UNKNOWN)
    # There was no room to take it in.
    askers.leave(unheard)
    assert [askers.follow(name) for name in ("r_1", "r_2", "r_3")] == [None, None, None]
    assert askers.requests_in(replies) == []
