"""Promises 1, 2, 3 and 10 with real processes: ten faults of each kind, on a yard with work in flight.

On PostgreSQL it is a few of each and all on one yard: what they hit is the same, but for the commit under way. The
rules are in `history.py`; `make soak` does the same a hundred times, and all kinds together, on both engines.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.acceptance.faults import KINDS, run, table
from tests.acceptance.history import Kind
from tests.support.engines import Engine

pytestmark = [pytest.mark.takes(120), pytest.mark.together("hasty")]

SEED = 20_260


@pytest.mark.slow
@pytest.mark.parametrize(
    ("on", "kinds", "faults"),
    [*((Engine.SQLITE, [kind], 10) for kind in KINDS), (Engine.POSTGRES, list(KINDS), 2)],
    ids=[*(kind.name.lower() for kind in KINDS), "all on postgres"],
)
def test_nothing_is_lost_and_nothing_runs_twice(
    on: Engine, kinds: Sequence[Kind], faults: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = run(tmp_path, kinds, faults=faults, seed=SEED, engine=on)
    with capsys.disabled():
        print(f"\n{table([report])}")
    assert len(report.history.faults) >= faults * len(kinds)
    assert report.broken == {}
