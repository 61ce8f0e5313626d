"""An attempt's program while it runs: its output becomes log, what it saves becomes a checkpoint."""

import asyncio
import contextlib
from typing import Final

import msgspec

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.failures import STDERR_BYTES_MAX
from taskyard.daemon.command.files import CHECKPOINT, Files, TooLarge
from taskyard.daemon.command.readers import Printed
from taskyard.daemon.command.secrets import Secrets
from taskyard.daemon.command.streams import Lines, Log, Tail
from taskyard.daemon.command.telling import told
from taskyard.daemon.context import CHECKPOINT_BYTES_MAX, Context
from taskyard.daemon.process.launching import Chunk, Exit, Stream
from taskyard.daemon.process.running import Running

CHECKPOINT_EVERY_S: Final = 1.0
"""How often it is looked whether the program saved something. The hub shows it no more often."""
STOP_GRACE_MS: Final = 60_000
# The runner asks a second time when the task's own grace is over, and then there is none.


class Following:
    def __init__(self, agent: Agent, files: Files, context: Context, secrets: Secrets) -> None:
        self._agent = agent
        self._secrets = secrets
        self._files = files
        self._context = context
        self._lines = {stream: Lines() for stream in Stream}
        self._tails = _tails()
        self._log = Log(agent.log_bytes)

    async def until_end(self, running: Running) -> Exit:
        """How it ended. Raises `CancelledError` when the work was told to stop, and all of it has."""
        watching = asyncio.create_task(self._watch())
        try:
            async for chunk in running:
                self._take(chunk)
            ended = await running.wait()
        except asyncio.CancelledError:
            ended = await _stopped(running)
            # It may have been done already, and what is done counts.
            if ended.stopped or ended.code != 0:
                self._save()
                raise
            await self._read_again(running)
        finally:
            watching.cancel()
        for stream in Stream:
            self._tell(stream, self._lines[stream].feed(b"", last=True))
        self._save()
        return ended

    @property
    def printed(self) -> Printed:
        stdout, stderr = self._tails[Stream.STDOUT], self._tails[Stream.STDERR]
        hide_in = self._secrets.hide_in
        return Printed(hide_in(stdout.read()), hide_in(stderr.read()), stdout.missed_bytes)

    async def _read_again(self, running: Running) -> None:
        """From the beginning, for the result alone: where the log had got to is lost with whoever was reading."""
        self._tails = _tails()
        async for chunk in running:
            self._tails[chunk.stream].feed(chunk.data)

    def _take(self, chunk: Chunk) -> None:
        if chunk.missed_bytes:
            self._tails[chunk.stream].missed_bytes += chunk.missed_bytes
            self._tell(chunk.stream, [f"[… {chunk.missed_bytes} bytes came too fast and are left out …]"])
        self._tails[chunk.stream].feed(chunk.data)
        self._tell(chunk.stream, self._lines[chunk.stream].feed(chunk.data))

    def _tell(self, stream: Stream, lines: list[str]) -> None:
        if stream is Stream.STDOUT:
            lines = [text for line in lines if (text := told(self._agent.output, line)) is not None]
        if text := self._log.take(lines):
            self._context.log(self._secrets.hide(text))

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(CHECKPOINT_EVERY_S)
            self._save(is_last=False)

    def _save(self, *, is_last: bool = True) -> None:
        """Half a file is one that is being written; at the end it is one that was not."""
        complaint = None
        try:
            content = self._files.new_checkpoint(CHECKPOINT_BYTES_MAX)
            if content is not None:
                self._context.checkpoint(msgspec.json.decode(self._secrets.hide_in(content)))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            complaint = "is not JSON"
        except (TooLarge, ValueError) as error:
            complaint = f"cannot be saved ({error})"
        if complaint is not None and is_last:
            self._context.log(f"[{CHECKPOINT} {complaint} and was not taken]")


def _tails() -> dict[Stream, Tail]:
    return {Stream.STDOUT: Tail(), Stream.STDERR: Tail(STDERR_BYTES_MAX)}


async def _stopped(running: Running) -> Exit:
    """Ask it to stop, and when asked again, leave it no more time. Returns when all of it is gone."""
    running.stop(STOP_GRACE_MS)
    while running.exit is None:
        try:
            await running.wait()
        except asyncio.CancelledError:
            running.stop(0)
    return await running.wait()


async def finished(work: "asyncio.Future[None]") -> None:
    """Returns when it is done, whoever is cancelled meanwhile: what is half tidied up stays behind for good."""
    while not work.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(work)
