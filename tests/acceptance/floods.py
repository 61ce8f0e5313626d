"""One daemon's socket floods a real hub, in every way that is known, while others ask it something.

`python -m tests.acceptance.floods --seconds N`: each kind for so long, before hello and after it. What costs the peer
nothing is cut off within two seconds, messages are only slowed, and others notice neither.
"""

import argparse
import contextlib
import json
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import psutil  # type: ignore[import-untyped]

from tests.support.live import ROOT, LiveHub, environment, live_yard
from tests.support.raw_http import request
from tests.support.raw_websocket import BINARY, CLOSE, CONT, PING, PONG, TEXT, frame, upgrade

MEDIAN_S_MAX: Final = 0.05
WORST_S_MAX: Final = 0.5
CUT_S_MAX: Final = 2.0
GROWTH_BYTES_MAX: Final = 64 * 1024 * 1024
CHUNK: Final = 256 * 1024
SILENT_S: Final = 30.0

BEAT: Final = b'{"type":"heartbeat"}'
BEGUN: Final = frame(TEXT, b"", fin=False)
UNKNOWN_TASK: Final = b'{"type":"task.completed","task_id":"01900000-0000-7000-8000-000000000000","attempt":1}'
HELD: Final = b'{"task_id":"01900000-0000-7000-8000-000000000000","attempt":1}'


class Kind(NamedTuple):
    repeated: bytes
    begin: bytes = b""
    is_cut: bool = True
    """Or else slowed."""
    reads: bool = True
    only_after_hello: bool = False


def joined(message: bytes, number: int) -> bytes:
    return frame(TEXT, b"[" + b",".join([message] * number) + b"]")


KINDS: Final[Mapping[str, Kind]] = {
    "pings": Kind(frame(PING)),
    "pings of 125 bytes": Kind(frame(PING, b"p" * 125)),
    "pings, pongs unread": Kind(frame(PING, b"p" * 125), reads=False),
    "pongs": Kind(frame(PONG)),
    "empty fragments": Kind(frame(CONT, fin=False), begin=BEGUN),
    "fragments of a byte": Kind(frame(CONT, b" ", fin=False), begin=BEGUN),
    "fragments of 1 KiB": Kind(frame(CONT, b" " * 1024, fin=False), begin=BEGUN),
    "messages in empty fragments": Kind(BEGUN + frame(CONT, BEAT), only_after_hello=True),
    "empty texts": Kind(frame(TEXT)),
    "empty binaries": Kind(frame(BINARY)),
    "heartbeats": Kind(frame(TEXT, BEAT), is_cut=False, only_after_hello=True),
    "heartbeats, 4096 to a frame": Kind(joined(BEAT, 4096), is_cut=False, only_after_hello=True),
    "no messages": Kind(frame(TEXT, b"[]"), is_cut=False, only_after_hello=True),
    "unknown types": Kind(joined(b'{"type":"x"}', 4096), is_cut=False, only_after_hello=True),
    "outcomes of no task": Kind(joined(UNKNOWN_TASK, 4096), is_cut=False, only_after_hello=True),
    "heartbeats that list much": Kind(
        frame(TEXT, b'{"type":"heartbeat","running":[' + b",".join([HELD] * 60_000) + b"]}"),
        is_cut=False,
        only_after_hello=True,
    ),
}


# --- the one that floods, a process of its own -------------------------------------------------------------


class Flooder:
    """One connection after another, each until it is cut off or the time is over."""

    def __init__(self, port: int, key: str, kind: Kind, *, says_hello: bool, until: float) -> None:
        self._port, self._key, self._kind = port, key, kind
        self._says_hello = says_hello
        self._until = until
        self.cut_s: list[float] = []
        self.codes: list[int | None] = []
        self.sent_bytes = 0

    def run(self) -> None:
        number = 0
        while time.monotonic() < self._until:
            number += 1
            with self._connected(number) as connection:
                self._flood(connection)

    def _connected(self, number: int) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self._port), timeout=SILENT_S)
        connection.sendall(upgrade(self._port, self._key))
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1)
        assert head.startswith(b"HTTP/1.1 101 "), head
        if self._says_hello:
            hello = {"type": "hello", "protocol": 1, "boot_id": f"b{number}", "name": "flood", "daemon_id": "d_flood"}
            connection.sendall(frame(TEXT, json.dumps(hello).encode()))
            assert b"welcome" in connection.recv(4096)
        return connection

    def _flood(self, connection: socket.socket) -> None:
        """Say the same until the hub hangs up; what it says meanwhile is read by a thread, or not at all."""
        heard = bytearray()
        reading = threading.Thread(target=self._read, args=(connection, heard), daemon=True)
        if self._kind.reads:
            reading.start()
        repeated = self._kind.repeated
        chunk = repeated * max(1, CHUNK // len(repeated))
        began = time.monotonic()
        is_cut = True
        try:
            connection.sendall(self._kind.begin)
            while time.monotonic() < self._until:
                connection.sendall(chunk)
                self.sent_bytes += len(chunk)
            is_cut = False
        except OSError:
            self.cut_s.append(time.monotonic() - began)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        if self._kind.reads:
            reading.join(SILENT_S)
            if is_cut:
                self.codes.append(close_code(heard))

    def _read(self, connection: socket.socket, heard: bytearray) -> None:
        """Keep the end alone: the hub's close frame is the last thing that it says."""
        with contextlib.suppress(OSError):
            while received := connection.recv(1 << 16):
                heard += received
                del heard[:-200]


def close_code(heard: bytearray) -> int | None:
    for at in range(len(heard) - 1, -1, -1):
        if heard[at] == 0x80 | CLOSE and at + 1 < len(heard) and at + 2 + heard[at + 1] == len(heard):
            return struct.unpack("!H", heard[at + 2 : at + 4])[0] if heard[at + 1] >= 2 else None
    return None


# --- the others, and what they see --------------------------------------------------------------------------


class Others(threading.Thread):
    """Asks the hub one thing after another, and notes how long each took."""

    def __init__(self, hub: LiveHub) -> None:
        super().__init__(daemon=True)
        self._hub, self._key = hub, hub.key
        self._over = threading.Event()
        self.took_s: list[float] = []
        self.worst_s: dict[str, float] = {}
        """By what was asked."""

    def run(self) -> None:
        body = json.dumps({"input": "x", "type": "noop", "scheduled_for": "2099-01-01T00:00:00Z"}).encode()
        asks: Sequence[dict[str, Any]] = (
            {"method": "GET", "path": "/healthz"},
            {"method": "POST", "path": "/api/v1/tasks", "key": self._key, "body": body},
            {"method": "GET", "path": "/api/v1/daemons", "key": self._key},
        )
        number = 0
        while not self._over.is_set():
            began = time.perf_counter()
            ask = asks[number % len(asks)]
            answer = request(self._hub.port, **ask)
            self.took_s.append(took_s := time.perf_counter() - began)
            self.worst_s[ask["path"]] = max(took_s, self.worst_s.get(ask["path"], 0.0))
            assert answer.status in (200, 201), answer
            number += 1
            self._over.wait(0.005)

    def stop(self) -> list[float]:
        self._over.set()
        self.join(SILENT_S)
        return self.took_s


class Seen(NamedTuple):
    kind: str
    took_s: list[float]
    flood: dict[str, Any]
    growth_bytes: int
    worst_s: dict[str, float]

    def faults(self) -> list[str]:
        kind = KINDS[self.kind.partition(" (")[0]]
        found = []
        if len(self.took_s) < 10:
            found.append(f"only {len(self.took_s)} answers to others")
        elif median(self.took_s) > MEDIAN_S_MAX or max(self.took_s) > WORST_S_MAX:
            found.append("others had to wait")
        cut_s = self.flood["cut_s"]
        if kind.is_cut and (not cut_s or max(cut_s) > CUT_S_MAX):
            found.append("it was not cut off in time")
        if not kind.is_cut and cut_s:
            found.append(f"it was cut off: {self.flood['codes']}")
        if self.growth_bytes > GROWTH_BYTES_MAX:
            found.append("the hub's memory grew")
        return found

    def __str__(self) -> str:
        cut_s = self.flood["cut_s"]
        cut = f"cut {len(cut_s)} times, in {max(cut_s):.2f} s at most" if cut_s else "slowed"
        worst = "/".join(f"{took_s * 1000:.0f}" for took_s in self.worst_s.values())
        codes = ", ".join(sorted({str(code) for code in self.flood["codes"]}))
        return (
            f"{self.kind}: others {median(self.took_s) * 1000:.1f} ms, worst {worst} ms "
            f"of {len(self.took_s)}; {cut} {codes}; {self.flood['sent_bytes'] / 1e6:.0f} MB sent; "
            f"hub {self.growth_bytes / 1e6:+.0f} MB"
        )


def measured(hub: LiveHub, name: str, *, says_hello: bool, seconds: float) -> Seen:
    process = psutil.Process(hub.process.pid)
    before = process.memory_info().rss
    others = Others(hub)
    others.start()
    command = [sys.executable, "-m", "tests.acceptance.floods", "--flood", name, "--port", str(hub.port)]
    command += ["--seconds", str(seconds), *(["--hello"] if says_hello else [])]
    env = environment(TASKYARD_KEY=hub.key)
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, timeout=seconds + 60, check=True)
    took_s = others.stop()
    growth = process.memory_info().rss - before
    where = "after hello" if says_hello else "before hello"
    return Seen(f"{name} ({where})", took_s, json.loads(done.stdout), growth, others.worst_s)


def flood(asked: argparse.Namespace, key: str) -> int:
    until = time.monotonic() + asked.seconds
    flooder = Flooder(asked.port, key, KINDS[asked.flood], says_hello=asked.hello, until=until)
    flooder.run()
    print(json.dumps({"cut_s": flooder.cut_s, "codes": flooder.codes, "sent_bytes": flooder.sent_bytes}))
    return 0


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.floods")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", choices=sorted(KINDS))
    parser.add_argument("--flood", choices=sorted(KINDS), help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--hello", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.flood:
        import os

        return flood(asked, os.environ["TASKYARD_KEY"])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)  # whoever ends this ends what it started
    wrong = []
    with tempfile.TemporaryDirectory(prefix="taskyard-floods-") as directory, live_yard(Path(directory)) as yard:
        hub = yard.hub()
        for name, kind in KINDS.items():
            for says_hello in (True,) if kind.only_after_hello else (True, False):
                if asked.only in (None, name):
                    seen = measured(hub, name, says_hello=says_hello, seconds=asked.seconds)
                    found = seen.faults()
                    wrong += found
                    print(f"{seen}{': ' + '; '.join(found).upper() if found else ''}", flush=True)
    print(f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
