"""A yard that outgrew its file, or its server: it moves by files to PostgreSQL and back while its daemons work on."""

import random
from pathlib import Path

import pytest

from tests.acceptance.moved_yard import check_a_move, spoilt
from tests.support.engines import Engine
from tests.support.live import live_yard

pytestmark = pytest.mark.takes(15)

TASKS = 300
PLACES = 10


@pytest.mark.slow
@pytest.mark.parametrize("goes_on", [Engine.SQLITE, Engine.POSTGRES])
def test_a_yard_moves_by_files_while_its_daemons_work_on(tmp_path: Path, goes_on: Engine) -> None:
    with live_yard(tmp_path) as yard:
        move = check_a_move(yard, TASKS, goes_on=goes_on)
    assert spoilt(move.first, PLACES, random.Random(16)) == 2 * PLACES
