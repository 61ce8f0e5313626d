"""Reading server-sent events, without the socket.

Feed it the bytes as they come; take the events that are complete. It remembers the id of the last one,
so that a stream that broke goes on where it was: the hub sends what was missed.
"""

from typing import Final

import msgspec

from taskyard.sdk.answers import Event
from taskyard.sdk.errors import BadAnswer

LINE_BYTES_MAX: Final = 4 * 1024 * 1024
# No event is longer than a frame of the daemon protocol; more without a line's end is no event stream.

_event = msgspec.json.Decoder(Event)


class EventReader:
    def __init__(self, last_event_id: str | None = None) -> None:
        self.last_event_id = last_event_id
        self.failures = 0
        """Connections in a row that brought nothing."""
        self._rest = b""
        self._data: list[bytes] = []
        self._id: str | None = None

    def broken(self) -> None:
        """The connection is gone: forget what was cut in the middle; it comes again."""
        self.failures += 1
        self._rest = b""
        self._data = []
        self._id = None

    def feed(self, chunk: bytes) -> list[Event]:
        self.failures = 0
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > LINE_BYTES_MAX:
            raise BadAnswer("The event stream has a line without an end; is this the hub's address?")
        events: list[Event] = []
        for line in lines:
            event = self._take(line.rstrip(b"\r"))
            if event is not None:
                events.append(event)
        return events

    def _take(self, line: bytes) -> Event | None:
        """One line; an empty one ends an event. Comments (`:`) only keep the connection alive."""
        if not line:
            return self._end()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"id":
            self._id = value.decode(errors="replace")
        return None

    def _end(self) -> Event | None:
        data, self._data = b"\n".join(self._data), []
        # Kept only with a whole event: an id that came without its data must not be skipped over.
        if self._id:
            self.last_event_id, self._id = self._id, None
        if not data:
            return None
        try:
            return _event.decode(data)
        except msgspec.DecodeError as error:
            raise BadAnswer(f"The event stream has an event that is none: {error}") from error
