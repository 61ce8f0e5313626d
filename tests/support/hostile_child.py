"""`python -I -S hostile_child.py KIND ROLL [NAME]`: work that does not want to end, and writes down who it is.

Every process appends its number and its start time to ROLL before it does anything else, so that survivors are found
although they fled from their group, their session, their parent and their environment. With NAME, ROLL is a directory.
"""

import os
import signal
import sys
import time

ASKED = [argument for argument in sys.argv[1:] if argument != "--"]
ROLL = os.path.join("", *ASKED[1:])
MAY_END = "may end"


def enrol() -> None:
    with open("/proc/self/stat", "rb") as stat:
        started = stat.read().rpartition(b") ")[2].split()[19].decode()
    roll = os.open(ROLL, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(roll, f"{os.getpid()} {started}\n".encode())
    os.close(roll)


def child() -> bool:
    """Whether this is the new process."""
    if os.fork() != 0:
        return False
    enrol()
    return True


def deaf() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def linger() -> None:
    while True:
        time.sleep(60)


def on_term(act: object) -> None:
    signal.signal(signal.SIGTERM, act)  # type: ignore[arg-type]


def forks() -> None:
    for _ in range(5):
        if child():
            linger()
    linger()


def double_forks() -> None:
    if child():
        if child():
            deaf()
            linger()
        os._exit(0)
    os.wait()
    linger()


def sets_sid() -> None:
    """And forgets its environment, so that nothing but its birth tells whose it is."""
    if child():
        os.setsid()
        if child():
            deaf()
            os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], {})
        os._exit(0)
    linger()


def ignores_term() -> None:
    deaf()
    linger()


def holds_pipes() -> None:
    """Ends at once when asked to; what it leaves holds its output open."""
    if child():
        os.setsid()
        deaf()
        linger()
    on_term(lambda number, frame: os._exit(1))
    linger()


def floods_output() -> None:
    deaf()
    while True:
        os.write(1, b"x" * 65536)
        os.write(2, b"y" * 65536)


def allocates() -> None:
    deaf()
    held = []
    for _ in range(128):
        held.append(b"z" * 1024 * 1024)
        time.sleep(0.002)
    linger()


def kills_parent() -> None:
    if child():
        deaf()
        os.setsid()
        linger()
    os.kill(os.getppid(), signal.SIGKILL)
    linger()


def sleeps_past_lease() -> None:
    deaf()
    while True:
        signal.pause()


def exits_at_cancel() -> None:
    on_term(lambda number, frame: os._exit(0))
    linger()


def writes_after_exit() -> None:
    if child():
        deaf()
        os.setsid()
        while True:
            os.write(1, b"still here\n")
            time.sleep(0.001)
    on_term(lambda number, frame: os._exit(1))
    linger()


def spawns_during_kill() -> None:
    deaf()
    for _ in range(3):
        if child():
            break
    while True:
        if child():
            until = time.monotonic() + 0.2
            while time.monotonic() < until:
                if child():
                    time.sleep(0.05)
                    os._exit(0)
                time.sleep(0.01)
            linger_briefly()
        time.sleep(0.05)


def linger_briefly() -> None:
    time.sleep(1.0)
    os._exit(0)


def kills_daemon() -> None:
    """Whatever daemon comes, a moment after it has taken this work up."""
    deaf()
    guard = os.getppid()
    keeper = parent_of(guard)
    while True:
        time.sleep(0.3)
        for pid in filter(str.isdecimal, os.listdir("/proc")):
            if is_daemon_of(pid, keeper):
                os.kill(int(pid), signal.SIGKILL)


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat", "rb") as stat:
        return int(stat.read().rpartition(b") ")[2].split()[1])


def is_daemon_of(pid: str, keeper: int) -> bool:
    """Whether it serves from the directory whose work the keeper keeps, and has a thread for its journal by now."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            arguments = file.read().split(b"\0")
        with open(f"/proc/{keeper}/cmdline", "rb") as file:
            directory = file.read().split(b"\0")[-2]
        name = directory.split(b"/")[-2]
        return b"daemon" in arguments and name in arguments and len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False


def rests() -> None:
    """No harm at all, until it is told that it may end."""
    while not os.path.exists(os.path.join(os.path.dirname(ROLL), MAY_END)):
        time.sleep(0.05)
    print("rested")


KINDS = {
    "forks": forks,
    "double-forks": double_forks,
    "setsid": sets_sid,
    "ignores-term": ignores_term,
    "holds-pipes": holds_pipes,
    "floods-output": floods_output,
    "allocates": allocates,
    "kills-parent": kills_parent,
    "sleeps-past-lease": sleeps_past_lease,
    "exits-at-cancel": exits_at_cancel,
    "writes-after-exit": writes_after_exit,
    "spawns-during-kill": spawns_during_kill,
}
OTHERS = {"kills-daemon": kills_daemon, "rests": rests}

if __name__ == "__main__":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN if ASKED[0] == "spawns-during-kill" else signal.SIG_DFL)
    enrol()
    (KINDS | OTHERS)[ASKED[0]]()
