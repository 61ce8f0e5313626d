"""`[daemon]` of `taskyard.toml`: what a daemon says of itself. Read at its start, and again on SIGHUP."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.wire.fields import NAME_CHARS_MAX

SLOTS_MAX: Final = 100_000
"""What the hub takes."""
NAMES_MAX: Final = 1_000


class OwnSection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    slots: int = 5
    capabilities: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    """None: whatever it can run."""


class BadSection(Exception):
    """The section cannot be used; the message says where and why."""


class _File(Struct):
    """The rest of the file is somebody else's."""

    daemon: OwnSection = OwnSection()


def read_own_section(path: Path) -> OwnSection:
    """An absent file says nothing."""
    try:
        section = msgspec.toml.decode(path.read_bytes(), type=_File).daemon
    except FileNotFoundError:
        return OwnSection()
    except OSError as error:
        raise BadSection(f"{path} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadSection(f"{path} is not valid: {error}.") from error
    if faults := list(faults_in(section)):
        raise BadSection(f"{path} is not valid: {'; '.join(faults)}.")
    return section


def faults_in(section: OwnSection) -> Iterator[str]:
    """What is wrong with it, each as half a sentence that begins with its place."""
    if not 1 <= section.slots <= SLOTS_MAX:
        yield f"daemon.slots: from 1 to {SLOTS_MAX}, not {section.slots}"
    for field, names in (
        ("capabilities", section.capabilities),
        ("models", section.models),
        ("types", section.types),
    ):
        if len(names) > NAMES_MAX:
            yield f"daemon.{field}: at most {NAMES_MAX} names"
        for name in names:
            if not name or not name.isprintable() or len(name) > NAME_CHARS_MAX:
                yield f"daemon.{field}: {name[:80]!r} is empty, too long or has a control character"
