"""What no type can say of agents: what makes no sense, or would let a task choose what runs.

Every fault is found, not only the first: whoever mends a file wants to mend it once.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.daemon.command.configuration import Agent, over
from taskyard.daemon.command.placeholders import faults_in_command
from taskyard.daemon.command.recipes import RECIPES
from taskyard.wire.fields import NAME_CHARS_MAX

ARGUMENTS_MAX: Final = 256
SECONDS_MAX: Final = 30 * 24 * 3600
NUMBER_MAX: Final = 2**31 - 1
LOG_BYTES_MAX: Final = 64 * 1024 * 1024
EXIT_CODE_MAX: Final = 255
OWN: Final = "TASKYARD_"
"""Names that begin so are the daemon's: its key is one of them, and what an agent is told is written anew."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ERROR: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


class BadAgents(Exception):
    """What is configured cannot be used; the message says where and why."""


class _File(Struct):
    """The rest of the file is the hub's."""

    agents: dict[str, Agent] = {}


def read_agents(path: Path) -> dict[str, Agent]:
    """What the file says of agents; an absent file says nothing."""
    try:
        written = msgspec.toml.decode(path.read_bytes(), type=_File).agents
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadAgents(f"{path} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadAgents(f"{path} is not valid: {error}.") from error
    if faults := list(faults_in(written)):
        raise BadAgents(f"{path} is not valid: {'; '.join(faults)}.")
    return {name: whole(name, agent) for name, agent in written.items()}


def whole(name: str, written: Agent) -> Agent:
    """With what its recipe says. A section that is called like one means that one."""
    recipe = RECIPES.get(_recipe_of(name, written) or "")
    return written if recipe is None else over(recipe, written)


def _recipe_of(name: str, written: Agent) -> str | None:
    return written.recipe or (name if name in RECIPES else None)


def faults_in(agents: Mapping[str, Agent]) -> Iterator[str]:
    """What is wrong with them, each as half a sentence that begins with its place."""
    for name, agent in agents.items():
        place = f"agents.{name}"
        if _NAME.fullmatch(name) is None:
            yield f"{place}: a name has 1 to 64 letters, digits, dots, dashes and underscores"
        recipe = _recipe_of(name, agent)
        if recipe is None and not agent.command:
            yield f"{place} needs a command or a recipe"
        elif recipe is not None and recipe not in RECIPES:
            yield f"{place}.recipe: known are {', '.join(RECIPES)}"
        else:
            yield from (f"{place}.{fault}" for fault in faults_of(whole(name, agent)))


def faults_of(agent: Agent) -> Iterator[str]:
    if len(agent.command) > ARGUMENTS_MAX:
        yield f"command has more than {ARGUMENTS_MAX} arguments"
    yield from faults_in_command(agent.command, has_flags=bool(agent.flags))
    yield from _of_names(agent)
    yield from _of_choices(agent)
    yield from _of_environment(agent)
    yield from _of_exit_codes(agent)
    yield from _of_numbers(agent)


def _of_names(agent: Agent) -> Iterator[str]:
    for type_ in agent.types:
        if not 0 < len(type_) <= NAME_CHARS_MAX:
            yield f"types: a type has 1 to {NAME_CHARS_MAX} characters"
    if any(not word.strip() for word in agent.rate_limit_words):
        yield "rate_limit_words: an empty one would be found everywhere"
    if agent.directory is not None and not Path(agent.directory).is_absolute():
        yield "directory must be a whole path, one that begins with /"
    if agent.sandbox == "none" and (not agent.network or agent.writable or agent.hidden):
        yield 'network = false, writable and hidden need sandbox = "bubblewrap"'
    for name in ("writable", "hidden"):
        if not all(Path(path).is_absolute() and "\0" not in path for path in getattr(agent, name)):
            yield f"{name}: each is a whole path, one that begins with /"


def _of_choices(agent: Agent) -> Iterator[str]:
    for name, told in agent.model_names.items():
        if not is_plain(name) or not is_plain(told):
            yield f"models: {name!r} is empty, begins with a dash or has a control character"
    if agent.default_model is not None and agent.default_model not in agent.model_names:
        yield "default_model must be one of models"
    for name, arguments in agent.flags.items():
        if not name or any("\0" in argument or not argument for argument in arguments):
            yield f"flags.{name}: neither a name nor an argument may be empty or have a zero byte"


def is_plain(value: str) -> bool:
    """Whether no program could take it for an option, nor a terminal for more than text."""
    return bool(value.strip()) and not value.lstrip().startswith("-") and value.isprintable()


def _of_environment(agent: Agent) -> Iterator[str]:
    for place, names in (("inherit", agent.inherit), ("environment", tuple(agent.environment))):
        for name in names:
            if _VARIABLE.fullmatch(name) is None:
                yield f"{place}: {name!r} is not the name of a variable"
            elif name.upper().startswith(OWN):
                yield f"{place}: {name} is the daemon's own"
    if any("\0" in value for value in agent.environment.values()):
        yield "environment: a value has a zero byte"


def _of_exit_codes(agent: Agent) -> Iterator[str]:
    for code, error in agent.exit_codes.items():
        is_number = code.isascii() and code.isdecimal() and 0 < int(code[:4]) <= EXIT_CODE_MAX and len(code) < 4
        if not is_number:
            yield f"exit_codes: {code!r} is not a number from 1 to {EXIT_CODE_MAX}"
        if _ERROR.fullmatch(error) is None:
            yield f"exit_codes.{code}: an error's code is written LIKE_THIS"


def _of_numbers(agent: Agent) -> Iterator[str]:
    if agent.timeout_s is not None and not 0 < agent.timeout_s <= SECONDS_MAX:
        yield f"timeout_s must be above 0 and at most {SECONDS_MAX}"
    for name in ("cpu_s", "memory_mb", "file_mb", "processes"):
        number = getattr(agent, name)
        if number is not None and not 0 < number <= NUMBER_MAX:
            yield f"{name} must be from 1 to {NUMBER_MAX}"
    if not 0 <= agent.log_bytes <= LOG_BYTES_MAX:
        yield f"log_bytes must be at most {LOG_BYTES_MAX}"
