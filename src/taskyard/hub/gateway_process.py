"""One gateway process: `gateways.py` starts it. It carries, and decides nothing."""

import asyncio
import signal
import socket
import sys
from pathlib import Path
from typing import Final

import uvloop

from taskyard.gateway.app import build_app
from taskyard.gateway.server import GatewayServer
from taskyard.hub import interpreter
from taskyard.hub.gateways import Order, read_change, read_order
from taskyard.hub.link.remote import dial_beside
from taskyard.hub.switchboard import Switchboard
from taskyard.store.sqlite.reader import SqliteReader

ORDER_BYTES_MAX: Final = 16 * 1024 * 1024
AGAIN_S: Final = 0.1


async def serve() -> None:
    orders = await _standard_input()
    order = read_order(await orders.readline())
    listener = socket.socket(fileno=order.listener)
    listener.setblocking(False)
    file = Path(order.database)
    board = Switchboard(order.settings, lambda: SqliteReader(file, vfs=None), secret=order.secret.encode())
    following = asyncio.create_task(_follow(board, order))
    app = build_app(board, order.gateway)
    server = GatewayServer(app, listener)
    try:
        # Nobody can be let in before the leader has said whom it knows.
        await board.has_leader()
        await server.start()
        interpreter.settle()
        while line := await orders.readline():
            server.adopt(read_change(line).gateway)
    finally:
        await server.stop()
        following.cancel()
        board.close()


async def _follow(board: Switchboard, order: Order) -> None:
    """Stay linked to the hub of this machine."""
    while True:
        try:
            remote = await dial_beside(order.link, order.secret.encode())
        except OSError:
            await asyncio.sleep(AGAIN_S)
            continue
        board.connect(remote)
        await remote.lost
        board.disconnect()


async def _standard_input() -> asyncio.StreamReader:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=ORDER_BYTES_MAX)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def main() -> None:
    # It ends with its input: a signal to the whole group is the hub's to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    uvloop.run(serve())


if __name__ == "__main__":
    main()
