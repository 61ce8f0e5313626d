"""A pytest plugin, `-p tests.support.hints`: after a failure, how to run that test alone and where its logs lie."""

import shlex
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest

_FAILED: Final = pytest.StashKey[dict[str, str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_FAILED] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        arguments = getattr(item, "funcargs", {})
        directory = arguments.get("tmp_path") or item.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        item.config.stash[_FAILED][item.nodeid] = str(directory)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for test, directory in config.stash[_FAILED].items():
        alone = shlex.quote(test.removeprefix("tests/"))
        terminalreporter.write_line(f"run it alone: make test ONLY={alone}")
        if any(Path(directory).iterdir()):
            terminalreporter.write_line(f"its logs:     {directory}")
