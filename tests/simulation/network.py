"""Connections as TCP makes them: what arrives is a prefix of what was sent, in order, and nobody is told how long.

A connection can be cut (both ends hear of it, each in its own time, frames under way are lost), go half-open (nothing
arrives any more and nobody hears why), or lose one direction only. Frames of different connections overtake each
other freely. A duplicate is what it is in life: the same thing said again on the next connection.
"""

from typing import Protocol

from tests.simulation.clockwork import Clockwork


class End(Protocol):
    """Whoever is at one end."""

    def hear(self, wire: "Wire", frame: bytes) -> None: ...

    def hung_up(self, wire: "Wire", code: int | None, reason: str) -> None: ...


class Wire:
    """One connection between a daemon and the hub. Its number is the session."""

    def __init__(self, clock: Clockwork, number: int, hub: End, daemon: End, *, delay_ms: int) -> None:
        self.clock = clock
        self.number = number
        self.hub = hub
        self.daemon = daemon
        self.delay_ms = delay_ms
        self.is_open_at = {"hub": True, "daemon": True}
        self._swallows = {"hub": False, "daemon": False}
        self._last = {"hub": 0, "daemon": 0}

    def to_hub(self, frame: bytes) -> None:
        self._send("hub", frame)

    def to_daemon(self, frame: bytes) -> None:
        self._send("daemon", frame)

    def _send(self, to: str, frame: bytes) -> None:
        sender = "daemon" if to == "hub" else "hub"
        if self.is_open_at[sender] and not self._swallows[to]:
            self._after_the_last(to, self._arrive, to, frame)

    def _after_the_last(self, to: str, *call: object) -> None:
        clock = self.clock
        at = max(self._last[to], clock.now + clock.about(self.delay_ms))
        self._last[to] = at
        action, *arguments = call
        clock.later(at - clock.now, action, *arguments)  # type: ignore[arg-type]

    def _arrive(self, to: str, frame: bytes) -> None:
        if not self.is_open_at[to] or self._swallows[to]:
            return
        self.clock.note(frame)
        end = self.hub if to == "hub" else self.daemon
        end.hear(self, frame)

    def _notice(self, to: str, code: int | None, reason: str) -> None:
        if self.is_open_at[to]:
            self.is_open_at[to] = False
            end = self.hub if to == "hub" else self.daemon
            end.hung_up(self, code, reason)

    def close(self, by: str, code: int | None = None, reason: str = "") -> None:
        """One end closes; the other hears of it after what was sent before, if anything arrives there at all."""
        other = "daemon" if by == "hub" else "hub"
        if self.is_open_at[by]:
            self.is_open_at[by] = False
            if not self._swallows[other]:
                self._after_the_last(other, self._notice, other, code, reason)

    # Faults

    def cut(self) -> None:
        """Both directions end here."""
        for end in ("hub", "daemon"):
            self._swallows[end] = True
            self.clock.later(self.clock.about(500), self._notice, end, None, "the connection broke")

    def go_half_open(self) -> None:
        self._swallows = {"hub": True, "daemon": True}

    def lose_one_way(self) -> None:
        self._swallows["hub" if self.clock.happens(0.5) else "daemon"] = True

    def end_of_process(self, of: str) -> None:
        """One end's process died: its kernel may still say so, or the machine went with it."""
        other = "daemon" if of == "hub" else "hub"
        self.is_open_at[of] = False
        if not self._swallows[other] and self.clock.happens(0.8):
            self._after_the_last(other, self._notice, other, None, "the connection broke")
