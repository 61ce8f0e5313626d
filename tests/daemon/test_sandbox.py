"""Sandboxes: arguments in, arguments out; and what bubblewrap lets through."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest

from taskyard.daemon.process.launching import Launch, LaunchFailed, Stream
from taskyard.daemon.process.processes import Processes
from taskyard.daemon.process.sandbox import Around, Bubblewrap


def test_arguments_are_filled_in_and_never_looked_at() -> None:
    around = Around(before=("run", "-v", "{workspace}:/w", "--name={name}"), after=("rm", "{name}"))
    argv = around.wrap(["agent", "{name}", "--", "-x"], workspace="/a", name="t-1")
    assert argv == ["run", "-v", "/a:/w", "--name=t-1", "agent", "{name}", "--", "-x"]
    assert around.clean(name="t-1") == ["rm", "t-1"]


def test_bubblewrap_that_is_missing_says_what_to_do() -> None:
    with pytest.raises(LaunchFailed, match="install it, or choose another sandbox"):
        Bubblewrap(program="no-such-bwrap").wrap(["true"], workspace="/", name="t-1")


def in_bubblewrap(script: str, directory: Path, sandbox: Bubblewrap) -> tuple[int | None, str, str]:
    async def main() -> tuple[int | None, str, str]:
        processes = Processes(directory / "kept")
        await processes.open()
        argv = ["/bin/sh", "-c", script]
        env = {"PATH": "/usr/bin:/bin"}
        launch = Launch(key=("t1", 1), argv=argv, env=env, cwd=str(directory / "space"), sandbox=sandbox)
        try:
            running = await processes.launch(launch)
            texts = dict.fromkeys(Stream, b"")
            async for chunk in running:
                texts[chunk.stream] += chunk.data
            return (await running.wait()).code, texts[Stream.STDOUT].decode(), texts[Stream.STDERR].decode()
        finally:
            await processes.close()

    return asyncio.run(main())


def needs_bubblewrap() -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    works = subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True, check=False)
    if works.returncode != 0:
        pytest.skip(f"bubblewrap cannot work here: {works.stderr.decode().strip()}")


def test_in_bubblewrap_only_the_workspace_can_be_written_and_nobody_is_reached(tmp_path: Path) -> None:
    needs_bubblewrap()
    (tmp_path / "space").mkdir()
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("ty_secret")
    script = f"""
        echo made > file && pwd
        touch {tmp_path}/outside
        touch /usr/outside 2>/dev/null || echo read-only
        ls {tmp_path}/secrets
        wc -l < /proc/net/route
    """
    code, out, err = in_bubblewrap(script, tmp_path, Bubblewrap(hidden=(str(tmp_path / "secrets"),)))
    assert (code, err) == (0, "")
    assert out.split() == [str(tmp_path / "space"), "read-only", "1"], "one line: the heading of a table without routes"
    assert (tmp_path / "space" / "file").read_text() == "made\n"
    assert not (tmp_path / "outside").exists(), "it has a /tmp of its own"


def test_bubblewrap_lets_through_what_it_is_told_to(tmp_path: Path) -> None:
    needs_bubblewrap()
    for name in ("space", "cache"):
        (tmp_path / name).mkdir()
    sandbox = Bubblewrap(network=True, writable=(str(tmp_path / "cache"),))
    code, out, _ = in_bubblewrap(f"touch {tmp_path}/cache/file; readlink /proc/self/ns/net", tmp_path, sandbox)
    assert (code, out.strip()) == (0, Path("/proc/self/ns/net").readlink().name)
    assert (tmp_path / "cache" / "file").exists()
