"""`[agents.NAME]` of `taskyard.toml`: a program that does tasks, and all it may be given.

Whoever writes this file decides what runs. A task never does: what it may choose from (models, flags) is listed here,
and the rest of it is input.
"""

from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

FILE_NAME: Final = "taskyard.toml"

Shape: TypeAlias = Literal["auto", "text", "json", "claude", "codex", "gemini", "aider", "ollama"]
Stdin: TypeAlias = Literal["prompt", "task", "nothing"]
Keep: TypeAlias = Literal["always", "on_failure", "never"]
Sandbox: TypeAlias = Literal["none", "bubblewrap"]


class Agent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    recipe: str | None = None
    """A ready one, of which this differs in what it says."""
    command: tuple[str, ...] = ()
    """The program and its arguments, each with nothing or one placeholder in it."""
    types: tuple[str, ...] = ()
    """Task types it serves; none: all."""
    stdin: Stdin = "prompt"
    output: Shape = "auto"
    models: tuple[str, ...] | dict[str, str] = ()
    """Models that a task may name; with another name on the right, that is what the program is told."""
    default_model: str | None = None
    flags: dict[str, tuple[str, ...]] = {}
    """Arguments that a task may ask for by name, in `metadata.flags`."""
    inherit: tuple[str, ...] = ()
    """Variables of the daemon's environment that it gets, beside the usual few."""
    environment: dict[str, str] = {}
    exit_codes: dict[str, str] = {}
    rate_limit_words: tuple[str, ...] = ()
    """Which also mean that its provider refuses for now, beside those that the hub knows."""
    directory: str | None = None
    """Where it runs; none: in an empty directory of each attempt's own."""
    keep: Keep = "on_failure"
    """Which of those directories stay."""
    sandbox: Sandbox = "none"
    network: bool = True
    writable: tuple[str, ...] = ()
    """Directories that it may write to in its sandbox, beside its own: where a program keeps its settings."""
    hidden: tuple[str, ...] = ()
    """Directories that it finds empty there, beside the yard's."""
    timeout_s: float | None = None
    """At most this long, whatever a task is allowed."""
    cpu_s: int | None = None
    memory_mb: int | None = None
    file_mb: int | None = None
    processes: int | None = None
    log_bytes: int = 5 * 1024 * 1024

    @property
    def model_names(self) -> dict[str, str]:
        """What the program is told for each model that a task may name."""
        return self.models if isinstance(self.models, dict) else {name: name for name in self.models}


DEFAULTS: Final[dict[str, Any]] = {field.name: field.default for field in msgspec.structs.fields(Agent)} | {
    "flags": {},
    "environment": {},
    "exit_codes": {},
}


def over(recipe: Agent, written: Agent) -> Agent:
    """The recipe, but for what was written: that is what differs from the defaults."""
    said = {name: value for name in DEFAULTS if (value := getattr(written, name)) != DEFAULTS[name]}
    said.pop("recipe", None)
    for name in ("flags", "environment", "exit_codes"):
        if name in said:
            said[name] = {**getattr(recipe, name), **said[name]}
    for name in ("inherit", "rate_limit_words"):
        if name in said:
            said[name] = tuple(dict.fromkeys((*getattr(recipe, name), *said[name])))
    return replace(recipe, **said)
