"""Depth, NULs and what no reader takes are found without parsing."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.wire.depth import DEPTH_MAX, has_nul, has_wild_number, is_too_deep, is_utf8, without_nul


def nested(depth: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * depth + closing * depth


@pytest.mark.parametrize("depth", [1, 63, 64])
def test_a_text_to_the_limit_is_not_too_deep(depth: int) -> None:
    assert not is_too_deep(nested(depth))


@pytest.mark.parametrize("depth", [65, 66, 70, 10_000, 1_000_000])
def test_a_text_beyond_it_is(depth: int) -> None:
    assert is_too_deep(nested(depth))
    assert is_too_deep(b'{"input":"a","context":' + nested(depth, b'{"a":', b"}").replace(b":}", b":1}") + b"}")


def test_depth_counts_also_where_something_stands_beside_each_step() -> None:
    def text(depth: int) -> bytes:
        return b"[[]," * depth + b"0" + b"]" * depth

    assert is_too_deep(text(DEPTH_MAX + 1))
    assert not is_too_deep(text(DEPTH_MAX - 1))


def test_brackets_in_strings_do_not_count() -> None:
    assert not is_too_deep(b'["' + b"[" * 1000 + b'"]')
    assert not is_too_deep(b'["\\"' + b"[{" * 1000 + b'\\\\"]')


def test_breadth_is_not_depth() -> None:
    assert not is_too_deep(b"[" + b",".join([b'{"a":[{}]}'] * 10_000) + b"]")


def test_of_a_text_that_is_no_json_nothing_is_said() -> None:
    assert not is_too_deep(b"[}" * 1000)


@pytest.mark.parametrize(
    "hostile",
    [
        b'"' + b"\\n" * 4_000_000,
        b'"' + b'\\"' * 4_000_000,
        b"\\" * 8_000_000 + b"u0000",
        b"{" + b'"' * 8_000_000,
        b"[{" * 60 + b"[]" * 2_000_000 + b"}]" * 60,
        (b"[" * 60 + b"]" * 60) * 60_000,
    ],
)
def test_a_hostile_text_takes_no_longer_than_a_harmless_one(hostile: bytes) -> None:
    """Not measured: an expression that backtracks would not end here at all."""
    text = b"[" * 65 + hostile
    is_too_deep(text)
    has_nul(text)
    without_nul(text)


def depth_of(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


JSON = st.recursive(
    st.none() | st.text() | st.integers(-9, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=30,
)


@settings(deadline=None)
@given(JSON, st.integers(0, 8))
def test_it_agrees_with_the_parsed_depth(value: object, depth_max: int) -> None:
    assert is_too_deep(msgspec.json.encode(value), depth_max) == (depth_of(value) > depth_max)


@settings(deadline=None)
@given(st.text())
def test_a_nul_is_found_exactly_where_one_is(text: str) -> None:
    for said in (text, text + "\0", "\\u0000" + text, "\\" + "\0" + text):
        raw = msgspec.json.encode({"a": said})
        assert has_nul(raw) == ("\0" in said)
        assert msgspec.json.decode(without_nul(raw)) == {"a": said.replace("\0", "\ufffd")}


@pytest.mark.parametrize("number", ["1e400", "-1E+999", "1.5e309", "9" * 5_000, "-" + "9" * 100_000, "1" * 400 + ".5"])
@pytest.mark.parametrize("text", ["%s", "[%s]", '{"a":%s}', '{"a": [1, %s]}', '[{"e":1},\n%s]'])
def test_a_number_that_no_reader_can_hold_is_found(text: str, number: str) -> None:
    assert has_wild_number((text % number).encode())


@pytest.mark.parametrize(
    "text",
    [
        *("1e300", "[1e-999]", "9" * 300, '{"a":1}', '"1e999"', '["%s"]' % ("9" * 5_000), '{"e":"fine, 1e999 it is"}'),
        *("no JSON 1e999", "0." + "1" * 5_000, "9" * 400, '{"id":"0190-7e331"}'),
    ],
)
def test_other_numbers_and_texts_are_left_alone(text: str) -> None:
    assert not has_wild_number(text.encode())


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**64 - 1))
def test_what_we_write_ourselves_is_never_wild(number: float) -> None:
    assert not has_wild_number(msgspec.json.encode({"n": [number]}))


def test_looking_for_numbers_takes_one_pass() -> None:
    for hostile in (b"[1" * 500_000, (b" " + b"1" * 308 + b".") * 3_000, b"\n-" * 500_000):
        assert not has_wild_number(hostile)


def test_letters_that_are_none_are_found() -> None:
    assert is_utf8("grün, 緑".encode())
    assert not is_utf8(b'{"a":"\xff"}')


def test_the_limit_is_the_specifications() -> None:
    assert DEPTH_MAX == 64
