"""Retries are safe: many clients ask for the same thing at once, while the hub is killed under them."""

import json
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.live import STUBBORN, LiveYard, wait_until
from tests.support.raw_http import Answer, connect, head, read_answer, request

pytestmark = pytest.mark.takes(15)

KEYS, CLIENTS, KILLS = 20, 12, 2
TASKS = "/api/v1/tasks"


@pytest.mark.slow
@pytest.mark.both_engines
def test_as_many_tasks_as_keys(yard: LiveYard) -> None:
    hub = yard.hub()
    answers: defaultdict[str, set[str]] = defaultdict(set)
    lock = threading.Lock()
    client = hub.client(retry=STUBBORN, timeout_s=15)

    def ask(number: int) -> None:
        """All of a key's requests start together."""
        gates[number].wait()
        task = client.submit("once", type="noop", idempotency_key=f"key-{number}", payload={"n": number})
        with lock:
            answers[f"key-{number}"].add(task.id)

    def answered(share: int) -> None:
        """So much of the whole."""
        enough = share * len(asked) // (KILLS + 2)
        wait_until(lambda: sum(one.done() for one in asked) >= enough, within_s=60, what="answers", every_s=0.001)

    gates = [threading.Barrier(CLIENTS) for _ in range(KEYS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        asked = [pool.submit(ask, number) for number in range(KEYS) for _ in range(CLIENTS)]
        for kill in range(1, KILLS + 1):
            answered(kill)
            hub.restart()
        for one in asked:
            one.result(120)

    stored = [task.id for task in client.tasks(type="noop")]
    assert {key: len(ids) for key, ids in answers.items()} == {f"key-{number}": 1 for number in range(KEYS)}
    assert sorted(stored) == sorted(task_id for ids in answers.values() for task_id in ids)


@pytest.mark.both_engines
def test_the_rest_of_a_request_that_comes_after_a_cancel_brings_nothing_to_life(yard: LiveYard) -> None:
    # Given a submission of which half has arrived, its repetition, and a cancel of the task that this made
    hub = yard.hub()
    client = hub.client(retry=STUBBORN)
    body = json.dumps({"input": "once", "type": "noop", "payload": {"n": 1}}).encode()
    named = {"Idempotency-Key": "k", "Content-Type": "application/json", "Authorization": f"Bearer {hub.key}"}
    lines = {"Host": f"127.0.0.1:{hub.port}", "Connection": "close", "Content-Length": str(len(body)), **named}
    with connect(hub.port) as opened:
        opened.sendall(head("POST", TASKS, lines.items()) + body[: len(body) // 2])
        task = client.submit("once", type="noop", payload={"n": 1}, idempotency_key="k")
        client.cancel(task.id)

        # When the rest arrives, then the answer is the cancelled task
        opened.sendall(body[len(body) // 2 :])
        late = read_answer(opened)
    assert (late.status, named_in(late)) == (200, (task.id, "cancelled", True))

    # And so it is after a restart
    hub.restart()
    later = request(hub.port, "POST", TASKS, body=body, headers=named)
    assert (later.status, named_in(later)) == (200, (task.id, "cancelled", True))
    assert [each.id for each in client.tasks(type="noop")] == [task.id]


def named_in(answer: Answer) -> tuple[str, str, bool]:
    told = json.loads(answer.body)
    return told["id"], told["status"], told["deduplicated"]
