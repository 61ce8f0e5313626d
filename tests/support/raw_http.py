"""HTTP by hand, for requests that no library would send. Every wait is bounded by the socket's timeout."""

import json
import socket
from collections.abc import Iterable
from typing import Any, NamedTuple

TIMEOUT_S = 30.0


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def problem(self) -> dict[str, Any]:
        """The body of an error."""
        assert self.headers["content-type"].startswith("application/problem+json"), self.headers
        return dict(json.loads(self.body))


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)


def head(method: str, path: str, headers: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def request(
    port: int,
    method: str,
    path: str,
    *,
    key: str | None = None,
    body: bytes = b"",
    headers: dict[str, str] | None = None,
) -> Answer:
    """One request on a connection of its own. A hub may answer and hang up before it has read everything."""
    given = {"Host": f"127.0.0.1:{port}", "Connection": "close", "Content-Length": str(len(body))}
    if body:
        given["Content-Type"] = "application/json"
    if key is not None:
        given["Authorization"] = f"Bearer {key}"
    with connect(port) as opened:
        try:
            opened.sendall(head(method, path, {**given, **(headers or {})}.items()))
            opened.sendall(body)
        except ConnectionError:
            pass
        return read_answer(opened)


def read_answer(connection: socket.socket) -> Answer:
    """Until the peer hangs up."""
    received = b""
    try:
        while chunk := connection.recv(1 << 16):
            received += chunk
    except ConnectionError:
        pass
    top, _, body = received.partition(b"\r\n\r\n")
    status, *lines = top.decode("latin-1").split("\r\n")
    if not status:
        raise ConnectionError("hung up without an answer")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(status.split(" ")[1]), headers, body)


def is_closed(connection: socket.socket, within_s: float) -> bool:
    """Whether the peer hangs up in time, whatever it says before."""
    connection.settimeout(within_s)
    try:
        while connection.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True
