"""What the decoder complains of, in words for people."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Meta, Struct

from taskyard.wire.invalid import faults_in, sentence_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Inner(Struct, forbid_unknown_fields=True):
    colour: Colour | int | None = None


class Outer(Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=2_000)]
    inner: Annotated[Inner, Meta(description="inside")] | None = None
    many: Annotated[list[Colour], Meta(max_length=2)] = []
    called: dict[str, Inner] = {}
    count: Annotated[int, Meta(ge=1, le=3_600_000)] = 1
    share: Annotated[float, Meta(gt=0, lt=0.5)] = 0.1
    at: Annotated[datetime, Meta(tz=True)] | None = None
    word: Annotated[str, Meta(pattern="^a")] = "a"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"inner": {"colour": "pink"}}, "`inner.colour` should be one of red, blue; not 'pink'."),
        ({"many": ["red", "pink"]}, "`many[1]` should be one of red, blue; not 'pink'."),
        ({"called": {"x": {"colour": "pink"}}}, "`called[...].colour` should be one of red, blue; not 'pink'."),
        ({"many": ["red"] * 3}, "`many` should have at most 2 entries."),
        ({"name": ""}, "`name` is empty."),
        ({"name": "x" * 2_001}, "`name` should have at most 2,000 characters."),
        ({"count": 9_999_999}, "`count` should be at most 3,600,000."),
        ({"count": 0}, "`count` should be at least 1."),
        ({"share": 0}, "`share` should be more than 0."),
        ({"share": 1}, "`share` should be less than 0.5."),
        ({"count": "many"}, "`count` should be a whole number, not text."),
        ({"inner": {"colour": 1.5}}, "`inner.colour` should be a whole number or text or null, not a number."),
        ({"at": "soon"}, "`at` should be a time with its zone, as in 2026-01-31T09:00:00Z."),
        ({"at": "2026-01-31T09:00:00"}, "`at` should be a time with its zone, as in 2026-01-31T09:00:00Z."),
        ({"size": 1}, "`size` is no field that is known here."),
        ({"inner": {"size": 1}}, "`inner.size` is no field that is known here."),
        ({"word": "b"}, "`word` is not right: Expected `str` matching regex '^a'."),
    ],
)
def test_a_complaint_is_said_of_its_field_with_what_is_possible(given: dict[str, Any], said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as complaint:
        msgspec.convert({"name": "x", **given}, Outer)
    (fault,) = faults_in(str(complaint.value), Outer)
    assert sentence_of(fault) == said


def test_what_is_missing_or_no_object_at_all_is_said_too() -> None:
    assert sentence_of(*faults_in("Object missing required field `name`", Outer)) == "`name` is needed."
    assert (
        sentence_of(*faults_in("Expected `object`, got `array`", Outer)) == "The whole should be an object, not a list."
    )


def test_of_a_field_that_is_not_known_no_values_are_told() -> None:
    assert sentence_of(*faults_in("Invalid enum value 'x' - at `$.y[0].z`", Outer)) == "`y[0].z` cannot be 'x'."
