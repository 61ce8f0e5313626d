"""The dashboard is built when its sources changed, and only then; where it cannot be, everything else goes on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.live import ROOT

pytestmark = pytest.mark.takes(1)

LEFT_OUT = shutil.ignore_patterns("node_modules", "*.gen.ts")
SAID = (
    "The dashboard was not built: there is no Node 20.19 or later with npm. The rest works without it; "
    "to build it: make web"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The sources as a fresh clone has them, with nothing built."""
    shutil.copytree(ROOT / "web", tmp_path / "web", ignore=LEFT_OUT)
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "openapi.json", tmp_path / "docs")
    (tmp_path / "src" / "taskyard").mkdir(parents=True)
    return tmp_path


def asked(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The build on a machine without Node, by a Python that is nobody's environment to install into."""
    env = {**{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}, "PATH": str(checkout / "bin")}
    python = getattr(sys, "_base_executable", sys.executable)
    command = [python, "-m", "tools.web", *arguments]
    return subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, check=False, timeout=60)


def digest_of(checkout: Path) -> str:
    script = "from tools import web; print(web.digest(web.source_files()))"
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def as_if_built(checkout: Path) -> None:
    built = checkout / "src" / "taskyard" / "dashboard"
    built.mkdir()
    (built / "made-from.txt").write_text(digest_of(checkout))


def test_without_node_a_build_says_what_is_missing(checkout: Path) -> None:
    answer = asked(checkout, "build")
    assert (answer.returncode, answer.stderr.strip()) == (1, SAID)


def test_a_hub_starts_without_its_dashboard(checkout: Path) -> None:
    answer = asked(checkout, "build", "--or-without")
    assert (answer.returncode, answer.stderr.strip()) == (0, SAID)


def test_what_was_built_from_these_sources_needs_nothing(checkout: Path) -> None:
    as_if_built(checkout)
    answer = asked(checkout, "build")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


@pytest.mark.parametrize("source", ["web/src/main.tsx", "web/package-lock.json", "docs/openapi.json"])
def test_a_changed_source_is_built_again(checkout: Path, source: str) -> None:
    as_if_built(checkout)
    with (checkout / source).open("a") as file:
        file.write("\n")
    assert asked(checkout, "build").returncode == 1, "it tries, and there is no Node"


def test_what_is_generated_is_no_source(checkout: Path) -> None:
    as_if_built(checkout)
    (checkout / "web" / "src" / "api" / "schema.gen.ts").write_text("export {};\n")
    assert asked(checkout, "build").returncode == 0


def test_built_files_without_sources_are_taken_as_they_are(checkout: Path) -> None:
    as_if_built(checkout)
    shutil.rmtree(checkout / "web")
    assert asked(checkout, "build").returncode == 0
