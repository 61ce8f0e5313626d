"""The daemon protocol over a plain socket: the standard library, RFC 6455 in its smallest form, and JSON.

Nothing of ours is imported, so that what a test says with this client is what a daemon in any language
would say. Blocking: every wait ends after `timeout_s`.
"""

import base64
import hashlib
import json
import os
import socket
import struct
from collections import deque
from typing import Any, Final, TypeAlias

Message: TypeAlias = dict[str, Any]

PATH: Final = "/api/v1/daemons/connect"
TEXT, CLOSE, PING, PONG = 0x1, 0x8, 0x9, 0xA
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Refused(Exception):
    """The hub answered the upgrade with something else than 101."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status}: {body[:200]!r}")
        self.status = status
        self.body = body


class Closed(Exception):
    """The hub closed the connection."""

    def __init__(self, code: int | None, reason: str = "") -> None:
        super().__init__(f"{code} {reason}".strip())
        self.code = code
        self.reason = reason


class WireClient:
    def __init__(self, host: str, port: int, key: str, *, path: str = PATH, timeout_s: float = 5.0) -> None:
        self._socket = socket.create_connection((host, port), timeout=timeout_s)
        self._buffer = b""
        self._messages: deque[Message] = deque()
        self._upgrade(f"{host}:{port}", path, key)

    def __enter__(self) -> "WireClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    # --- messages ------------------------------------------------------------------------------------------

    def hello(self, *, boot_id: str = "boot-1", name: str = "plain", **fields: Any) -> Message:
        """Introduce itself; answers the welcome."""
        self.send({"type": "hello", "protocol": 1, "boot_id": boot_id, "name": name, **fields})
        return self.receive("welcome")

    def send(self, *messages: Message) -> None:
        """One frame: the message itself, or several as an array."""
        self.send_text(json.dumps(messages[0] if len(messages) == 1 else messages))

    def send_text(self, text: str) -> None:
        """Whatever it is: for frames that a good daemon would not send."""
        self._send_frame(TEXT, text.encode())

    def receive(self, *types: str) -> Message:
        """The next message, or the next of these types; others before it are dropped."""
        while True:
            while not self._messages:
                frame = json.loads(self.receive_text())
                self._messages.extend(frame if isinstance(frame, list) else [frame])
            message = self._messages.popleft()
            if not types or message["type"] in types:
                return message

    def receive_text(self) -> str:
        """The next text frame. Raises `Closed`."""
        while True:
            opcode, payload = self._receive_frame()
            if opcode == PING:
                self._send_frame(PONG, payload)
            elif opcode == CLOSE:
                code = struct.unpack("!H", payload[:2])[0] if len(payload) >= 2 else None
                self.drop()
                raise Closed(code, payload[2:].decode())
            elif opcode == TEXT:
                return payload.decode()

    def close(self, code: int = 1000) -> None:
        """Say goodbye and wait for the answer."""
        self._send_frame(CLOSE, struct.pack("!H", code))
        try:
            while True:
                self.receive_text()
        except Closed:
            pass

    def drop(self) -> None:
        """Vanish without a word, like a machine that lost its network."""
        self._socket.close()

    # --- RFC 6455 ------------------------------------------------------------------------------------------

    def _upgrade(self, host: str, path: str, key: str) -> None:
        nonce = base64.b64encode(os.urandom(16))
        request = (
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
            f"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {nonce.decode()}\r\n\r\n"
        )
        self._socket.sendall(request.encode())
        while b"\r\n\r\n" not in self._buffer:
            self._fill()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        if status != 101:
            self.drop()
            raise Refused(status, self._buffer)
        expected = base64.b64encode(hashlib.sha1(nonce + _GUID).digest())
        assert expected in head, "the hub did not answer our nonce"

    def _send_frame(self, opcode: int, payload: bytes) -> None:
        if len(payload) < 126:
            size = struct.pack("!B", 0x80 | len(payload))
        elif len(payload) < 1 << 16:
            size = struct.pack("!BH", 0x80 | 126, len(payload))
        else:
            size = struct.pack("!BQ", 0x80 | 127, len(payload))
        mask = os.urandom(4)
        pad = (mask * (len(payload) // 4 + 1))[: len(payload)]
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")).to_bytes(len(payload), "big")
        self._socket.sendall(bytes([0x80 | opcode]) + size + mask + masked)

    def _receive_frame(self) -> tuple[int, bytes]:
        """One message of any kind; fragments are joined."""
        opcode, whole = 0, b""
        while True:
            first, second = self._take(2)
            assert not second & 0x80, "a server does not mask"
            size = second & 0x7F
            if size == 126:
                size = struct.unpack("!H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self._take(8))[0]
            payload = self._take(size)
            if first & 0x08:
                return first & 0x0F, payload
            opcode = opcode or first & 0x0F
            whole += payload
            if first & 0x80:
                return opcode, whole

    def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._fill()
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken

    def _fill(self) -> None:
        received = self._socket.recv(1 << 16)
        if not received:
            self.drop()
            raise Closed(None, "the connection broke")
        self._buffer += received
