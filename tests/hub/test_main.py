"""`taskyard up`: what it takes before a hub comes up, and what it says when it cannot."""

import gc
import http.client
import json
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from taskyard.gateway.routes import SOCKET_PATH
from taskyard.hub import main
from taskyard.hub.main import FileAndFlags, address_of, file_of, profile_of, refuse_exposure, up
from taskyard.hub.settings import FileSettings, Gateway
from taskyard.hub.yard import CannotStart, UnsafeAddress
from taskyard.store.sqlite import SqliteStore
from taskyard.vocabulary import Profile
from tests.support.engines import Engine
from tests.support.live import START_S, free_port, wait_until
from tests.support.pg_proxy import Proxy, a_proxy
from tests.support.postgres import GUARDED, cluster, lent_yard
from tests.support.raw_http import Answer, connect, head, read_answer, request

FILE = Path("taskyard.toml")
UPGRADE = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
]


@pytest.fixture(autouse=True)
def _own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A hub takes a whole process for itself: give back what these tests lend it."""
    for name in ("HOST", "PORT", "DATA", "CONFIG", "PROFILE", "DATABASE", "ADMIN_KEY"):
        monkeypatch.delenv(f"TASKYARD_{name}", raising=False)
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


def start(
    data: Path,
    *,
    host: str | None = None,
    port: int | None = 0,
    profile: str | None = None,
    config: str | None = None,
    database: str | None = None,
    daemon: bool = False,
    new_admin_key: bool = False,
) -> int:
    return up(
        data=str(data),
        host=host,
        port=port,
        profile=profile,
        config=config,
        daemon=daemon,
        database=database,
        accept_rewind=False,
        new_admin_key=new_admin_key,
    )


# --- where to listen ---------------------------------------------------------------------------------------


def test_it_listens_where_nobody_else_can_reach_it_unless_told() -> None:
    assert address_of(None, None) == ("127.0.0.1", 8420)


def test_what_is_given_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TASKYARD_HOST", "localhost")
    monkeypatch.setenv("TASKYARD_PORT", "9000")
    assert address_of(None, None) == ("localhost", 9000)
    assert address_of("::1", 0) == ("::1", 0)


@pytest.mark.parametrize("text", ["eighty", "-1", "65536", "80.5", "", " "])
def test_a_port_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TASKYARD_PORT", text)
    with pytest.raises(CannotStart, match="not a port number"):
        address_of(None, None)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_tls(host: str) -> None:
    refuse_exposure(host, FileSettings(), FILE)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "[::]", "192.168.1.7", "hub.example.com", "localhost.example.com"])
def test_beyond_this_machine_it_listens_only_behind_tls(host: str) -> None:
    with pytest.raises(UnsafeAddress, match=r"behind_tls = true under \[gateway\]"):
        refuse_exposure(host, FileSettings(), FILE)
    refuse_exposure(host, FileSettings(gateway=Gateway(behind_tls=True)), FILE)


def test_an_unsafe_address_is_wrong_use_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "yard"
    assert start(data, host="0.0.0.0") == 2
    said = capsys.readouterr()
    assert said.err.startswith("taskyard: 0.0.0.0 can be reached from other machines")
    assert said.err.count("\n") == 1
    assert list(data.iterdir()) == []


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "[::1]"),
        ("::1", "[::1]"),
        ("hub.example.com", "hub.example.com"),
    ],
)
def test_the_printed_address_is_one_that_can_be_opened(host: str, url: str) -> None:
    assert main._named(host) == url


# --- under which profile ------------------------------------------------------------------------------------


def test_a_profile_that_is_given_wins_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "taskyard.toml"
    assert profile_under(file, None) is Profile.LOCAL
    file.write_text('profile = "service"')
    assert profile_under(file, None) is Profile.SERVICE
    monkeypatch.setenv("TASKYARD_PROFILE", "local")
    assert profile_under(file, None) is Profile.LOCAL
    assert profile_under(file, "service") is Profile.SERVICE


def profile_under(file: Path, given: str | None) -> Profile:
    return FileAndFlags(file, "127.0.0.1", profile_of(given)).read().profile


@pytest.mark.parametrize("text", ["public", "LOCAL", " "])
def test_a_profile_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert start(tmp_path, profile=text) == 1
    assert capsys.readouterr().err == f"taskyard: There is no profile {text!r}: local or service.\n"


def test_a_file_that_was_named_must_be_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = str(tmp_path / "nowhere.toml")
    assert start(tmp_path, config=nowhere) == 1
    assert f"There is no {nowhere}" in capsys.readouterr().err
    monkeypatch.setenv("TASKYARD_CONFIG", nowhere)
    with pytest.raises(CannotStart):
        file_of(tmp_path, None)
    monkeypatch.delenv("TASKYARD_CONFIG")
    assert file_of(tmp_path, None) == tmp_path / "taskyard.toml"


# --- what keeps it from starting ---------------------------------------------------------------------------


def test_a_port_in_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert start(tmp_path, port=taken.getsockname()[1]) == 1
    assert "another program has it. Choose another --port." in capsys.readouterr().err


def test_a_host_that_is_not_this_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taskyard.toml").write_text("[gateway]\nbehind_tls = true\n")
    assert start(tmp_path, host="192.0.2.1") == 1
    assert "choose another --host or --port." in capsys.readouterr().err


def test_bad_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "other.toml"
    config.write_text("[lease]\nleese_s = 1\n")
    assert start(tmp_path / "yard", config=str(config)) == 1
    assert "leese_s" in capsys.readouterr().err


def test_a_database_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taskyard.db").write_bytes(b"this is no database, whatever it may be" * 100)
    assert start(tmp_path) == 1
    assert "taskyard.db" in capsys.readouterr().err


def test_a_log_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hub.log").mkdir()
    assert start(tmp_path) == 1
    assert "hub.log cannot be written" in capsys.readouterr().err


def test_a_database_that_turns_the_hub_away_is_not_waited_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = cluster()
    for url, sentence in (
        (f"postgresql://{GUARDED}:sesame@127.0.0.1:{server.port}/postgres", "Check user and password in the URL."),
        (server.url("nowhere"), "Create the database with `createdb`"),
        (server.url(server.new_database(template="template0")), "has no Taskyard schema yet"),
    ):
        assert start(tmp_path, database=url) == 1
        said = capsys.readouterr().err
        assert sentence in said
        assert ("Check user" in said) == ("Check user" in sentence)
        assert "waiting" not in said


def test_a_port_in_use_is_told_although_the_database_is_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert start(tmp_path, port=taken.getsockname()[1], database="postgresql://yard@127.0.0.1:1/yard") == 1
    assert "another program has it. Choose another --port." in capsys.readouterr().err


def test_credentials_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "credentials.json").mkdir()
    assert start(tmp_path) == 1
    assert "credentials.json cannot be written" in capsys.readouterr().err


# --- a life of it ------------------------------------------------------------------------------------------


@pytest.fixture(params=[Engine.SQLITE, Engine.POSTGRES])
def database(request: pytest.FixtureRequest) -> str | None:
    """The URL of one; None: a file in the data directory."""
    return lent_yard() if request.param is Engine.POSTGRES else None


def test_it_comes_up_prints_a_link_once_and_leaves_when_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], database: str | None
) -> None:
    port, data = free_port(), tmp_path / "yard"
    stopper = threading.Thread(target=stop_when_up, args=(port, data))
    stopper.start()
    assert start(data, port=port, database=database) == 0
    stopper.join()
    said = capsys.readouterr()
    ticket = re.search(r"\?ticket=(\S+)", said.out)
    assert ticket is not None
    assert "profile    local — your own tasks are not limited" in said.out
    log = (data / "hub.log").read_text()
    assert ticket[1] not in log + said.err
    kept = json.loads((data / "credentials.json").read_text())
    assert kept["key"] not in log + said.out + said.err
    events = [json.loads(line)["event"] for line in log.splitlines()]
    assert (events[-1], "hub.started" in events) == ("hub.stopped", True)


def test_in_a_directory_that_others_can_look_into_its_files_are_closed_and_a_warning_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Given a directory of the operator's, with something else in it, and a database of an earlier version
    port, data = free_port(), tmp_path / "yard"
    data.mkdir()
    data.chmod(0o755)
    (data / "holiday.jpg").touch(mode=0o644)
    with SqliteStore(data / "taskyard.db", new_cluster_id="c_test"):
        pass
    (data / "taskyard.db").chmod(0o644)

    # When a hub lives there
    stopper = threading.Thread(target=stop_when_up, args=(port, data))
    stopper.start()
    assert start(data, port=port) == 0
    stopper.join()

    # Then its files are its owner's, the directory stays as it was, and the terminal and the log say who can look in
    modes = {path.name: path.stat().st_mode & 0o777 for path in (data, *data.iterdir())}
    assert (modes.pop("yard"), modes.pop("holiday.jpg")) == (0o755, 0o644)
    assert {"taskyard.db", "hub.log", "hub.lock", "credentials.json", "token.secret"} <= set(modes)
    assert set(modes.values()) == {0o600}
    sentence = f"every user of this machine can look into {data}: run `chmod 700 {data}`"
    assert f"taskyard: {sentence}.\n" in capsys.readouterr().err
    (line,) = (
        line for line in map(json.loads, (data / "hub.log").read_text().splitlines()) if line["event"] == "data.exposed"
    )
    assert (line["level"], line["data"]["command"]) == ("warning", f"chmod 700 {data}")


def test_it_waits_for_a_database_that_is_away_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port, data, database = free_port(), tmp_path / "yard", lent_yard()
    answers: dict[str, Answer] = {}

    def look_and_let_it_come(wire: Proxy) -> None:
        await_line(data, "database.awaited")
        for path in ("/healthz", "/readyz", "/api/v1/tasks"):
            answers[path] = request(port, "GET", path, key="tyk_whatever")
        with connect(port) as daemon:
            daemon.sendall(head("GET", SOCKET_PATH, [("Host", "here"), *UPGRADE]))
            answers["socket"] = read_answer(daemon)
        wire.close_to_new(False)
        await_line(data, "hub.started")
        answers["ready"] = request(port, "GET", "/readyz")
        os.kill(os.getpid(), signal.SIGTERM)

    with a_proxy(cluster().port) as wire:
        wire.close_to_new(True)
        looking = threading.Thread(target=look_and_let_it_come, args=(wire,))
        looking.start()
        url = cluster().url(database.rpartition("/")[2], port=wire.port)
        assert start(data, port=port, database=url) == 0
        looking.join()

    # It says in the terminal once that it waits, and a check whether it lives or takes work can tell
    said = capsys.readouterr().err
    assert said.count("waiting for the database") == 1
    assert "See that the server runs" in said
    assert answers["/healthz"].status == 200
    for path in ("/readyz", "/api/v1/tasks", "socket"):
        assert answers[path].status == 503
        assert answers[path].problem["code"] == "STORE_UNAVAILABLE"
        assert "waits for its database" in answers[path].problem["detail"]
        assert "127.0.0.1" not in answers[path].problem["detail"]
        assert int(answers[path].headers["retry-after"]) >= 1
    assert answers["ready"].status == 200
    events = [json.loads(line)["event"] for line in (data / "hub.log").read_text().splitlines()]
    assert events.index("database.awaited") < events.index("database.reached") < events.index("hub.started")


def test_it_leaves_when_it_is_told_to_while_it_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port, data = free_port(), tmp_path / "yard"

    def stop() -> None:
        await_line(data, "database.awaited")
        os.kill(os.getpid(), signal.SIGTERM)

    stopper = threading.Thread(target=stop)
    stopper.start()
    assert start(data, port=port, database="postgresql://yard@127.0.0.1:1/yard") == 0
    stopper.join()
    assert json.loads((data / "hub.log").read_text().splitlines()[-1])["event"] == "hub.stopped"
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_it_leaves_when_it_is_told_to_while_no_hub_can_lead(tmp_path: Path) -> None:
    """The database was there, and has gone before a hub led."""
    data, database = tmp_path / "yard", lent_yard()

    def cut_and_stop(wire: Proxy) -> None:
        cluster().until_waiting(database.rpartition("/")[2], 1)
        wire.close_to_new(True)
        wire.cut()
        await_line(data, "lease.unread")
        os.kill(os.getpid(), signal.SIGTERM)

    with a_proxy(cluster().port) as wire, psycopg.connect(database) as operator:
        # Who takes the lead waits for this row.
        operator.execute("SELECT 1 FROM taskyard.identity FOR UPDATE")
        cutting = threading.Thread(target=cut_and_stop, args=(wire,))
        cutting.start()
        url = cluster().url(database.rpartition("/")[2], port=wire.port)
        assert start(data, port=free_port(), database=url) == 0
        cutting.join()


def stop_when_up(port: int, data: Path) -> None:
    """SIGTERM to this process, once the hub in it has printed where it is."""
    await_line(data, "hub.started")
    os.kill(os.getpid(), signal.SIGTERM)


def await_line(data: Path, event: str) -> None:
    log = data / "hub.log"
    wait_until(lambda: log.exists() and event in log.read_text(), within_s=START_S, what=event)


def test_a_changed_file_is_taken_up_on_sighup_by_all_that_stands_around_the_core(tmp_path: Path) -> None:
    port, data, seen = free_port(), tmp_path / "yard", []

    def change() -> None:
        await_line(data, "hub.started")
        seen.append(status_of(port, "tasks.example.com"))
        (data / "taskyard.toml").write_text('[gateway]\nhosts = ["tasks.example.com"]\n')
        os.kill(os.getpid(), signal.SIGHUP)
        await_line(data, "settings.changed")
        # What stands around the core takes it up after that.
        wait_until(lambda: status_of(port, "tasks.example.com") == 200, within_s=START_S, what="another name")
        os.kill(os.getpid(), signal.SIGTERM)

    changer = threading.Thread(target=change)
    changer.start()
    assert start(data, port=port) == 0
    changer.join()
    assert seen == [403]


def status_of(port: int, host: str) -> int:
    """What somebody is answered who calls the hub by this name."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/healthz", headers={"Host": host})
        return connection.getresponse().status
    finally:
        connection.close()


# --- the admin key of a yard that several hubs share --------------------------------------------------------


def lived(data: Path, *, database: str | None, **more: bool) -> None:
    """A hub that came up in this directory, and left."""
    stopper = threading.Thread(target=stop_when_up, args=(0, data))
    stopper.start()
    assert start(data, database=database, **more) == 0
    stopper.join()


def key_in(data: Path) -> str:
    key: str = json.loads((data / "credentials.json").read_text())["key"]
    return key


@pytest.mark.slow
def test_a_hub_that_joins_a_yard_with_an_admin_key_starts_without_one_and_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = lent_yard()
    lived(tmp_path / "one", database=database)
    capsys.readouterr()

    lived(tmp_path / "two", database=database, daemon=True)

    said = capsys.readouterr().out
    assert "no link: the yard has an admin key, and this hub was not given it" in said
    assert "TASKYARD_ADMIN_KEY" in said
    assert "taskyard up --new-admin-key" in said
    assert "daemon     none: it would need that key too" in said
    assert "ticket=" not in said
    assert not (tmp_path / "two" / "credentials.json").exists()
    assert not (tmp_path / "two" / "daemons").exists()

    # And with a key of its own when it is told to make one
    lived(tmp_path / "three", database=database, new_admin_key=True)
    assert "?ticket=" in capsys.readouterr().out
    assert key_in(tmp_path / "three") != key_in(tmp_path / "one")


def test_a_hub_that_is_given_the_admin_key_has_all_of_it_in_its_process_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    database = lent_yard()
    lived(tmp_path / "one", database=database)
    key = key_in(tmp_path / "one")
    capsys.readouterr()
    monkeypatch.setenv("TASKYARD_ADMIN_KEY", f"{key}\n")

    lived(tmp_path / "two", database=database, daemon=True)

    said = capsys.readouterr()
    assert "?ticket=" in said.out
    assert "daemon     local, runs the types echo and demo" in said.out
    assert not (tmp_path / "two" / "credentials.json").exists()
    log = (tmp_path / "two" / "daemons" / "local" / "daemon.log").read_text()
    assert key not in said.out + said.err + (tmp_path / "two" / "hub.log").read_text() + log

    # A yard on a file goes by its own key, whatever the environment says
    lived(tmp_path / "file", database=None)
    assert key_in(tmp_path / "file") != key


def test_a_key_in_the_environment_that_is_not_the_yards_ends_the_start_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKYARD_ADMIN_KEY", "tyk_of_another_yard")
    assert start(tmp_path, database=lent_yard()) == 1
    said = capsys.readouterr()
    assert said.err.startswith("taskyard: The key in TASKYARD_ADMIN_KEY is not a live admin key of this yard.")
    assert said.err.count("\n") == 1
    assert "tyk_" not in said.out + said.err + (tmp_path / "hub.log").read_text()
