"""Raw requests of the kinds that public corpora abuse servers with, each answered as RFC 9112 or ADR 31 says.

Whatever is sent, no answer is a 5xx, every request has one answer at most, and a task is made for each 201 and for
nothing else. A row is sent at once, and again line by line: how it is cut into packets decides nothing.
"""

import pytest

from taskyard.gateway.door import Deadlines
from taskyard.gateway.server import GatewayServer
from taskyard.vocabulary import Scope
from tests.support.gateway_hub import GatewayHub
from tests.support.gateway_socket import answers_in, exchanged, serving
from tests.support.http_connection_rows import GROUPS
from tests.support.http_rows import Row

pytestmark = pytest.mark.anyio

ROWS = [row for rows in GROUPS.values() for row in rows]
LAST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
HANGS = -1
LINES_MAX = 60
"""Longer rows are sent at once only."""


def test_there_are_as_many_as_a_corpus_has() -> None:
    assert len(ROWS) >= 200
    for name, rows in GROUPS.items():
        assert len({row.name for row in rows}) == len(rows), name


def ways_to_send(row: Row) -> list[list[bytes]]:
    whole = b"".join(row.pieces)
    lines = whole.splitlines(keepends=True)
    ways = [list(row.pieces)]
    if len(row.pieces) > 1:
        ways.append([whole])
    if row.is_cut and len(lines) <= LINES_MAX and len(whole) < 10_000:
        ways.append(lines)
    return ways


async def statuses_of(server: GatewayServer, row: Row, way: list[bytes], key: bytes) -> list[int]:
    pieces = [piece.replace(b"KEY", key) for piece in way]
    heard = await exchanged(server, *pieces, *([] if row.is_open is False else [LAST]))
    methods = ["HEAD"] if pieces[0].startswith(b"HEAD") else []
    return [answer.status for answer in answers_in(heard, methods)]


@pytest.mark.parametrize("group", list(GROUPS))
async def test_a_row_is_answered_as_it_says(hub: GatewayHub, group: str) -> None:
    key = (await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON)).encode()
    wrong: list[str] = []
    made = 0
    async with serving(hub, deadlines=Deadlines(unread_s=0.2)) as server:
        for row in GROUPS[group]:
            expected = [*row.statuses, *([] if row.is_open is False else [200])]
            for number, way in enumerate(ways_to_send(row)):
                try:
                    statuses = await statuses_of(server, row, way, key)
                except TimeoutError:
                    statuses = [HANGS]
                made += statuses.count(201)
                is_right = statuses == expected if row.is_open is not None else statuses == expected[: len(statuses)]
                if not (statuses and is_right):
                    wrong.append(f"{row.name} ({row.section}), way {number}: {statuses}, not {expected}")
    assert not wrong, "\n".join(wrong)
    assert len(hub.state.tasks) == made
