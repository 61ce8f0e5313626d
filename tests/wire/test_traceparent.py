"""A `traceparent` is taken as it is written, or not at all."""

import pytest

from taskyard.wire.traceparent import parts_of, read_traceparent, read_tracestate, write_traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (SAMPLED, SAMPLED),
        (f" {SAMPLED} ", SAMPLED),
        (f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-00"),
        (f"00-{TRACE}-{SPAN}-03", SAMPLED),
        (f"01-{TRACE}-{SPAN}-01", SAMPLED),
        (f"01-{TRACE}-{SPAN}-01-what a later version says", SAMPLED),
        (f"{SAMPLED}-more", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (SAMPLED.upper(), None),
        (f"00-{TRACE}-{SPAN}", None),
        ("", None),
        ('"', None),
    ],
)
def test_what_is_not_a_context_counts_as_none(text: str, read: str | None) -> None:
    assert read_traceparent(text) == read


def test_its_parts_are_what_it_was_written_from() -> None:
    for is_sampled in (True, False):
        written = write_traceparent(TRACE, SPAN, is_sampled=is_sampled)
        assert parts_of(written) == (TRACE, SPAN, is_sampled)
        assert read_traceparent(written) == written


MANY = ",".join(f"k{number}=v" for number in range(32))
LONG = [f"k{number}={'v' * 100}" for number in range(6)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a=b", "a=b"),
        ("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
        (" a=b ,\tc=d,, ", "a=b,c=d"),
        ("fw529a3039@dt=FfAAAAAAAAA", "fw529a3039@dt=FfAAAAAAAAA"),
        ('0a-b_c*d/e="quoted\\', '0a-b_c*d/e="quoted\\'),
        (MANY, MANY),
        (f"{MANY},one=more", None),
        (",".join(LONG), ",".join(LONG[:4])),
        ("a=b,a=c", None),
        ("A=b", None),
        ("a", None),
        ("a=b=c", None),
        ("a=ü", None),
        ("a=b\r\nx: y", None),
        ("a@b@c=d", None),
        ("", None),
        (" , ", None),
    ],
)
def test_what_is_not_the_state_of_a_trace_counts_as_none_and_a_long_one_is_cut(text: str, read: str | None) -> None:
    assert read_tracestate(text) == read
