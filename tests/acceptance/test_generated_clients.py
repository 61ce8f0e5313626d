"""The OpenAPI document in the hands of those who generate clients from it: real generators, and a task by each client.

The document's own properties, which these tools have found missing, are tested in `tests/gateway/test_openapi.py`.
"""

import json
import shutil
from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from tests.acceptance.guests import Guest
from tests.support.live import ROOT
from tests.support.outside_tools import OutsideTools, outside_tools

pytestmark = [pytest.mark.soak, pytest.mark.slow]

DOCUMENT = str(ROOT / "docs" / "openapi.json")
PROGRAMS = Path(__file__).with_name("generated_clients")


@pytest.fixture(scope="module")
def tools() -> OutsideTools:
    return outside_tools()


def expect_task(client: Client, printed: str, text: str) -> None:
    task = client.task(printed.rsplit(maxsplit=1)[-1])
    assert (task.input, task.type, task.context, task.priority) == (text, "generated", {"a": [1]}, "normal")
    assert task.requirements.capabilities == ["eyes"]


def test_redocly_finds_nothing_to_complain_about(tools: OutsideTools, tmp_path: Path) -> None:
    done = tools.run("redocly", "lint", "--format=json", DOCUMENT, cwd=tmp_path)
    found = json.loads(done.stdout[done.stdout.index("{") : done.stdout.rindex("}") + 1])
    assert (found["totals"]["errors"], found["totals"]["warnings"]) == (0, 0), done.stdout


def test_openapi_generator_makes_a_client_that_submits_a_task(
    tools: OutsideTools, guest: Guest, client: Client, tmp_path: Path
) -> None:
    validated = tools.run("openapi-generator-cli", "validate", "-i", DOCUMENT, cwd=tmp_path)
    assert validated.returncode == 0, validated.stdout
    made = tools.run("openapi-generator-cli", "generate", "-g", "python", "-i", DOCUMENT, "-o", ".", cwd=tmp_path)
    assert made.returncode == 0, made.stdout
    assert "ERROR" not in made.stdout

    program = str(PROGRAMS / "by_openapi_generator.py")
    told = tools.run(tools.python, program, cwd=tmp_path, HUB=guest.url, KEY=guest.key, PYTHONPATH=str(tmp_path))
    assert told.returncode == 0, told.stdout
    expect_task(client, told.stdout, "by openapi-generator")


def test_openapi_python_client_makes_a_client_that_submits_a_task(
    tools: OutsideTools, guest: Guest, client: Client, tmp_path: Path
) -> None:
    # It would format the client with a tool that is not installed, and warn.
    tmp_path.joinpath("configuration.json").write_text('{"post_hooks": []}')
    options = ("--meta", "none", "--output-path", "taskyard_client", "--config", "configuration.json")
    made = tools.run(
        "openapi-python-client", "generate", "--path", DOCUMENT, *options, "--fail-on-warning", cwd=tmp_path
    )
    assert made.returncode == 0, made.stdout

    program = str(PROGRAMS / "by_openapi_python_client.py")
    told = tools.run(tools.python, program, cwd=tmp_path, HUB=guest.url, KEY=guest.key, PYTHONPATH=str(tmp_path))
    assert told.returncode == 0, told.stdout
    expect_task(client, told.stdout, "by openapi-python-client")


def test_openapi_typescript_makes_types_by_which_a_task_is_submitted(
    tools: OutsideTools, guest: Guest, client: Client, tmp_path: Path
) -> None:
    tmp_path.joinpath("node_modules").symlink_to(tools.node_modules)
    tmp_path.joinpath("package.json").write_text('{"type": "module"}')
    shutil.copy(PROGRAMS / "by_openapi_typescript.ts", tmp_path / "submit.ts")
    # Else what has a default could not be left out of a body.
    lax = "--default-non-nullable=false"
    made = tools.run("openapi-typescript", DOCUMENT, lax, "--output", "schema.ts", cwd=tmp_path)
    assert made.returncode == 0, made.stdout

    strict = ("--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--allowImportingTsExtensions")
    checked = tools.run("tsc", *strict, "node.d.ts", "submit.ts", cwd=_declares_process(tmp_path))
    assert checked.returncode == 0, checked.stdout
    told = tools.run("node", "submit.ts", cwd=tmp_path, HUB=guest.url, KEY=guest.key)
    assert told.returncode == 0, told.stdout
    expect_task(client, told.stdout, "by openapi-typescript")


def _declares_process(directory: Path) -> Path:
    """What the program takes from Node, in the place of Node's own types."""
    directory.joinpath("node.d.ts").write_text("declare const process: { env: Record<string, string | undefined> };\n")
    return directory
