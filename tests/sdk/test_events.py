import pytest

from taskyard.sdk.errors import BadAnswer
from taskyard.sdk.events import LINE_BYTES_MAX, EventReader
from tests.support.http_stub import an_event


def test_events_are_found_however_the_bytes_are_cut() -> None:
    stream = (b": alive\r\n\r\n" + an_event("1-1-0", "task.queued") + an_event("1-2-0", "task.started")).replace(
        b"\n", b"\r\n"
    )
    for size in range(1, 40):
        reader = EventReader()
        chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
        events = [event for chunk in chunks for event in reader.feed(chunk)]
        assert [(event.id, event.event) for event in events] == [
            ("1-1-0", "task.queued"),
            ("1-2-0", "task.started"),
        ]
        assert reader.last_event_id == "1-2-0"


def test_an_event_that_was_cut_is_not_remembered_as_seen() -> None:
    reader = EventReader("1-1-0")
    assert reader.feed(b"id: 1-2-0\ndata: {") == []
    reader.broken()
    assert reader.last_event_id == "1-1-0"
    assert [event.id for event in reader.feed(an_event("1-2-0", "task.started"))] == ["1-2-0"]


def test_an_id_alone_moves_the_place_without_an_event() -> None:
    reader = EventReader()
    assert reader.feed(b"id: 1-7-0\n\n") == []
    assert reader.last_event_id == "1-7-0"


def test_data_over_several_lines_is_one() -> None:
    (event,) = EventReader().feed(b'data: {"event":\ndata: "resync"}\n\n')
    assert event.event == "resync"


def test_failures_count_connections_that_brought_nothing() -> None:
    reader = EventReader()
    reader.broken()
    reader.broken()
    assert reader.failures == 2
    reader.feed(b":\n")
    assert reader.failures == 0


def test_a_line_without_an_end_is_no_event_stream() -> None:
    with pytest.raises(BadAnswer, match="without an end"):
        EventReader().feed(b"x" * (LINE_BYTES_MAX + 1))
