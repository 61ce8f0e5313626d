"""How reasons and lacks are said."""

import re

import pytest

from taskyard.core.sentences import (
    PRECEDENCE,
    SENTENCES,
    SHORTFALLS,
    a_next,
    alone,
    clock,
    counted,
    in_units,
    inside,
    listed,
    span,
)
from taskyard.vocabulary.reasons import Lack, Reason
from tests.support.harness import START_WALL


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence_and_a_place(reason: Reason) -> None:
    sentence = SENTENCES[reason]
    assert reason in PRECEDENCE
    assert sentence.lead[0].isupper()
    # It begins with a word of ours, so that it can follow the lead in small letters.
    assert re.match(r"[a-z]|\{(misfits|servers|before|used|alone)\}", sentence.says), sentence.says
    assert not sentence.says.endswith(".")


@pytest.mark.parametrize("lack", Lack)
def test_every_lack_has_a_sentence(lack: Lack) -> None:
    assert SHORTFALLS[lack].says
    assert SHORTFALLS[lack].would


def test_what_nobody_waits_out_is_said_first_and_that_others_go_first_last() -> None:
    order = list(SENTENCES)
    assert order[:2] == [Reason.NO_DAEMON, Reason.NO_ELIGIBLE_DAEMON]
    assert order[-1] is Reason.BEHIND_OTHERS


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (0, "a first"),
        (3, "a fourth"),
        (7, "an eighth"),
        (8, "a ninth"),
        (9, "a 10th"),
        (10, "an 11th"),
        (17, "an 18th"),
        (20, "a 21st"),
        (21, "a 22nd"),
        (22, "a 23rd"),
        (79, "an 80th"),
        (110, "a 111th"),
    ],
)
def test_the_next_place_is_counted_as_people_count(used: int, words: str) -> None:
    assert a_next(used) == words


@pytest.mark.parametrize(
    ("ms", "words"),
    [(-5, "1 s"), (900, "1 s"), (59_000, "59 s"), (120_000, "2 min"), (2 * 3_600_000, "2 h"), (3 * 86_400_000, "3 d")],
)
def test_a_span_has_one_unit(ms: int, words: str) -> None:
    assert span(ms) == words


def test_an_instant_of_another_day_has_its_date() -> None:
    assert clock(START_WALL, START_WALL) == "08:00:00 UTC"
    assert clock(START_WALL, START_WALL + 86_400_000) == "2027-01-15 08:00 UTC"


def test_long_lists_are_cut() -> None:
    assert listed(["a"]) == "a"
    assert listed(list("abcde")) == "a, b, c, d and e"
    assert listed(list("abcdefg")) == "a, b, c, d and 3 more"


def test_small_words() -> None:
    assert alone("it is so") == "It is so."
    assert inside("It is so.") == "it is so"
    assert (counted(1, "task"), counted(2, "task")) == ("1 task", "2 tasks")
    assert (in_units(None, 10), in_units(7, 1), in_units(5_400_000, 3_600_000)) == (None, 7, 1.5)
