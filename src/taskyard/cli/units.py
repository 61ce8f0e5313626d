"""What a supervisor is told about a daemon: a systemd user unit, or a launchd property list. Text in, text out.

The key to the hub is never an argument, which everybody on the machine can read: it is in a file of the user's own.
"""

import dataclasses
import plistlib
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_type_hints

from typer.models import ArgumentInfo

STOP_SPARE_S: Final = 20
"""Beyond the drain: to stop what is handed back, and to say farewell."""
AGAIN_S: Final = 2
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_FINAL_CODES: Final = (2, 4)
"""Wrong use, and not allowed: trying again would not help."""


@dataclasses.dataclass(frozen=True)
class Service:
    """A daemon that a supervisor keeps running."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    """Where it runs: paths among its arguments mean there what they meant when it was installed."""
    stop_s: int
    log: Path


def arguments_of(options: Any) -> list[str]:
    """What was given of a command's options, as arguments; last what stands behind `--`."""
    hints = get_type_hints(type(options), include_extras=True)
    arguments: list[str] = []
    behind: list[str] = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if value is None or value == field.default:
            continue
        declared = hints[field.name].__metadata__[0]
        if isinstance(declared, ArgumentInfo):
            behind = ["--", *value] if value else []
            continue
        # Typer takes the first name of an annotated option for its default, until it makes a command of it.
        flag = next(name for name in (declared.default, *declared.param_decls) if str(name).startswith("--"))
        if value is True:
            arguments.append(flag)
        else:
            said = value if isinstance(value, list) else [value]
            arguments += [f"{flag}={one.value if isinstance(one, Enum) else one}" for one in said]
    return [*arguments, *behind]


def systemd_unit(service: Service, environment_file: Path) -> str:
    return f"""\
[Unit]
Description=Taskyard daemon {service.name}
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={" ".join(map(_systemd_word, service.command))}
WorkingDirectory={str(service.directory).replace("%", "%%")}
ExecReload=/bin/kill -HUP $MAINPID
EnvironmentFile={str(environment_file).replace("%", "%%")}
Restart=on-failure
RestartSec={AGAIN_S}
RestartPreventExitStatus={" ".join(map(str, _FINAL_CODES))}
# Agents outlive a daemon that crashed, and the next one takes them up: only the daemon itself is to be ended.
KillMode=process
TimeoutStopSec={service.stop_s}

[Install]
WantedBy=default.target
"""


def systemd_environment(service: Service) -> str:
    return "".join(f"{name}={_systemd_value(value)}\n" for name, value in service.environment.items())


def launchd_list(service: Service) -> str:
    content = {
        "Label": label_of(service.name),
        "ProgramArguments": list(service.command),
        "WorkingDirectory": str(service.directory),
        "EnvironmentVariables": dict(service.environment),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": AGAIN_S,
        "ExitTimeOut": service.stop_s,
        # Agents outlive a daemon that crashed, and the next one takes them up.
        "AbandonProcessGroup": True,
        "StandardErrorPath": str(service.log),
        "StandardOutPath": str(service.log),
    }
    return plistlib.dumps(content, sort_keys=False).decode()


def unit_of(name: str) -> str:
    return f"taskyard-daemon-{name}.service"


def label_of(name: str) -> str:
    return f"dev.taskyard.daemon.{name}"


def _systemd_word(word: str) -> str:
    """Quoted, so that nothing in it means something to systemd."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$").replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"'


def _systemd_value(value: str) -> str:
    """For a file of variables, in which neither dollars nor percents mean anything."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`").replace("$", "\\$")
    return f'"{escaped}"'
