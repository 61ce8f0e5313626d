"""The protocol's own conformance suite over `/mcp` of a hub, for all that it offers, at every revision it agrees on.

Scenarios of prompts, resources, sampling and the like are left out: a hub offers none. So are checks that call tools of
the suite's own. What the suite has found is tested in `tests/gateway/test_mcp.py` and `test_http_rules.py`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.acceptance.guests import Guest
from tests.support.key_proxy import key_proxy
from tests.support.outside_tools import outside_tools

pytestmark = [pytest.mark.soak, pytest.mark.slow]

HANDSHAKE: Final = ("2025-06-18", "2025-11-25")
MODERN: Final = "2026-07-28"
SCENARIOS: Final = {
    "server-initialize": HANDSHAKE,
    "ping": HANDSHAKE,
    "tools-list": (*HANDSHAKE, MODERN),
    "dns-rebinding-protection": ("2025-11-25", MODERN),
    "server-sse-multiple-streams": (MODERN,),
    "server-stateless": (MODERN,),
    "caching": (MODERN,),
    "http-header-validation": (MODERN,),
    "input-required-result-unsupported-methods": (MODERN,),
    "input-required-result-ignore-extra-params": (MODERN,),
}
NOT_OFFERED: Final = frozenset(
    {
        "sep-2549-prompts-list-caching-hints",
        "sep-2549-resources-list-caching-hints",
        "sep-2549-resources-templates-list-caching-hints",
    }
)


@pytest.fixture
def url(guest: Guest) -> Iterator[str]:
    with key_proxy(guest.port, guest.key) as address:
        yield f"{address}/mcp"


def checks_in(directory: Path) -> list[dict[str, Any]]:
    return [check for file in directory.rglob("checks.json") for check in json.loads(file.read_text())]


def is_offered(check: dict[str, Any]) -> bool:
    """Whether it is about something that a hub offers: not about prompts, nor by a tool of the suite's own."""
    return check["id"] not in NOT_OFFERED and not (check.get("details") or {}).get("untestable", False)


@pytest.mark.parametrize(
    ("scenario", "revision"), [(scenario, one) for scenario, revisions in SCENARIOS.items() for one in revisions]
)
def test_a_hub_conforms_in_what_it_offers(url: str, tmp_path: Path, scenario: str, revision: str) -> None:
    options = ("--scenario", scenario, "--spec-version", revision, "--output-dir", str(tmp_path))
    done = outside_tools().run("conformance", "server", "--url", url, *options, cwd=tmp_path)
    checks = checks_in(tmp_path)
    assert any(check["status"] == "SUCCESS" for check in checks), done.stdout
    assert [check for check in checks if check["status"] == "FAILURE" and is_offered(check)] == []
