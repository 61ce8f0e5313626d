"""The arguments of an agent's program: a list with placeholders, each of which becomes a whole argument.

There is no shell, so nothing in a value is ever read as more than that value. What is left to fear is a value that the
program itself takes for one of its options. So what a task may write freely stands only behind `--`, where programs
look for no options; what stands before it is made by the daemon or chosen from a list, and never begins with a dash.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from taskyard.daemon.task import TaskError
from taskyard.vocabulary import ErrorCode

MADE: Final = (
    "task_file",
    "prompt_file",
    "result_file",
    "checkpoint_file",
    "workspace",
    "task_id",
    "attempt",
)
MODEL: Final = "model"
FLAGS: Final = "flags"
WRITTEN: Final = ("prompt", "input", "title", "type")
"""By whoever made the task."""
KNOWN: Final = (*MADE, MODEL, FLAGS, *WRITTEN)
END_OF_OPTIONS: Final = "--"
ARGUMENT_BYTES_MAX: Final = 96 * 1024
# Linux takes 128 KiB for one argument, and 2 MiB for all of them with the environment.

_WHOLE: Final = re.compile(r"\{([a-z_]+)\}")


def faults_in_command(command: Sequence[str], *, has_flags: bool) -> Iterator[str]:
    """What is wrong with it, each as half a sentence that begins with its place."""
    if command and (not command[0].strip() or command[0].startswith("-") or _WHOLE.search(command[0])):
        yield "command begins with the program: a name or a path, without a placeholder"
    options_end = False
    for argument in command[1:]:
        if "\0" in argument:
            yield "command: an argument has a zero byte"
        elif (name := _name_in(argument)) is not None:
            yield from _faults_of(name, options_end=options_end, has_flags=has_flags)
        elif inner := [found for found in _WHOLE.findall(argument) if found in KNOWN]:
            yield f"command: {{{inner[0]}}} must be an argument of its own, not a part of {argument!r}"
        options_end = options_end or argument == END_OF_OPTIONS


def _faults_of(name: str, *, options_end: bool, has_flags: bool) -> Iterator[str]:
    if name not in KNOWN:
        yield f"command: {{{name}}} is not known; known are {', '.join(KNOWN)}"
    elif name in WRITTEN and not options_end:
        yield (
            f'command: {{{name}}} is written by others and may begin with a dash: it must stand behind "--", '
            'or be read from standard input (stdin = "prompt") or {prompt_file}'
        )
    elif name == FLAGS and (options_end or not has_flags):
        yield f'command: {{{FLAGS}}} needs flags to choose from, and must stand before "--"'


def filled(
    command: Sequence[str], values: Mapping[str, str], *, model: str | None, flags: Sequence[str] = ()
) -> list[str]:
    """The arguments for one task. Raises `TaskError` for a value that cannot be one."""
    arguments: list[str] = []
    for argument in command:
        name = _name_in(argument) if arguments else None
        if name == FLAGS:
            arguments += flags
        elif name == MODEL and model is None:
            _leave_out_option(arguments)
        elif name is None:
            arguments.append(argument)
        else:
            value = model if name == MODEL else values[name]
            assert value is not None
            arguments.append(_fit(name, value))
    return arguments


def _leave_out_option(arguments: list[str]) -> None:
    """Without a model its option goes too: the program's own default is meant."""
    if not arguments.pop().startswith("-"):
        raise TaskError(
            ErrorCode.INVALID_INPUT,
            "this agent has to be told a model: name one in the task, or set its default_model",
        )


def _fit(name: str, value: str) -> str:
    if "\0" in value:
        raise TaskError(ErrorCode.INVALID_INPUT, f"the task's {name} has a zero byte, and cannot be an argument")
    size = len(value.encode("utf-8", "replace"))
    if size > ARGUMENT_BYTES_MAX:
        raise TaskError(
            ErrorCode.INVALID_INPUT,
            f"the task's {name} has {size} bytes, and an argument at most {ARGUMENT_BYTES_MAX}: "
            "let this agent read it from standard input or from a file",
        )
    return value


def _name_in(argument: str) -> str | None:
    found = _WHOLE.fullmatch(argument)
    return None if found is None else found[1]
