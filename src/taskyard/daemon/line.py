"""How what the hub says is taken from its socket.

`recv()` would put each message into a queue, wake whoever waits for it, and let it begin in the next turn of the loop:
that costs a short task more than its own work. So each is handed over as it arrives.
"""

from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.frames import DATA_OPCODES, Frame, Opcode


class Line(ClientConnection):
    """Hands over each message as it arrives."""

    take: Callable[[bytes], None] | None = None
    """Called with each whole message, and must not raise. What it does not get is left for `recv()`."""

    def process_event(self, event: Any) -> None:
        if self.take is not None and isinstance(event, Frame) and event.opcode in DATA_OPCODES:
            if event.fin and event.opcode is not Opcode.CONT:
                self.take(bytes(event.data))
                return
            # In pieces, cut by somebody between us: what comes after them must not overtake them.
            self.take = None
        super().process_event(event)
