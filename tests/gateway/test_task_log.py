"""What a task wrote: whole, on from any piece of it, and a page at a time."""

from typing import Any

import pytest

from taskyard.gateway.pages import cursor_at
from taskyard.gateway.rest.task_log import PAGE_BYTES
from tests.support.gateway_client import Client, Connection, Response

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
LOG = f"{TASKS}/T-001/log"
PIECE_CHARS = 64 * 1024


@pytest.fixture
async def agent(owner: Client, daemon: Connection) -> Client:
    """Whoever runs T-001, and writes."""
    await owner.post(TASKS, {"input": "a"})
    (message,) = await daemon.hear()
    return Client(owner.app, message["token"])


async def write(agent: Client, *texts: str) -> None:
    for text in texts:
        assert (await agent.post(f"{TASKS}/T-001/progress", {"log": text})).status == 200


async def read(client: Client, **query: Any) -> Response:
    asked = "&".join(f"{name}={value}" for name, value in query.items())
    return await client.get(f"{LOG}?{asked}")


def texts(response: Response) -> list[str]:
    return [piece["text"] for piece in response.json]


async def test_a_log_is_read_on_from_where_one_stopped(owner: Client, agent: Client) -> None:
    await write(agent, "one", "two")
    seen = (await read(owner)).json
    assert [(piece["attempt"], piece["text"]) for piece in seen] == [(1, "one"), (1, "two")]

    # When more was written, then that alone is answered
    await write(agent, "three")
    later = await read(owner, cursor=seen[-1]["cursor"])
    assert (texts(later), "link" in later.headers) == (["three"], False)
    assert texts(await read(owner, attempt=1, cursor=seen[0]["cursor"])) == ["two", "three"]
    assert texts(await read(owner, attempt=2, cursor=seen[0]["cursor"])) == []
    assert texts(await read(owner, cursor=later.json[-1]["cursor"])) == []


async def test_a_long_log_comes_in_pages_that_leave_nothing_out(owner: Client, agent: Client) -> None:
    pieces = [str(number).zfill(PIECE_CHARS) for number in range(PAGE_BYTES // PIECE_CHARS + 1)]
    await write(agent, *pieces)
    first = await read(owner)
    assert texts(first) == pieces[:-1]
    link = first.headers["link"].partition(">")[0].removeprefix("<")
    rest = await owner.get(link)
    assert (texts(rest), "link" in rest.headers) == (pieces[-1:], False)


@pytest.mark.parametrize("place", ["", "1", "one-two", "1-9223372036854775808", "1-2-3", "-1-1", "\u0661-\u0661"])
async def test_a_cursor_of_something_else_is_refused(owner: Client, agent: Client, place: str) -> None:
    response = await read(owner, cursor=cursor_at(place))
    assert (response.status, response.json["errors"][0]["path"]) == (422, "cursor")
