"""The promises of `test_faults.py` for a hub with gateways: a few faults, most of them of these."""

from pathlib import Path

import pytest

from tests.acceptance.faults import table
from tests.acceptance.gateways import run_gateways
from tests.acceptance.history import Kind
from tests.support.engines import Engine

pytestmark = [pytest.mark.takes(25), pytest.mark.together("hasty")]

PLANNED = {
    Engine.SQLITE: {Kind.GATEWAY_KILL: 2, Kind.HUB_KILL: 1, Kind.DAEMON_KILL: 1},
    Engine.POSTGRES: {Kind.GATEWAY_KILL: 2, Kind.HUB_KILL: 1},
}
SEED = 20_261


@pytest.mark.slow
@pytest.mark.parametrize("on", PLANNED)
def test_nothing_is_lost_and_nothing_runs_twice_when_gateways_die(
    on: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_gateways(tmp_path, PLANNED[on], seed=SEED, engine=on)
    with capsys.disabled():
        print(f"\n{table([report])}")
    assert len(report.history.faults) >= sum(PLANNED[on].values())
    assert report.broken == {}
