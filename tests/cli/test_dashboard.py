"""`taskyard dashboard`: a link for a browser, and not for whoever reads over a shoulder later."""

import json
from datetime import timedelta

from taskyard.sdk.clock import now
from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub, problem


def test_a_link_is_printed_alone_and_what_it_is_worth_beside_it(hub: StubHub, cli: Cli) -> None:
    made = {"path": "/?ticket=abc.def", "expires_at": (now() + timedelta(minutes=9.5)).isoformat()}
    hub.on("POST", "session/link", Reply(status=201, body=made))
    assert cli("dashboard") == (
        0,
        f"{hub.url}/?ticket=abc.def\n",
        "It works once, and ends in 9 min. Whoever opens it is signed in as you.\n",
    )
    # And of several hubs it leads to the one that answered
    assert cli("dashboard", "--hub", f"http://127.0.0.1:1,{hub.url}").out == f"{hub.url}/?ticket=abc.def\n"
    assert json.loads(cli("dashboard", "--json").out)["link"] == f"{hub.url}/?ticket=abc.def"


def test_a_key_that_may_not_is_told_so(hub: StubHub, cli: Cli) -> None:
    hub.on("POST", "session/link", problem(403, "FORBIDDEN", "This needs a key with the scope tasks or admin."))
    assert cli("dashboard") == (4, "", "taskyard: This needs a key with the scope tasks or admin.\n")
