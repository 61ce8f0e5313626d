"""Promises 1, 2, 3 and 10 with real processes: a few faults of each kind, on a yard with work in flight.

The rules are in `history.py`; `make soak` does the same a hundred times, with leases of two seconds.
"""

from pathlib import Path

import pytest

from tests.acceptance.faults import run, table
from tests.acceptance.history import Kind
from tests.support.engines import Engine

pytestmark = pytest.mark.takes(60)

SEED = 20_260
LEASE_S = 8.0
"""With room for a busy machine."""
PLANNED = {Kind.HUB_KILL: 3, Kind.DAEMON_KILL: 3, Kind.DAEMON_STOP: 2, Kind.HUB_STOP: 1}


@pytest.mark.slow
@pytest.mark.parametrize("on", [Engine.SQLITE, Engine.POSTGRES])
def test_nothing_is_lost_and_nothing_runs_twice(on: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run(tmp_path, PLANNED, seed=SEED, engine=on, lease_s=LEASE_S)
    with capsys.disabled():
        print(f"\n{table([report])}")
    assert len(report.history.faults) >= sum(PLANNED.values())
    assert report.broken == {}
