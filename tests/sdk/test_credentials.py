import json
from pathlib import Path

import pytest

from taskyard.sdk.credentials import (
    DEFAULT_HUB,
    Credentials,
    ReadableByOthers,
    data_directory,
    find_credentials,
)
from taskyard.sdk.errors import BadAddress, CredentialsMissing

HUB = "http://127.0.0.1:9000"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "credentials.json"
    path.write_text(json.dumps({"hub": HUB, "user": "local", "key": "ty_file"}))
    path.chmod(0o600)
    return tmp_path


def test_what_is_named_wins_over_the_environment(data: Path) -> None:
    environment = {"TASKYARD_HUB": "http://other", "TASKYARD_KEY": "ty_env"}
    found = find_credentials(str(data), "http://named", "ty_named", environment=environment)
    assert found == Credentials(hub="http://named", key="ty_named")


def test_a_key_has_no_end_of_a_line_in_it(data: Path) -> None:
    assert find_credentials(str(data), HUB, " ty_named\n", environment={}).key == "ty_named"
    assert find_credentials(str(data), environment={"TASKYARD_KEY": "ty_env\r\n"}).key == "ty_env"


@pytest.mark.parametrize("key", ["ty_one\nty_two", "ty_€", "ty_\x00", "ty one"])
def test_what_can_be_no_key_is_refused_and_not_shown(data: Path, key: str) -> None:
    with pytest.raises(CredentialsMissing) as refused:
        find_credentials(str(data), HUB, key, environment={})
    assert "ty_" not in str(refused.value)


@pytest.mark.parametrize("key", ["", " "])
def test_a_key_that_is_named_and_empty_is_not_replaced_by_another(data: Path, key: str) -> None:
    with pytest.raises(CredentialsMissing, match="empty"):
        find_credentials(str(data), HUB, key, environment={"TASKYARD_KEY": "ty_env"})


def test_the_environment_wins_over_the_file(data: Path) -> None:
    environment = {"TASKYARD_HUB": "http://other", "TASKYARD_KEY": "ty_env"}
    assert find_credentials(str(data), environment=environment) == Credentials("http://other", "ty_env")


def test_several_hubs_are_each_looked_at() -> None:
    named = " http://a:1/,https://b "
    assert find_credentials(None, named, "ty_named", environment={}).hub == "http://a:1,https://b"
    with pytest.raises(BadAddress, match=r"^b:80 is no address of a hub; write it as"):
        find_credentials(None, "http://a:1,b:80", "ty_named", environment={})


def test_a_key_alone_is_for_the_hub_of_this_machine(data: Path, tmp_path: Path) -> None:
    # Where no hub was started yet its address is the default one
    nothing_there = {"XDG_DATA_HOME": str(tmp_path / "new")}
    assert find_credentials(environment=nothing_there, key="ty_named") == Credentials(DEFAULT_HUB, "ty_named")
    assert find_credentials(str(data), key="ty_named", environment={}) == Credentials(HUB, "ty_named")


def test_the_file_is_found_by_name_by_environment_and_by_default(data: Path, tmp_path: Path) -> None:
    expected = Credentials(HUB, "ty_file", "local")
    assert find_credentials(str(data), environment={}) == expected
    assert find_credentials(environment={"TASKYARD_DATA": str(data)}) == expected
    (tmp_path / "taskyard").symlink_to(data)
    assert find_credentials(environment={"XDG_DATA_HOME": str(tmp_path)}) == expected


def test_without_anything_named_the_data_is_in_the_users_own_directory() -> None:
    assert data_directory(environment={}) == Path.home() / ".local" / "share" / "taskyard"


def test_a_key_is_not_sent_to_a_hub_that_it_is_not_for(data: Path) -> None:
    assert find_credentials(str(data), HUB + "/", environment={}).key == "ty_file"
    with pytest.raises(CredentialsMissing, match=r"No key for http://elsewhere: the one in .* is for"):
        find_credentials(str(data), "http://elsewhere", environment={})


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CredentialsMissing, match=r"does not exist\. Start a hub with `taskyard up`"):
        find_credentials(str(tmp_path), environment={})


def test_a_file_that_is_none_says_which(tmp_path: Path) -> None:
    path = tmp_path / "credentials.json"
    path.write_text("not json")
    path.chmod(0o600)
    with pytest.raises(CredentialsMissing, match=r"credentials\.json is not a credentials file"):
        find_credentials(str(tmp_path), environment={})


def test_a_directory_in_the_files_place_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "credentials.json").mkdir()
    with pytest.raises(CredentialsMissing, match="Cannot read"):
        find_credentials(str(tmp_path), environment={})


def test_a_key_that_others_can_read_is_warned_about(data: Path) -> None:
    (data / "credentials.json").chmod(0o644)
    with pytest.warns(ReadableByOthers, match="chmod 600"):
        find_credentials(str(data), environment={})
