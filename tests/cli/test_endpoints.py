"""`taskyard daemon --openai`: what is served, and what is said of what cannot be."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from taskyard.cli.endpoints import endpoints_of
from taskyard.daemon.daemon import Daemon
from taskyard.daemon.openai.agent import OpenAIAgent
from tests.cli.conftest import Cli
from tests.support.http_stub import StubHub
from tests.support.openai_server import MODELS, OpenAIServer, an_openai_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenAIServer]:
    with an_openai_server(tmp_path_factory.mktemp("openai")) as running:
        yield running


def served(*asked: str, config: Path = Path("none.toml"), **more: Any) -> list[OpenAIAgent]:
    return endpoints_of(asked=list(asked), config=config, **{"models": None, "types": None, "key_env": None, **more})


def test_an_address_alone_serves_every_model_it_lists(server: OpenAIServer) -> None:
    (agent,) = served(server.url("well"))
    assert agent.endpoint.models == MODELS


def test_the_command_line_goes_before_the_file(server: OpenAIServer, tmp_path: Path) -> None:
    # Given a section of a file
    file = tmp_path / "taskyard.toml"
    file.write_text(
        f'[openai.home]\nbase_url = "{server.url("well")}"\nmodels = {{ big = "large" }}\ntypes = ["ask"]\n'
    )

    # When it is served as it stands, and with another model and type
    (as_it_stands,) = served("home", config=file)
    (limited,) = served("home", config=file, models=["big", "small"], types=["draw"])

    # Then names that the file explains keep their meaning
    assert as_it_stands.endpoint.types == ("ask",)
    assert limited.endpoint.model_names == {"big": "large", "small": "small"}
    assert limited.endpoint.types == ("draw",)


def test_models_are_those_of_the_address_whichever_option_names_them(
    server: OpenAIServer, hub: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[OpenAIAgent] = []
    monkeypatch.setattr(Daemon, "run", lambda self, **_: None)
    monkeypatch.setattr(Daemon, "use_model", lambda self, agent: made.append(agent))

    for option in ("--model", "--models"):
        assert cli("daemon", "--data", "here", "--openai", server.url("well"), option, "large").code == 0

    assert [agent.endpoint.models for agent in made] == [{"large": "large"}] * 2


@pytest.mark.parametrize(
    ("asked", "more", "said"),
    [
        ((), {"models": ["m"]}, "this is about --openai URL"),
        ((), {"key_env": "KEY"}, "this is about --openai URL"),
        (("home",), {}, "neither an address like http://localhost:11434/v1 nor a section openai.home of none.toml"),
        (("http://a/v1", "http://b/v1"), {"models": ["m"]}, "say in the configuration file"),
        (("http://a/v1?key=1",), {"models": ["m"]}, "base_url must have no user, password, query"),
        (("http://a/v1",), {"models": ["m"], "key_env": "NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE is not set"),
        (("http://127.0.0.1:1/v1",), {}, "start it first, or name them with --model"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_begins(
    asked: tuple[str, ...], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(typer.BadParameter) as caught:
        served(*asked, **more)
    assert said in str(caught.value)
