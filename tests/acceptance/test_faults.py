"""Promises 1, 2, 3 and 10 with real processes: ten faults of each kind, on a yard with work in flight.

The rules are in `history.py`; `make soak` does the same a hundred times, and all kinds together.
"""

from pathlib import Path

import pytest

from tests.acceptance.faults import run, table
from tests.acceptance.history import Kind

FAULTS = 10
SEED = 20_260


@pytest.mark.slow
@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name.lower())
def test_nothing_is_lost_and_nothing_runs_twice(kind: Kind, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run(tmp_path, [kind], faults=FAULTS, seed=SEED)
    with capsys.disabled():
        print(f"\n{table([report])}")
    assert len(report.history.faults) >= FAULTS
    assert report.broken == {}
