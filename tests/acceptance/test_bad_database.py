"""A database that a hub cannot use: a sentence that says what to do, no password in it, and nothing changed."""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from taskyard.store.postgres.migrate import SCHEMA_VERSION
from taskyard.store.sqlite import SqliteStore
from tests.support.live import Said, free_port, mounted, taskyard, wait_until
from tests.support.postgres import TEMPLATE, Cluster, a_cluster, binary, cluster
from tests.support.records import Yard, a_body, a_task

pytestmark = pytest.mark.takes(5)

PASSWORD = "s3cret-word"
HERE = "127.0.0.1"


@pytest.fixture
def server() -> Cluster:
    return cluster()


def up(data: Path, url: str) -> Said:
    """Try to start a hub; the password must not be told."""
    said = taskyard("up", "--data", str(data), "--port", str(free_port()), "--no-daemon", TASKYARD_DATABASE=url)
    assert PASSWORD not in said.out + said.err
    assert "Traceback" not in said.err
    assert not (data / "credentials.json").exists()
    return said


def test_a_database_that_was_not_migrated_names_the_command_that_helps(server: Cluster, tmp_path: Path) -> None:
    # Given an empty database
    name = server.new_database(template="template1")
    url = server.url(name)

    # When a hub is started on it, it says what to type, and makes nothing by itself
    answer = up(tmp_path / "yard", url.replace("yard@", f"yard:{PASSWORD}@"))
    assert answer.code == 1
    command = f"taskyard migrate --database {url}"
    assert f"Run `{command}` once, then start again." in answer.err
    assert server.administer("SELECT 1 FROM pg_namespace WHERE nspname = 'taskyard'", database=name) == []

    # Then what it says to type is what helps
    assert taskyard(*command.split()[1:]).code == 0
    assert server.administer("SELECT max(version) FROM taskyard.migration", database=name) == [(SCHEMA_VERSION,)]


@contextmanager
def a_replica(primary: Cluster) -> Iterator[int]:
    """The port of a server that follows this one."""
    directory = Path(tempfile.mkdtemp(prefix="yard-pg-"))
    shutil.chown(directory, primary.directory.owner())
    port, data = free_port(), str(directory / "data")
    copy = (
        *(binary("pg_basebackup"), "-D", data, "-R", "-c", "fast", "--no-sync"),
        *("-h", HERE, "-p", str(primary.port), "-U", "yard"),
    )
    subprocess.run(primary._command(*copy), check=True, capture_output=True, cwd=directory)
    settings = ("-c", f"port={port}", "-c", f"unix_socket_directories={directory}")
    server = subprocess.Popen(
        primary._command(binary("postgres"), "-D", data, *settings),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=directory,
    )
    try:
        ready = (binary("pg_isready"), "-h", HERE, "-p", str(port))
        wait_until(
            lambda: subprocess.run(ready, capture_output=True, check=False).returncode == 0,
            within_s=30,
            what="a replica that answers",
        )
        yield port
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.soak
def test_a_replica(tmp_path: Path) -> None:
    with a_cluster() as server, a_replica(server) as port:
        name = TEMPLATE
        answer = up(tmp_path / "yard", server.url(name, port=port))
        assert answer.code == 1
        assert "Name the primary in the URL, or all of them with target_session_attrs=primary." in answer.err

        # And of several, the one that can be written is found
        both = f"postgresql://yard@{HERE}:{port},{HERE}:{server.port}/{name}?target_session_attrs=primary"
        assert taskyard("doctor", "--data", str(tmp_path / "yard"), "--database", both).code == 0


def test_a_disk_that_is_too_small_for_a_copy(tmp_path: Path) -> None:
    # Given a yard of a few MiB, and a directory with room for less
    source, target = tmp_path / "yard", tmp_path / "small"
    source.mkdir()
    target.mkdir()
    with SqliteStore(source / "taskyard.db", new_cluster_id="c_test") as store:
        yard = Yard.of(store)
        tasks = [a_task() for _ in range(10)]
        yard.write(created=tasks, bodies=[a_body(task, text="x" * 400_000) for task in tasks])
        yard.reader.close()

    # Then it says so, and the yard is where it was
    prefix = mounted(target, options="-t tmpfs -o size=1m none")
    answer = taskyard("copy", "--from", f"sqlite:{source}", "--to", f"sqlite:{target}", prefix=prefix)
    assert answer.code == 1
    assert "The copy could not be made: database or disk is full. Nothing was changed." in answer.err
    assert taskyard("doctor", "--data", str(source)).code == 0
