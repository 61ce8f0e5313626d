"""Retries are safe: many clients ask for the same thing at once, while the hub is killed under them."""

import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.live import STUBBORN, LiveYard, wait_until

pytestmark = pytest.mark.takes(15)

KEYS, CLIENTS, KILLS = 20, 12, 2


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
