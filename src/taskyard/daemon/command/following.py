"""An attempt's program while it runs: its output becomes log, what it saves becomes a checkpoint."""

import asyncio
from typing import Final

import msgspec

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.failures import STDERR_BYTES_MAX
from taskyard.daemon.command.files import CHECKPOINT, Files, TooLarge
from taskyard.daemon.command.readers import Printed
from taskyard.daemon.command.secrets import Secrets
from taskyard.daemon.command.streams import Lines, Log, Tail
from taskyard.daemon.command.telling import told
from taskyard.daemon.context import Context
from taskyard.daemon.process.launching import Chunk, Exit, Stream
from taskyard.daemon.process.running import Running
from taskyard.wire.fields import CHECKPOINT_BYTES_MAX

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
        self._tails = {Stream.STDOUT: Tail(), Stream.STDERR: Tail(STDERR_BYTES_MAX)}
        self._known_bytes = dict.fromkeys(Stream, 0)
        self._log = Log(agent.log_bytes)

    async def until_end(self, running: Running) -> Exit:
        """How it ended. Raises `CancelledError` when the work was told to stop, and all of it has."""
        watching = asyncio.create_task(self._watch())
        try:
            async for chunk in running:
                self._take(chunk)
            ended = await running.wait()
            self._finish()
        except asyncio.CancelledError:
            ended = await _stopped(running)
            try:
                await self._read_rest(running)
            finally:
                self._finish()  # also if it is asked to stop once more
            # It may have been done already, and what is done counts.
            if ended.stopped or ended.code != 0:
                raise
        finally:
            watching.cancel()
        return ended

    def _finish(self) -> None:
        for stream in Stream:
            self._tell(stream, self._lines[stream].feed(b"", last=True))
        self._save()

    @property
    def printed(self) -> Printed:
        stdout, stderr = self._tails[Stream.STDOUT], self._tails[Stream.STDERR]
        hide_in = self._secrets.hide_in
        return Printed(hide_in(stdout.read()), hide_in(stderr.read()), stdout.missed_bytes)

    async def _read_rest(self, running: Running) -> None:
        """What came after whoever was reading was told to stop: from the beginning, but for what is known."""
        at = dict.fromkeys(Stream, 0)
        async for chunk in running:
            stream, known = chunk.stream, self._known_bytes[chunk.stream]
            begins_at = at[stream] + chunk.missed_bytes
            at[stream] = begins_at + len(chunk.data)
            if at[stream] > known:
                self._take(Chunk(stream, chunk.data[max(known - begins_at, 0) :], max(begins_at - known, 0)))

    def _take(self, chunk: Chunk) -> None:
        self._known_bytes[chunk.stream] += chunk.missed_bytes + len(chunk.data)
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


async def _stopped(running: Running) -> Exit:
    """Ask it to stop, and when asked again, leave it no more time. Returns when all of it is gone."""
    running.stop(STOP_GRACE_MS)
    while running.exit is None:
        try:
            await running.wait()
        except asyncio.CancelledError:
            running.stop(0)
    return await running.wait()
