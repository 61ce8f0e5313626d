"""`taskyard doctor` finds each planted fault, and changes nothing."""

import json
import os
import shutil
import socket
import threading
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import apsw
import pytest

from taskyard.hub import deep_doctor, doctor
from taskyard.hub.doctor import examine
from taskyard.hub.findings import Finding, Health
from taskyard.store.postgres import Candidate, Lease, PostgresStore
from taskyard.store.postgres.session import Session
from taskyard.store.sqlite.engine import SqliteStore
from tests.support.damage import KINDS, Damager
from tests.support.engines import Engine
from tests.support.ports import free_port
from tests.support.postgres import cluster, lent_yard
from tests.support.records import Yard, a_task, ended

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def _own_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs on this machine already is none of our business."""
    monkeypatch.setenv("TASKYARD_PORT", str(free_port()))
    monkeypatch.delenv("TASKYARD_HOST", raising=False)
    monkeypatch.delenv("TASKYARD_DATABASE", raising=False)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A yard as `taskyard up` leaves it."""
    directory = tmp_path / "yard"
    directory.mkdir(mode=0o700)
    with SqliteStore(directory / "taskyard.db", new_cluster_id="c_test"):
        pass
    for name in ("credentials.json", "token.secret"):
        (directory / name).touch(mode=0o600)
    (directory / "taskyard.toml").write_text("[lease]\nlease_s = 60\n")
    return directory


def found(data: Path, name: str) -> Finding:
    return next(finding for finding in examine(str(data)) if finding.name == name)


def test_a_sound_yard_has_nothing_wrong(data: Path) -> None:
    assert {finding.name: finding.state for finding in examine(str(data))} == dict.fromkeys(
        ("python", "sqlite", "clock", "data", "disk", "database", "records", "settings", "files", "port"), Health.OK
    )


def test_no_yard_is_nothing_wrong_either(tmp_path: Path) -> None:
    findings = examine(str(tmp_path / "none"))
    assert {finding.state for finding in findings} == {Health.OK}
    assert not (tmp_path / "none").exists()


def test_it_changes_nothing(data: Path) -> None:
    before = {path.name: path.read_bytes() for path in data.iterdir()}
    examine(str(data))
    assert {path.name: path.read_bytes() for path in data.iterdir() if path.name in before} == before


def test_a_data_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "yard").touch()
    assert found(tmp_path / "yard", "data").state is Health.FAILED


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_data_directory_that_cannot_be_written(data: Path) -> None:
    data.chmod(0o500)
    try:
        assert found(data, "data").state is Health.FAILED
    finally:
        data.chmod(0o700)


def test_a_data_directory_that_others_can_look_into(data: Path) -> None:
    data.chmod(0o755)
    finding = found(data, "data")
    assert finding.state is Health.WARNING
    assert finding.detail == f"every user of this machine can look into {data}: run `chmod 700 {data}`"


def test_a_database_that_is_none(data: Path) -> None:
    (data / "taskyard.db").write_bytes(b"this is no database, whatever it may be" * 100)
    finding = found(data, "database")
    assert finding.state is Health.FAILED
    assert "restore a backup" in finding.detail


def test_a_database_with_a_damaged_page(data: Path) -> None:
    path = data / "taskyard.db"
    content = bytearray(path.read_bytes())
    content[8192 * 2 : 8192 * 3] = b"\xff" * 8192
    path.write_bytes(content)
    assert found(data, "database").state is Health.FAILED


def test_a_database_that_is_not_durable(data: Path) -> None:
    path = data / "taskyard.db"
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "delete")
    connection.close()
    finding = found(data, "database")
    assert finding.state is Health.FAILED
    assert "journal_mode delete" in finding.detail


def test_bad_settings(data: Path) -> None:
    (data / "taskyard.toml").write_text("[lease]\nleese_s = 1\n")
    finding = found(data, "settings")
    assert finding.state is Health.FAILED
    assert "leese_s" in finding.detail


@pytest.mark.parametrize("name", ["credentials.json", "token.secret", "taskyard.db", "hub.lock"])
def test_files_that_others_can_read(data: Path, name: str) -> None:
    (data / name).chmod(0o640)
    finding = found(data, "files")
    assert finding.state is Health.FAILED
    assert f"chmod 600 {data / name}" in finding.detail


def test_a_port_that_is_taken(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setenv("TASKYARD_PORT", str(taken.getsockname()[1]))
        assert found(data, "port").state is Health.WARNING


def test_a_port_that_is_none(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKYARD_PORT", "eighty")
    assert found(data, "port").state is Health.FAILED


def test_an_old_sqlite(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    finding = found(data, "sqlite")
    assert finding.state is Health.FAILED
    assert "3.40.1" in finding.detail


def test_an_old_python(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PYTHON_MIN", (4, 0))
    assert found(data, "python").state is Health.FAILED


def test_a_disk_that_is_nearly_full(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10, 9, 1))
    assert found(data, "disk").state is Health.WARNING


def test_a_clock_that_was_never_set(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "YEAR_MIN", 9999)
    assert found(data, "clock").state is Health.FAILED


def test_it_reads_the_settings_that_a_hub_would_read(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(data, "settings").detail == f"{data / 'taskyard.toml'}, profile local"
    other = data / "other.toml"
    other.write_text('profile = "service"\n')
    (finding,) = (one for one in examine(str(data), str(other)) if one.name == "settings")
    assert (finding.state, finding.detail) == (Health.OK, f"{other}, profile service")
    monkeypatch.setenv("TASKYARD_CONFIG", str(data / "nowhere.toml"))
    assert found(data, "settings").state is Health.FAILED
    monkeypatch.delenv("TASKYARD_CONFIG")
    monkeypatch.setenv("TASKYARD_PROFILE", "public")
    assert found(data, "settings").state is Health.FAILED


# --- its records ---


@pytest.fixture
def hurt(data: Path) -> str:
    """The id of an ended task whose record is damaged."""
    task = ended(a_task(number=1))
    with SqliteStore(data / "taskyard.db", new_cluster_id="c_test") as store:
        yard = Yard.of(store)
        yard.has(task)
        yard.reader.close()
    Damager(Engine.SQLITE, str(data / "taskyard.db")).do(KINDS["a record with other bytes"], id=task.id)
    return task.id


def test_each_damaged_record_is_named(data: Path, hurt: str) -> None:
    finding = found(data, "records")
    assert finding.state is Health.FAILED
    assert finding.detail == (
        f"the record of task {hurt} (T-001) is not what was written: its checksum differs; restore a backup"
    )


def test_of_very_many_damaged_ones_some_are_named(data: Path, hurt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_doctor, "NAMED_MAX", 0)
    assert found(data, "records").detail == "more than 0 are damaged; the others are not named"


def test_a_page_that_cannot_be_read_is_said_of_the_records_too(data: Path) -> None:
    content = bytearray((data / "taskyard.db").read_bytes())
    content[8192 * 2 :] = b"\xff" * (len(content) - 8192 * 2)
    (data / "taskyard.db").write_bytes(content)
    assert found(data, "records").detail.startswith("they could not all be read: ")


def test_a_large_database_is_read_only_when_that_is_asked_for(
    data: Path, hurt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "CHECKED_WHOLE_BYTES_MAX", 0)
    finding = found(data, "records")
    assert finding == Finding(
        "records",
        Health.OK,
        "no running hub has met a damaged one; `taskyard doctor --deep` reads them all",
    )
    (deep,) = (one for one in examine(str(data), deep=True) if one.name == "records")
    assert hurt in deep.detail


@pytest.mark.parametrize("said", [b'{"status":"ready","damaged_records":2}', b'{"status":"ready"}', b"[]", b"?"])
def test_a_running_hub_is_asked_what_it_has_met(data: Path, monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    monkeypatch.setattr(doctor, "CHECKED_WHOLE_BYTES_MAX", 0)
    with answering(said) as url:
        (data / "credentials.json").write_text(json.dumps({"hub": url, "key": "tyk_x"}))
        finding = found(data, "records")
    if b"2" in said:
        told = f"found 2 damaged by the hub at {url}; `taskyard doctor --deep` names them"
        assert finding == Finding("records", Health.FAILED, told)
    else:
        assert finding.state is Health.OK


@contextmanager
def answering(said: bytes) -> Iterator[str]:
    """A server that answers this, whatever it is asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_records_of_a_server_are_read_too(data: Path) -> None:
    url = lent_yard()
    task = ended(a_task(number=1))
    with PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_1")) as store:
        yard = Yard.of(store)
        yard.has(task)
        yard.reader.close()
        Damager(Engine.POSTGRES, url).do(KINDS["a record with other bytes"], id=task.id)
        (finding,) = (one for one in examine(str(data), None, url, deep=True) if one.name == "records")
    assert finding.state is Health.FAILED
    assert task.id in finding.detail


# --- a yard on a server ---

SERVER = ("database", "database clock", "schema", "leader", "records")


def found_on(url: str, data: Path) -> dict[str, Finding]:
    findings = {finding.name: finding for finding in examine(str(data), None, url)}
    return {name: findings[name] for name in SERVER if name in findings}


def test_a_sound_server_has_nothing_wrong_and_its_file_is_not_asked_for(data: Path) -> None:
    (data / "taskyard.db").write_bytes(b"no database")
    url = lent_yard()
    findings = found_on(url, data)
    assert {name: finding.state for name, finding in findings.items()} == dict.fromkeys(SERVER, Health.OK)
    assert findings["database"].detail.startswith(f"{url.rpartition('@')[2]}, PostgreSQL ")
    assert findings["database"].detail.endswith(", durable (synchronous_commit on)")
    assert findings["schema"].detail == "version 4"
    assert findings["leader"].detail == "nobody leads; no hub runs"


def test_a_server_that_promises_less_than_its_hubs_is_named_unless_that_is_meant(data: Path) -> None:
    name = cluster().new_database()
    cluster().administer(f"ALTER DATABASE {name} SET synchronous_commit = remote_write")
    finding = found_on(cluster().url(name), data)["database"]
    assert finding.state is Health.FAILED
    assert "synchronous_commit = remote_write" in finding.detail
    (data / "taskyard.toml").write_text('[cluster]\ndurability = "local"\n')
    finding = found_on(cluster().url(name), data)["database"]
    assert finding.state is Health.OK
    assert finding.detail.endswith(", durable (synchronous_commit remote_write, [cluster] durability local)")


def test_who_leads_is_told_with_where_and_how_many_are_there(data: Path) -> None:
    url = lent_yard()
    for name in ("h_1", "h_2"):
        lease = Lease(url, Candidate(name))
        lease.announce(url=f"http://{name}", version="1")
        lease.close()
    assert found_on(url, data)["leader"] == Finding("leader", Health.WARNING, "nobody leads; 2 hubs are there")
    with PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_1", "10.0.0.1:9")):
        told = "h_1 at http://h_1 leads (epoch 1); 2 hubs are there"
        assert found_on(url, data)["leader"] == Finding("leader", Health.OK, told)


def test_a_database_that_was_never_migrated_names_the_command(data: Path) -> None:
    url = cluster().url(cluster().new_database(template="template1"))
    findings = found_on(url.replace("yard@", "yard:s3cret@"), data)
    assert findings["schema"].state is Health.FAILED
    assert f"`taskyard migrate --database {url}`" in findings["schema"].detail
    assert "leader" not in findings


@pytest.mark.parametrize("ahead_s", [-90, 90])
def test_a_database_with_another_clock_is_noticed(data: Path, monkeypatch: pytest.MonkeyPatch, ahead_s: int) -> None:
    url = lent_yard()
    now_ms = Session.now_ms.fget
    assert now_ms is not None
    monkeypatch.setattr(Session, "now_ms", property(lambda session: now_ms(session) + ahead_s * 1000))
    finding = found_on(url, data)["database clock"]
    assert finding.state is Health.WARNING
    assert ("ahead of" if ahead_s > 0 else "behind") in finding.detail


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://yard:s3cret@127.0.0.1:1/yard", "127.0.0.1:1/yard cannot be reached"),
        ("mysql://yard:s3cret@127.0.0.1/yard", "--database takes the URL of a PostgreSQL database"),
    ],
)
def test_a_database_that_cannot_be_reached(data: Path, url: str, said: str) -> None:
    findings = found_on(url, data)
    assert list(findings) == ["database"]
    assert findings["database"].state is Health.FAILED
    assert said in findings["database"].detail
    assert "s3cret" not in findings["database"].detail
