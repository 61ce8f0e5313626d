"""What tasks did is in a ledger, line by line, and what clients were told is kept: hub, daemons and PostgreSQL are
killed and stopped meanwhile.

Each run of a task appends its start and its end, with the attempt, to the ledger of its process. The rules are in
`history.py`: nothing acknowledged is lost, nothing is begun twice or after its end, nothing stays open. The soak does
the same for five minutes and asks them to go as well (`python -m tests.acceptance.soak --only ledger`).
"""

from pathlib import Path

import pytest

from tests.acceptance.faults import run, table
from tests.acceptance.history import Kind
from tests.support.engines import Engine

pytestmark = pytest.mark.takes(60)

SEED = 20_263
LEASE_S = 3.0
"""Two stopped daemons are waited for until theirs are over."""
PLANNED = {
    Kind.HUB_KILL: 1,
    Kind.HUB_STOP: 1,
    Kind.DAEMON_KILL: 1,
    Kind.DAEMON_STOP: 2,
    Kind.SERVER_KILL: 1,
    Kind.SERVER_STOP: 1,
}


@pytest.mark.slow
def test_nothing_is_lost_begun_twice_or_left_open_when_postgresql_is_hurt_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run(tmp_path, PLANNED, seed=SEED, engine=Engine.POSTGRES, lease_s=LEASE_S)
    with capsys.disabled():
        print(f"\n{table([report])}")
    assert len(report.history.faults) >= sum(PLANNED.values())
    assert report.broken == {}
