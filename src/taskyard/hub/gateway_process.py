"""One gateway process: `gateways.py` starts it. It carries, and decides nothing."""

import asyncio
import logging
import signal
import socket
import sys
from asyncio import TaskGroup
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvloop

from taskyard.gateway.app import build_app
from taskyard.gateway.server import GatewayServer
from taskyard.hub import interpreter
from taskyard.hub.clock import read_machine_us
from taskyard.hub.gateways import GATEWAYS_MAX, Order, read_change, read_order
from taskyard.hub.link.remote import Remote, dial_beside
from taskyard.hub.observe import Log, Records
from taskyard.hub.switchboard import Switchboard
from taskyard.store.sqlite.reader import SqliteReader

ORDER_BYTES_MAX: Final = 16 * 1024 * 1024
AGAIN_S: Final = 0.1
REPORT_S: Final = 1.0


async def serve() -> None:
    orders = await _standard_input()
    line = await orders.readline()
    if not line:
        # The hub has gone before it could say anything.
        return
    order = read_order(line)
    listener = socket.socket(fileno=order.listener)
    listener.setblocking(False)
    file = Path(order.database)
    board = Switchboard(order.settings, lambda: SqliteReader(file, vfs=None), secret=order.secret.encode())
    logging.getLogger().handlers = [Records(Log(FarLog(board)))]
    app = build_app(board, order.gateway)
    app.door.session_ids = sessions_of(order.number)
    app.door.requests = board.answered
    server = GatewayServer(app, listener)
    async with TaskGroup() as group:
        tasks = [group.create_task(work) for work in (_follow(board, order), _answer(board, server), _report(board))]
        try:
            while line := await orders.readline():
                server.adopt(read_change(line).gateway)
        finally:
            board.orphan()
            await server.stop()
            for task in tasks:
                task.cancel()
    board.close()
    _clear_away(Path(order.link))


def sessions_of(number: int) -> Iterator[int]:
    """Numbers of daemons' sockets: those of all gateways of a machine are in the order in which they were opened."""
    last_us = 0
    while True:
        last_us = max(last_us + 1, read_machine_us())
        yield last_us * GATEWAYS_MAX + number


async def _follow(board: Switchboard, order: Order) -> None:
    """Stay linked to the hub of this machine."""
    name = board.mint()
    while True:
        try:
            remote = await dial_beside(order.link, order.secret.encode(), gateway=name)
        except OSError:
            await asyncio.sleep(AGAIN_S)
            continue
        board.connect(remote)
        await asyncio.shield(remote.lost)
        board.disconnect()


async def _answer(board: Switchboard, server: GatewayServer) -> None:
    # Nobody can be let in before the leader has said whom it knows.
    await board.has_leader()
    await server.start()
    interpreter.settle()


async def _report(board: Switchboard) -> None:
    while True:
        await asyncio.sleep(REPORT_S)
        board.report()


class FarLog:
    """Lines go to the hub's log; while it cannot be reached, to standard error."""

    def __init__(self, board: Switchboard) -> None:
        self._board = board
        self._loop = asyncio.get_running_loop()

    def write(self, lines: bytes) -> None:
        """From any thread."""
        self._loop.call_soon_threadsafe(self._send, lines)

    def _send(self, lines: bytes) -> None:
        leader = self._board.leader
        if isinstance(leader, Remote) and leader.ready:
            leader.log(lines)
        else:
            sys.stderr.buffer.write(lines)
            sys.stderr.buffer.flush()


def _clear_away(link: Path) -> None:
    """A hub that was killed could not."""
    with suppress(OSError):
        link.unlink(missing_ok=True)
        link.parent.rmdir()


async def _standard_input() -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=ORDER_BYTES_MAX)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def main() -> None:
    # It ends with its input: a signal to all processes of the hub is the hub's to answer.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    uvloop.run(serve())


if __name__ == "__main__":
    main()
