"""A yard that outgrew its file: it moves to PostgreSQL while its daemons work on, and back."""

import re
import urllib.request
from email.message import Message
from typing import Any

import pytest

from tests.support.engines import Engine
from tests.support.live import STUBBORN, LiveHub, LiveYard, taskyard, wait_online, wait_until
from tests.support.postgres import new_yard

pytestmark = pytest.mark.takes(15)

WORK_MS = 6_000


class Unmoved(urllib.request.HTTPRedirectHandler):
    """The cookie is in the answer that leads on."""

    def redirect_request(self, *_: Any) -> None:
        return None


def signed_in(hub: LiveHub) -> str:
    """A browser's cookie, by the link that the hub printed."""
    link = re.findall(r"sign in +(\S+)", hub.process.said)[-1]
    opener = urllib.request.build_opener(Unmoved)
    try:
        headers: Message = opener.open(link).headers
    except urllib.error.HTTPError as answer:
        headers = answer.headers
    return str(headers["set-cookie"]).partition(";")[0]


def who_is(hub: LiveHub, cookie: str) -> int:
    request = urllib.request.Request(f"{hub.url}/api/v1/users/me", headers={"cookie": cookie})
    with urllib.request.urlopen(request) as answer:
        return int(answer.status)


@pytest.mark.slow
def test_a_yard_moves_while_its_daemons_work_on(yard: LiveYard, engine: Engine) -> None:
    # Given a yard with a past, a browser that is signed in, and work under way
    hub = yard.hub()
    daemon = yard.daemon(hub)
    with hub.client(retry=STUBBORN) as client:
        wait_online(client, 1)
        first = client.submit("first", type="noop").wait(timeout=20)
        task = client.submit("work", type="record", payload={"ms": WORK_MS})
        wait_until(lambda: client.task(task.id).status == "running", within_s=30, what="a running task")
        cookie = signed_in(hub)

        # When it is stopped, copied to the other engine, and started there
        assert hub.process.terminate() == 0
        old = hub.database or f"sqlite:{hub.data}"
        new = f"sqlite:{yard.directory / 'moved'}" if hub.database else new_yard()
        said = taskyard("copy", "--from", old, "--to", new)
        assert said.code == 0, said.err
        yard.engine = Engine.SQLITE if engine is Engine.POSTGRES else Engine.POSTGRES
        moved = yard.hub("moved", database=None if hub.database else new, port=hub.port)

        # Then the work that ran goes on and is done once, and everybody finds what they know
        task.wait(timeout=60)
        assert (task.status, len(task.attempts)) == ("completed", 1)
        assert task.result == f"{task.id}/1/{daemon.process.pid}"
        assert {one.ref for one in client.tasks()} == {first.ref, task.ref}
        assert client.submit("next").ref == "T-003"
        assert who_is(moved, cookie) == 200
