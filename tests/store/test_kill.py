"""A hub's process may be killed at any instant; the next one goes on from its last commit."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from taskyard.store.sqlite import SqliteStore
from tests.support.store_script import expected_states, state_of

KILLS = int(os.environ.get("STORE_KILLS", "8"))
BATCHES = 60

# Writes the script and says each commit's number when it is acknowledged.
PROGRAM = """
import sys
from taskyard.store.sqlite import SqliteStore
from tests.support.store_script import script

store = SqliteStore(sys.argv[1], new_cluster_id="c_test", log_pages=40)
for batch in script(store.open(), batches=int(sys.argv[2])):
    store.write(batch)
    print(batch.seq, flush=True)
    store.tend()
"""


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    states = expected_states(batches=BATCHES)
    for kill in range(KILLS):
        # Given a process that writes one commit after another
        place = tmp_path / str(kill)
        place.mkdir()
        arguments = [sys.executable, "-c", PROGRAM, str(place / "hub.db"), str(BATCHES)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            last = Random(kill).randrange(1, BATCHES - 5)
            for line in process.stdout:
                if int(line) == last:
                    break
            # When it is killed while it goes on
            os.kill(process.pid, signal.SIGKILL)
            told = [int(line) for line in process.stdout]

        # Then all it told is there, and all of at most one commit more
        acknowledged = told[-1] if told else last
        with SqliteStore(place / "hub.db", new_cluster_id="c_test") as store:
            state = state_of(store)
        seq = state.image.identity.seq
        assert acknowledged <= seq <= acknowledged + 1
        assert state == states[seq]
