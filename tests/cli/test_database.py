"""`taskyard migrate`, with a real server: what it did, and what it refuses without having changed anything."""

import json

import pytest

from taskyard.cli.main import run
from tests.support.postgres import Cluster, cluster

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


def test_a_database_is_migrated_once_and_then_is_up_to_date(bare: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["migrate", "--database", bare]) == 0
    assert told(capsys) == f"{place_of(bare)}: schema 0 → 1.\n"
    assert run(["migrate", "--database", bare]) == 0
    assert told(capsys) == f"{place_of(bare)}: already at schema 1.\n"


def test_the_database_may_be_named_by_the_environment_and_the_answer_be_json(
    bare: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TASKYARD_DATABASE", bare)
    assert run(["migrate", "--json"]) == 0
    assert json.loads(told(capsys)) == {"database": place_of(bare), "before": 0, "after": 1}


def test_a_newer_schema_is_left_alone(bare: str, server: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    run(["migrate", "--database", bare])
    capsys.readouterr()
    name = bare.rpartition("/")[2]
    server.administer("INSERT INTO taskyard.migration VALUES (2, now())", database=name)
    assert run(["migrate", "--database", bare]) == 1
    assert "migrated by a newer Taskyard (schema 2; this one knows 1)" in told(capsys)
    assert server.administer("SELECT max(version) FROM taskyard.migration", database=name) == [(2,)]


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
