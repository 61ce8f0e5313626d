"""What is asked of a process, and what is told of it: records only."""

import errno
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct

from taskyard.daemon.orders import Key

OUTPUT_BYTES_MAX: Final = 4 * 1024 * 1024
"""Kept of each stream for a reader that is slow or away; the oldest gives way."""


class Stream(StrEnum):
    STDOUT = "stdout"
    STDERR = "stderr"


class Limit(StrEnum):
    """What a process went over, and was ended for."""

    TIME = "time"
    CPU = "cpu"
    MEMORY = "memory"
    PROCESSES = "processes"
    FILE_SIZE = "file_size"


class Limits(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """None: as much as there is. All but the last five are per process, as the kernel counts them."""

    cpu_s: int | None = None
    files: int | None = None
    """Open at a time."""
    file_mb: int | None = None
    """Of each file it writes."""
    address_space_mb: int | None = None
    """Few agents can live with this one: what runs on V8 or Go asks for far more than it uses."""
    time_ms: int | None = None
    """From its start; also while no daemon is there to count."""
    memory_mb: int | None = None
    """Of all its processes together, in RAM; looked at four times a second."""
    processes: int | None = None
    """All together. Not the kernel's limit, which counts everything that runs as this user."""
    output_bytes_max: int = OUTPUT_BYTES_MAX
    may_gain_privileges: bool = False
    """By set-user-ID programs such as `sudo`. What they start could not be ended by us."""


class Sandbox(Protocol):
    """Where a command runs: its arguments in, the arguments that run it inside out."""

    def wrap(self, argv: list[str], *, workspace: str, name: str) -> list[str]:
        """Raises `LaunchFailed`."""

    def clean(self, *, name: str) -> list[str]:
        """What to run when the command has ended, to end what is not its child; empty: nothing."""


class Plain:
    """Nowhere but in a session of its own."""

    def wrap(self, argv: list[str], *, workspace: str, name: str) -> list[str]:
        return argv

    def clean(self, *, name: str) -> list[str]:
        return []


PLAIN: Final = Plain()


class Launch(Struct, kw_only=True):
    key: Key
    argv: list[str]
    """Never a shell's line. A name without a slash is looked up in the PATH of `env`."""
    env: dict[str, str]
    """All of it: nothing is inherited."""
    cwd: str
    """Its workspace, which is there already."""
    stdin: bytes = b""
    limits: Limits = Limits()
    sandbox: Sandbox = PLAIN
    note: bytes = b""
    """For whoever adopts it after a restart; on disk, so no secret."""
    exclusive: bool = False
    """It must be gone when the lease ends, also if no daemon is there to see to it: another may get the task then."""


class LaunchFailed(Exception):
    """Nothing was started; the message says why."""

    def __init__(self, message: str, *, passes: bool = False) -> None:
        """`passes`: it is not about what was to be started. This machine has run out of something, or is leaving."""
        super().__init__(message)
        self.passes = passes


OUT_OF: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


def passes(error: OSError) -> bool:
    """Whether it says that this machine has run out of something: disk, memory, processes, open files."""
    return error.errno in OUT_OF


class Chunk(Struct, frozen=True):
    stream: Stream
    data: bytes
    missed_bytes: int = 0
    """Of this stream, right before this: more was written than is kept, and nobody read it in time."""


class Exit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How it ended. All its processes are gone by now."""

    code: int | None = None
    signal: int | None = None
    """Which ended it, if it did not exit."""
    hit: Limit | None = None
    stopped: bool = False
    """It was told to stop before it ended."""
    lost: str = ""
    """Why nobody knows the code: whoever watched over it was killed."""
