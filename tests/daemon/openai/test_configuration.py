"""What may be configured of an endpoint, and whose key is shown to whom."""

from pathlib import Path
from typing import Any

import pytest

from taskyard.daemon.openai.configuration import BadEndpoint, Endpoint, checked, key_of, read_endpoints

LOCAL = "http://localhost:11434/v1"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"base_url": "localhost:11434"}, "base_url must be an address"),
        ({"base_url": "ftp://localhost/v1"}, "base_url must be an address"),
        ({"base_url": "http://local host/v1"}, "base_url must be an address"),
        ({"base_url": "http://localhost:99999/v1"}, "base_url must be an address"),
        ({"base_url": "https://me:secret@example.com/v1"}, "base_url must have no user"),
        ({"base_url": "https://example.com/v1?key=secret"}, "base_url must have no user"),
        ({"models": ("",)}, "models: ''"),
        ({"models": ("a\nb",)}, "models: 'a\\nb'"),
        ({"models": tuple(map(str, range(1001)))}, "models: at most 1000"),
        ({"models": ("a",), "default_model": "b"}, "default_model must be one of models"),
        ({"types": ("",)}, "types: a type has 1 to"),
        ({"key_env": "sk-123"}, "key_env is the name of a variable"),
        ({"key_header": "no header"}, "key_header is not"),
        ({"options": {"messages": []}}, "options.messages cannot be set here"),
        ({"connect_s": 0}, "connect_s must be above 0"),
        ({"timeout_s": 1e9}, "timeout_s must be above 0"),
        ({"answer_bytes_max": 0}, "answer_bytes_max must be from 1"),
        ({"log_bytes_max": -1}, "log_bytes_max must be at most"),
    ],
)
def test_what_makes_no_sense_is_said(more: dict[str, Any], said: str) -> None:
    with pytest.raises(BadEndpoint) as caught:
        checked(Endpoint(**{"base_url": LOCAL, **more}))

    assert said in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_file_is_read_whole_and_all_its_faults_are_told(tmp_path: Path) -> None:
    # Given a file with two faults among other sections
    file = tmp_path / "taskyard.toml"
    file.write_text('profile = "local"\n[openai.home]\nbase_url = "nowhere"\nconnect_s = 0\n')

    # When it is read
    with pytest.raises(BadEndpoint) as caught:
        read_endpoints(file)

    # Then both are named with their place
    assert "openai.home.base_url must be" in str(caught.value)
    assert "openai.home.connect_s must be" in str(caught.value)


@pytest.mark.parametrize(
    "content", ["[openai.home]\n", "[openai", '[openai.home]\nbase_url = "http://a/v1"\nkey = "sk-1"\n']
)
def test_a_file_that_is_not_valid_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "taskyard.toml"
    file.write_text(content)

    with pytest.raises(BadEndpoint, match="is not valid"):
        read_endpoints(file)


def test_an_absent_file_has_no_endpoints_and_a_directory_cannot_be_read(tmp_path: Path) -> None:
    assert read_endpoints(tmp_path / "none.toml") == {}
    with pytest.raises(BadEndpoint, match="cannot be read"):
        read_endpoints(tmp_path)


def test_a_file_says_what_is_served(tmp_path: Path) -> None:
    file = tmp_path / "taskyard.toml"
    file.write_text(
        f'[openai.home]\nbase_url = "{LOCAL}"\nmodels = {{ "ollama/llama3" = "llama3" }}\noptions.seed = 1\n'
    )

    (endpoint,) = read_endpoints(file).values()

    assert endpoint.model_names == {"ollama/llama3": "llama3"}
    assert endpoint.options == {"seed": 1}
    assert endpoint.url("models") == f"{LOCAL}/models"


def test_each_key_goes_where_it_belongs_and_nowhere_else() -> None:
    environment = {"OPENAI_API_KEY": "sk-openai", "MINE": " sk-mine\n"}
    local, named = Endpoint(base_url=LOCAL), Endpoint(base_url=LOCAL, key_env="MINE")
    openai = Endpoint(base_url="https://api.openai.com/v1")

    assert key_of(local, environment) is None
    assert key_of(named, environment) == "sk-mine"
    assert key_of(openai, environment) == "sk-openai"
    assert key_of(local, {"TASKYARD_OPENAI_KEY": "sk-own"}) == "sk-own"


def test_a_key_that_is_named_and_absent_is_said_at_the_start() -> None:
    with pytest.raises(BadEndpoint, match="The variable MINE is not set"):
        key_of(Endpoint(base_url=LOCAL, key_env="MINE"), {})
    with pytest.raises(BadEndpoint, match="MINE holds something that is no key") as caught:
        key_of(Endpoint(base_url=LOCAL, key_env="MINE"), {"MINE": "schlüssel"})
    assert "schlüssel" not in str(caught.value)
