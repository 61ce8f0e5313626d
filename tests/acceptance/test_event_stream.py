"""Promise of the event stream: one order, no gap, no repeat, also over the death of a hub."""

import contextlib
import http.client
import time

import pytest

from taskyard.sdk.client import Client
from taskyard.sdk.events import EventReader
from tests.support.live import STUBBORN, LiveHub, LiveYard, TooLate

pytestmark = pytest.mark.takes(8)

FIRST = "0-0-0"
ROUNDS, PER_ROUND = 2, 8
READ_S = 30.0


def read_some(hub: LiveHub, last_event_id: str, *, until: str | None = None, count: int = 0) -> list[str]:
    """The places of the next events on a connection of its own, until a task's end or so many; then cut it."""
    reader, places = EventReader(), list[str]()
    deadline = time.monotonic() + READ_S
    connection = http.client.HTTPConnection("127.0.0.1", hub.port, timeout=READ_S)
    asked = {"Authorization": f"Bearer {hub.key}", "Last-Event-ID": last_event_id, "Accept": "text/event-stream"}
    with contextlib.closing(connection):
        connection.request("GET", "/api/v1/events", headers=asked)
        answer = connection.getresponse()
        assert answer.status == 200
        assert (answer.getheader("content-type") or "").startswith("text/event-stream")
        while time.monotonic() < deadline:
            chunk = answer.read1(4096)
            assert chunk, "the stream ended"
            for event in reader.feed(chunk):
                if event.id is not None:
                    places.append(event.id)
                if (event.event == "task.cancelled" and event.task_id == until) or (count and len(places) >= count):
                    return places
    raise TooLate(f"not within {READ_S:g} s: the end of what was asked for, after {places[-1:]}")


def all_places(client: Client) -> list[str]:
    ids = [event.id for task in client.tasks() for event in client.task_events(task.id)]
    return sorted((place for place in ids if place), key=place_of)


def place_of(place: str) -> tuple[int, ...]:
    return tuple(map(int, place.split("-")))


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_reader_that_is_cut_off_and_whose_hub_dies_misses_and_repeats_nothing(yard: LiveYard) -> None:
    hub = yard.hub()
    client = hub.client(retry=STUBBORN)
    seen: list[str] = []
    last = FIRST
    for _ in range(ROUNDS):
        for _ in range(PER_ROUND):
            task = client.submit("watched", scheduled_for="2099-01-01T00:00:00Z")
            client.cancel(task.id)
        seen += read_some(hub, last, count=PER_ROUND // 2)
        last = seen[-1]
        hub.restart()
        seen += read_some(hub, last, until=task.id)
        last = seen[-1]
    assert seen == sorted(set(seen), key=place_of)
    kept = all_places(client)
    assert set(kept) <= set(seen)
    assert len({place_of(place)[0] for place in kept}) > 1, "the hubs had epochs of their own"
