"""Deliveries by the hundred, each several times and many at once, while the hub is killed.

`python -m tests.acceptance.hook_flood --deliveries 5000` is the soak of it, on each engine.
"""

import argparse
import json
import random
import sys
import tempfile
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import urllib3

from taskyard.sdk.hooks import HookRecord
from tests.support.engines import Engine
from tests.support.hook_sender import signed
from tests.support.live import LiveHub, live_yard, wait_until

SENDERS = 50
BODY = json.dumps({"action": "opened", "pull_request": {"title": "Fix the login"}}).encode()
TEMPLATE = {"input": "Review {{payload.pull_request.title}}", "type": "noop"}


class Sender:
    """GitHub, as far as a hook sees it: it sends again what was not taken."""

    def __init__(self, hub: LiveHub, hook: HookRecord) -> None:
        self._pool = urllib3.connection_from_url(hub.url, maxsize=SENDERS, retries=False)
        self._hook = hook

    def send(self, delivery: str, *, secret: str | None = None) -> tuple[int, dict[str, Any]]:
        headers = signed("github", secret or self._hook.secret or "", BODY, delivery=delivery, event="pull_request")
        answer = self._pool.request("POST", f"/api/v1/hooks/{self._hook.id}", body=BODY, headers=headers, timeout=15)
        return answer.status, json.loads(answer.data)

    def send_until_taken(self, delivery: str) -> dict[str, Any]:
        def taken() -> dict[str, Any] | None:
            try:
                status, answer = self.send(delivery)
            except urllib3.exceptions.HTTPError:
                return None
            assert status in (202, 503), answer
            return answer if status == 202 else None

        return wait_until(taken, within_s=60, what="an answer")


def flood(hub: LiveHub, sender: Sender, deliveries: list[str], *, kills: int = 0) -> dict[str, list[str]]:
    """Send all of these, some at a time; which tasks each was answered with, once for each time it was sent."""
    answers: dict[str, list[str]] = defaultdict(list)
    lock, gate = threading.Lock(), threading.Barrier(min(SENDERS, len(deliveries)))

    def send(number: int, delivery: str) -> None:
        if number < gate.parties:
            gate.wait()
        answer = sender.send_until_taken(delivery)
        with lock:
            answers[delivery].append(answer["task_id"])

    def answered(enough: int) -> None:
        wait_until(lambda: sum(one.done() for one in sent) >= enough, within_s=300, what="answers", every_s=0.001)

    with ThreadPoolExecutor(SENDERS) as pool:
        sent = [pool.submit(send, number, delivery) for number, delivery in enumerate(deliveries)]
        for kill in range(1, kills + 1):
            answered(max(1, kill * len(sent) // (kills + 2)))
            hub.restart()
        for one in sent:
            one.result(300)
    return answers


def soak(engine: Engine, *, deliveries: int, kills: int) -> list[str]:
    """What was wrong."""
    with tempfile.TemporaryDirectory() as directory, live_yard(Path(directory), engine) as yard:
        hub = yard.hub()
        hook = hub.client().add_hook("flood", provider="github", template=TEMPLATE)
        names = [f"d-{number}" for number in range(deliveries)] * 3
        random.Random(deliveries).shuffle(names)
        answers = flood(hub, Sender(hub, hook), names, kills=kills)
        made = {task.id for task in hub.client(timeout_s=60).tasks(type="noop", limit=500)}
    several = [name for name, tasks in answers.items() if len(set(tasks)) != 1]
    told = {task for tasks in answers.values() for task in tasks}
    print(f"{engine}: {len(names)} sent, {len(answers)} deliveries, {len(made)} tasks")
    return [*several, *(made ^ told)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=10)
    said = parser.parse_args()
    engines = (Engine.SQLITE, Engine.POSTGRES)
    wrong = [fault for engine in engines for fault in soak(engine, deliveries=said.deliveries, kills=said.kills)]
    print(f"{len(wrong)} wrong{': ' + ', '.join(wrong[:10]) if wrong else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
