"""Promises 1, 2, 3 and 10 with three hubs on one database, of which one leads and all have clocks of their own.

Whoever leads is killed, stopped for longer than its lease, cut off from the database, asked to go; the server dies and
comes back; answers to commits are lost. The rules are in `history.py` and `hubs.py`; `make soak` does much
more of it, and judges how long each takeover took.
"""

from pathlib import Path

import pytest

from tests.acceptance.faults import table
from tests.acceptance.history import Kind
from tests.acceptance.three_hubs import run_three_hubs

pytestmark = pytest.mark.takes(60)

SEED = 20_261
LEAD_S = 5.0
"""A leader's lease, with room for a busy machine."""
PLANNED = {
    Kind.LEADER_KILL: 1,
    Kind.LEADER_STOP: 1,
    Kind.LEADER_CUT: 1,
    Kind.SESSIONS_END: 1,
    Kind.HAND_OVER: 1,
    Kind.SERVER_KILL: 1,
    Kind.ANSWER_LOST: 3,
}


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_runs_twice_whichever_hub_leads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run_three_hubs(tmp_path, PLANNED, seed=SEED, name="three hubs", lead_s=LEAD_S, is_timed=False)
    with capsys.disabled():
        print(f"\n{table([report])}\naccepted a new task after: {report.note}")
    assert len(report.history.faults) == sum(PLANNED.values())
    assert report.broken == {}
