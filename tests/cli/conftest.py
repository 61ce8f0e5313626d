"""Runs the command line in this process, against a hub that says what it is told to."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import pytest
import typer.main

from taskyard.cli.main import run
from tests.support.http_stub import KEY, StubHub, running_stub


class Result(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Result]


@pytest.fixture(scope="session", autouse=True)
def _commands_are_made_once() -> Iterator[None]:
    """Each call would make all of them anew, which takes longer than most commands do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture
def hub() -> Iterator[StubHub]:
    with running_stub() as stub:
        yield stub


@pytest.fixture
def cli(hub: StubHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`cli("ls", "--json")` as `taskyard ls --json`, with the stub for a hub."""
    for name in ("TASKYARD_DATA", "TASKYARD_DEBUG", "TASKYARD_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TASKYARD_HUB", hub.url)
    monkeypatch.setenv("TASKYARD_KEY", KEY)
    # Usage errors are wrapped to the window.
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: str) -> Result:
        code = run(arguments)
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return call
