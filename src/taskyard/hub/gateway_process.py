"""One gateway process: `gateways.py` starts it. It carries, and decides nothing."""

import asyncio
import logging
import os
import signal
import sys
from asyncio import TaskGroup
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import uvloop

from taskyard.gateway.app import build_app
from taskyard.gateway.server import GatewayServer
from taskyard.hub import interpreter
from taskyard.hub.clock import read_machine_us
from taskyard.hub.gateways import GATEWAYS_MAX, READY, Beside, ByLease, Order, read_change, read_order
from taskyard.hub.hub import Hub
from taskyard.hub.leadership import Leadership
from taskyard.hub.link.remote import Remote, dial, dial_beside, place_of
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log, Records
from taskyard.hub.switchboard import Switchboard
from taskyard.sdk.standard_error import tell
from taskyard.store.port import Holder
from taskyard.store.postgres.lead import Candidate
from taskyard.store.postgres.lease import Lease
from taskyard.store.postgres.reader import PostgresReader
from taskyard.store.sqlite.reader import SqliteReader

ORDER_BYTES_MAX: Final = 16 * 1024 * 1024
AGAIN_S: Final = 0.1
TO_HUB: Final = 1
"""Standard output."""
REPORT_S: Final = 1.0


async def serve() -> None:
    orders = await _standard_input()
    line = await orders.readline()
    if not line:
        # The hub has gone before it could say anything.
        _clear_away()
        return
    order = read_order(line)
    os.set_blocking(TO_HUB, False)
    match order.leader:
        case Beside(link, file):
            board = Switchboard(order.settings, lambda: SqliteReader(Path(file), vfs=None), secret=order.secret)
            log, following = Log(FarLog(board)), _follow(board, link, order.secret)
        case ByLease(url):
            board = Switchboard(order.settings, lambda: PostgresReader(url), secret=order.secret)
            log = Log(NearLog())
            following = _follow_lease(board, url, order.secret, log)
    logging.getLogger().handlers = [Records(log)]
    board.is_a_hub = False
    app = build_app(board, order.gateway)
    app.door.session_ids = sessions_of(order.number)
    app.door.requests = board.answered
    await _serve(orders, order, board, GatewayServer(app, shares_port=True), following)
    _clear_away()


async def _serve(
    orders: asyncio.StreamReader,
    order: Order,
    board: Switchboard,
    server: GatewayServer,
    following: Coroutine[None, None, None],
) -> None:
    """Until the hub says no more."""
    async with TaskGroup() as group:
        tasks = [group.create_task(work) for work in (following, _answer(board, server), _report(board))]
        try:
            while line := await orders.readline():
                server.adopt(read_change(line).gateway)
        finally:
            if isinstance(order.leader, Beside):
                board.orphan()
            await server.stop()
            for task in tasks:
                task.cancel()
    board.close()


def sessions_of(number: int) -> Iterator[int]:
    """Numbers of daemons' sockets: those of all gateways of a machine are in the order in which they were opened."""
    last_us = 0
    while True:
        last_us = max(last_us + 1, read_machine_us())
        yield last_us * GATEWAYS_MAX + number


async def _follow(board: Switchboard, link: str, secret: bytes) -> None:
    """Stay linked to the hub of this machine."""
    name = board.mint()
    while True:
        try:
            remote = await dial_beside(link, secret, gateway=name)
        except OSError:
            await asyncio.sleep(AGAIN_S)
            continue
        board.connect(remote)
        await asyncio.shield(remote.lost)
        board.disconnect()


async def _follow_lease(board: Switchboard, url: str, secret: bytes, log: Log) -> None:
    """Stay linked to whoever leads: as a hub does that has resigned."""
    name = board.mint()

    async def dial_leader(holder: Holder) -> Remote:
        return await dial(*place_of(holder.address), secret, gateway=name)

    async def never(_on_open: Callable[[], None]) -> Hub:
        raise AssertionError("a gateway never leads")

    leadership = Leadership(
        Lease(url, Candidate(f"gateway {name}")),
        board,
        LinkServer(secret, log),
        log,
        address=name,
        lease_s=0.0,
        begin=never,
        dial=dial_leader,
    )
    await leadership.resign()
    try:
        await leadership.run()
    finally:
        await leadership.close()


async def _answer(board: Switchboard, server: GatewayServer) -> None:
    # Nobody can be let in before the leader has said whom it knows.
    await board.has_leader()
    await server.start()
    _tell_hub(READY)
    interpreter.settle()


async def _report(board: Switchboard) -> None:
    while True:
        await asyncio.sleep(REPORT_S)
        board.report()


def _tell_hub(lines: bytes) -> None:
    """What it does not read in time is lost, and so is everything once it has gone: nobody here waits for it."""
    with suppress(OSError):
        os.write(TO_HUB, lines)


class NearLog:
    """Lines go to the hub that started us, which is not always the one that leads."""

    def write(self, lines: bytes) -> None:
        """From any thread."""
        _tell_hub(lines)


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
            tell(lines.decode())


def _clear_away() -> None:
    """The hub's socket, if it has one: a hub that was killed could not."""
    for link in map(Path, sys.argv[1:]):
        _remove(link)


def _remove(link: Path) -> None:
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
