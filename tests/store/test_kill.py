"""A hub's process may be killed at any instant; the next one goes on from its last commit."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import msgspec
import pytest

from taskyard.store.port import Identity, Store
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.sqlite import SqliteStore
from tests.support.postgres import new_yard
from tests.support.store_script import State, expected_states, state_of

KILLS = int(os.environ.get("STORE_KILLS", "3"))
BATCHES = 60
ROOT = Path(__file__).resolve().parents[2]

# Writes the script and says how many commits were acknowledged.
PROGRAM = """
import sys
from tests.store.test_kill import a_store
from tests.support.store_script import script

store = a_store(sys.argv[1])
for written, batch in enumerate(script(store.open(), batches=int(sys.argv[2])), 1):
    store.write(batch)
    print(written, flush=True)
    store.tend()
"""


def a_store(place: str) -> Store:
    """By a URL, or in a file. A hub that died leads no longer than a moment."""
    if place.startswith("postgresql:"):
        return PostgresStore(place, new_cluster_id="c_test", candidate=Candidate("h_test", lease_ms=1))
    return SqliteStore(place, new_cluster_id="c_test", log_pages=40)


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "noted"), [("sqlite", 0), ("postgres", 1)])
def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path, engine: str, noted: int) -> None:
    """`noted` is how many records of its own the engine leaves in the log when it is opened."""
    states = expected_states(batches=BATCHES)
    for kill in range(KILLS):
        # Given a process that writes one commit after another
        place = new_yard() if engine == "postgres" else str(tmp_path / f"{kill}" / "hub.db")
        (tmp_path / str(kill)).mkdir()
        arguments = [sys.executable, "-c", PROGRAM, place, str(BATCHES)]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
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
        store = a_store(place)
        written = store.open().seq - 2 * noted
        state = state_of(store, began=noted)
        store.close()
        assert acknowledged <= written <= acknowledged + 1
        assert without_position(state) == without_position(states[written])


def without_position(state: State) -> State:
    """The log's end was compared already."""
    image = msgspec.structs.replace(state.image, identity=Identity(cluster_id="c_test", epoch=0, seq=0))
    return msgspec.structs.replace(state, image=image)
