"""What an attempt finds and leaves on disk: its task, its prompt, its result, its checkpoint, its workspace.

All of it lies in the directory the program runs in, so that a sandbox which shows nothing else shows this. What the
program left is opened without following links: it may have put one to a file that only the daemon can read.
"""

import contextlib
import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from taskyard.daemon.process.removal import remove_tree
from taskyard.daemon.task import Task
from taskyard.files.private import open_private

DIRECTORY: Final = ".taskyard"
RESULT: Final = "result.json"
CHECKPOINT: Final = "checkpoint.json"
TRIES_MAX: Final = 100
RESULT_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of a result in a file. One over the wire's limit is kept whole by the daemon; this is where even that ends."""

_encode: Final = msgspec.json.encode


class TooLarge(Exception):
    """A file is larger than anybody reads."""


class Files:
    """One attempt's. Made before its program starts, or found again by a daemon that comes back."""

    def __init__(self, workspace: Path, name: str) -> None:
        self.workspace = workspace
        self._path = workspace / DIRECTORY / name
        self._handle: int | None = None
        self._seen: tuple[int, int, int] | None = None

    def make(self, task: Task, whole: bytes, prompt: str) -> None:
        self._make_directory()
        # In a repository these would be one `git add` away from a commit.
        _write(self._path / ".gitignore", b"*\n")
        _write(self._path / "task.json", whole)
        _write(self._path / "prompt.txt", prompt.encode("utf-8", "replace"))
        if task.checkpoint is not None:
            _write(self._path / CHECKPOINT, _encode(task.checkpoint))

    def _make_directory(self) -> None:
        """Others may run in the same workspace, and the last of them takes the directory along."""
        for _ in range(TRIES_MAX - 1):
            with contextlib.suppress(FileNotFoundError, FileExistsError):
                self._path.mkdir(mode=0o700, parents=True)
                return
        self._path.mkdir(mode=0o700, parents=True)

    def open(self) -> None:
        """Whatever is put in its place afterwards, this directory is the one that is read."""
        self._handle = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        self._seen = self._sign_of(CHECKPOINT)

    @property
    def is_open(self) -> bool:
        return self._handle is not None

    @property
    def places(self) -> dict[str, Path]:
        return {
            "workspace": self.workspace,
            "task_file": self._path / "task.json",
            "prompt_file": self._path / "prompt.txt",
            "result_file": self._path / RESULT,
            "checkpoint_file": self._path / CHECKPOINT,
        }

    def result(self) -> bytes | None:
        """What the program left as its result, if it did. Raises `TooLarge`."""
        return self._read(RESULT, RESULT_BYTES_MAX)

    def new_checkpoint(self, bytes_max: int) -> bytes | None:
        """What the program saved since this was last asked. Raises `TooLarge`."""
        sign = self._sign_of(CHECKPOINT)
        if sign is None or sign == self._seen:
            return None
        self._seen = sign
        return self._read(CHECKPOINT, bytes_max)

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def remove(self) -> None:
        """These files, and not the workspace they lie in."""
        remove_tree(self._path)
        with contextlib.suppress(OSError):
            self._path.parent.rmdir()  # unless others are in it

    def _read(self, name: str, bytes_max: int) -> bytes | None:
        if self._handle is None:
            return None
        try:
            # Not blocking: a pipe in its place would keep us for ever.
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._handle)
        except OSError:
            return None
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            return None
        with os.fdopen(file, "rb") as stream:
            content = stream.read(bytes_max + 1)
        if len(content) > bytes_max:
            raise TooLarge(f"{name} has more than {bytes_max} bytes")
        return content

    def _sign_of(self, name: str) -> tuple[int, int, int] | None:
        try:
            found = os.stat(name, dir_fd=self._handle, follow_symlinks=False)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size


def _write(path: Path, content: bytes) -> None:
    with open(path, "wb", opener=open_private) as file:
        file.write(content)


def whole_of(task: Task) -> bytes:
    """The task as the hub sent it, with what belongs to this attempt; without its token, which is no part of it."""
    sent = msgspec.json.decode(task.raw, type=dict[str, object]) if task.raw else {"id": task.id}
    sent |= {
        "attempt": task.attempt,
        "timeout": task.timeout,
        "context_input": task.context_input,
        "checkpoint": task.checkpoint,
        "previous_attempts": task.previous_attempts,
    }
    return _encode(sent)
