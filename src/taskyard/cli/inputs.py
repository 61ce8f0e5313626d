"""What an option names instead of holding it: a file, or standard input for `-`."""

import sys
from pathlib import Path
from typing import Any, Final

import msgspec
import typer

STANDARD_INPUT: Final = "-"
GIVEN: Final = "The secret that you gave is in use."
# Whoever gives one by standard input does not want it on a screen.


def json_object_of(file: str, *, option: str) -> dict[str, Any]:
    """What the file holds; anything else than a JSON object is wrong use of the option."""
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else Path(file).read_text(encoding="utf-8")
        return msgspec.json.decode(text, type=dict[str, Any])
    except UnicodeError:
        raise typer.BadParameter(f"{file} holds no JSON object: it is not UTF-8", param_hint=option) from None
    except (OSError, msgspec.DecodeError) as error:
        raise typer.BadParameter(f"{file} holds no JSON object: {error}", param_hint=option) from None


def pairs_of(said: list[str] | None, *, option: str) -> dict[str, str] | None:
    """What stands for each key; None: nothing was said."""
    pairs: dict[str, str] = {}
    for text in said or ():
        key, is_pair, value = text.partition("=")
        if not is_pair or not key:
            raise typer.BadParameter(f"{text!r} is no pair; write KEY=VALUE", param_hint=option)
        if key in pairs:
            raise typer.BadParameter(f"{key} is given twice", param_hint=option)
        pairs[key] = value
    return pairs or None


def secret_of(given: str | None) -> str | None:
    """A secret as it was given, or a line of standard input, where no history keeps it."""
    return sys.stdin.readline().rstrip("\r\n") if given == STANDARD_INPUT else given
