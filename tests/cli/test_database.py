"""`taskyard migrate` and `copy`, with a real server: what they did, and what they refuse and then leave as it was."""

import json
import re
from pathlib import Path

import pytest

from taskyard.cli.main import run
from taskyard.hub.yard import read_secret
from taskyard.store.postgres.migrate import SCHEMA_VERSION
from taskyard.store.sqlite import SqliteStore
from tests.support.postgres import Cluster, cluster
from tests.support.records import Yard, a_task

PASSWORD = "s3cret-word"


@pytest.fixture
def server() -> Cluster:
    return cluster()


@pytest.fixture
def bare(server: Cluster) -> str:
    """A database that no migration ran on; the URL has a password, which this server does not ask for."""
    url = server.url(server.new_database(template="template1"))
    return url.replace("yard@", f"yard:{PASSWORD}@")


def told(capsys: pytest.CaptureFixture[str]) -> str:
    """All that was said, without the password that was given."""
    out, err = capsys.readouterr()
    assert PASSWORD not in out + err
    return out + err


def place_of(url: str) -> str:
    return url.rpartition("@")[2]


@pytest.mark.slow
def test_a_database_is_migrated_once_and_then_is_up_to_date(bare: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["migrate", "--database", bare]) == 0
    assert told(capsys) == f"{place_of(bare)}: schema 0 → {SCHEMA_VERSION}.\n"
    assert run(["migrate", "--database", bare]) == 0
    assert told(capsys) == f"{place_of(bare)}: already at schema {SCHEMA_VERSION}.\n"


def test_the_database_may_be_named_by_the_environment_and_the_answer_be_json(
    bare: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TASKYARD_DATABASE", bare)
    assert run(["migrate", "--json"]) == 0
    assert json.loads(told(capsys)) == {"database": place_of(bare), "before": 0, "after": SCHEMA_VERSION}


def test_a_newer_schema_is_left_alone(bare: str, server: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    run(["migrate", "--database", bare])
    capsys.readouterr()
    name = bare.rpartition("/")[2]
    newer = SCHEMA_VERSION + 1
    server.administer(f"INSERT INTO taskyard.migration VALUES ({newer}, now())", database=name)
    assert run(["migrate", "--database", bare]) == 1
    assert f"migrated by a newer Taskyard (schema {newer}; this one knows {SCHEMA_VERSION})" in told(capsys)
    assert server.administer("SELECT max(version) FROM taskyard.migration", database=name) == [(newer,)]


def test_no_database_is_said_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("TASKYARD_DATABASE", raising=False)
    assert run(["migrate"]) == 1
    assert "Name the database with --database" in told(capsys)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("yard.db", "--database takes the URL of a PostgreSQL database"),
        (f"mysql://yard:{PASSWORD}@127.0.0.1/yard", "--database takes the URL of a PostgreSQL database"),
        (f"postgresql://yard:{PASSWORD}%zz@127.0.0.1/yard", "The database URL cannot be read"),
        (f"postgresql://yard:{PASSWORD}@127.0.0.1:1/yard", "127.0.0.1:1/yard cannot be reached"),
        (f"postgresql://yard:{PASSWORD}@127.0.0.1:99999/yard", "127.0.0.1:99999/yard cannot be reached"),
    ],
)
def test_a_url_that_leads_nowhere_is_told_without_its_password(
    url: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["migrate", "--database", url]) == 1
    assert said in told(capsys)


def test_a_user_who_may_not_make_the_schema_is_told_what_to_ask_for(
    bare: str, server: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    server.administer("DROP ROLE IF EXISTS guest")
    server.administer("CREATE ROLE guest LOGIN")
    as_guest = bare.replace("yard:", "guest:")
    assert run(["migrate", "--database", as_guest]) == 1
    assert "grant this one CREATE on it" in told(capsys)

    # Nor may one who does not own it work on a schema that is there
    assert run(["migrate", "--database", bare]) == 0
    assert run(["migrate", "--database", as_guest]) == 1
    assert "Connect as its owner, or grant that role to this one." in told(capsys)


# --- copy ---


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A hub's directory, with one task in it."""
    directory = tmp_path / "yard"
    directory.mkdir()
    with SqliteStore(directory / "taskyard.db", new_cluster_id="c_test") as store:
        yard = Yard.of(store)
        yard.has(a_task(number=1))
        yard.reader.close()
    (directory / "token.secret").write_text("k" * 43)
    return directory


def test_a_yard_is_copied_told_and_named_where_to_go_on(
    data: Path, server: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    url = server.url(server.new_database())
    assert run(["copy", "--from", f"sqlite:{data}", "--to", url.replace("yard@", f"yard:{PASSWORD}@")]) == 0
    out, err = capsys.readouterr()
    table, _, said = out.partition("Read back")
    assert [line.split("  ")[0] for line in table.splitlines()] == [
        "COPIED",
        "active tasks",
        "commits",
        "task numbers",
        "takeovers",
    ]
    assert re.fullmatch(r" and found the same: yard c_test, digest [0-9a-f]{32}\.\n", said)
    assert err.endswith(
        f"Go on with: taskyard up --data {data} --database {url}\n"
        "Do not start a hub on the old one again: it is the same yard.\n"
    )
    assert "verified 4 of 4\n" in err
    assert PASSWORD not in out + err
    assert server.administer("SELECT secret FROM taskyard.identity", database=place_of(url).partition("/")[2]) == [
        (b"k" * 43,)
    ]


def test_it_comes_back_to_a_file_with_whatever_secret_it_has(
    data: Path, server: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Given a yard that has lost its secret, so that the database's own is used
    (data / "token.secret").unlink()
    url = server.url(server.new_database())
    assert run(["copy", "--from", f"sqlite:{data / 'taskyard.db'}", "--to", url]) == 0
    first, err = capsys.readouterr()
    assert "There was no token.secret: browsers have to sign in again" in err

    # When it moves to a directory that is not there yet
    back = tmp_path / "back"
    assert run(["copy", "--from", url, "--to", f"sqlite:{back}", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)

    # Then its hub signs with the same
    assert f"digest {second['digest']}." in first
    assert (second["has_secret"], second["identity"]["cluster_id"]) == (True, "c_test")
    secret = server.administer("SELECT secret FROM taskyard.identity", database=place_of(url).partition("/")[2])
    assert [(read_secret(back),)] == secret
    assert [(path.name, path.stat().st_mode & 0o077) for path in sorted(back.iterdir()) if path.suffix != ".lock"] == [
        ("taskyard.db", 0),
        ("token.secret", 0),
    ]


def test_a_directory_with_the_secret_of_another_yard_is_not_copied_to(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "token.secret").write_text("j" * 43)
    assert run(["copy", "--from", f"sqlite:{data}", "--to", f"sqlite:{other}"]) == 1
    assert "token.secret is of another yard. Move it away" in told(capsys)
    assert not (other / "taskyard.db").exists()
    (other / "token.secret").write_text("k" * 43)
    assert run(["copy", "--from", f"sqlite:{data}", "--to", f"sqlite:{other}"]) == 0


def test_a_yard_goes_through_a_file_with_its_secret(
    data: Path, server: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # When it is copied to a file
    file, url = tmp_path / "yard.jsonl", server.url(server.new_database())
    assert run(["copy", "--from", f"sqlite:{data}", "--to", str(file)]) == 0
    out, err = capsys.readouterr()

    # Then only its owner can read it, and what it is worth is said
    assert "Read back and found the same: yard c_test" in out
    assert err.endswith(
        "The file holds the yard's keys and secrets: keep it as you keep those.\n"
        f"Restore it with: taskyard copy --from {file} --to PLACE\n"
    )
    assert file.stat().st_mode & 0o777 == 0o600

    # And from there it goes into a database or a directory, with the same secret
    assert run(["copy", "--from", str(file), "--to", url]) == 0
    assert f"Go on with: taskyard up --database {url}\n" in told(capsys)
    assert run(["copy", "--from", str(file), "--to", f"sqlite:{tmp_path / 'back'}"]) == 0
    assert "checked 4 of 4\n" in told(capsys)
    assert read_secret(tmp_path / "back") == b"k" * 43
    assert server.administer("SELECT secret FROM taskyard.identity", database=place_of(url).partition("/")[2]) == [
        (b"k" * 43,)
    ]


def test_a_file_that_was_cut_or_is_there_already_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "yard.jsonl"
    assert run(["copy", "--from", f"sqlite:{data}", "--to", str(file)]) == 0
    assert run(["copy", "--from", f"sqlite:{data}", "--to", str(file)]) == 1
    assert f"{file} exists, and nothing is copied over a file." in told(capsys)
    file.write_bytes(file.read_bytes()[:-50])
    assert run(["copy", "--from", str(file), "--to", f"sqlite:{tmp_path / 'back'}"]) == 1
    assert f"taskyard: {file}, line 7: it was cut or changed: its checksum differs. Nothing of the file" in told(capsys)
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("/somewhere", "sqlite:new", "--from takes sqlite:DIRECTORY, postgresql://"),
        ("sqlite:DATA", "mysql://new", "--to takes sqlite:DIRECTORY, postgresql://"),
        ("sqlite:DATA", "sqlite:", "--to takes sqlite:DIRECTORY, postgresql://"),
        ("sqlite:DATA", "sqlite:DATA", "--from and --to are the same"),
        ("sqlite:DATA", "sqlite:DATA/taskyard.db", "--from and --to are the same"),
        ("sqlite:nowhere", "sqlite:new", "There is no "),
        ("sqlite:DATA", f"postgresql://yard:{PASSWORD}@127.0.0.1:1/yard", "127.0.0.1:1/yard cannot be reached"),
        ("sqlite:DATA", "BARE", "Run `taskyard migrate --database postgresql://yard@127.0.0.1:"),
    ],
)
def test_what_cannot_be_copied_is_said_and_changes_nothing(
    data: Path, bare: str, capsys: pytest.CaptureFixture[str], *, source: str, target: str, said: str
) -> None:
    before = {path.name: path.read_bytes() for path in data.iterdir() if path.name != "hub.lock"}
    given = [text.replace("DATA", str(data)).replace("BARE", bare) for text in (source, target)]
    assert run(["copy", "--from", given[0], "--to", given[1]]) == 1
    assert said in told(capsys)
    assert {name: (data / name).read_bytes() for name in before} == before
    assert not Path("new").exists()
