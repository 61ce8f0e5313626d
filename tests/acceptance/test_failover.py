"""PostgreSQL fails over under load, with plain streaming replication.

Commits are synchronous. Once the primary is killed; once waits for the standby are cancelled before, and two of the
three hubs come back with empty directories. The rules are in `history.py` and `failovers.py`; `make soak` does it forty
times, in more ways.
"""

from pathlib import Path

import pytest

from tests.acceptance.failovers import Failover, Mode, run_failovers
from tests.acceptance.faults import table
from tests.acceptance.history import Kind

pytestmark = pytest.mark.takes(60)

SEED = 20_262
PLANNED = [Failover(Kind.PRIMARY_KILL), Failover(Kind.WAIT_CANCEL, replaces=True)]


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_and_no_ref_is_given_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_failovers(tmp_path, PLANNED, mode=Mode.SYNCHRONOUS, seed=SEED)
    with capsys.disabled():
        print(f"\n{table([report])}\naccepted a new task after: {report.note}")
    assert report.broken == {}
    assert [fault.kind for fault in report.history.faults] == [failover.kind for failover in PLANNED]
