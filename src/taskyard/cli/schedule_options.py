"""From the options of `taskyard schedule` to the bodies they stand for. What contradicts itself is wrong use."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import typer

if TYPE_CHECKING:
    from taskyard.sdk.client import Client

STANDARD_INPUT: Final = "-"


def times_of(
    client: "Client", *, every: str | None, cron: str | None, preset: str | None, timezone: str | None
) -> dict[str, str]:
    """When it runs: `every` or `cron`, and the zone if one was named."""
    from taskyard.wire.fields import NAME_CHARS_MAX

    if cron is not None and len(cron) > NAME_CHARS_MAX:
        # Said here: a preview has it in its address, and one that is far too long is no HTTP.
        raise typer.BadParameter(f"the expression has more than {NAME_CHARS_MAX} characters", param_hint="--cron")
    given = {"every": every, "cron": cron}
    if preset is not None:
        known = {each.name: {"every": each.every, "cron": each.cron} for each in client.schedule_presets()}
        if preset not in known:
            raise typer.BadParameter(f"known are {', '.join(known)}", param_hint="--preset")
        given = known[preset] | {name: value for name, value in given.items() if value is not None}
    chosen = {name: value for name, value in given.items() if value is not None}
    if len(chosen) != 1:
        raise typer.BadParameter("say when it runs, in one way", param_hint="--every, --cron or --preset")
    if timezone is None:
        return chosen
    if "every" in chosen:
        raise typer.BadParameter("a heartbeat goes by elapsed time, in every zone the same", param_hint="--timezone")
    return chosen | {"timezone": timezone}


def task_of(file: str | None, said: dict[str, Any], base: dict[str, Any] | None = None) -> dict[str, Any]:
    """The task of each run: a file's, or `base`, with what was said by options in place of what stands there."""
    task = dict(base or {})
    if file is not None:
        try:
            text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text(encoding="utf-8")
            task = msgspec.json.decode(text, type=dict[str, Any])
        except (OSError, msgspec.DecodeError) as error:
            raise typer.BadParameter(f"{file} holds no JSON object: {error}", param_hint="--task") from None
    task |= {name: value for name, value in said.items() if value is not None}
    if not task:
        raise typer.BadParameter("say what task a run makes", param_hint="--input or --task")
    return task


def probe_of(*, url: str | None, type: str | None, input: str | None, timeout: str | None) -> dict[str, Any] | None:
    if url is not None and type is not None:
        raise typer.BadParameter("a probe is either an address or a task", param_hint="--probe-url or --probe-type")
    if input is not None and type is None:
        raise typer.BadParameter("it is the input of a probe's task: name its --probe-type", param_hint="--probe-input")
    if url is None and type is None:
        if timeout is not None:
            raise typer.BadParameter("name the probe too: --probe-url or --probe-type", param_hint="--probe-timeout")
        return None
    asked: dict[str, Any] = {"url": url} if url is not None else {"task": {"type": type, "input": input or ""}}
    return asked if timeout is None else asked | {"timeout": seconds_of(timeout, "--probe-timeout")}


def level_of(text: str | None) -> str | int | None:
    return int(text) if text is not None and text.isdecimal() else text


def seconds_of(text: str, option: str) -> float:
    """Written like --every: every span of a schedule is."""
    from taskyard.wire.schedules import every_ms_of

    found = every_ms_of(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no span; write 30s, 5m, 1h, 1d or 1w", param_hint=option)
    return found / 1000
