"""Promises 1, 2, 3 and 10 with real processes on SQLite: a few faults of each kind, on a yard with work in flight.

The rules are in `history.py`; `make soak` does the same a hundred times, with leases of two seconds. On PostgreSQL,
which is hurt too, it is `test_ledger.py`.
"""

from pathlib import Path

import pytest

from tests.acceptance.faults import run, table
from tests.acceptance.history import Kind

pytestmark = pytest.mark.takes(60)

SEED = 20_260
LEASE_S = 8.0
"""With room for a busy machine."""
PLANNED = {
    Kind.HUB_KILL: 2,
    Kind.HUB_STOP: 1,
    Kind.HUB_RESTART: 1,
    Kind.DAEMON_KILL: 2,
    Kind.DAEMON_STOP: 2,
    Kind.DAEMON_RESTART: 1,
}


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_runs_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run(tmp_path, PLANNED, seed=SEED, lease_s=LEASE_S)
    with capsys.disabled():
        print(f"\n{table([report])}")
    assert len(report.history.faults) >= sum(PLANNED.values())
    assert report.broken == {}
