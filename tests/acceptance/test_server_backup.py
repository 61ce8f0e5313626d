"""A yard on PostgreSQL that is backed up and restored as `taskyard backup` says."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.live import LiveYard, live_yard, taskyard
from tests.support.postgres import binary, cluster, new_yard


@pytest.fixture
def hubs(tmp_path: Path) -> Iterator[LiveYard]:
    """Not of either engine, as elsewhere: this is about one."""
    with live_yard(tmp_path) as made:
        yield made


def run(command: str) -> None:
    program, *arguments = shlex.split(command)
    done = subprocess.run([binary(program), *arguments], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.slow
def test_what_is_said_about_backups_makes_one_and_a_hub_notices_that_it_is_older(hubs: LiveYard) -> None:
    # Given a yard that works, and the command that it names for its backup
    url = new_yard()
    hub = hubs.hub(database=url)
    with hub.client() as client:
        first = client.submit("first")
        said = taskyard("backup", str(hubs.directory / "copy.dump"), "--database", url)
        make, restore = re.findall(r"`(pg_[^`]+)`", said.err)
        run(make)

        # When it goes on, is lost, and the backup is restored
        client.submit("second")
    assert hub.process.terminate() == 0
    restored = cluster().url(cluster().new_database(template="template1"))
    run(restore.replace("URL", restored))

    # Then a hub that has seen more says so, and goes on when that is meant
    options = ("--data", str(hub.data), "--database", restored, "--port", str(hub.port), "--no-daemon")
    refused = taskyard("up", *options)
    assert refused.code == 1
    assert "start one hub with `taskyard up --accept-rewind`" in refused.err
    again = hubs.hub(database=restored, port=hub.port, options=("--no-daemon", "--accept-rewind"))
    with again.client() as client:
        assert [task.id for task in client.tasks()] == [first.id]
