"""Serves tasks with a program. To the runner it is an async function like any other.

    agent = CommandAgent(RECIPES["claude"], hub=…, directory=data_dir / "workspaces")
    agent.processes = processes            # while the daemon serves
    result = await agent(task, context)

What a task says becomes standard input, files and at most whole arguments; see `placeholders.py`.
"""

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Raw

from taskyard.daemon.attempt import is_exclusive
from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.command.environment import environment_of
from taskyard.daemon.command.failures import failure_of
from taskyard.daemon.command.files import DIRECTORY, Files, TooLarge, whole_of
from taskyard.daemon.command.following import Following
from taskyard.daemon.command.placeholders import filled
from taskyard.daemon.command.readers import READERS, Complaint, Printed, Reading, read_file
from taskyard.daemon.command.secrets import Secrets
from taskyard.daemon.context import Context
from taskyard.daemon.orders import Key, Start
from taskyard.daemon.process.interpreter import lack_of
from taskyard.daemon.process.launching import PLAIN, Exit, Launch, LaunchFailed, Limits, Sandbox, passes
from taskyard.daemon.process.processes import Processes
from taskyard.daemon.process.running import Running
from taskyard.daemon.process.sandbox import Bubblewrap
from taskyard.daemon.process.workspace import Keep, Workspaces
from taskyard.daemon.prompt import prompt_of, text_of
from taskyard.daemon.task import NotNow, Result, Task, TaskError
from taskyard.daemon.threads import off_loop
from taskyard.vocabulary import ErrorCode, ResultStatus
from taskyard.wire.frames import TaskExecute, encode

logger = logging.getLogger("taskyard.daemon")

SPARE_MS: Final = 30_000
# The hub and the daemon count a task's time; the keeper's count is for when neither is there.


class CommandAgent:
    begins_later: Final = True
    """Until its program runs, a daemon that dies takes nothing along (`python_runner.Served`)."""

    def __init__(self, agent: Agent, *, hub: str, directory: Path, own: Mapping[str, str] | None = None) -> None:
        """`directory` holds the workspaces, `own` is the environment that the listed variables are taken from."""
        self.agent = agent
        self.processes: Processes | None = None
        self.when_safe: Callable[[Key, Callable[[], None]], None] = lambda key, release: release()
        """Called at the end of each attempt, with what frees the rest of it: until then a daemon that starts anew can
        read the outcome once more. Whoever can tell when that is safe elsewhere puts something else here."""
        self._hub = hub
        self._own = os.environ if own is None else own
        # Programs run elsewhere than the daemon, where a path from here would lead nowhere.
        self._workspaces = Workspaces(directory.resolve(), keep=Keep(agent.keep))
        self._sandbox: Sandbox = PLAIN
        if agent.sandbox == "bubblewrap":
            self._sandbox = Bubblewrap(
                network=agent.network,
                writable=agent.writable,
                hidden=(*agent.hidden, str(_yard_of(directory.resolve()))),
            )
        self._tidying = threading.Lock()
        self._adopted: dict[Key, Running] = {}

    def adopt(self, running: Running) -> None:
        """An earlier daemon started it: when its task is started here, it is followed and not run again."""
        self._adopted[running.key] = running
        if self.processes is not None and self.agent.directory is None:
            self._workspaces.adopt(self.processes.name(running.key))

    async def __call__(self, task: Task, context: Context) -> Result:
        assert self.processes is not None, "set for as long as the daemon serves"
        name = self.processes.name((task.id, task.attempt))
        running = self._adopted.pop((task.id, task.attempt), None)
        files = self._files(name, is_new=running is None)
        succeeded = False
        try:
            if running is None:
                running = await self._launched(task, files, name)
            context.begun()
            secrets = Secrets(self.agent, task, self._own)
            following = Following(self.agent, files, context, secrets)
            ended = await _followed(following, files, running)
            printed = following.printed
            reading = self._read(files, printed, secrets)
            if (failure := failure_of(self.agent, ended, reading, printed.stderr)) is not None:
                failure.usage = reading.usage
                raise failure
            succeeded = True
            return _result(reading, await self._changed(name, reading))
        finally:
            files.close()
            if running is None:
                self._discard(files, name)
            else:
                self.when_safe(running.key, partial(self._tidy, files, name, succeeded, running))

    # --- before --------------------------------------------------------------------------------------------

    def _files(self, name: str, *, is_new: bool) -> Files:
        if self.agent.directory is not None:
            return Files(Path(self.agent.directory), name)
        try:
            return Files(self._workspaces.make(name) if is_new else self._workspaces.adopt(name), name)
        except OSError as error:
            raise _not_begun(f"its workspace cannot be made: {error}", passes=passes(error)) from error

    async def _launched(self, task: Task, files: Files, name: str) -> Running:
        assert self.processes is not None
        try:
            return await self.processes.launch(self._prepared(task, files, name))
        except (LaunchFailed, OSError) as error:
            is_passing = passes(error) if isinstance(error, OSError) else error.passes
            program = self.agent.command[0]
            reason = (None if is_passing else lack_of(program)) or str(error).removeprefix(f"cannot run {program}: ")
            raise _not_begun(f"{program} cannot be run: {reason}", passes=is_passing) from error

    def _prepared(self, task: Task, files: Files, name: str) -> Launch:
        agent, whole, prompt = self.agent, whole_of(task), prompt_of(task)
        values = {name: str(path) for name, path in files.places.items()} | {
            "task_id": task.id,
            "attempt": str(task.attempt),
            "prompt": prompt,
            "input": text_of(task.input),
            "title": text_of(task.title),
            "type": task.type,
        }
        argv = filled(agent.command, values, model=self._model(task), flags=self._flags(task))
        files.make(task, whole, prompt)
        files.open()
        if agent.directory is None:
            self._workspaces.begin(name)
        return Launch(
            key=(task.id, task.attempt),
            argv=argv,
            env=environment_of(agent, task, hub=self._hub, whole=whole, files=files.places, own=self._own),
            cwd=str(files.workspace),
            stdin={"prompt": prompt.encode("utf-8", "replace"), "task": whole, "nothing": b""}[agent.stdin],
            limits=self._limits(task),
            sandbox=self._sandbox,
            note=note_of(task),
            exclusive=is_exclusive(task),
        )

    def _model(self, task: Task) -> str | None:
        """What the program is told. One that is not listed is refused, or a task could choose its price."""
        agent = self.agent
        name = task.model or agent.default_model
        if name is None or "{model}" not in agent.command:
            return None
        if name not in agent.model_names:
            raise TaskError(
                ErrorCode.INVALID_INPUT,
                f"this agent is not set up for the model {name!r}: add it to its models, or name one of "
                f"{', '.join(agent.model_names) or 'none'}",
            )
        return agent.model_names[name]

    def _flags(self, task: Task) -> list[str]:
        asked = task.metadata.get("flags") if isinstance(task.metadata, dict) else None
        known = self.agent.flags
        if asked is None or not known or "{flags}" not in self.agent.command:
            return []
        if not isinstance(asked, list) or not all(isinstance(name, str) and name in known for name in asked):
            raise TaskError(
                ErrorCode.INVALID_INPUT, f"metadata.flags is a list of names; this agent has {', '.join(known)}"
            )
        return [argument for name in dict.fromkeys(asked) for argument in known[name]]

    def _limits(self, task: Task) -> Limits:
        agent = self.agent
        times = [] if agent.timeout_s is None else [int(agent.timeout_s * 1000)]
        times += [int(task.timeout * 1000) + SPARE_MS] if task.timeout > 0 else []
        return Limits(
            time_ms=min(times, default=None),
            cpu_s=agent.cpu_s,
            memory_mb=agent.memory_mb,
            file_mb=agent.file_mb,
            processes=agent.processes,
        )

    # --- after ---------------------------------------------------------------------------------------------

    def _read(self, files: Files, printed: Printed, secrets: Secrets) -> Reading:
        """A result in a file goes before what was printed; what the program used, it may have printed all the same."""
        reading = READERS[self.agent.output](printed)
        try:
            content = files.result()
            if content is None or not content.strip():
                return reading
            left = read_file(secrets.hide_in(content))
        except (TooLarge, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            complaint = Complaint(f"the result it left cannot be read: {error}", "INVALID_RESULT")
            return Reading(complaint=complaint, usage=reading.usage)
        left.usage = left.usage or reading.usage
        return left

    async def _changed(self, name: str, reading: Reading) -> list[str] | None:
        if reading.files_changed is not None or self.agent.directory is not None:
            return reading.files_changed
        found = await off_loop(partial(self._workspaces.changed, name))
        return [path for path in found if not path.startswith(f"{DIRECTORY}/")] or None

    def _discard(self, files: Files, name: str) -> None:
        """Nothing was begun in it: a few small files, for which no thread is needed. This machine may have none."""
        with _untidied(name):
            if self.agent.directory is not None:
                files.remove()
            else:
                self._workspaces.discard(name)

    def _tidy(self, files: Files, name: str, succeeded: bool, running: Running) -> None:
        """On a thread: a checkout takes long to remove. One at a time, since each looks at what the others left."""
        running.forget()
        with _untidied(name), self._tidying:
            if self.agent.directory is not None:
                files.remove()
            else:
                self._workspaces.end(name, succeeded=succeeded, now_s=time.time())


@contextlib.contextmanager
def _untidied(name: str) -> Iterator[None]:
    """What was done is done; a directory that stays is looked at again after the next task."""
    try:
        yield
    except OSError as error:
        logger.warning("the workspace of %s cannot be tidied up: %s", name, error)


def _not_begun(message: str, *, passes: bool) -> Exception:
    """What passes is no failure of the task: it is offered again, and none of its tries is used up."""
    return NotNow(message) if passes else TaskError("AGENT_NOT_RUNNABLE", message)


async def _followed(following: Following, files: Files, running: Running) -> Exit:
    """Until its end. What cannot be followed is ended first, and then told as lost."""
    try:
        if not files.is_open:
            files.open()  # an earlier daemon's
        return await following.until_end(running)
    except OSError as error:
        running.stop(0)
        await running.gone()
        raise TaskError("AGENT_LOST", f"its files are gone, and so is what it did: {error}") from error


def _yard_of(workspaces: Path) -> Path:
    """What a sandbox finds empty, but for its own workspace: journals, other work, and the yard's key beside them."""
    data_dir = workspaces.parent
    return data_dir.parent.parent if data_dir.parent.name == "daemons" else data_dir


def _result(reading: Reading, files_changed: list[str] | None) -> Result:
    return Result(
        reading.value,
        summary=reading.summary,
        status=reading.status or ResultStatus.SUCCESS,
        files_changed=files_changed,
        decision_report=reading.decision_report,
        usage=reading.usage,
    )


def note_of(task: Task) -> bytes:
    """What a daemon that comes back needs to go on with it. Its token is a secret, and on the disk nothing is."""
    parts: tuple[Any, ...] = (task.context_input, task.checkpoint, task.previous_attempts)
    raw = [Raw(msgspec.json.encode(part)) for part in parts]
    return encode(TaskExecute(Raw(task.raw), task.attempt, task.timeout, "", *raw))


def start_of(running: Running) -> Start:
    """The other way round."""
    return Start(running.key, msgspec.json.decode(running.note, type=TaskExecute))
