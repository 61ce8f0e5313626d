"""A `traceparent` is taken as it is written, or not at all."""

import pytest

from taskyard.wire.traceparent import parts_of, read_traceparent, write_traceparent

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
