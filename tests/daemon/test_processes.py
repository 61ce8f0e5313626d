"""Processes of a daemon: what they are given, how each way to end is told, and that nobody is left."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.daemon.process import tree
from taskyard.daemon.process.launching import Chunk, Launch, LaunchFailed, Limit, Limits, Stream
from taskyard.daemon.process.messages import Leave, packed
from taskyard.daemon.process.processes import Processes
from taskyard.daemon.process.running import Running
from taskyard.daemon.process.sandbox import Around
from taskyard.daemon.process.spawn import bounds
from tests.daemon.kept import ONE, PATH, a_hostile, keeper_of, play, said, shell, wait_gone
from tests.support import hostile
from tests.support.live import ROOT
from tests.support.measured import measured_children

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with measured_children(tmp_path_factory.mktemp("coverage") / "site", ROOT):
        yield


# --- one process -------------------------------------------------------------------------------------------


def test_a_process_gets_its_input_and_directory_and_nothing_of_the_daemons_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TASKYARD_KEY", "ty_secret")

    async def scenario(processes: Processes) -> None:
        running = await processes.launch(shell("cat; pwd; env; echo oh >&2; exit 3", tmp_path, stdin=b"question\n"))
        texts = await said(running)
        how = await running.wait()
        assert (how.code, how.signal, how.stopped, how.lost) == (3, None, False, "")
        assert texts[Stream.STDERR] == b"oh\n"
        lines = texts[Stream.STDOUT].decode().splitlines()
        assert lines[:2] == ["question", str(tmp_path)]
        assert {line.partition("=")[0] for line in lines[2:]} == {"PATH", "PWD", "TASKYARD_KEPT"}
        environ = Path("/proc", str(keeper_of(tmp_path / "kept").pid), "environ").read_bytes()
        assert b"ty_secret" not in environ

    play(tmp_path / "kept", scenario)


@pytest.mark.parametrize(
    ("argv", "cwd", "why"),
    [
        (["no-such-program"], ".", "cannot run no-such-program: No such file or directory"),
        (["/etc/passwd"], ".", "cannot run /etc/passwd: Permission denied"),
        (["true", "a\0b"], ".", "cannot run true: embedded null byte"),
        (["true"], "missing", "No such file or directory"),
        (["true", "\ud800"], ".", "cannot prepare it"),
        (["true", "x" * (16 * 1024 * 1024)], ".", "too long"),
    ],
    ids=["unknown", "not a program", "null byte", "no directory", "no text", "too long"],
)
def test_what_cannot_be_started_is_refused_with_the_reason_and_leaves_nothing(
    argv: list[str], cwd: str, why: str, tmp_path: Path
) -> None:
    async def scenario(processes: Processes) -> None:
        with pytest.raises(LaunchFailed) as failed:
            await processes.launch(Launch(key=ONE, argv=argv, env=PATH, cwd=str(tmp_path / cwd)))
        assert why in str(failed.value)
        assert list((tmp_path / "kept" / "attempts").iterdir()) == []
        again = await processes.launch(shell("true", tmp_path))
        assert (await again.wait()).code == 0

    play(tmp_path / "kept", scenario)


def test_an_attempt_that_runs_is_not_started_twice(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        running = await processes.launch(shell("sleep 60", tmp_path))
        with pytest.raises(LaunchFailed, match="runs already"):
            await processes.launch(shell("sleep 60", tmp_path))
        running.stop(0)
        assert (await running.wait()).stopped

    play(tmp_path / "kept", scenario)


def test_a_hub_cannot_name_a_file_elsewhere(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        running = await processes.launch(shell("true", tmp_path, key=("../../evil", 1)))
        await running.wait()
        (attempt,) = (tmp_path / "kept" / "attempts").iterdir()
        assert len(attempt.name) > 60
        running.forget()
        assert not attempt.exists()

    play(tmp_path / "kept", scenario)


def test_a_flood_is_read_with_gaps_that_add_up_and_its_end_is_whole(tmp_path: Path) -> None:
    count = 8 * 1024 * 1024
    flood = f"head -c {count} /dev/zero; echo; echo last"

    async def scenario(processes: Processes) -> None:
        running = await processes.launch(shell(flood, tmp_path, limits=Limits(output_bytes_max=128 * 1024)))
        await running.wait()
        chunks: list[Chunk] = [chunk async for chunk in running]
        assert sum(len(chunk.data) + chunk.missed_bytes for chunk in chunks) == count + len("\nlast\n")
        assert chunks[0].missed_bytes > 0
        assert chunks[-1].data.endswith(b"\nlast\n")
        sizes = [path.stat().st_size for path in (tmp_path / "kept" / "attempts").rglob("*")]
        assert max(sizes) <= 129 * 1024

    play(tmp_path / "kept", scenario)


def test_how_it_ended_is_told_although_no_disk_takes_note_of_it(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        running = await processes.launch(shell("read go < ../go; exit 3", tmp_path / "work"))
        # A directory in its place: nothing can be written there, as on a disk that is full.
        (tmp_path / "processes" / "attempts" / "t1-1" / "exit.new").mkdir()
        (tmp_path / "go").write_text("go\n")
        assert (await running.wait()).code == 3

    (tmp_path / "work").mkdir()
    os.mkfifo(tmp_path / "go")
    play(tmp_path / "processes", scenario)


def test_a_keeper_that_has_run_out_of_files_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        # Given a keeper that cannot open another file
        running = await processes.launch(shell("read go < ../go; exit 3", tmp_path / "work"))
        keeper = keeper_of(tmp_path / "processes").pid
        files, limits = len(os.listdir(f"/proc/{keeper}/fd")), resource.prlimit(keeper, resource.RLIMIT_NOFILE)
        resource.prlimit(keeper, resource.RLIMIT_NOFILE, (files, limits[1]))
        # When it is asked for another process
        with pytest.raises(LaunchFailed, match="Too many open files") as failed:
            await processes.launch(shell("true", tmp_path, key=("t2", 1)))
        # Then that can be tried again, and what it keeps goes on
        assert failed.value.passes
        resource.prlimit(keeper, resource.RLIMIT_NOFILE, limits)
        again = await processes.launch(shell("true", tmp_path, key=("t2", 1)))
        assert (await again.wait()).code == 0
        (tmp_path / "go").write_text("go\n")
        assert (await running.wait()).code == 3

    (tmp_path / "work").mkdir()
    os.mkfifo(tmp_path / "go")
    play(tmp_path / "processes", scenario)


def test_what_a_program_leaves_running_ends_with_it(tmp_path: Path) -> None:
    roll = tmp_path / "roll"
    roll.touch()
    left = " ".join(hostile.command("setsid", roll))

    async def scenario(processes: Processes) -> None:
        script = f"{left} & while [ $(wc -l < {roll}) -lt 3 ]; do :; done; echo done"
        running = await processes.launch(shell(script, tmp_path))
        assert (await running.wait()).code == 0
        assert len(hostile.enrolled(roll)) >= 3
        assert hostile.survivors(roll) == []

    play(tmp_path / "kept", scenario)


@pytest.mark.parametrize(
    ("script", "limits", "hit"),
    [
        ("sleep 60", Limits(time_ms=200), Limit.TIME),
        ("while :; do :; done", Limits(cpu_s=1), Limit.CPU),
        ("x=$(head -c 90000000 /dev/zero | tr '\\0' x); sleep 60", Limits(memory_mb=64), Limit.MEMORY),
        ("for i in 1 2 3 4 5 6 7 8; do sleep 60 & done; wait", Limits(processes=5), Limit.PROCESSES),
        ("exec head -c 3000000 /dev/zero > big", Limits(file_mb=2), Limit.FILE_SIZE),
    ],
    ids=list(Limit),
)
def test_a_process_that_goes_over_a_limit_is_ended_and_the_limit_named(
    script: str, limits: Limits, hit: Limit, tmp_path: Path
) -> None:
    async def scenario(processes: Processes) -> None:
        running = await processes.launch(shell(script, tmp_path, limits=limits))
        how = await running.wait()
        assert (how.hit, how.code) == (hit, None)

    play(tmp_path / "kept", scenario)


@pytest.mark.parametrize(
    ("hard", "expected"), [(resource.RLIM_INFINITY, (10, 11)), (100, (10, 11)), (10, (10, 10)), (5, (5, 5))]
)
def test_a_limit_is_never_above_what_the_daemon_itself_may(hard: int, expected: tuple[int, int]) -> None:
    assert bounds(resource.RLIMIT_CPU, 10, hard) == expected


def test_a_process_has_no_more_files_than_it_may(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        limits = Limits(files=20, address_space_mb=512)
        running = await processes.launch(shell("ulimit -n; ulimit -v; ulimit -c", tmp_path, limits=limits))
        assert (await said(running))[Stream.STDOUT].split() == [b"20", b"524288", b"0"]

    play(tmp_path / "kept", scenario)


def test_what_a_sandbox_started_elsewhere_is_cleaned_up_also_after_a_kill(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        sandbox = Around(before=("/usr/bin/env", "IN={workspace}"), after=("/bin/sh", "-c", f"echo {{name}} > {note}"))
        running = await processes.launch(shell("echo $IN; sleep 60", tmp_path, sandbox=sandbox))
        async for chunk in running:
            assert chunk.data == f"{tmp_path}\n".encode()
            running.stop(0)
        assert note.read_text() == "t1-1\n"

    note = tmp_path / "cleaned"
    play(tmp_path / "kept", scenario)


def test_work_cannot_command_the_keeper(tmp_path: Path) -> None:
    call = tmp_path / "call.py"
    call.write_text(
        "import socket, sys\n"
        "keeper = socket.socket(socket.AF_UNIX)\n"
        "keeper.connect(sys.argv[1])\n"
        f"keeper.sendall({packed(Leave())!r})\n"
        "print(keeper.recv(100))\n"
    )

    async def scenario(processes: Processes) -> None:
        bystander = await processes.launch(shell("sleep 60", tmp_path, key=("t2", 1)))
        argv = [sys.executable, "-I", "-S", str(call), str(tmp_path / "kept" / "keeper.sock")]
        caller = await processes.launch(Launch(key=ONE, argv=argv, env={}, cwd=str(tmp_path)))
        texts = await said(caller)
        assert texts[Stream.STDOUT] in (b"b''\n", b"") or b"reset" in texts[Stream.STDERR]
        assert bystander.exit is None
        again = await processes.launch(shell("echo fine", tmp_path, key=("t3", 1)))
        assert (await said(again))[Stream.STDOUT] == b"fine\n"

    play(tmp_path / "kept", scenario)


# --- hostile ones ------------------------------------------------------------------------------------------


async def _begun(roll: Path) -> None:
    await asyncio.to_thread(hostile.wait_begun, roll)


async def _gone(roll: Path) -> None:
    await asyncio.to_thread(hostile.wait_gone, roll)


@pytest.mark.slow
def test_nobody_is_left_of_hostile_work_that_is_stopped(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        all_of_them = await _all_hostile(processes, tmp_path)
        for running, roll in all_of_them.values():
            await _begun(roll)
            running.stop(200)
        for kind, (running, roll) in all_of_them.items():
            how = await running.wait()
            assert hostile.survivors(roll) == [], f"{kind}: nothing is called stopped before it has stopped"
            assert how.stopped or how.lost, kind

    play(tmp_path / "kept", scenario)


@pytest.mark.slow
def test_nobody_is_left_of_hostile_work_when_its_time_is_up(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        for kind, (running, roll) in (await _all_hostile(processes, tmp_path, Limits(time_ms=400))).items():
            how = await running.wait()
            assert hostile.survivors(roll) == [], kind
            assert how.hit is Limit.TIME or how.lost, kind

    play(tmp_path / "kept", scenario)


@pytest.mark.slow
def test_nobody_is_left_of_hostile_work_when_its_keeper_is_killed(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        all_of_them = await _all_hostile(processes, tmp_path)
        for _, roll in all_of_them.values():
            await _begun(roll)
        keeper = keeper_of(tmp_path / "kept")
        tree.send(keeper, signal.SIGKILL)
        for kind, (running, roll) in all_of_them.items():
            how = await running.wait()
            assert how.lost or how.signal == signal.SIGKILL, kind
            await _gone(roll)
        await asyncio.to_thread(wait_gone, keeper)
        again = await processes.launch(shell("true", tmp_path))
        assert (await again.wait()).code == 0

    play(tmp_path / "kept", scenario)


async def _all_hostile(
    processes: Processes, directory: Path, limits: Limits | None = None
) -> dict[str, tuple[Running, Path]]:
    """All twelve side by side, each with its roll."""
    rolls = {kind: directory / f"{kind}.roll" for kind in hostile.KINDS}
    return {
        kind: (await processes.launch(a_hostile(kind, roll, (kind, 1), limits)), roll) for kind, roll in rolls.items()
    }


def test_who_kills_its_guard_ends_alone(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        roll = tmp_path / "roll"
        bystander = await processes.launch(shell("read line; echo $line", tmp_path, key=("t2", 1), stdin=b"fine\n"))
        sleeper = await processes.launch(shell("sleep 60", tmp_path, key=("t3", 1)))
        killer = await processes.launch(a_hostile("kills-parent", roll))
        assert (await killer.wait()).lost
        assert hostile.survivors(roll) == []
        assert (await said(bystander))[Stream.STDOUT] == b"fine\n"
        assert sleeper.exit is None
        sleeper.stop(1000)
        assert (await sleeper.wait()).signal == signal.SIGTERM

    play(tmp_path / "kept", scenario)


def test_a_process_is_not_taken_for_another_that_has_its_number() -> None:
    with subprocess.Popen(["/bin/sleep", "60"]) as sleeper:
        identity = tree.identify(sleeper.pid)
        assert identity is not None
        tree.send(identity._replace(started=identity.started - 1), signal.SIGKILL)
        assert sleeper.poll() is None
        tree.send(identity, signal.SIGKILL)
        assert sleeper.wait() == -signal.SIGKILL
    assert tree.identify(sleeper.pid) is None
