"""A client as light as the hub deserves: keep-alive HTTP/1.1 on bare asyncio streams, nothing parsed but the status.

The SDK's clients are measured too (`peers/`); here the client must not be the bottleneck on two cores.
"""

import asyncio
import time
from collections.abc import Sequence

import msgspec

_encode = msgspec.json.Encoder().encode
PAYLOAD = {
    "kind": "export",
    "path": "/assets/2026/11/batch-7",
    "options": {"quality": 80, "notify": True},
    "pad": "x" * 80,
}


def a_task(at: float | None = None, **fields: object) -> dict[str, object]:
    """About 200 bytes of content, as the peers' harness has it."""
    payload = PAYLOAD if at is None else {**PAYLOAD, "at": at}
    return {"type": "noop", "input": "export the assets", "payload": payload, **fields}


class Line:
    """One connection; one request at a time."""

    def __init__(self, host: str, port: int, key: str) -> None:
        self._host, self._port = host, port
        self._head = f"Host: {host}:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n"

    async def open(self) -> "Line":
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port, limit=2**24)
        return self

    async def post(self, path: str, body: bytes) -> bytes:
        head = f"POST {path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        rest = await self._reader.readexactly(length)
        if not answer.startswith((b"HTTP/1.1 201", b"HTTP/1.1 200")):
            raise RuntimeError((answer + rest)[:400].decode(errors="replace"))
        return rest

    def close(self) -> None:
        self._writer.close()


async def submit_singly(address: tuple[str, int, str], tasks: int, lines: int) -> float:
    """Tasks per second, one request each, over so many connections."""
    connections = [await Line(*address).open() for _ in range(lines)]
    left = iter(range(tasks))
    body = _encode(a_task())

    async def work(line: Line) -> None:
        for _ in left:
            await line.post("/api/v1/tasks", body)

    begun = time.perf_counter()
    await asyncio.gather(*(work(line) for line in connections))
    seconds = time.perf_counter() - begun
    for line in connections:
        line.close()
    return tasks / seconds


async def submit_batched(address: tuple[str, int, str], tasks: int, *, size: int = 500, lines: int = 2) -> float:
    connections = [await Line(*address).open() for _ in range(lines)]
    body = _encode({"tasks": [a_task()] * size})
    left = iter(range(tasks // size))

    async def work(line: Line) -> None:
        for _ in left:
            await line.post("/api/v1/tasks/batch", body)

    begun = time.perf_counter()
    await asyncio.gather(*(work(line) for line in connections))
    seconds = time.perf_counter() - begun
    for line in connections:
        line.close()
    return tasks / seconds


async def submit_as_crowd(
    address: tuple[str, int, str], tasks: int, users: int, *, models: Sequence[str | None] = (None,), plan: str | None
) -> None:
    """So many users, each with its share of the tasks, in batches of several models and levels."""
    host, port, key = address
    admin = await Line(host, port, key).open()
    share = tasks // users
    levels = ("normal", "high", "normal", "low")
    batch = [a_task(model=models[n % len(models)], priority=levels[n % len(levels)]) for n in range(share)]
    body = _encode({"tasks": batch})
    for number in range(users):
        user = {"name": f"user-{number}", "plan": plan, "overrides": {"max_pending": 1_000_000}}
        made = msgspec.json.decode(await admin.post("/api/v1/users", _encode(user)))
        grant = {"name": "bench", "scopes": ["tasks"]}
        own = msgspec.json.decode(await admin.post(f"/api/v1/users/{made['id']}/keys", _encode(grant)))["key"]
        line = await Line(host, port, own).open()
        await line.post("/api/v1/tasks/batch", body)
        line.close()
    admin.close()


async def submit_paced(address: tuple[str, int, str], tasks: int, per_s: float, *, timed: bool = True) -> None:
    """Open loop: each task leaves at its own time, carrying it."""
    lines = [await Line(*address).open() for _ in range(8)]
    free: asyncio.Queue[Line] = asyncio.Queue()
    for line in lines:
        free.put_nowait(line)
    begun = time.perf_counter()

    async def send() -> None:
        line = await free.get()
        await line.post("/api/v1/tasks", _encode(a_task(time.time() if timed else None)))
        free.put_nowait(line)

    sending = []
    for number in range(tasks):
        await asyncio.sleep(max(begun + number / per_s - time.perf_counter(), 0))
        sending.append(asyncio.create_task(send()))
    await asyncio.gather(*sending)
    for line in lines:
        line.close()
