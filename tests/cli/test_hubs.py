import json
import re

from tests.cli.conftest import Cli
from tests.support.http_stub import Reply, StubHub

LEADER = {
    "id": "h_2",
    "address": "http://10.0.0.2:8420",
    "leader": True,
    "epoch": 7,
    "since": "2026-01-01T00:00:00Z",
    "lag_s": 0.4,
}
STANDBY = LEADER | {"id": "h_1", "address": "http://10.0.0.1:8420", "leader": False, "lag_s": 1.2}
SILENT = STANDBY | {"id": "h_3", "address": "", "lag_s": 7300.0}


def test_of_several_hubs_the_one_that_leads_comes_first_and_a_silent_one_last(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "hubs", Reply(body=[SILENT, STANDBY, LEADER]))
    said = cli("hubs")
    header, *rows = [re.split(r"\s{2,}", line) for line in said.out.splitlines()]
    assert header == ["HUB", "ROLE", "SINCE", "HEARD", "ID"]
    assert [(row[0], row[1], row[3], row[4]) for row in rows] == [
        ("http://10.0.0.2:8420", "leads (epoch 7)", "now", "h_2"),
        ("http://10.0.0.1:8420", "stands by", "1 s ago", "h_1"),
        ("-", "silent", "2 h ago", "h_3"),
    ]


def test_of_a_hub_on_a_file_a_sentence_is_enough(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "hubs", Reply(body=[LEADER]))
    said = re.sub(r"\d+ d ago", "9 d ago", cli("hubs").out)
    assert said == "http://10.0.0.2:8420 is the only hub of this yard and leads it (epoch 7, since 9 d ago).\n"


def test_while_nobody_leads_that_is_seen(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "hubs", Reply(body=[STANDBY | {"epoch": None}]))
    assert "stands by" in cli("hubs").out


def test_programs_get_them_as_they_are(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "hubs", Reply(body=[STANDBY, LEADER]))
    assert json.loads(cli("hubs", "--json").out) == [LEADER, STANDBY]
