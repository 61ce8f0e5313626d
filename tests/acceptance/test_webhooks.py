"""Webhooks against real hubs: however often, however many at once and whatever dies meanwhile, each is one task."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import urllib3

from taskyard.sdk.hooks import HookRecord
from tests.support.hook_sender import signed
from tests.support.live import LiveHub, LiveYard, wait_until

AT_ONCE, SENDERS = 200, 50
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


def made_by(hub: LiveHub) -> list[str]:
    return [task.input for task in hub.client().tasks(type="noop")]


@pytest.mark.slow
def test_two_hundred_deliveries_of_one_at_once_are_one_task_also_if_the_hub_is_killed(yard: LiveYard) -> None:
    # Given a hook that believes nobody who does not know its secret
    hub = yard.hub()
    hook = hub.client().add_hook("prs", provider="github", template=TEMPLATE)
    sender, gate = Sender(hub, hook), threading.Barrier(SENDERS)
    assert [sender.send("one", secret="wrong")[1]["code"], made_by(hub)] == ["BAD_SIGNATURE", []]
    answers: list[dict[str, Any]] = []

    def hammer(delivery: str) -> None:
        gate.wait()
        answers.extend(sender.send_until_taken(delivery) for _ in range(AT_ONCE // SENDERS))

    # When two hundred of one delivery begin together, and then two hundred of another while the hub dies and comes back
    with ThreadPoolExecutor(SENDERS) as pool:
        first = [pool.submit(hammer, "one") for _ in range(SENDERS)]
        for each in first:
            each.result(120)
        second = [pool.submit(hammer, "two") for _ in range(SENDERS)]
        wait_until(lambda: len(answers) > AT_ONCE, within_s=60, what="answers", every_s=0.001)
        hub.restart()
        for each in second:
            each.result(120)

    # Then each was answered with one task, and there are two of them
    counted = Counter(answer["task_id"] for answer in answers)
    assert sorted(counted.values()) == [AT_ONCE, AT_ONCE]
    assert made_by(hub) == ["Review Fix the login"] * 2
    assert sender.send("one")[1]["deduplicated"] is True

    # And the log has one line, about what was not believed, and no secret
    log = (hub.data / "hub.log").read_text()
    (line,) = [json.loads(each) for each in log.splitlines() if "a delivery was refused" in each]
    assert (line["level"], line["data"]["hook_id"]) == ("warning", hook.id)
    assert hook.secret is not None
    assert hook.secret not in log + hub.process.said
