"""Promise 9 by machine: requests made from the hub's own OpenAPI document find no 5xx and no break of it.

`make test` makes a few for each operation, the same every time; `make soak` makes many, on both engines.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from tests.support.live import LiveHub, LiveYard, environment, get_status, wait_online

pytestmark = pytest.mark.takes(15)

WITHIN_S = 900
# Refusals by rule (a cursor of another list, `until` without a verdict that waits) are no part of a schema.
LEFT_OUT = ("--exclude-checks", "positive_data_acceptance")
# A stream without an end; and waiting for work, which nobody gives.
ENDLESS = ("--exclude-path", "/api/v1/events", "--exclude-path", "/api/v1/claim")


def real_ids(client: Client) -> dict[str, str]:
    """Something to be found by each route, so that more than 404 is tried."""
    user = client.add_user("fuzzed")
    return {
        "tasks": client.submit("waits", scheduled_for="2099-01-01T00:00:00Z").id,
        "dead-letters": client.submit("for nobody", target_daemon="nowhere").wait(20).ref,
        "daemons": client.daemons()[0].id,
        "users": user.id,
        "keys": client.add_key(user.id, name="fuzzed", scopes=["tasks"]).id,
        "hooks": client.add_hook("fuzzed", provider="github", template={"input": "a"}).id,
        "templates": client.add_template("fuzzed", {"input": "a"}).name,
        "schedules": client.add_schedule("fuzzed", {"input": "a"}, every="1w").id,
        # A name that stands for nothing: what is told there reaches nobody.
        "notifications": client.add_notification("https://hooks.invalid/", ["task_created"]).id,
    }


def configure(path: Path, ids: dict[str, str]) -> None:
    path.write_text(
        "\n".join(
            f'[[operations]]\ninclude-path-regex = "^/api/v1/{name}/[{{]id[}}]"\nparameters = {{ id = "{found}" }}'
            for name, found in ids.items()
        )
    )


def fuzz(hub: LiveHub, config: Path, phases: str, examples: int) -> subprocess.CompletedProcess[str]:
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
        *("run", f"{hub.url}/api/openapi.json", "--header", f"Authorization: Bearer {hub.key}"),
        *("--phases", phases, "--max-examples", str(examples), "--generation-deterministic"),
        *("--checks", "all", *LEFT_OUT, *ENDLESS, "--suppress-health-check", "all", "--request-timeout", "20"),
        *("--continue-on-failure", "--no-shrink", "--no-color"),
    ]
    return subprocess.run(
        command, cwd=config.parent, env=environment(), capture_output=True, text=True, timeout=WITHIN_S, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("phases", "examples"), [("fuzzing", 3), pytest.param("examples,coverage,fuzzing", 15, marks=pytest.mark.soak)]
)
def test_requests_made_from_the_document_find_nothing(yard: LiveYard, phases: str, examples: int) -> None:
    # It asks without a key more often in a minute than anybody honest.
    hub = yard.hub(settings="[auth]\nfailures_per_minute = 1000000\n")
    yard.daemon(hub)
    client = hub.client()
    wait_online(client, 1)
    config = yard.directory / "schemathesis.toml"
    configure(config, real_ids(client))
    run = fuzz(hub, config, phases, examples)
    assert run.returncode == 0, run.stdout[-8000:] + run.stderr[-2000:]
    assert get_status(f"{hub.url}/readyz") == 200
    assert hub.process.exit_code is None
