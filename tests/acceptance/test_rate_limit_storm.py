"""A provider that refuses everybody for a while: nothing is burnt, nobody hammers it, and all is done afterwards.

Who was asked in time is told by the clock, so that only the soak runs it.
"""

import json
import time
from typing import Any, Final

import pytest

from tests.support.live import LONG_LEASES, LiveDaemon, LiveYard, wait_online, wait_until

pytestmark = pytest.mark.soak

TASKS: Final = 100
AT_A_TIME: Final = 4
REFUSES_S: Final = 8.0
# Long enough for a busy machine to bring the first to it in time.
WORK_MS: Final = 40
SETTINGS: Final = f"""\
{LONG_LEASES}
[queues.cloud]
models = ["glm5"]
max_concurrent = {AT_A_TIME}
"""


def lines_of(daemons: list[LiveDaemon]) -> list[dict[str, Any]]:
    """What the daemons wrote down, in the order in which it happened."""
    lines = [json.loads(line) for daemon in daemons for line in daemon.journal.read_text().splitlines()]
    return sorted((line for line in lines if line["what"] != "boot"), key=lambda line: line["at"])


def test_a_provider_that_refuses_is_left_alone_and_asked_again_by_one(yard: LiveYard) -> None:
    # Given two daemons, and a hundred tasks of one model source
    hub = yard.hub(settings=SETTINGS)
    daemons = [yard.daemon(hub, name, slots=AT_A_TIME) for name in ("d1", "d2")]
    with hub.client() as client:
        wait_online(client, 2)

        # When its provider refuses whoever comes within that time
        until = time.monotonic_ns() + round(REFUSES_S * 1e9)
        payload = {"until": until, "ms": WORK_MS}
        client.submit_batch([{"input": "ask", "type": "ask", "model": "glm5", "payload": payload}] * TASKS)
        wait_until(lambda: client.queues()[0].state == "cooling", within_s=REFUSES_S, what="a queue that cools down")
        assert client.queues()[0].waiting >= TASKS - AT_A_TIME
        wait_until(
            lambda: sum(task.status == "completed" for task in client.tasks()) == TASKS,
            within_s=90,
            what="all tasks completed",
            every_s=0.2,
        )
        tasks = [client.task(task.id) for task in client.tasks()]
        assert client.queues()[0].state == "open"

    # Then no task lost a try: each attempt was refused or succeeded, and only those at work were refused
    ends = [attempt.status for task in tasks for attempt in task.attempts]
    refused = ends.count("rate_limited")
    assert set(ends) == {"rate_limited", "success"}
    assert ends.count("success") == TASKS
    assert refused <= AT_A_TIME

    # And no daemon got anything of the queue while it cooled, but for one that went first and was through
    lines = lines_of(daemons)
    starts = [line["at"] for line in lines if line["what"] == "start"]
    first_end = next(line["at"] for line in lines if line["what"] == "end")
    early = [at for at in starts if at < until]
    probing = [at for at in starts if until <= at < first_end]
    assert (len(early), len(probing)) == (refused, 1)
