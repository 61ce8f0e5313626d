"""Webhooks against real hubs: however often, however many at once and whatever dies meanwhile, each is one task."""

import json

import pytest

from tests.acceptance.hook_flood import TEMPLATE, Sender, flood
from tests.support.live import LiveHub, LiveYard

pytestmark = pytest.mark.takes(10)

AT_ONCE = 60


def made_by(hub: LiveHub) -> list[str]:
    return [task.input for task in hub.client().tasks(type="noop")]


@pytest.mark.slow
@pytest.mark.both_engines
def test_sixty_deliveries_of_one_at_once_are_one_task_also_if_the_hub_is_killed(yard: LiveYard) -> None:
    # Given a hook that believes nobody who does not know its secret
    hub = yard.hub()
    hook = hub.client().add_hook("prs", provider="github", template=TEMPLATE)
    sender = Sender(hub, hook)
    assert [sender.send("one", secret="wrong")[1]["code"], made_by(hub)] == ["BAD_SIGNATURE", []]

    # When sixty of one delivery come together, and then sixty of another while the hub dies and comes back
    answers = flood(hub, sender, ["one"] * AT_ONCE) | flood(hub, sender, ["two"] * AT_ONCE, kills=1)

    # Then each was answered with one task, and there are two of them
    assert {name: (len(tasks), len(set(tasks))) for name, tasks in answers.items()} == {
        "one": (AT_ONCE, 1),
        "two": (AT_ONCE, 1),
    }
    assert made_by(hub) == ["Review Fix the login"] * 2
    assert hub.client().hook(hook.id).deliveries == 2
    assert sender.send("one")[1] == {"task_id": answers["one"][0], "deduplicated": True}

    # And the log has one line, about what was not believed, and no secret
    log = (hub.data / "hub.log").read_text()
    (line,) = [json.loads(each) for each in log.splitlines() if "a delivery was refused" in each]
    assert (line["level"], line["data"]["hook_id"]) == ("warning", hook.id)
    assert hook.secret is not None
    assert hook.secret not in log + hub.process.said
