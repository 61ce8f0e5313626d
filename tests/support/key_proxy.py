"""A proxy on the loopback address that adds a key: for clients that can send none, such as MCP's conformance suite."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

ANSWER_S: Final = 90.0
PIECE_BYTES: Final = 65_536
OF_ONE_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


@contextmanager
def key_proxy(port: int, key: str) -> Iterator[str]:
    """The address at which the hub on this port is asked with this key."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(PIECE_BYTES)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            self.pass_on()

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            hub = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)
            try:
                hub.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() not in OF_ONE_HOP:
                        hub.putheader(name, value)
                hub.putheader("Authorization", f"Bearer {key}")
                hub.putheader("Content-Length", str(len(body)))
                hub.endheaders(body)
                self.answer(hub.getresponse())
            finally:
                hub.close()

        def answer(self, response: http.client.HTTPResponse) -> None:
            """Piece by piece: an answer may be a stream."""
            self.send_response_only(response.status)
            for name, value in response.getheaders():
                if name.lower() not in OF_ONE_HOP:
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            # A client may hang up before the end of a stream.
            with suppress(ConnectionError):
                while piece := response.read1(PIECE_BYTES):
                    self.wfile.write(piece)
                    self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
