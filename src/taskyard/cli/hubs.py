"""`taskyard hubs`: which hub leads, and which would take over."""

from typing import TYPE_CHECKING, Final

from taskyard.cli import output
from taskyard.cli.options import Yard, expanded
from taskyard.cli.times import relative, span

if TYPE_CHECKING:
    from datetime import datetime

    from taskyard.sdk.records import HubRecord

SILENT_S: Final = 5.0
# A hub says once a second that it is there; after this long it is not expected to take over.


@expanded
def hubs(yard: Yard) -> None:
    """List the hubs of this yard, the one that leads first (admin)."""
    from taskyard.sdk.clock import now

    found = sorted(yard.client.hubs(), key=lambda hub: (not hub.leader, hub.lag_s > SILENT_S))
    if yard.json:
        output.say_json(found)
    elif [hub.leader for hub in found] == [True]:
        output.say(_alone(found[0], now()))
    else:
        at = now()
        output.table(
            ("HUB", "ROLE", "SINCE", "HEARD", "ID"),
            [(hub.address or "-", _role(hub), relative(hub.since, at), _heard(hub), hub.id) for hub in found],
        )


def _alone(hub: "HubRecord", now: "datetime") -> str:
    standing = f"epoch {hub.epoch}, since {relative(hub.since, now)}"
    return f"{hub.address} is the only hub of this yard and leads it ({standing})."


def _role(hub: "HubRecord") -> str:
    if hub.leader:
        return f"leads (epoch {hub.epoch})"
    return "silent" if hub.lag_s > SILENT_S else "stands by"


def _heard(hub: "HubRecord") -> str:
    return "now" if hub.lag_s < 1 else f"{span(hub.lag_s)} ago"


def summary_of(found: "list[HubRecord]") -> str:
    """On one line: who leads, and how many others there are."""
    leader = next((f"{hub.address} leads" for hub in found if hub.leader), "nobody leads")
    others = [_role(hub) for hub in found if not hub.leader]
    standing = [f"{others.count('stands by')} standing by", f"{others.count('silent')} silent"]
    return ", ".join([leader, *(words for words in standing if not words.startswith("0 "))])
